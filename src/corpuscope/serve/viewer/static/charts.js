// How the context of each request and the files of W grow, turn by turn. A click goes to the turn.

import { h } from "./dom.js";
import { count } from "./format.js";

const HEIGHT = 150;

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// `turns` of `turnsOf`; `events` are {turn, class: "gold" | "cut"}, drawn as lines across.
export function charts(turns, events, goTo) {
  const inTokens = turns.some((turn) => turn.tokens > 0);
  const context = {
    title: inTokens ? "Tokens of each request" : "Characters of each request",
    series: [
      { label: inTokens ? "tokens" : "characters", colour: "--context", values: turns.map((t) => (inTokens ? t.tokens : t.characters)) },
      { label: inTokens ? "from the cache" : "same as before", colour: "--cached", values: turns.map((t) => (inTokens ? t.cached : t.same)) },
    ],
  };
  const files = { title: "Files in W", series: [{ label: "files", colour: "--files", values: turns.map((t) => t.files), steps: true }] };
  const both = [context, files].filter((chart) => chart.series[0].values.some((value) => value > 0));
  return h("div", { class: "charts" }, both.map((chart) => figure(chart, turns, events, goTo)));
}

function figure(chart, turns, events, goTo) {
  const holder = h("div", { class: "plot" });
  const tops = chart.series.map((series) => Math.max(...series.values.map((value) => value ?? 0)));
  const last = chart.series[0].values.at(-1);
  const told = `${chart.title}, turn by turn: at most ${count(tops[0])}, at last ${count(last)}`;
  const legend = chart.series.map((series) => h("span", { class: `key ${series.colour.slice(2)}` }, series.label));
  for (const [kind, what] of [["gold", "gold seen"], ["cut", "context cut"]]) {
    if (events.some((event) => event.class === kind)) legend.push(h("span", { class: `key line-${kind}` }, what));
  }
  const node = h(
    "figure",
    { class: "chart" },
    h("figcaption", {}, chart.title, h("span", { class: "small" }, ` at most ${count(tops[0])}`), legend),
    h("div", { role: "img", "aria-label": told }, holder),
  );
  let plot = null;
  const draw = () => {
    plot?.destroy();
    plot = holder.clientWidth ? plotted(chart, turns, events, goTo, holder) : null; // no width: it has left the page
  };
  new ResizeObserver(() => (plot && holder.clientWidth ? plot.setSize({ width: holder.clientWidth, height: HEIGHT }) : draw())).observe(holder);
  drawing.set(holder, draw);
  return node;
}

// Charts have their colours from the page, and are drawn again when these change.
const drawing = new WeakMap();
const drawAll = () => document.querySelectorAll(".plot").forEach((holder) => drawing.get(holder)());
new MutationObserver(drawAll).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);

function plotted(chart, turns, events, goTo, holder) {
  const axis = { stroke: colour("--text"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 } };
  const options = {
    width: holder.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, points: { size: 7 } },
    scales: { x: { time: false, range: [0.5, turns.length + 0.5] }, y: { range: (_, low, high) => [0, (high || 1) * 1.08] } },
    axes: [
      { ...axis, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000], size: 28 },
      { ...axis, size: 56, values: (_, ticks) => ticks.map(short) },
    ],
    series: [
      {},
      ...chart.series.map((series, place) => ({
        label: series.label,
        stroke: colour(series.colour),
        fill: `${colour(series.colour)}${place ? "55" : "22"}`,
        width: 2,
        paths: series.steps ? uPlot.paths.stepped({ align: 1 }) : undefined,
        points: { show: turns.length < 40, size: 5 },
      })),
    ],
    hooks: {
      draw: [(plot) => lines(plot, events)],
      ready: [(plot) => plot.over.addEventListener("click", () => plot.cursor.idx !== null && goTo(turns[plot.cursor.idx].number))],
    },
  };
  return new uPlot(options, [turns.map((t) => t.number), ...chart.series.map((s) => s.values)], holder);
}

function lines(plot, events) {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.lineWidth = devicePixelRatio;
  for (const event of events) {
    const x = Math.round(plot.valToPos(event.turn, "x", true)) + 0.5;
    ctx.strokeStyle = colour(event.class === "gold" ? "--gold" : "--cut");
    ctx.setLineDash(event.class === "gold" ? [] : [4 * devicePixelRatio, 3 * devicePixelRatio]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}

function short(value) {
  if (value >= 1e6) return `${Number((value / 1e6).toPrecision(3))}M`;
  return value >= 1e4 ? `${Number((value / 1e3).toPrecision(3))}k` : value.toLocaleString("en");
}
