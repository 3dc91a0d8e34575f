"""Runs that are looked at while they go on: turns and outcomes come by themselves, and a killed run stops being live."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from corpuscope.corpus import Corpus

from ...bench.conftest import FILES, Colours
from ...conftest import write_files
from ...e2e.conftest import clean_environment
from ...scripted import ByHistory, Step, call

pytest.importorskip("playwright")
from playwright.sync_api import Browser, expect

from .browsing import CHROMIUM, Reader, chromium
from .test_in_a_browser import PROGRAM, viewed

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine: apt-get install chromium"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.fixture
def colours(tmp_path: Path) -> Path:
    write_files(tmp_path / "docs", FILES)
    Corpus.build(tmp_path / "docs", tmp_path / "docs.corpus")[0].close()
    return tmp_path / "docs.corpus"


def started(there: Callable[[], bool], *arguments: object) -> subprocess.Popen[str]:
    """The program, once it has got so far."""
    import time

    process = subprocess.Popen(
        [PROGRAM, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=clean_environment(),
    )
    deadline = time.monotonic() + 60
    while not there():
        assert process.poll() is None and time.monotonic() < deadline, process.communicate()[0]
        time.sleep(0.05)
    return process


def test_a_trajectory_is_followed(browser: Browser, colours: Path, tmp_path: Path) -> None:
    steps: list[Step] = [
        {"calls": [call("search", {"queries": ["colour thing"]})], "slow": 1.0},
        *({"calls": [call("bash", {"command": f"rg -n 'thing {n} '"})], "slow": 1.5} for n in range(3)),
        {"text": "Explanation: [d02.md:3].\nExact Answer: shade2\nConfidence: 80%", "slow": 1.5},
    ]
    folder = tmp_path / "runs/one"
    with ByHistory(steps) as server:
        asking = started(
            lambda: any(folder.glob("queries/*/events.jsonl")),
            "ask", colours, "Which colour?", "--base-url", server.base_url, "--run", folder,
        )  # fmt: skip
        with viewed(folder) as url:
            reader = Reader(browser, url)
            page = reader.page
            page.goto(url)
            expect(page.locator(".outcome").first).to_have_text("running")
            page.get_by_label("follow").check()
            page.evaluate("window.same = 1")
            expect(page.locator(".turn")).to_have_count(1, timeout=30_000)
            page.locator("details.call > summary").first.click()
            expect(page.locator(".turn")).to_have_count(3, timeout=30_000)
            expect(page.locator("details.call").first).to_have_attribute("open", "")
            expect(page.locator(".outcome").first).to_have_text("answered", timeout=30_000)
            expect(page.locator(".turn")).to_have_count(5)
            expect(page.locator(".answer")).to_contain_text("shade2")
            expect(page.locator(".turn").last).to_be_in_viewport()
            assert page.evaluate("window.same") == 1, "nothing was loaded anew"
            assert reader.wrong == []
        assert asking.wait(30) == 0


def test_a_benchmark_is_followed_and_its_end_by_kill_seen(browser: Browser, colours: Path, tmp_path: Path) -> None:
    rows = [{"query_id": f"q{n}", "query": f"What is the colour of thing {n}?", "answer": f"shade{n}", "gold_doc_ids": [f"d{n:02}.md"]} for n in range(14)]  # fmt: skip
    (tmp_path / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    folder = tmp_path / "run"
    with Colours(slow=1.0) as server:
        running = started(
            lambda: any(folder.glob("queries/*/events.jsonl")),
            "bench", "run", tmp_path / "q.jsonl", "--corpus", colours, "--system", "rise-bm25", "--base-url", server.base_url,
            "--run", folder, "--workers", "2",
        )  # fmt: skip
        with viewed(folder) as url:
            reader = Reader(browser, url)
            page = reader.page
            reader.go("#/0", "tbody tr")
            expect(page.locator("p[role=status].small")).to_contain_text("running now")
            expect(page.locator(".outcome.running").first).to_be_visible()
            expect(page.locator(".outcome.right").first).to_be_visible(timeout=30_000)
            expect(page.locator(".outcome.wrong").first).to_be_visible(timeout=30_000)
            expect(page.locator("tbody")).to_contain_text("100.0%")  # coverage, measured meanwhile
            waiting = Reader(browser, url)
            waiting.go("#/0/q9", ".trajectory h1")
            expect(waiting.page.locator(".outcome").first).to_have_text("not begun")
            expect(waiting.page.locator(".turn").first).to_be_visible(timeout=30_000)
            running.send_signal(signal.SIGKILL)
            running.wait()
            expect(page.locator(".outcome.cut-off").first).to_be_visible(timeout=30_000)
            expect(page.locator(".outcome.running")).to_have_count(0)
            expect(page.locator(".outcome.not-begun").first).to_be_visible()
            assert waiting.wrong == []
            reader.go("#/", "tbody tr")
            expect(page.locator("tbody")).to_contain_text(re.compile(r"\d of 14"))
            assert reader.wrong == []


def test_a_viewer_that_was_stopped_says_so(browser: Browser, colours: Path, tmp_path: Path) -> None:
    folder = tmp_path / "one"
    done = subprocess.run(
        [PROGRAM, "ask", colours, "colour of thing 3?", "--model", "scout", "--run", folder], env=clean_environment(), check=True,
        capture_output=True,
    )  # fmt: skip
    assert done.returncode == 0
    with viewed(folder) as url:
        reader = Reader(browser, url)
        reader.go("#/", "tbody tr")
    expect(reader.page.get_by_role("alert")).to_contain_text("start corpuscope view again")
    expect(reader.page.locator("tbody tr")).to_have_count(1)  # what was there stays
