// One question through one system: what came of it, how it grew, and every turn.

import { charts } from "./charts.js";
import { eventsOf, get, whileShown } from "./data.js";
import { openDocument } from "./documents.js";
import { bring, h, input, problem, replace, select, shown, words } from "./dom.js";
import { count, decimal, duration, money, outcome, percent, plural, stopWords } from "./format.js";
import { noteNode, turnNode, turnsOf, wordsOf, wordsOfCall } from "./turns.js";
import { workspaceNode } from "./workspace.js";

const POLL = 1000;
const OPENED = 10; // calls that a search unfolds

// `at`: {run, key, tab, call}; `address(tab, call)` is where a tab of this trajectory is.
export function trajectory(at, address) {
  const node = h("article", { class: "trajectory" }, h("p", { role: "status" }, "Loading …"));
  load(at, address, node).catch((error) => replace(node, problem(error)));
  return node;
}

async function load(at, address, node) {
  const [listed, told] = await Promise.all([get("questions", { run: at.run }), eventsOf(at.run, at.key)]);
  const view = {
    at, address, node, info: listed.run, row: listed.rows.find((row) => row.key === at.key), events: told.events, next: told.next, live: told.live,
    told: turnsOf(told.events), gold: [], removals: new Map(), goldByCall: new Map(), marks: [], term: "", tool: "", only: "", opened: new Set(),
    nodes: new Map(), follow: false,
  };
  view.isOpen = (call) => view.opened.has(call);
  view.toggled = (call, open) => (open ? view.opened.add(call) : view.opened.delete(call));
  build(view);
  await mark(view).catch((error) => node.prepend(problem(error)));
  if (view.at.tab === "turns" && at.call) goToCall(view, at.call);
  if (view.live || (view.info.live && !view.events.length)) await whileShown(node, POLL, () => look(view));
}

async function mark(view) {
  if (!view.events.length) return;
  const told = await get("marks", { question: view.at.key, run: view.at.run });
  const now = JSON.stringify(told);
  if (now === view.marked) return;
  view.marked = now;
  view.gold = told.gold;
  view.removals = grouped(told.removals);
  view.goldByCall = goldByCall(told.gold);
  const paths = told.gold.map((document) => ({ words: document.path, class: "gold", title: "a gold document" }));
  const lines = told.gold.flatMap((document) => document.lines.map((line) => ({ words: line, class: "evidence", title: "evidence" })));
  view.goldMarks = [...lines, ...paths];
  view.nodes.clear();
  show(view);
}

function grouped(removals) {
  const found = new Map();
  for (const removal of removals) found.set(removal.call, [...(found.get(removal.call) ?? []), removal]);
  return found;
}

function goldByCall(gold) {
  const found = new Map();
  const put = (call, kind, text, title) => call && found.set(call, [...(found.get(call) ?? []), { class: kind, text, title }]);
  for (const document of gold) {
    const both = document.surfaced === document.localised;
    put(document.surfaced, "gold", both ? "gold: first seen and localised" : "gold: first seen", document.path);
    if (!both) put(document.localised, "gold", "gold: first localised", document.path);
    for (const call of document.evidence_calls) put(call, "evidence", "evidence", document.path);
  }
  return found;
}

// The parts of the page that change while a run goes on, in their order.
function build(view) {
  const { node, at } = view;
  view.parts = Object.fromEntries(["head", "answer", "gold", "growth"].map((name) => [name, h("section", { class: name })]));
  view.list = h("ol", { class: "timeline" });
  view.end = h("div", {});
  view.said = h("p", { class: "small", role: "status" });
  const tab = (name, words) => h("a", { href: view.address(name), "aria-current": at.tab === name ? "page" : null }, words);
  const tabs = h("nav", { class: "tabs", "aria-label": "Parts of the trajectory" }, tab("turns", "Turns"), tab("workspace", "Workspace"));
  if (at.tab === "workspace") {
    view.workspace = h("section", { class: "workspace" });
    replace(node, view.parts.head, tabs, view.workspace);
  } else {
    replace(node, view.parts.head, tabs, view.parts.growth, h("div", { class: "came-of-it" }, view.parts.answer, view.parts.gold), toolbar(view), view.said, view.list, view.end);
  }
  show(view);
}

function show(view) {
  replace(view.parts.head, head(view));
  if (view.at.tab === "workspace") return showWorkspace(view);
  replace(view.parts.answer, answer(view));
  replace(view.parts.gold, goldTable(view));
  replace(view.parts.growth, view.told.turns.length > 0 && charts(view.told.turns, lines(view), (turn) => goTo(view, turn)));
  view.marks = [...(view.goldMarks ?? []), ...(view.term ? [{ words: view.term, class: "hit" }] : [])];
  showTurns(view);
}

function showWorkspace(view) {
  const built = `${view.told.calls.length} ${view.gold.length}`;
  if (view.built === built) return; // it keeps what a reader has chosen
  view.built = built;
  const chosen = (call) => {
    view.at.call = call;
    history.replaceState(null, "", view.address("workspace", call));
  };
  replace(view.workspace, workspaceNode({ ...view.at, info: view.info, told: view.told, gold: view.gold, chosen, address: view.address }));
}

function lines(view) {
  const turnOf = (call) => view.told.calls[call - 1]?.turn;
  const gold = view.gold.flatMap((document) => [document.surfaced, document.localised]).filter(Boolean).map((call) => ({ turn: turnOf(call), class: "gold" }));
  const cuts = view.told.turns.filter((turn) => turn.notes.some((note) => note.type === "context" || note.type === "summary"));
  return [...gold, ...cuts.map((turn) => ({ turn: turn.number, class: "cut" }))].filter((line) => line.turn);
}

function head(view) {
  const { row, told, info } = view;
  const spent = view.events.findLast((event) => event.spent)?.spent ?? {};
  const what = outcome(row && { ...row, state: told.stop ? "ended" : view.live ? "running" : row.state });
  const fact = (name, value) => value !== "–" && h("div", {}, h("dt", {}, name), h("dd", {}, value));
  const files = told.turns.at(-1)?.files;
  return [
    h("h1", { dir: "auto" }, shown(told.start?.question ?? row?.question ?? view.at.key)),
    h("p", {}, h("span", { class: `outcome ${what.replaceAll(" ", "-")}` }, what),
      told.stop && ` stopped: ${stopWords(told.stop.reason)}`, told.stop?.detail ? [" (", words(told.stop.detail), ")"] : null,
      h("span", { class: "small" }, " · ", words(info.name), " · ", words(info.system), " · ", words(info.model))),
    row?.broken ? problem(row.broken) : null,
    h("dl", { class: "figures" },
      fact("model calls", count(spent.model_calls)), fact("tool calls", count(told.calls.length)), fact("time", duration(view.events.at(-1)?.seconds)),
      spent.input_tokens > 0 && fact("tokens in", count(spent.input_tokens)), spent.input_tokens > 0 && fact("… cached", count(spent.cached_tokens)),
      spent.output_tokens > 0 && fact("tokens out", count(spent.output_tokens)), spent.reasoning_tokens > 0 && fact("… reasoning", count(spent.reasoning_tokens)),
      fact("cost", spent.dollars === null ? "not known" : money(spent.dollars)), files > 0 && fact("files in W", count(files)),
      fact("coverage", percent(row?.coverage_mean)), fact("localization", decimal(row?.localization))),
  ];
}

function answer(view) {
  const told = view.told.answer?.answer;
  const expected = view.row?.reference?.length > 0 && h("p", {}, h("b", {}, "Right answer: "), words(view.row.reference.join(" or ")));
  if (!told) return expected ? [h("h2", {}, "Answer"), h("p", {}, "There is none."), expected] : null;
  const exact = told.exact_answer && h("p", {}, h("b", {}, "Answer: "), words(told.exact_answer),
    told.confidence !== null && h("span", { class: "small" }, ` (confidence ${decimal(told.confidence)}%)`));
  return [
    h("h2", {}, told.ranking.length ? "Ranking" : "Answer"), exact || null, expected || null,
    told.explanation && h("p", { class: "explanation", dir: "auto", tabindex: "0" }, ...withCitations(view, told)),
    told.citations.length > 0 && h("details", { class: "cited-list" }, h("summary", {}, plural(told.citations.length, "citation")), cited(view, told.citations)),
    told.ranking.length > 0 && cited(view, told.ranking),
  ];
}

function cited(view, citations) {
  return h("ol", { class: "citations", tabindex: "0" }, citations.map((citation) => h("li", {}, citation.docid ? citationButton(view, citation, citationWords(citation)) : words(citationWords(citation)),
    citation.original_first ? h("span", { class: "small" }, ` (lines ${citation.original_first}–${citation.original_last} of the original)`) : null,
    citation.problem && h("span", { class: "warn" }, " ", words(citation.problem)))));
}

function citationWords({ path, first, last }) {
  return first === null ? path : last === null || last === first ? `${path}:${first}` : `${path}:${first}-${last}`;
}

function citationButton(view, citation, text) {
  const gold = view.gold.find((document) => document.path === citation.path);
  const open = () => openDocument({ run: view.at.run, name: citation.path, first: citation.first, last: citation.last }, gold?.evidence ?? []);
  return h("button", { class: `link${gold ? " gold" : ""}`, "data-item": "", onclick: open }, words(text));
}

// The explanation with each bracket that cites something as what opens it.
function withCitations(view, told) {
  return told.explanation.split(/(\[[^[\]\n]+\])/).map((piece) => {
    const inside = piece.startsWith("[") ? piece.slice(1, -1) : "";
    const good = told.citations.filter((citation) => citation.docid);
    const citation = good.find((c) => citationWords(c) === inside) ?? good.find((c) => inside.includes(c.path) && (c.first === null || inside.includes(String(c.first))));
    return citation ? citationButton(view, citation, piece) : shown(piece);
  });
}

function goldTable(view) {
  if (!view.gold.length) return null;
  const call = (number) => (number ? h("button", { class: "link", onclick: () => goToCall(view, number) }, `#${number}`) : "–");
  const rows = view.gold.map((document) => {
    const [first] = document.evidence;
    const open = () => openDocument({ run: view.at.run, name: document.path, form: first ? "original" : "", first: first?.[0], last: first?.[1] }, document.evidence);
    return h("tr", {}, h("th", { scope: "row" }, h("button", { class: "link gold", "data-item": "", onclick: open }, words(document.path))),
      h("td", { class: "word" }, document.answers ? "answer" : "on the way"), h("td", {}, call(document.surfaced)), h("td", {}, call(document.localised)),
      h("td", {}, document.narrowest ? [call(document.narrowest[0]), ` ${count(document.narrowest[1])} ch`] : "–"), h("td", {}, call(document.evidence_calls[0])));
  });
  const heads = ["document", "holds", "first seen", "first localised", "narrowest piece", "evidence first shown"];
  return [h("h2", {}, "Gold documents"), h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Gold documents" },
    h("table", {}, h("thead", {}, h("tr", {}, heads.map((head, place) => h("th", { scope: "col", class: place < 2 ? "word" : null }, head)))), h("tbody", {}, rows)))];
}

function toolbar(view) {
  let timer = null;
  const search = (value) => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      view.term = value.trim().toLowerCase();
      view.opened.clear();
      view.nodes.clear();
      if (view.term) view.told.calls.filter((call) => has(wordsOfCall(call), view.term)).slice(0, OPENED).forEach((call) => view.opened.add(call.number));
      show(view);
    }, 150);
  };
  const again = (name) => (value) => {
    view[name] = value;
    showTurns(view);
  };
  const tools = [...new Set(view.told.calls.map((call) => call.event.name))];
  const all = (open) => {
    view.opened = new Set(open ? view.told.calls.map((call) => call.number) : []);
    view.nodes.clear();
    showTurns(view);
  };
  const live = view.live && h("label", { class: "check" }, h("input", { type: "checkbox", onchange: (event) => { view.follow = event.target.checked; } }), "follow");
  return h("div", { class: "bar", role: "search", "aria-label": "Turns" }, input("Search turns", { type: "search", maxlength: "200", "data-search": "" }, search),
    select("Tool", [["", "all"], ...tools.map((name) => [name, shown(name)])], "", again("tool")),
    select("Only", [["", "all turns"], ["gold", "where gold is seen"], ["cut", "with results removed"], ["error", "with errors"]], "", again("only")),
    h("button", { onclick: () => all(true) }, "unfold all"), h("button", { onclick: () => all(false) }, "fold all"), live || null);
}

const has = (texts, term) => {
  for (const text of texts) if (text.toLowerCase().includes(term)) return true;
  return false;
};

function wanted(view, turn) {
  if (view.tool && !turn.calls.some((call) => call.event.name === view.tool)) return false;
  if (view.only === "gold" && !turn.calls.some((call) => view.goldByCall.has(call.number))) return false;
  if (view.only === "cut" && !turn.calls.some((call) => view.removals.has(call.number))) return false;
  if (view.only === "error" && !turn.calls.some((call) => call.event.error)) return false;
  return !view.term || has(wordsOf(turn), view.term);
}

function showTurns(view) {
  const turns = view.told.turns.filter((turn) => wanted(view, turn));
  const nodes = turns.map((turn) => {
    const known = view.nodes.get(turn.number);
    if (known?.calls === turn.calls.length) return known.node;
    const node = turnNode(turn, view);
    view.nodes.set(turn.number, { node, calls: turn.calls.length });
    return node;
  });
  if (nodes.length !== view.list.childElementCount || nodes.some((node, place) => view.list.children[place] !== node)) replace(view.list, nodes);
  view.said.textContent = turns.length < view.told.turns.length ? `${count(turns.length)} of ${plural(view.told.turns.length, "turn")}` : plural(turns.length, "turn");
  replace(view.end, view.told.notes.map(noteNode), !view.told.turns.length && h("p", {}, "Nothing has happened yet."));
}

function goTo(view, number) {
  const heading = view.list.querySelector(`[data-turn="${number}"] > h3`);
  if (!heading) return;
  bring(heading, "start");
  heading.focus({ preventScroll: true });
}

function goToCall(view, number) {
  const node = view.list.querySelector(`[data-call="${number}"]`);
  if (!node) return;
  node.open = true;
  bring(node, "start");
  node.querySelector("summary").focus({ preventScroll: true });
}

// What happens meanwhile, until the trajectory ends or the reader leaves; false when it has ended.
async function look(view) {
  const told = await eventsOf(view.at.run, view.at.key, view.next);
  [view.live, view.next] = [told.live, told.next];
  if (!told.events.length && (told.live || !view.events.length)) return true; // nothing yet
  view.events.push(...told.events);
  view.told = turnsOf(view.events);
  const listed = await get("questions", { run: view.at.run });
  view.row = listed.rows.find((row) => row.key === view.at.key);
  show(view);
  if (view.gold.length || !view.live || view.events.some((event) => event.type === "context")) await mark(view);
  if (view.follow && view.list.lastElementChild) bring(view.list.lastElementChild, "end");
  return view.live;
}
