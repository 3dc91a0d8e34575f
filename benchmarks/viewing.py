"""How soon the viewer shows a large run: 1,000 questions, one of them a trajectory of 300 turns and 50 MB.

python -m benchmarks --only viewing

It needs `chromium`. Opening is held against the two seconds that were promised, scrolling against the same page of a small run.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from corpuscope.agent import EventLog
from corpuscope.bench import load_dataset, open_run
from corpuscope.corpus import Corpus
from corpuscope.systems import load_system

from .measure import Row

QUESTIONS, TURNS, OBSERVATION = 1_000, 300, 180_000
FEW = 10
PROMISED = 2_000
"""Milliseconds."""

SCROLL = """async () => {
  const took = []; let last = performance.now(); const height = document.documentElement.scrollHeight;
  for (let i = 0; i < 120; i++) {
    scrollTo(0, height * i / 120); await new Promise(requestAnimationFrame);
    took.push(performance.now() - last); last = performance.now();
  }
  return took.sort((a, b) => a - b)[113];
}"""


def measure(work: Path, rounds: int) -> list[Row]:
    """The median of `rounds`; nothing without a browser."""
    if not shutil.which("chromium"):
        print("viewing: left out, there is no chromium on this machine", file=sys.stderr)
        return []
    work.mkdir(parents=True, exist_ok=True)
    with _served(_made(work / "large", QUESTIONS, TURNS)) as url:
        large = _opened(url, rounds)
    with _served(_made(work / "small", FEW, FEW)) as url:
        small = _opened(url, rounds)
    rows = [
        Row(f"view: {what} of a large run, until it is there", f"{large[what]:,.0f} ms", f"{PROMISED:,} ms", large[what] / PROMISED, 1.0)
        for what in ("questions", "a trajectory")
    ]  # fmt: skip
    frame = "a frame while scrolling (95%)"
    return [*rows, Row(f"view: {frame}", f"{large[frame]:.1f} ms", f"{small[frame]:.1f} ms", large[frame] / small[frame])]  # fmt: skip


def _made(folder: Path, questions: int, turns: int) -> Path:
    """A run of `questions`, the first with `turns` turns of long observations."""
    run_folder = folder / "run"
    if (folder / "made").exists():
        return run_folder
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "docs").mkdir(parents=True)
    rows = []
    for n in range(questions):
        (folder / f"docs/d{n:04}.md").write_text(f"# Number {n}\n\nThe colour of thing {n} is shade{n}.\n")
        rows.append({"query_id": f"q{n}", "query": f"What is the colour of thing {n}?", "answer": f"shade{n}",
                     "gold_doc_ids": [f"d{n:04}.md"], "evidence": [f"d{n:04}.md:3"]})  # fmt: skip
    (folder / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    corpus, _ = Corpus.build(folder / "docs", folder / "docs.corpus")
    dataset = load_dataset(str(folder / "questions.jsonl"))
    run = open_run(run_folder, dataset, corpus, load_system("rise-bm25"), "written", "http://127.0.0.1:1/v1")
    for n, question in enumerate(dataset.questions):
        log = EventLog(run.events(question.query_id))
        for event in _trajectory(question.query, turns if n == 0 else 5, OBSERVATION if n == 0 else 4_000, f"shade{n}"):
            log.append(event)
        log.close()
    corpus.close()
    (folder / "made").touch()
    return run_folder


def _trajectory(question: str, turns: int, characters: int, answer: str) -> Iterator[dict[str, Any]]:
    spent = {"model_calls": turns, "input_tokens": 1000 * turns, "output_tokens": 50 * turns, "dollars": 0.01 * turns}
    text = "d0001.md:3:The colour of thing 1 is shade1.\n" * (characters // 44)
    yield {"type": "start", "seconds": 0.0, "question": question, "time": 0.0, "workspace": 0}
    for n in range(turns):
        call = {"command": f"rg -n 'thing {n}'"}
        part = {"part_kind": "tool-call", "tool_name": "bash", "args": call, "tool_call_id": f"c{n}"}
        message = {"parts": [part], "usage": {}, "model_name": "written", "timestamp": "2026-01-01T00:00:00Z", "kind": "response"}  # fmt: skip
        yield {"type": "response", "seconds": float(n), "message": message, "spent": spent | {"model_calls": n + 1}}
        yield {"type": "tool", "seconds": float(n), "id": f"c{n}", "name": "bash", "arguments": call, "text": text, "data": call,
               "error": False, "malformed": False, "took": 0.1}  # fmt: skip
    told: dict[str, Any] = {
        "explanation": "",
        "exact_answer": answer,
        "confidence": None,
        "citations": [],
        "ranking": [],
    }
    yield {"type": "answer", "seconds": float(turns), "text": answer, "answer": told}
    yield {"type": "stop", "seconds": float(turns), "reason": "answered", "detail": "", "spent": spent}


@contextmanager
def _served(folder: Path) -> Iterator[str]:
    program = Path(sys.executable).parent / "corpuscope"
    command = [str(program), "view", str(folder), "--http", "127.0.0.1:0", "--no-browser"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr
    try:
        yield process.stderr.readline().split()[0]
    finally:
        process.terminate()
        process.wait()


def _opened(url: str, rounds: int) -> dict[str, float]:
    from playwright.sync_api import sync_playwright

    def median(once: Callable[[], float]) -> float:
        return sorted(once() for _ in range(rounds))[rounds // 2]

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        )  # fmt: skip
        page = browser.new_page(viewport={"width": 1280, "height": 900})

        def until(address: str, selector: str) -> float:
            page.goto("about:blank")
            started = time.perf_counter()
            page.goto(url + address)
            page.wait_for_selector(selector)
            return (time.perf_counter() - started) * 1e3

        found = {
            "questions": median(lambda: until("#/0", "tbody tr")),
            "a trajectory": median(lambda: until("#/0/q0", ".turn")),
        }
        page.wait_for_selector(".gold table")
        found["a frame while scrolling (95%)"] = median(lambda: float(page.evaluate(SCROLL)))
        browser.close()
    return found
