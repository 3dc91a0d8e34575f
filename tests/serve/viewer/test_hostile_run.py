"""A run in which everything a document or a model can write tries to do something. In the page it is text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from corpuscope.bench import load_dataset
from corpuscope.corpus import Corpus
from corpuscope.structure import structure
from corpuscope.systems import load_system

from ...conftest import write_files

pytest.importorskip("playwright")
from playwright.sync_api import Browser, Page, expect

from .browsing import CHROMIUM, Reader, chromium
from .test_in_a_browser import program, viewed
from .trajectories import called, new_run, observed, reply, said, spent, thought, write

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine: apt-get install chromium"),
]

SCRIPT = "<script>window.owned=1</script>"
IMAGE = "<img src=x onerror='window.owned=2'>"
BREAKS = "</script></style></pre></textarea>-->]]><svg onload=window.owned=3>"
LINK = "<a href='javascript:window.owned=4'>click</a> [x](javascript:window.owned=5)"
ANSI = "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b2J \x07\x00"
RIGHT_TO_LEFT = "\u202egnp.exe\u2066 שלום עולם \u2069 مرحبا"
TEMPLATE = "{{ 7*7 }} ${7*7} {% raw %} __proto__ constructor"
ALL = " ".join([SCRIPT, IMAGE, BREAKS, LINK, ANSI, RIGHT_TO_LEFT, TEMPLATE])
MEGABYTE = "x" * 1_000_000 + SCRIPT

NAME = "<img src=x onerror=window.owned=6>&\"'.md"
DOCUMENT = f"# {SCRIPT}\n\n{IMAGE} {RIGHT_TO_LEFT}\n\n## {IMAGE}\n\n{MEGABYTE}\n\nthe owl {BREAKS}\n"


def events(path: str, docid: str) -> Iterator[dict[str, Any]]:
    yield {"type": "start", "seconds": 0.0, "question": ALL, "time": 0.0, "workspace": 0}
    search = {"queries": [ALL, ""], "__proto__": {"polluted": 1}}
    data = {"queries": [{"query": ALL, "found": 1, "new": 1, "top": [docid], "paths": [path], "characters": [5]}, {"query": "", "found": 0, "new": 0, "top": [], "paths": []}], "imported": [docid], "workspace": 1}  # fmt: skip
    yield reply(1, thought(ALL), thought(""), said(ALL), called("search", search, ALL))
    yield observed("search", search, ALL, ALL, data)
    yield {"type": "retry", "seconds": 1.0, "error": ALL, "wait": 1.0}
    yield {"type": "context", "seconds": 1.0, "blanked": 1, "removed_characters": 10, "summarised": 0, "overflows": 0}
    yield {"type": "steer", "seconds": 1.0, "text": ALL, "forced": ""}
    yield {"type": ALL, "seconds": 1.0}
    yield reply(2, called(SCRIPT, "{not json " + ALL, "c2"), called("bash", {"command": ALL}, "c3"))
    yield observed(SCRIPT, "{not json " + ALL, "c2", f"Error: {ALL}", error=True, malformed=True)
    yield observed("bash", {"command": ALL}, "c3", MEGABYTE, {"command": ALL, "exit_code": 1})
    yield reply(3, called("read", {"path": path, "big": 10**30}, "c4"))
    yield observed("read", {"path": path, "big": 10**30}, "c4", f"     7\tthe owl {BREAKS}", {"path": path, "first": 7, "last": 7})  # fmt: skip
    yield reply(4, said(ALL))
    citation = {"path": path, "first": 7, "last": 7, "docid": docid, "problem": "", "original_first": None, "original_last": None}  # fmt: skip
    bad = {**citation, "path": ALL, "docid": None, "problem": ALL}
    answer = {"explanation": f"{ALL} [{path}:7] {ALL}", "exact_answer": ALL, "confidence": 50.0, "citations": [citation, bad], "ranking": []}  # fmt: skip
    yield {"type": "answer", "seconds": 4.0, "text": ALL, "answer": answer}
    yield {"type": "stop", "seconds": 4.0, "reason": "answered", "detail": ALL, "spent": spent(4)}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("hostile")
    write_files(root / "docs", {NAME: DOCUMENT})
    corpus, _ = Corpus.build(root / "docs", root / "docs.corpus")
    structure(corpus)
    (entry,) = corpus.entries()
    row = {"query_id": IMAGE, "query": ALL, "answer": ALL, "kind": SCRIPT, "gold_doc_ids": [entry.docid], "evidence": [f"{entry.docid}:7-7"]}  # fmt: skip
    (root / "q.jsonl").write_text(json.dumps(row) + "\n")
    system = load_system("rise").changed(name=IMAGE, prompt=ALL)
    made = new_run(root / "<img src=x onerror=window.owned=7>", load_dataset(str(root / "q.jsonl")), corpus, system)
    write(made, IMAGE, events(entry.path, entry.docid))
    corpus.close()
    return made.folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


def nothing_ran(page: Page) -> None:
    assert page.evaluate("window.owned") is None and page.evaluate("({}).polluted") is None
    found = page.evaluate("['img', 'svg', 'iframe', 'a[href^=\"javascript\"]'].flatMap((s) => [...document.querySelectorAll(s)]).length")  # fmt: skip
    assert found == 0 and page.evaluate("document.querySelectorAll('body script:not([type])').length") == 1
    text = page.evaluate("document.body.textContent")
    assert not any(c in text for c in "\x1b\x07\x9b\x00\u202e\u2066\u2069"), "what would act is shown instead"


def walk(reader: Reader) -> None:
    page = reader.page
    reader.go("#/", "main")
    for address, wait_for in (("#/", "tbody tr"), ("#/0", "tbody tr a.question")):
        reader.go(address, wait_for)
        reader.check("hostile")
        nothing_ran(page)
    expect(page.locator("a.question")).to_contain_text(SCRIPT)
    page.locator("a.question").click()
    expect(page.locator(".gold table")).to_be_visible()
    expect(page.locator("h1")).to_contain_text("[U+202E]gnp.exe")
    expect(page.locator("h1")).to_contain_text("\\x1b[31mred")
    page.get_by_role("button", name="unfold all").click()
    folded = page.locator("details:not([open]) > summary")
    while folded.count():
        folded.first.click()
    expect(page.locator("pre.observation")).not_to_have_count(0)
    expect(page.get_by_text("the owl").first).to_be_attached()
    page.get_by_role("button", name="show more (900").or_(
        page.get_by_role("button", name="show more (990")
    ).first.click()
    nothing_ran(page)
    reader.check("hostile-trajectory")
    page.get_by_label("Search turns").fill("<script>")
    expect(page.locator("mark.hit").first).to_have_text("<script>")
    page.get_by_label("Search turns").fill("(*[\\")
    expect(page.locator(".turn")).to_have_count(0)
    page.get_by_label("Search turns").fill("")
    page.locator(".explanation button").click()
    expect(page.locator("dialog .row.cited")).to_have_count(1)
    expect(page.locator("dialog h2")).to_contain_text("<script>")
    nothing_ran(page)
    reader.check("hostile-document")
    page.keyboard.press("Escape")
    reader.page.keyboard.press("w")
    expect(page.locator(".files .paths button")).to_contain_text("onerror")
    expect(page.get_by_label("Brought by")).to_contain_text("window.owned=1")
    nothing_ran(page)
    reader.check("hostile-workspace")


@pytest.mark.parametrize("width", ["wide", "narrow"])
def test_served(browser: Browser, run: Path, width: str) -> None:
    with viewed(run) as url:
        reader = Reader(browser, url, width=width)
        walk(reader)
        page = reader.page
        page.get_by_label("Pattern").fill("owl")
        page.get_by_role("button", name="Grep").click()
        expect(page.locator(".found li")).to_contain_text("the owl")
        nothing_ran(page)
        assert reader.wrong == []


def test_exported(browser: Browser, run: Path, tmp_path: Path) -> None:
    program("view", run, "--export", tmp_path / "hostile.html")
    text = (tmp_path / "hostile.html").read_text()
    assert "owned" not in text, "what they wrote is in no form that a browser would look at"
    reader = Reader(browser, (tmp_path / "hostile.html").as_uri())
    walk(reader)
