// Everything can be reached from the keyboard.

import { h } from "./dom.js";

const KEYS = [
  ["j  k", "next, previous row or turn"], ["Enter", "open, unfold"], ["/", "search"], ["e", "unfold or fold all calls"], ["[  ]", "previous, next question"],
  ["t  w", "turns, workspace"], ["u", "one level up"], ["d", "dark, light"], ["?", "this list"], ["Esc", "close"],
];

// `actions`: key -> what it does.
export function listen(actions) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const writing = event.target.closest?.("input:not([type=checkbox]):not([type=range]), select, textarea");
    if (writing) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (event.key === "Escape" || (document.querySelector("dialog[open]") && event.key !== "d")) return;
    const action = { j: () => move(1), k: () => move(-1), "/": search, "?": help, e: unfold, ...actions }[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
}

function move(step) {
  const items = [...document.querySelectorAll("main [data-item], main details.call > summary")].filter((item) => item.offsetParent !== null);
  if (!items.length) return;
  const now = items.indexOf(document.activeElement);
  const next = now < 0 ? nearest(items) : Math.min(items.length - 1, Math.max(0, now + step));
  items[next].focus();
  items[next].scrollIntoView({ block: "nearest" });
}

function nearest(items) {
  const place = items.findIndex((item) => item.getBoundingClientRect().top >= 0);
  return place < 0 ? items.length - 1 : place;
}

function search() {
  const field = document.querySelector("main [data-search]");
  field?.focus();
  field?.select();
}

function unfold() {
  const buttons = [...document.querySelectorAll("main .bar button")];
  const closed = document.querySelector("main details.call:not([open])");
  buttons.find((button) => button.textContent === (closed ? "unfold all" : "fold all"))?.click();
}

export function help() {
  const dialog = h("dialog", { class: "help", "aria-label": "Keys" }, h("h2", {}, "Keys"),
    h("dl", {}, KEYS.map(([keys, what]) => [h("dt", {}, keys.split(/\s+/).map((key) => h("kbd", {}, key))), h("dd", {}, what)])),
    h("form", { method: "dialog" }, h("button", {}, "Close")));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
