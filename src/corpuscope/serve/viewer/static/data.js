// Answers by what is asked: from the server that this page came from, or laid down in the page itself.

import { problem } from "./dom.js";

const answers = document.getElementById("answers");
const laid = answers ? new Map(JSON.parse(atob(answers.textContent)).map((asked, place) => [asked, place])) : null;

export const isExport = laid !== null;

function address(name, asked) {
  const pairs = Object.keys(asked).sort().map((key) => `${key}=${encodeURIComponent(asked[key])}`);
  return `${name}?${pairs.join("&")}`;
}

async function laidDown(path) {
  if (!laid.has(path)) throw new Error("this is not in the exported file: corpuscope view shows it");
  const text = atob(document.getElementById(`answer-${laid.get(path)}`).textContent);
  const bytes = Uint8Array.from(text, (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

async function fetched(path) {
  const response = await fetch(`/api/${path}`).catch(() => {
    throw new Error("the viewer has stopped: start corpuscope view again");
  });
  if (response.ok) return response;
  const text = await response.text();
  let told = text;
  try {
    told = JSON.parse(text).error;
  } catch {
    // said in plain words
  }
  throw new Error(told || `the viewer failed (${response.status})`);
}

export async function get(name, asked = {}) {
  const path = address(name, asked);
  return isExport ? JSON.parse(await laidDown(path)) : (await fetched(path)).json();
}

// {events, next, live}: those from the byte `from` on; `next` is where the following will begin.
export async function eventsOf(run, question, from = 0) {
  if (isExport) {
    const path = address("events", { question, run });
    return { events: laid.has(path) ? parsed(await laidDown(path)) : [], next: 0, live: false };
  }
  const response = await fetched(address("events", { from, question, run }));
  const text = await response.text();
  return { events: parsed(text), next: Number(response.headers.get("X-Next")), live: response.headers.get("X-Live") === "1" };
}

const parsed = (text) => text.split("\n").filter(Boolean).map(event);

function event(line) {
  try {
    return JSON.parse(line);
  } catch {
    return { type: "unreadable", seconds: 0 };
  }
}

// Do something now and then while a part of the page is there, until it says false. What fails is said above that part, once.
export async function whileShown(node, pause, once) {
  while (node.isConnected) {
    await new Promise((done) => setTimeout(done, pause));
    if (!node.isConnected) return;
    try {
      if ((await once()) === false) return;
    } catch (error) {
      node.prepend(problem(error));
      return;
    }
  }
}
