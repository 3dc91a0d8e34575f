// W as it was after any call: its files, what brought each, and grep over them.

import { get, isExport } from "./data.js";
import { openDocument } from "./documents.js";
import { h, input, problem, replace, select, shown, waiting, words } from "./dom.js";
import { count, plural } from "./format.js";

const PAGE = 300; // files shown at once

// Every file in the order in which it came: {docid, path, call, query}. `query` is the sub-query that ranked it first; null where
// a call with several did not record that.
export function filesOf(calls, paths) {
  const files = [];
  const seen = new Set();
  for (const call of calls) {
    const { data } = call.event;
    const queries = data.queries ?? [];
    let [place, left] = [0, queries[0]?.new ?? Infinity];
    const known = queries.length < 2 || queries.every((query) => "new" in query);
    for (const docid of data.imported ?? []) {
      while (left === 0 && place < queries.length - 1) left = queries[++place].new;
      left -= 1;
      if (seen.has(docid)) continue;
      seen.add(docid);
      files.push({ docid, path: paths[docid] ?? docid, call: call.number, query: known ? (queries[place]?.query ?? null) : null });
    }
  }
  return files;
}

// `at`: {run, key, info, told (of `turnsOf`), gold, call, chosen(call), address(tab, call)}.
export function workspaceNode(at) {
  if (at.info.boundary === "corpus") return h("div", {}, grepForm(at), wholeCorpus(at));
  return waiting(get("paths", { question: at.key, run: at.run }), (paths) => bounded(at, filesOf(at.told.calls, paths)));
}

function bounded(at, files) {
  const last = at.told.calls.length;
  const state = { call: Math.min(at.call ?? last, last), filter: "", brought: "", order: "", shown: PAGE };
  const list = h("div", { class: "files" });
  const said = h("p", { role: "status" });
  const turnWords = h("a", {});
  const groups = h("div", {});
  const slider = h("input", { type: "range", min: "0", max: String(last), value: String(state.call), "aria-label": "W after call", oninput: () => {
    state.call = Number(slider.value);
    at.chosen(state.call);
    update();
  } });
  const form = grepForm(at, () => state.call);

  function update() {
    const there = files.filter((file) => file.call <= state.call);
    const call = at.told.calls[state.call - 1];
    turnWords.textContent = call ? `call ${state.call} of ${last}, turn ${call.turn}` : "before the first call";
    if (call) turnWords.setAttribute("href", at.address("turns", state.call));
    else turnWords.removeAttribute("href");
    const bringers = new Map();
    for (const file of there) bringers.set(bringer(file), (bringers.get(bringer(file)) ?? 0) + 1);
    if (state.brought && !bringers.has(state.brought)) state.brought = "";
    replace(groups, select("Brought by", [["", `anything (${count(there.length)})`], ...[...bringers].map(([name, n]) => [name, shown(`${name} (${count(n)})`)])],
      state.brought, (value) => { state.brought = value; state.shown = PAGE; update(); }));
    const term = state.filter.toLowerCase();
    const found = there.filter((file) => (!state.brought || bringer(file) === state.brought) && (!term || file.path.toLowerCase().includes(term)));
    if (state.order) found.sort((a, b) => (a.path < b.path ? -1 : 1));
    said.textContent = `${plural(there.length, "file")} in W${found.length < there.length ? `, ${count(found.length)} shown` : ""}`;
    const rows = found.slice(0, state.shown).map((file) => h("li", {}, opener(at, file.path), h("span", { class: "small" }, " ", words(bringer(file)))));
    replace(list, h("ul", { class: "paths" }, rows), found.length > state.shown && h("button", { class: "more", onclick: () => {
      state.shown += PAGE;
      update();
    } }, `${count(Math.min(PAGE, found.length - state.shown))} more of ${count(found.length)}`));
  }

  update();
  return h("div", {}, h("div", { class: "bar" }, h("label", { class: "field grow" }, h("span", {}, "W after call"), slider), turnWords), said, form,
    h("div", { class: "bar" }, input("Path contains", { type: "search" }, (value) => { state.filter = value; state.shown = PAGE; update(); }), groups,
      select("Order", [["", "as they came"], ["path", "by path"]], "", (value) => { state.order = value; update(); })), list);
}

const bringer = (file) => (file.query === null ? `call ${file.call}` : `call ${file.call}: ${file.query}`);

function opener(at, path, line) {
  const gold = at.gold.find((document) => document.path === path);
  const open = () => openDocument({ run: at.run, name: path, first: line, last: line }, gold?.evidence ?? []);
  return h("button", { class: `link${gold ? " gold" : ""}`, "data-item": "", title: gold ? "gold" : null, onclick: open }, words(path));
}

function wholeCorpus(at) {
  if (isExport) return h("p", {}, "W is the whole corpus; an exported file does not hold it.");
  const list = h("div", { class: "files" });
  const said = h("p", { role: "status" });
  const load = (after, rows) => get("folder", { after, run: at.run }).then((told) => {
    said.textContent = `W is the whole corpus: ${plural(told.total, "document")}`;
    const all = [...rows, ...told.paths];
    replace(list, h("ul", { class: "paths" }, all.map((path) => h("li", {}, opener(at, path)))),
      told.paths.length > 0 && h("button", { class: "more", onclick: () => load(all.at(-1), all) }, "more"));
  }, (error) => replace(list, problem(error)));
  load("", []);
  return h("div", {}, said, h("div", { class: "bar" }, input("Paths from", { type: "search" }, (value) => load(value, []))), list);
}

// Grep over W as it is at `call()`.
function grepForm(at, call = () => at.call ?? at.told.calls.length) {
  if (isExport) return h("p", { class: "small" }, "To grep W again, open the run with corpuscope view.");
  if (!at.info.has_corpus) return h("p", { class: "small" }, "The documents of this run cannot be opened here, so W cannot be searched.");
  const found = h("div", { class: "found" });
  const field = h("input", { type: "search", name: "pattern", required: true, "aria-label": "Pattern", placeholder: "regular expression" });
  const glob = h("input", { type: "search", name: "glob", "aria-label": "Only paths like", placeholder: "*.txt" });
  const box = (name, label) => h("label", { class: "check" }, h("input", { type: "checkbox", name }), label);
  const form = h("form", { class: "bar grep", role: "search", onsubmit: (event) => {
    event.preventDefault();
    const chosen = new FormData(form);
    const asked = { call: call(), pattern: field.value, question: at.key, run: at.run };
    if (glob.value) asked.glob = glob.value;
    for (const name of ["ignore_case", "literal"]) if (chosen.has(name)) asked[name] = "1";
    replace(found, h("p", { role: "status" }, "Searching …"));
    get("grep", asked).then((told) => replace(found, matches(at, told, call())), (error) => replace(found, problem(error)));
  } }, h("label", { class: "field grow" }, h("span", {}, "Grep W"), field), h("label", { class: "field" }, h("span", {}, "Paths"), glob),
    box("ignore_case", "ignore case"), box("literal", "plain text"), h("button", {}, "Grep"));
  return h("div", {}, form, found);
}

const MATCH = /^(.+?):(\d+):(.*)$/;

function matches(at, told, call) {
  const rows = told.text.split("\n").map((line) => {
    const match = MATCH.exec(line);
    return match ? h("li", {}, opener(at, match[1], Number(match[2])), h("span", { class: "small" }, `:${match[2]} `), words(match[3], { class: "mono" })) : h("li", {}, words(line));
  });
  return h("div", {}, h("p", { role: "status" }, `${plural(told.lines, "line")} in W after call ${call}`), h("ul", { class: "paths" }, rows));
}
