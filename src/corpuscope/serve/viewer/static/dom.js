// Nodes. Text is only ever text: nothing in this page parses markup, so nothing that a document or a model wrote can run.

export function h(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...present(children));
  return node;
}

const present = (children) => children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false && child !== true);

export function replace(node, ...children) {
  node.replaceChildren(...present(children));
  return node;
}

// Words of a document or a model within a line: their direction ends with them.
export function words(text, attributes = {}) {
  return h("bdi", attributes, shown(text));
}

// What would act on a screen becomes something to see: control characters, escape sequences, marks that reorder text.
const ACTING = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

export function shown(text) {
  return String(text).replace(ACTING, (c) => {
    const code = c.charCodeAt(0).toString(16);
    return code.length < 3 ? `\\x${code.padStart(2, "0")}` : `[U+${code.toUpperCase()}]`;
  });
}

// `text` with some of its pieces marked: `marks` are {words, class, title}.
export function marked(text, marks) {
  const whole = shown(text);
  const kinds = new Map(marks.filter((mark) => mark.words).map((mark) => [shown(mark.words).toLowerCase(), mark]));
  if (!kinds.size || !whole) return [whole];
  const longestFirst = [...kinds.keys()].sort((a, b) => b.length - a.length);
  const found = new RegExp(longestFirst.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|"), "gi");
  const parts = [];
  let done = 0;
  for (const match of whole.matchAll(found)) {
    const mark = kinds.get(match[0].toLowerCase());
    if (!mark) continue;
    parts.push(whole.slice(done, match.index), h("mark", { class: mark.class, title: mark.title }, match[0]));
    done = match.index + match[0].length;
  }
  parts.push(whole.slice(done));
  return parts;
}

// A part of the page that shows what it waits for, then what came of it, or why nothing did.
export function waiting(promise, build) {
  const node = h("div", { class: "waiting", role: "status" }, "Loading …");
  promise.then(
    (value) => node.replaceWith(build(value)),
    (error) => node.replaceWith(problem(error)),
  );
  return node;
}

// Scroll to a part of the page, and once more when what is now in sight has got its real size.
export function bring(node, block) {
  let frames = 4;
  const again = () => {
    node.scrollIntoView({ block });
    if (frames-- > 0 && node.isConnected) requestAnimationFrame(again);
  };
  again();
}

export function problem(error) {
  return h("p", { class: "warn", role: "alert" }, words(error.message || error));
}

export function select(label, options, value, choose) {
  const node = h(
    "select",
    { "aria-label": label, onchange: () => choose(node.value) },
    options.map(([key, name]) => h("option", { value: key, selected: key === value }, name)),
  );
  return h("label", { class: "field" }, h("span", {}, label), node);
}

export function input(label, attributes, change) {
  const node = h("input", { "aria-label": label, ...attributes, oninput: () => change(node.value) });
  return h("label", { class: "field" }, h("span", {}, label), node);
}
