// A table that is sorted by a click on a heading. The order stays when the rows change.

import { h, replace } from "./dom.js";

const orders = new Map();

// `columns`: {name, head, title, value(row) to sort by, cell(row), word (text, not a figure), first (heads its row)}.
export function sortable(id, caption, columns, rows) {
  const order = orders.get(id) ?? { name: null, down: false };
  orders.set(id, order);
  const body = h("tbody");
  const heads = columns.map((column) =>
    h("th", { scope: "col", class: column.word ? "word" : null, title: column.title }, column.value ? sorter(column) : column.head),
  );

  function sorter(column) {
    return h("button", { class: "sort", onclick: () => choose(column) }, column.head, h("span", { "aria-hidden": "true" }));
  }

  function choose(column) {
    const first = !column.word; // figures: the largest first
    order.down = order.name === column.name ? !order.down : first;
    order.name = column.name;
    show(rows);
  }

  function show(now) {
    rows = now;
    const chosen = columns.find((column) => column.name === order.name);
    const focused = document.activeElement?.closest?.("tr")?.dataset.key;
    const hadFocus = body.contains(document.activeElement);
    replace(body, sorted(rows, chosen).map((row) => rowOf(row)));
    if (hadFocus) [...body.rows].find((tr) => tr.dataset.key === focused)?.querySelector("a, input")?.focus();
    columns.forEach((column, place) => {
      const is = column === chosen;
      if (is) heads[place].setAttribute("aria-sort", order.down ? "descending" : "ascending");
      else heads[place].removeAttribute("aria-sort");
    });
  }

  function sorted(all, column) {
    if (!column) return all;
    const known = (row) => column.value(row) ?? null;
    return [...all].sort((a, b) => {
      const [x, y] = [known(a), known(b)];
      if (x === null || y === null) return (x === null) - (y === null);
      const by = typeof x === "string" ? x.localeCompare(y, "en", { numeric: true }) : x - y;
      return order.down ? -by : by;
    });
  }

  function rowOf(row) {
    const cells = columns.map((column) =>
      h(column.first ? "th" : "td", { scope: column.first ? "row" : null, class: column.word ? "word" : null }, column.cell(row)),
    );
    return h("tr", { "data-key": row.key ?? "", class: row.chosen ? "chosen" : null }, cells);
  }

  const table = h("table", {}, h("caption", { class: "hidden" }, caption), h("thead", {}, h("tr", {}, heads)), body);
  show(rows);
  return { node: h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": caption }, table), show };
}
