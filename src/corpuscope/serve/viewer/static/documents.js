// A document in a sheet of its own: its lines around those that are meant, its table of contents, what of it is cited or evidence.

import { get } from "./data.js";
import { h, problem, replace, shown, words } from "./dom.js";
import { count } from "./format.js";

const BLOCK = 500; // lines of one answer, as the server has it

let sheet = null;

// `at`: {run, name (docid or path), first, last, form}; `evidence`: ranges of lines in the original.
export function openDocument(at, evidence = []) {
  sheet?.close();
  const came = document.activeElement;
  const body = h("div", { class: "sheet-body" });
  const title = h("h2", {}, words(at.name));
  const close = h("button", { class: "close", "aria-label": "Close", onclick: () => sheet.close() }, "×");
  const dialog = h("dialog", { class: "sheet", "aria-label": `Document ${shown(at.name)}` }, h("header", {}, title, close), body);
  sheet = dialog;
  dialog.addEventListener("close", () => {
    dialog.remove();
    if (sheet === dialog) sheet = null;
    if (came?.isConnected) came.focus();
  });
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  document.body.append(dialog);
  dialog.showModal();
  const view = { at, evidence, body, title, blocks: new Map(), told: null };
  open(view, at.form ?? "", at.first ?? 1, at.last ?? at.first ?? null, at.first !== undefined && at.first !== null);
}

async function open(view, form, first, last, scroll) {
  replace(view.body, h("p", { role: "status" }, "Loading …"));
  try {
    view.blocks.clear();
    const told = await piece(view, form, Math.floor((first - 1) / BLOCK));
    view.told = told;
    view.cited = last === null ? null : [first, last];
    show(view, scroll ? first : 1);
  } catch (error) {
    replace(view.body, problem(error));
  }
}

async function piece(view, form, block) {
  const told = await get("document", { block, form, name: view.at.name, run: view.at.run });
  view.blocks.set(block, told);
  return told;
}

function show(view, line) {
  const { told } = view;
  replace(view.title, words(told.title && told.title !== told.path ? `${told.title} — ${told.path}` : told.path));
  const forms = told.forms.length > 1 && h("p", { class: "forms" }, told.forms.map((form) =>
    h("button", { "aria-pressed": String(form === told.form), onclick: () => open(view, form, 1, null, false) },
      form === "original" ? "as it came" : "with table of contents")));
  const lines = h("div", { class: "lines", tabindex: "0", role: "region", "aria-label": "Lines" });
  const toc = told.toc.length > 0 && h("nav", { class: "toc", "aria-label": "Table of contents" }, h("h3", {}, "Table of contents"), h("ol", {},
    told.toc.map((entry) => h("li", { class: `depth-${Math.min(entry.depth, 5)}` },
      h("button", { onclick: () => jump(view, lines, entry.first) }, words(entry.title), h("span", { class: "small" }, ` ${entry.first}–${entry.last}`)),
      entry.description && words(entry.description, { class: "small" })))));
  replace(view.body, h("p", { class: "small" }, `${count(told.total)} lines`, view.cited && `, cited: ${range(view.cited)}`,
    view.evidence.length > 0 && `, evidence (in the original): ${view.evidence.map(range).join(", ")}`), forms || null,
    h("div", { class: toc ? "with-toc" : "" }, toc || null, lines));
  fill(view, lines);
  scrollTo(lines, line);
}

const range = ([first, last]) => (first === last ? `${first}` : `${first}–${last}`);

function fill(view, lines) {
  const blocks = [...view.blocks.keys()].sort((a, b) => a - b);
  const [low, high] = [blocks[0], blocks.at(-1)];
  const more = (block, words) => h("button", { class: "more", onclick: () => add(view, lines, block) }, words);
  replace(
    lines,
    low > 0 && more(low - 1, `earlier lines (${(low - 1) * BLOCK + 1}–${low * BLOCK})`),
    blocks.map((block) => h("div", { class: "block" }, rows(view, view.blocks.get(block)))),
    (high + 1) * BLOCK < view.told.total && more(high + 1, `more lines (from ${(high + 1) * BLOCK + 1})`),
  );
}

function rows(view, told) {
  return told.lines.map((text, place) => {
    const number = told.first + place;
    const original = told.originals ? told.originals[place] : number;
    const isCited = view.cited && number >= view.cited[0] && number <= view.cited[1] && told.form === view.told.form;
    const isEvidence = original !== null && view.evidence.some(([first, last]) => original >= first && original <= last);
    const kinds = ["row", isCited && "cited", isEvidence && "evidence", number < told.body && "table"].filter(Boolean).join(" ");
    return h("div", { class: kinds, "data-line": number }, h("span", { class: "number", "aria-hidden": "true" }, number),
      h("span", { class: "text", dir: "auto" }, shown(text)));
  });
}

async function add(view, lines, block) {
  const top = lines.querySelector(".row")?.dataset.line;
  try {
    await piece(view, view.told.form, block);
    fill(view, lines);
    if (block < Math.floor((top - 1) / BLOCK)) scrollTo(lines, Number(top));
  } catch (error) {
    lines.append(problem(error));
  }
}

async function jump(view, lines, line) {
  const block = Math.floor((line - 1) / BLOCK);
  if (!view.blocks.has(block)) {
    try {
      view.blocks.clear();
      await piece(view, view.told.form, block);
      fill(view, lines);
    } catch (error) {
      lines.append(problem(error));
    }
  }
  scrollTo(lines, line);
}

function scrollTo(lines, line) {
  const row = lines.querySelector(`[data-line="${line}"]`);
  if (row) lines.scrollTop = row.offsetTop - lines.offsetTop - 60;
}
