// Figures as a reader wants them; a dash for what does not apply.

const NONE = "–";
const given = (value) => value !== null && value !== undefined;

export const count = (value) => (given(value) ? Math.round(value).toLocaleString("en") : NONE);
export const percent = (value) => (given(value) ? `${(100 * value).toFixed(1)}%` : NONE);
export const money = (value) => (given(value) ? `$${value.toFixed(value && value < 0.1 ? 4 : 2)}` : NONE);
export const decimal = (value) => (given(value) ? Number(value.toPrecision(3)).toString() : NONE);

export function duration(value) {
  if (!given(value)) return NONE;
  if (value < 60) return `${value.toFixed(value < 10 ? 1 : 0)} s`;
  return value < 3600 ? `${(value / 60).toFixed(1)} min` : `${(value / 3600).toFixed(1)} h`;
}

export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

// What came of a question, in a word.
export function outcome(row) {
  if (!row) return "not asked";
  if (row.broken) return "broken";
  if (row.state !== "ended") return row.state;
  if (!row.answered) return "no answer";
  if (row.correct === true) return "right";
  if (row.correct === false) return "wrong";
  if ("nDCG@10" in row) return "ranked";
  return row.reference.length || row.unjudged ? "unjudged" : "answered";
}

export const stopWords = (reason) => (reason === "missing" ? NONE : reason.replaceAll("_", " "));
