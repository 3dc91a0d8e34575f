// All runs in one table; those that are chosen are compared.

import { get, isExport, whileShown } from "./data.js";
import { h, input, problem, replace, words } from "./dom.js";
import { count, decimal, duration, money, percent, plural } from "./format.js";
import { sortable } from "./table.js";

const POLL = 2000;
const chosen = new Set();
let text = "";

export function runs(addressOf) {
  const node = h("article", {}, h("p", { role: "status" }, "Loading …"));
  load(addressOf, node).catch((error) => replace(node, problem(error)));
  return node;
}

async function load(addressOf, node) {
  let told = await get("runs");
  const go = h("a", { class: "button" });
  const said = h("p", { class: "small", role: "status" });
  const table = sortable("runs", "Runs", columns(addressOf, () => show()), []);
  const show = () => {
    const all = told.runs.map((run, place) => ({ ...run, key: String(place), place, chosen: chosen.has(place) }));
    const term = text.toLowerCase();
    table.show(all.filter((run) => `${run.name} ${run.system} ${run.model} ${run.dataset}`.toLowerCase().includes(term)));
    const compared = [...chosen].sort((a, b) => a - b);
    go.textContent = compared.length > 1 ? `Compare ${plural(compared.length, "run")}` : "Choose two runs or more to compare them";
    if (compared.length > 1) go.setAttribute("href", addressOf(compared));
    else go.removeAttribute("href");
    const waiting = told.runs.reduce((sum, run) => sum + run.begun - run.measured, 0);
    said.textContent = [plural(told.runs.length, "run"), waiting > 0 && `coverage of ${plural(waiting, "question")} is being measured`].filter(Boolean).join(" · ");
  };
  replace(node, h("h1", {}, "Runs"), h("div", { class: "bar", role: "search", "aria-label": "Runs" }, input("Search", { type: "search", value: text, "data-search": "" }, (value) => {
    text = value;
    show();
  }), go), said, table.node, told.runs.map((run) => run.notes.map((note) => h("p", { class: "warn" }, words(run.name), ": ", words(note)))));
  show();
  if (isExport) return;
  await whileShown(node, POLL, async () => {
    const now = await get("runs");
    if (now.version === told.version) return;
    told = now;
    show();
  });
}

function columns(addressOf, changed) {
  const figure = (name, head, written, title) => ({ name, head, title, value: (run) => run.summary[name], cell: (run) => written(run.summary[name]) });
  const word = (name) => ({ name, head: name, word: true, value: (run) => run[name], cell: (run) => words(run[name]) });
  const pick = (run) => h("input", { type: "checkbox", "aria-label": `Choose ${run.name}`, checked: chosen.has(run.place), onchange: (event) => {
    if (event.target.checked) chosen.add(run.place);
    else chosen.delete(run.place);
    changed();
  } });
  return [
    { name: "chosen", head: h("span", { class: "hidden" }, "chosen"), word: true, cell: pick },
    { name: "name", head: "run", first: true, word: true, value: (run) => run.name,
      cell: (run) => [h("a", { href: addressOf([run.place]), "data-item": "" }, words(run.name)), run.live && h("span", { class: "outcome running" }, "running")] },
    word("system"), word("model"), word("dataset"),
    { name: "questions", head: "questions", value: (run) => run.summary.questions,
      cell: (run) => (run.begun < run.summary.questions ? `${count(run.begun)} of ${count(run.summary.questions)}` : count(run.summary.questions)) },
    figure("accuracy", "accuracy", percent), figure("nDCG@10", "nDCG@10", decimal),
    figure("coverage_mean", "coverage", percent, "Share of the documents needed that came to the surface, the mean over questions"),
    figure("localization", "localization", decimal, "How narrow the best piece was that was seen of each (DCI, section 3.4)"),
    figure("model_calls", "model calls", decimal), figure("tool_calls", "tool calls", decimal), figure("seconds", "time", duration),
    figure("total_dollars", "cost", money), figure("dollars_per_correct", "per right answer", money), figure("no_answer", "no answer", count),
  ];
}
