// Which page is shown, by the address behind the `#`: `/`, `/RUN[,RUN...]`, `/RUN[,RUN...]/QUESTION[/turns|workspace[/CALL]]`.

import { get, isExport } from "./data.js";
import { h, problem, replace, words } from "./dom.js";
import { help, listen } from "./keys.js";
import { questions } from "./questions.js";
import { runs } from "./runs.js";
import { trajectory } from "./trajectory.js";

const main = h("main", { tabindex: "-1" });
const crumbs = h("nav", { "aria-label": "Where you are" });
const theme = h("button", { onclick: () => toggleTheme(), "aria-label": "Dark or light" }, "◐");
const question = h("button", { onclick: help, "aria-label": "Keys" }, "?");

const runsAddress = (chosen) => `#/${chosen.join(",")}`;
const questionAddress = (chosen, key, tab, call) =>
  [runsAddress(chosen), encodeURIComponent(key), ...(tab === "workspace" || call !== undefined ? [tab] : []), ...(call === undefined ? [] : [call])].join("/");

function place() {
  const [chosen = "", key = "", tab = "turns", call] = location.hash.replace(/^#\/?/, "").split("/");
  const numbers = chosen.split(",").filter((part) => /^\d+$/.test(part)).map(Number);
  return { runs: numbers, key: decoded(key), tab: tab === "workspace" ? tab : "turns", call: /^\d+$/.test(call) ? Number(call) : undefined };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

async function route() {
  const { hash } = location;
  const told = await get("runs").catch((error) => replace(main, problem(error)) && null);
  if (!told || hash !== location.hash) return; // who went on meanwhile is shown what is there
  const at = place();
  const names = at.runs.map((run) => told.runs[run]?.name ?? "?");
  replace(crumbs, h("ol", {}, h("li", {}, h("a", { href: "#/" }, "Runs")),
    at.runs.length > 0 && h("li", {}, h("a", { href: runsAddress(at.runs) }, words(names.join(" · ")))), at.key && h("li", {}, words(at.key))));
  document.title = [at.key, names.join(" · "), "corpuscope"].filter(Boolean).join(" – ");
  replace(main, page(at, told.runs.length));
  scrollTo(0, 0);
}

function page(at, count) {
  if (at.runs.some((run) => run >= count)) return problem("there is no such run");
  if (!at.runs.length) return runs(runsAddress);
  if (!at.key) return questions(at.runs, (key) => questionAddress(at.runs, key));
  const address = (tab, call) => questionAddress(at.runs, at.key, tab, call);
  const each = at.runs.map((run) => trajectory({ run, key: at.key, tab: at.tab, call: at.call }, address));
  return each.length === 1 ? each[0] : h("div", { class: "side-by-side" }, each);
}

// With a single run there is nothing to choose, and with a single question of it neither.
async function start() {
  if (!location.hash) {
    const { runs } = await get("runs").catch(() => ({ runs: [] }));
    if (runs.length === 1) {
      const { rows } = await get("questions", { run: 0 });
      history.replaceState(null, "", rows.length === 1 ? questionAddress([0], rows[0].key) : runsAddress([0]));
    }
  }
  await route();
}

let steps = Promise.resolve();

// One after the other: each begins where the one before has led.
function step(by) {
  steps = steps.then(() => stepTo(by)).catch(() => {});
}

async function stepTo(by) {
  const at = place();
  if (!at.key) return;
  const links = (await get("questions", { run: at.runs[0] })).rows.map((row) => row.key);
  const next = links[links.indexOf(at.key) + by];
  if (next !== undefined) location.hash = questionAddress(at.runs, next, at.tab);
}

function up() {
  const at = place();
  if (at.tab === "workspace") location.hash = questionAddress(at.runs, at.key);
  else location.hash = at.key ? runsAddress(at.runs) : "#/";
}

function tabTo(tab) {
  const at = place();
  if (at.key) location.hash = questionAddress(at.runs, at.key, tab);
}

const isDark = () => (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

function toggleTheme() {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
}

document.getElementById("page").append(
  h("header", { class: "top" }, h("a", { class: "skip", href: "#", onclick: (event) => { event.preventDefault(); main.focus(); } }, "To the content"),
    h("b", {}, "corpuscope"), crumbs, isExport && h("span", { class: "small" }, "exported"), h("span", { class: "tools" }, theme, question)),
  main,
);
listen({ "[": () => step(-1), "]": () => step(1), u: up, t: () => tabTo("turns"), w: () => tabTo("workspace"), d: toggleTheme });
addEventListener("hashchange", route);
start();
