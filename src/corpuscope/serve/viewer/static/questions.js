// Every question of a run, or of several side by side, with the cross-tab of two as a filter.

import { get, isExport, whileShown } from "./data.js";
import { h, input, problem, replace, select, shown, words } from "./dom.js";
import { count, decimal, duration, money, outcome, percent, plural, stopWords } from "./format.js";
import { sortable } from "./table.js";

const POLL = 2000;

const COVERAGE = {
  none: ["none surfaced", (c) => c === 0], some: ["some surfaced", (c) => c > 0 && c < 1], every: ["all surfaced", (c) => c === 1],
  missing: ["not all surfaced", (c) => c < 1],
};

const CELLS = {
  both: "both right", neither: "neither right", equal: "equal", first: "only the first", second: "only the second",
};

const kept = new Map(); // filters by address, for whoever comes back

export function questions(runs, addressOf) {
  const node = h("article", {}, h("p", { role: "status" }, "Loading …"));
  load(runs, addressOf, node).catch((error) => replace(node, problem(error)));
  return node;
}

const listed = (runs) => Promise.all(runs.map((run) => get("questions", { run })));

const crossTabs = (runs) => Promise.all(runs.slice(1).map((second) => get("compare", { run: runs[0], second })));

async function load(runs, addressOf, node) {
  const view = { runs, addressOf, told: await listed(runs) };
  const id = runs.join(",");
  view.filters = kept.get(id) ?? { text: "", outcome: "", stop: "", coverage: "", kind: "", above: "", cell: null };
  kept.set(id, view.filters);
  view.tabs = await crossTabs(runs);
  view.said = h("p", { class: "small", role: "status" });
  view.head = h("div", {});
  view.filterBar = h("div", { class: "bar", role: "search", "aria-label": "Questions" });
  view.cells = h("div", { class: "cells" });
  view.table = sortable(`questions ${id}`, "Questions", runs.length === 1 ? oneRun(view) : sideBySide(view), []);
  replace(node, view.head, view.cells, view.filterBar, view.said, view.table.node, settings(view));
  showFilters(view);
  show(view);
  if (isExport) return;
  await whileShown(node, POLL, async () => {
    const now = await listed(runs);
    if (now.every((told, place) => told.version === view.told[place].version)) return;
    view.told = now;
    view.tabs = await crossTabs(runs);
    show(view);
  });
}

// One row for each question of any of the runs: {key, question, kind, rows: what each run has of it}.
function joined(told) {
  const found = new Map();
  told.forEach(({ rows }, place) => rows.forEach((row) => {
    const known = found.get(row.query_id) ?? { key: row.key, query_id: row.query_id, question: row.question, kind: row.kind, rows: [] };
    known.rows[place] = row;
    known.question ||= row.question;
    found.set(row.query_id, known);
  }));
  return [...found.values()];
}

function show(view) {
  const all = joined(view.told);
  const found = all.filter((question) => wanted(view.filters, question, view.tabs));
  replace(view.head, heading(view));
  replace(view.cells, view.tabs.map((tab, place) => crossTab(view, tab, place)));
  view.table.show(found);
  const begun = view.told.reduce((sum, told) => sum + told.run.begun, 0);
  const measured = view.told.reduce((sum, told) => sum + told.run.measured, 0);
  view.said.textContent = [
    found.length < all.length ? `${count(found.length)} of ${plural(all.length, "question")}` : plural(all.length, "question"),
    measured < begun && `coverage measured for ${count(measured)} of ${count(begun)} so far`,
    view.told.some((told) => told.run.live) && "running now",
  ].filter(Boolean).join(" · ");
}

function heading(view) {
  return [
    h("h1", {}, view.told.map((told, place) => [place > 0 && " against ", words(told.run.name)])),
    view.told.map(({ run }, place) => [
      h("p", {}, view.told.length > 1 && `${place + 1}: `, h("b", {}, words(run.name)), ": ", words(run.system), " · ", words(run.model), run.dataset && [" · ", words(run.dataset)], run.judge && [" · judged: ", words(run.judge)],
        run.summary.accuracy !== null && ` · accuracy ${percent(run.summary.accuracy)}`, run.summary.coverage_mean !== null && ` · coverage ${percent(run.summary.coverage_mean)}`,
        run.summary.total_dollars ? ` · ${money(run.summary.total_dollars)}` : null),
      run.notes.map((note) => h("p", { class: "warn" }, words(note))),
    ]),
  ];
}

function crossTab(view, tab, place) {
  const chosen = view.filters.cell;
  const [first, second] = [view.told[0].run, view.told[place + 1].run];
  const button = (name) => h("button", {
    "aria-pressed": String(chosen?.place === place && chosen.name === name),
    onclick: () => {
      view.filters.cell = chosen?.place === place && chosen.name === name ? null : { place, name };
      show(view);
    },
  }, h("b", {}, count(tab.cross_tab[name].length)), ` ${CELLS[name]}`);
  const difference = tab.differences.accuracy ?? tab.differences["nDCG@10"];
  return h("section", { class: "cross-tab", "aria-label": "Cross-tab" },
    h("p", {}, "first ", h("b", {}, words(first.name)), ", second ", h("b", {}, words(second.name))),
    tab.problem && h("p", { class: "warn" }, tab.problem),
    h("div", { class: "bar" }, Object.keys(CELLS).filter((name) => name in tab.cross_tab).map(button)),
    h("p", { class: "small" }, `${tab.test}: p = ${decimal(tab.p)}`, difference && `; second minus first ${decimal(difference[0])} (95%: ${decimal(difference[1])} to ${decimal(difference[2])})`,
      tab.cannot_tell && [". This sample cannot tell: ", words(tab.cannot_tell)]));
}

function wanted(filters, question, tabs) {
  const rows = question.rows.filter(Boolean);
  const text = filters.text.toLowerCase();
  if (text && !`${question.query_id} ${question.question} ${rows.map((row) => row.answer).join(" ")}`.toLowerCase().includes(text)) return false;
  if (filters.kind && question.kind !== filters.kind) return false;
  if (filters.outcome && !rows.some((row) => outcome(row) === filters.outcome)) return false;
  if (filters.stop && !rows.some((row) => row.stop_reason === filters.stop)) return false;
  if (filters.coverage && !rows.some((row) => typeof row.coverage_mean === "number" && COVERAGE[filters.coverage][1](row.coverage_mean))) return false;
  if (filters.above !== "" && !rows.some((row) => (row.dollars ?? 0) > Number(filters.above))) return false;
  if (filters.cell && !tabs[filters.cell.place].cross_tab[filters.cell.name]?.includes(question.query_id)) return false;
  return true;
}

function showFilters(view) {
  const rows = view.told.flatMap((told) => told.rows);
  const set = (name) => (value) => {
    view.filters[name] = value;
    show(view);
  };
  const choices = (values) => [["", "all"], ...[...new Set(values)].filter(Boolean).sort().map((value) => [value, shown(stopWords(value))])];
  const { filters } = view;
  replace(view.filterBar,
    input("Search", { type: "search", value: filters.text, "data-search": "" }, set("text")),
    select("Outcome", choices([...rows.map(outcome), ...(view.told.some((told) => told.run.live) ? ["right", "wrong", "no answer", "running"] : [])]), filters.outcome, set("outcome")),
    select("Stopped", choices(rows.map((row) => row.stop_reason)), filters.stop, set("stop")),
    select("Coverage", [["", "all"], ...Object.entries(COVERAGE).map(([key, [name]]) => [key, name])], filters.coverage, set("coverage")),
    input("Cost above $", { type: "number", min: "0", step: "any", value: filters.above }, set("above")),
    rows.some((row) => row.kind) && select("Kind", choices(rows.map((row) => row.kind)), filters.kind, set("kind")));
}

const outcomeCell = (row) => h("span", { class: `outcome ${outcome(row).replaceAll(" ", "-")}` }, outcome(row));

function questionColumns(view) {
  return [{
    name: "question", head: "question", first: true, word: true, value: (q) => q.query_id,
    cell: (q) => h("a", { href: view.addressOf(q.key), "data-item": "", class: "question", dir: "auto" }, h("span", { class: "small" }, `${shown(q.query_id)} `), shown(q.question || q.query_id)),
  }];
}

const figure = (name, head, written, title) => ({ name, head, title, value: (q) => q.rows[0]?.[name], cell: (q) => written(q.rows[0]?.[name]) });

function oneRun(view) {
  const { rows } = view.told[0];
  const columns = [
    ...questionColumns(view),
    { name: "outcome", head: "outcome", word: true, value: (q) => outcome(q.rows[0]), cell: (q) => outcomeCell(q.rows[0]) },
    { name: "stop_reason", head: "stopped", word: true, value: (q) => q.rows[0].stop_reason, cell: (q) => stopWords(q.rows[0].stop_reason) },
    { name: "answer", head: "answer", word: true, value: (q) => q.rows[0].answer, cell: (q) => words(q.rows[0].answer, { class: "clip", title: shown(q.rows[0].answer) }) },
    figure("nDCG@10", "nDCG@10", decimal), figure("coverage_mean", "coverage", percent, "Share of the documents needed that came to the surface"),
    figure("localization", "localization", decimal, "How narrow the best piece was that was seen of each (DCI, section 3.4)"),
    figure("first_gold_call", "gold seen at", count, "The call that first surfaced a gold document"),
    figure("model_calls", "model calls", count), figure("tool_calls", "tool calls", count), figure("input_tokens", "tokens", count),
    figure("workspace_files", "files in W", count), figure("seconds", "time", duration), figure("dollars", "cost", money),
    { name: "kind", head: "kind", word: true, value: (q) => q.kind, cell: (q) => words(q.kind) },
  ];
  const always = new Set(["question", "outcome", "stop_reason", "answer", "coverage_mean", "localization", "model_calls", "tool_calls", "seconds", "dollars"]);
  return columns.filter((column) => always.has(column.name) || rows.some((row) => row[column.name]) || view.told[0].run.live);
}

function sideBySide(view) {
  const of = (place, name, head, written, word = false) => ({
    name: `${place} ${name}`, head: `${place + 1}: ${head}`, word,
    value: (q) => (name === "outcome" ? outcome(q.rows[place]) : q.rows[place]?.[name]),
    cell: (q) => (name === "outcome" ? outcomeCell(q.rows[place]) : written(q.rows[place]?.[name])),
    title: view.told[place].run.name,
  });
  const figures = [["outcome", "outcome", null, true], ["answer", "answer", (text) => words(text ?? "", { class: "clip", title: shown(text ?? "") }), true], ["nDCG@10", "nDCG@10", decimal], ["coverage_mean", "coverage", percent],
    ["localization", "localization", decimal], ["tool_calls", "calls", count], ["dollars", "cost", money]];
  const used = figures.filter(([name]) => name === "outcome" || view.told.some((told) => told.rows.some((row) => row[name] !== undefined && row[name] !== "")));
  return [...questionColumns(view), ...used.flatMap((figure) => view.runs.map((_, place) => of(place, ...figure)))];
}

function settings(view) {
  return view.told.map(({ run }) => h("details", { class: "settings" }, h("summary", {}, "What decided ", words(run.name)),
    h("pre", { dir: "auto" }, shown(JSON.stringify(run.settings, null, 2).replaceAll("\\n", "\n")))));
}
