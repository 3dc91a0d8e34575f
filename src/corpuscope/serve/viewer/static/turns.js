// A trajectory's events as turns: a reply of the model with the calls it made, and what stood between it and the reply before.

import { h, marked, shown, words } from "./dom.js";
import { count, duration, money, plural } from "./format.js";

const FIRST = 10_000; // characters of an observation that are shown at once
const MORE = 100_000;
const SNIPPETS = 20; // places of a search that are shown of one observation
const AROUND = 80;

export function turnsOf(events) {
  const told = { start: null, turns: [], calls: [], notes: [], answer: null, stop: null };
  let before = { input_tokens: 0, cached_tokens: 0, output_tokens: 0, sent_characters: 0, prefix_characters: 0, dollars: 0 };
  let seconds = 0;
  let files = 0;
  for (const event of events) {
    const turn = told.turns.at(-1);
    if (event.type === "start") {
      told.start = event;
      files = event.workspace ?? 0;
    } else if (event.type === "response") {
      const { spent } = event;
      const more = (name) => (spent[name] ?? 0) - (before[name] ?? 0);
      told.turns.push({
        number: told.turns.length + 1, notes: told.notes, reply: event, calls: [], files, seconds: event.seconds - seconds,
        tokens: more("input_tokens"), cached: more("cached_tokens"), output: more("output_tokens"),
        characters: more("sent_characters"), same: more("prefix_characters"),
        dollars: spent.dollars === null ? null : more("dollars"),
      });
      told.notes = [];
      [before, seconds] = [spent, event.seconds];
    } else if (event.type === "tool" && turn) {
      const call = { number: told.calls.length + 1, turn: turn.number, event, from: files };
      files = event.data.workspace ?? files;
      turn.files = files;
      turn.calls.push(call);
      told.calls.push(call);
    } else if (event.type === "answer") {
      told.answer = event;
    } else {
      if (event.type === "stop") told.stop = event;
      told.notes.push(event);
    }
  }
  if (told.stop !== events.at(-1)) told.stop = null; // it was taken up again
  return told;
}

// What a call asked for, in one line.
export function inOneLine(event) {
  const asked = argumentsOf(event);
  if (typeof asked === "string") return asked;
  if (asked.queries) return asked.queries.join(" · ");
  const told = asked.command ?? asked.query ?? asked.pattern ?? asked.path ?? asked.docid;
  const rest = Object.entries(asked).filter(([name, value]) => value !== told && typeof value !== "object");
  const more = rest.map(([name, value]) => `${name}=${value}`).join(" ");
  return told === undefined ? JSON.stringify(asked) : more ? `${told}  ${more}` : String(told);
}

function argumentsOf(event) {
  if (typeof event.arguments !== "string") return event.arguments ?? {};
  try {
    const value = JSON.parse(event.arguments);
    return value && typeof value === "object" ? value : event.arguments;
  } catch {
    return event.arguments;
  }
}

const parts = (turn, kind) => turn.reply.message.parts.filter((part) => part.part_kind === kind);

// All words of a turn, for a search.
export function* wordsOf(turn) {
  for (const part of turn.reply.message.parts) yield part.content ?? "";
  for (const call of turn.calls) yield* wordsOfCall(call);
}

export function* wordsOfCall(call) {
  yield inOneLine(call.event);
  yield call.event.text;
}

// `view`: {goldByCall: call -> badges, removals: call -> list, marks: what is marked in text, term, isOpen(call), toggled(call, open)}.
export function turnNode(turn, view) {
  const heading = h(
    "h3",
    { tabindex: "-1", "data-item": "" },
    `Turn ${turn.number}`,
    h("span", { class: "facts" }, facts(turn)),
  );
  return h(
    "li",
    { class: "turn", "data-turn": turn.number },
    turn.notes.map(noteNode),
    heading,
    parts(turn, "thinking").map((part) => reasoning(part, view)),
    parts(turn, "text").filter((part) => part.content.trim()).map((part) => h("pre", { class: "said", dir: "auto" }, long(part.content, view))),
    turn.calls.map((call) => callNode(call, view)),
    unanswered(turn),
  );
}

function facts(turn) {
  const told = [duration(turn.seconds)];
  if (turn.tokens) told.push(`${count(turn.tokens)} tokens in${turn.cached ? ` (${count(turn.cached)} cached)` : ""}, ${count(turn.output)} out`);
  else if (turn.characters) told.push(`${count(turn.characters)} characters in`);
  if (turn.dollars) told.push(money(turn.dollars));
  if (turn.files) told.push(`W ${count(turn.files)}`);
  return told.join(" · ");
}

function reasoning(part, view) {
  if (!part.content) return h("p", { class: "note" }, "It reasoned; the provider does not show what.");
  return h("details", { class: "reasoning" }, h("summary", {}, "Reasoning ", h("span", { class: "small" }, plural(part.content.length, "character"))),
    h("pre", { dir: "auto" }, long(part.content, view)));
}

function unanswered(turn) {
  const answered = new Set(turn.calls.map((call) => call.event.id));
  const open = parts(turn, "tool-call").filter((part) => !answered.has(part.tool_call_id));
  return open.map((part) => h("p", { class: "note" }, words(part.tool_name), " is running, or never came back: ", words(clipped(inOneLine({ arguments: part.args }), 300))));
}

export function noteNode(event) {
  const told = {
    retry: () => ["The model's server was asked again after ", duration(event.wait), ": ", words(event.error)],
    context: () => [
      "Context policy: ", [
        event.blanked && `results of ${plural(event.blanked, "turn")} blanked`,
        event.removed_characters && `${plural(event.removed_characters, "character")} of results left out`,
        event.summarised && `${plural(event.summarised, "message")} summarised`,
        event.overflows && `tightened after ${plural(event.overflows, "overflow")}`,
      ].filter(Boolean).join(", ") || "nothing is left out any more",
    ],
    summary: () => event.text
      ? [h("details", {}, h("summary", {}, `A summary stands for the first ${plural(event.upto, "message")} `), h("pre", { dir: "auto" }, shown(event.text)))]
      : ["A summary was asked for and did not come: ", words(event.error)],
    steer: () => ["Told: ", words(event.text)],
    unreadable: () => ["An event that cannot be read"],
    stop: () => [`Stopped: ${event.reason.replaceAll("_", " ")}`, event.detail ? ": " : "", words(event.detail ?? "")],
  }[event.type];
  return h("div", { class: `note ${event.type}` }, told ? told() : words(event.type));
}

function callNode(call, view) {
  const { event } = call;
  const open = view.isOpen(call.number);
  const node = h(
    "details",
    { class: `call${event.error ? " failed" : ""}`, open, "data-call": call.number },
    h(
      "summary",
      {},
      h("span", { class: "number" }, `#${call.number}`),
      words(event.name, { class: "tool" }),
      h("code", { dir: "auto" }, ...marked(clipped(inOneLine(event), 300), view.marks)),
      h("span", { class: "badges" }, badges(call, view)),
    ),
  );
  const fill = () => node.children.length === 1 && node.append(callBody(call, view));
  node.addEventListener("toggle", () => {
    if (node.open) fill();
    view.toggled(call.number, node.open);
  });
  if (open) fill();
  return node;
}

const clipped = (text, most) => (text.length > most ? `${text.slice(0, most)} …` : text);

const badge = (kind, text, title) => h("span", { class: `badge ${kind}`, title }, text);

function badges(call, view) {
  const { event } = call;
  const told = [];
  if (event.malformed) told.push(badge("bad", "not understood"));
  else if (event.error) told.push(badge("bad", "error"));
  if (event.data.exit_code) told.push(badge("warned", `exit ${event.data.exit_code}`));
  for (const gold of view.goldByCall.get(call.number) ?? []) told.push(badge(gold.class, gold.text, gold.title));
  const removed = view.removals.get(call.number)?.at(-1);
  if (removed && removed.how !== "back") told.push(badge("cut", removed.how, `from turn ${removed.turn} on`));
  const files = event.data.workspace;
  if (files > call.from) told.push(badge("files", `W +${count(files - call.from)}`));
  told.push(h("span", { class: "small" }, `${count(event.text.length)} ch · ${duration(event.took)}`));
  return told;
}

function callBody(call, view) {
  const { event } = call;
  const asked = argumentsOf(event);
  const rows = typeof asked === "string" ? [["arguments", asked]] : Object.entries(asked);
  return h(
    "div",
    { class: "call-body" },
    rows.length > 0 && h("dl", { class: "arguments" }, rows.map(([name, value]) => [
      h("dt", {}, words(name)),
      h("dd", {}, Array.isArray(value)
        ? h("ol", {}, value.map((item) => h("li", { dir: "auto" }, ...marked(plain(item), view.marks))))
        : h("pre", { dir: "auto" }, long(plain(value), view))),
    ])),
    snippets(event.text, view.term),
    observation(call, view),
  );
}

const plain = (value) => (typeof value === "string" ? value : JSON.stringify(value));

function observation(call, view) {
  const { text } = call.event;
  const removed = view.removals.get(call.number) ?? [];
  const now = removed.at(-1);
  const told = removed.map((change) => h("p", { class: "note cut" }, removalWords(change, text.length)));
  if (!now || now.how === "back") return [...told, h("pre", { class: "observation", dir: "auto", tabindex: "0" }, long(text, view))];
  return [
    ...told,
    now.kept > 0 && h("pre", { class: "observation", dir: "auto", tabindex: "0" }, long(text.slice(0, now.kept), view)),
    h("del", { class: "removed", "aria-label": `Removed from turn ${now.turn} on` }, h("pre", { class: "observation", dir: "auto", tabindex: "0" }, long(text.slice(now.kept), view))),
  ];
}

function removalWords(change, length) {
  const what = {
    cut: `only the first ${count(change.kept)} of ${plural(length, "character")} are sent`,
    blanked: "a placeholder stands for this result",
    summarised: "a summary stands for this turn",
    back: "this result is sent whole again",
  }[change.how];
  return `From turn ${change.turn} on ${what}.`;
}

// The beginning of a text, and a button for more; a megabyte in one line is no trouble that way.
function long(text, view) {
  const parts = h("span", {}, ...marked(text.slice(0, FIRST), view.marks));
  let done = Math.min(FIRST, text.length);
  if (done < text.length) {
    const button = h("button", { class: "more", onclick: () => {
      button.before(...marked(text.slice(done, done + MORE), view.marks));
      done += MORE;
      if (done < text.length) button.textContent = rest();
      else button.remove();
    } });
    const rest = () => `show more (${plural(text.length - done, "character")})`;
    button.textContent = rest();
    parts.append(button);
  }
  return parts;
}

function snippets(text, term) {
  if (!term) return null;
  const folded = text.toLowerCase();
  const found = [];
  let total = 0;
  for (let at = folded.indexOf(term); at >= 0; at = folded.indexOf(term, at + term.length)) {
    total += 1;
    if (found.length < SNIPPETS) found.push(text.slice(Math.max(0, at - AROUND), at + term.length + AROUND));
  }
  if (!total) return null;
  return h("div", { class: "snippets" }, h("p", { class: "small" }, `${plural(total, "place")} in the observation${total > SNIPPETS ? `, the first ${SNIPPETS}` : ""}:`),
    h("ul", {}, found.map((piece) => h("li", { dir: "auto" }, ...marked(piece.replaceAll("\n", " "), [{ words: term, class: "hit" }])))));
}
