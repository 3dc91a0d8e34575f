"""Every page in a real Chromium, on real runs over Django's documentation: looked at, clicked, exported, opened again from disk."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from corpuscope.agent import Event
from corpuscope.bench import load_dataset
from corpuscope.corpus import Corpus
from corpuscope.systems import load_system

from ...e2e.conftest import clean_environment

pytest.importorskip("playwright")
from playwright.sync_api import Browser, expect

from .browsing import CHROMIUM, Reader, chromium
from .trajectories import new_run, trajectory, write

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine: apt-get install chromium"),
]

PROGRAM = Path(sys.executable).parent / "corpuscope"
IDS = ["dh-001", "dh-042", "dh-067", "dh-077", "dh-085"]
SYSTEMS = {
    "tables": 'extends = "scout"\nname = "scout-tables"\ndocuments = "structured"\nk = 40\n',
    "small": 'extends = "scout"\nname = "scout-small"\nk = 3\n',
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@contextmanager
def viewed(*arguments: object) -> Iterator[str]:
    """`corpuscope view ...` as a process; the address it printed."""
    command = [PROGRAM, "view", *map(str, arguments), "--http", "127.0.0.1:0", "--no-browser"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=clean_environment())
    try:
        assert process.stderr
        said = ""
        while not (found := re.search(r"http://\S+", said)):
            line = process.stderr.readline()
            assert line, f"it ended: {said}"
            said += line
        threading.Thread(target=process.stderr.read, daemon=True).start()
        yield found[0]
    finally:
        process.terminate()
        process.wait(20)


def program(*arguments: object) -> None:
    done = subprocess.run(
        [PROGRAM, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=clean_environment(),
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def hops(django_docs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two runs of five questions of django-hops: one with tables of contents, one that sees little."""
    root = tmp_path_factory.mktemp("hops")
    program("index", django_docs, "--into", root / "django.corpus", "--no-grep")
    program("structure", root / "django.corpus", "--propose", "headings")
    (root / "ids.txt").write_text("\n".join(IDS))
    for name, system in SYSTEMS.items():
        (root / f"{name}.toml").write_text(system)
        program(
            "bench", "run", "django-hops", "--corpus", root / "django.corpus", "--system", root / f"{name}.toml",
            "--run", root / "runs" / name, "--ids", root / "ids.txt",
        )  # fmt: skip
    return root / "runs"


@pytest.fixture(scope="module")
def served(hops: Path) -> Iterator[str]:
    with viewed(hops) as url:
        yield url


PAGES = {
    "runs": ("#/", "tbody tr"),
    "questions": ("#/1", "tbody tr"),
    "compare": ("#/0,1", ".cross-tab"),
    "trajectory": ("#/1/dh-085", ".gold table"),
    "workspace": ("#/1/dh-085/workspace", ".files .paths"),
    "side by side": ("#/0,1/dh-085", ".side-by-side .gold table"),
}
"""In the order of their names `small` is run 0, and `tables` run 1."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", ["wide", "narrow"])
def test_every_page_fits_and_is_accessible(browser: Browser, served: str, width: str, scheme: str) -> None:
    reader = Reader(browser, served, width=width, scheme=scheme)
    for name, (address, wait_for) in PAGES.items():
        reader.go(address, wait_for)
        reader.page.wait_for_timeout(300)  # until charts are drawn
        reader.check(f"{name.replace(' ', '-')}-{width}-{scheme}")
    reader.go("#/1/dh-085", ".gold table")
    reader.page.locator("details.call > summary").first.click()
    expect(reader.page.locator("pre.observation").first).to_be_visible()
    reader.check(f"turns-{width}-{scheme}")
    reader.page.locator(".explanation button").first.click()
    expect(reader.page.locator("dialog .row.cited").first).to_be_in_viewport()
    reader.check(f"document-{width}-{scheme}")


def test_runs_are_sorted_filtered_chosen_and_compared(browser: Browser, served: str) -> None:
    reader = Reader(browser, served)
    page = reader.page
    reader.go("#/", "tbody tr")
    names = page.locator("tbody th a")
    expect(names).to_have_text(["small", "tables"])
    cells = page.locator("tbody tr").first.locator("td, th").all_inner_texts()
    assert "5" in cells and any(cell.endswith("%") for cell in cells)
    page.get_by_role("button", name="coverage").click()
    expect(page.locator("th[aria-sort]")).to_have_attribute("aria-sort", "descending")
    expect(names).to_have_text(["tables", "small"])
    page.get_by_role("button", name="coverage").click()
    expect(names).to_have_text(["small", "tables"])
    page.get_by_label("Search").fill("scout-tab")
    expect(names).to_have_text(["tables"])
    page.get_by_label("Search").fill("")
    for name in ("small", "tables"):
        page.get_by_label(f"Choose {name}").check()
    page.get_by_role("link", name="Compare 2 runs").click()
    expect(page.locator("h1")).to_have_text("small against tables")
    assert reader.wrong == []


def test_questions_are_filtered(browser: Browser, served: str) -> None:
    reader = Reader(browser, served)
    page = reader.page
    reader.go("#/1", "tbody tr")
    shown = page.locator("tbody th a .small")

    def choose(label: str, option: str, expected: list[str]) -> None:
        page.get_by_label(label, exact=True).select_option(value=option)
        expect(shown).to_have_text([f"{id} " for id in expected])
        page.get_by_label(label, exact=True).select_option(value="")
        expect(shown).to_have_count(5)

    choose("Outcome", "right", ["dh-077", "dh-085"])
    choose("Outcome", "wrong", ["dh-001", "dh-042", "dh-067"])
    choose("Stopped", "answered", IDS)
    choose("Coverage", "every", ["dh-067", "dh-077", "dh-085"])
    choose("Coverage", "some", ["dh-001", "dh-042"])
    page.get_by_label("Cost above $").fill("0.01")
    expect(shown).to_have_count(0)
    page.get_by_label("Cost above $").fill("")
    page.get_by_label("Search").fill("psycopg")
    expect(shown).to_have_text(["dh-085 "])
    page.get_by_label("Search").fill("")
    page.get_by_role("button", name="tool calls").click()
    counts = [int(text) for text in page.locator("tbody tr td:nth-child(8)").all_inner_texts()]
    assert counts == sorted(counts, reverse=True) and len(counts) == 5
    page.get_by_text("What decided").click()
    expect(page.locator(".settings pre")).to_contain_text('"k": 40')
    assert reader.wrong == []


def test_the_cross_tab_is_a_filter(browser: Browser, served: str) -> None:
    reader = Reader(browser, served)
    page = reader.page
    reader.go("#/0,1", ".cross-tab")
    shown = page.locator("tbody th a .small")
    both = page.get_by_role("button", name="both right")
    count = int(both.locator("b").inner_text())
    both.click()
    expect(shown).to_have_count(count)
    expect(both).to_have_attribute("aria-pressed", "true")
    neither = page.get_by_role("button", name="neither right")
    neither.click()
    expect(shown).to_have_count(int(neither.locator("b").inner_text()))
    neither.click()
    expect(shown).to_have_count(5)
    expect(page.locator(".cross-tab")).to_contain_text("McNemar, exact: p = ")
    page.get_by_role("link", name="dh-085").click()
    expect(page.locator(".side-by-side .trajectory h1")).to_have_count(2)
    assert reader.wrong == []


def test_a_trajectory(browser: Browser, served: str) -> None:
    """Folded calls, searched and filtered; gold and evidence marked; a chart that leads to its turn."""
    reader = Reader(browser, served)
    page = reader.page
    reader.go("#/1/dh-085", ".gold table")
    expect(page.locator(".outcome").first).to_have_text("right")
    expect(page.locator(".figures")).to_contain_text("files in W")
    turns = page.locator(".turn")
    total = turns.count()
    assert total > 3 and page.locator("pre.observation").count() == 0, "folded"
    page.get_by_label("Search turns").fill("psycopg")
    expect(page.locator(".snippets mark.hit").first).to_have_text("psycopg")
    assert turns.count() <= total
    page.get_by_label("Search turns").fill("no such words anywhere")
    expect(turns).to_have_count(0)
    page.get_by_label("Search turns").fill("")
    expect(turns).to_have_count(total)
    page.get_by_label("Tool").select_option(value="search")
    expect(page.locator(".turn").first).to_contain_text("search")
    assert turns.count() < total
    page.get_by_label("Tool").select_option(value="")
    page.get_by_label("Only").select_option(value="gold")
    expect(page.locator(".turn .badge.gold").first).to_be_visible()
    page.get_by_label("Only").select_option(value="")
    page.get_by_role("button", name="unfold all").click()
    expect(page.locator("pre.observation").first).to_be_visible()
    expect(page.locator("mark.gold").first).to_be_attached()
    expect(page.locator("mark.evidence").first).to_be_attached()
    page.get_by_role("button", name="fold all", exact=True).click()
    expect(page.locator("details.call[open]")).to_have_count(0)
    page.locator(".gold table tbody td button").first.click()
    expect(page.locator("details.call[open]")).to_have_count(1)
    assert "#" in reader.focused()
    over = page.locator(".chart .u-over").first
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20)
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 20)
    assert re.match(rf"Turn {(total + 1) // 2}|Turn {total // 2 + 1}", reader.focused())
    assert reader.wrong == []


def test_what_the_policy_removed_is_shown_as_removed(browser: Browser, tmp_path: Path) -> None:
    """Level 3: observations of 45,000 characters are cut at 20,000, and the oldest blanked when there are too many."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/a.md").write_text("words\n")
    (tmp_path / "q.jsonl").write_text('{"query_id": "q", "query": "?", "answer": "x", "gold_doc_ids": ["a.md"]}\n')
    corpus, _ = Corpus.build(tmp_path / "docs", tmp_path / "docs.corpus")
    run = new_run(tmp_path / "run", load_dataset(str(tmp_path / "q.jsonl")), corpus, load_system("rise-bm25"))
    corpus.close()
    written: list[Event] = []
    for event in trajectory("?", [("bash", {"command": f"cat {n}"}, f"{n} " * 15_000, {}) for n in range(10, 25)], "x"):
        replies = sum(e["type"] == "response" for e in written)
        if event["type"] == "response" and replies:
            written.append({"type": "context", "seconds": 0.0, "blanked": max(0, replies - 12), "removed_characters": 25_000 * replies, "summarised": 0, "overflows": 0})  # fmt: skip
        written.append(event)
    write(run, "q", written)
    with viewed(run.folder) as url:
        reader = Reader(browser, url)
        page = reader.page
        page.goto(url)
        expect(page.locator(".turn .badge.cut")).to_have_count(15)
        badges = page.locator(".turn .badge.cut").all_text_contents()
        assert badges == ["blanked"] * 3 + ["cut"] * 12
        page.get_by_label("Only").select_option(value="cut")
        expect(page.locator(".turn")).to_have_count(15)
        page.locator("details.call > summary").first.click()
        call = page.locator("details.call").first
        expect(call.locator(".note.cut")).to_have_text(
            [
                "From turn 2 on only the first 20,000 of 45,000 characters are sent.",
                "From turn 14 on a placeholder stands for this result.",
            ]
        )
        expect(call.locator("del.removed pre")).to_contain_text("10 10 10")
        expect(call.locator("pre.observation")).to_have_count(1)
        page.locator("details.call > summary").last.click()
        last = page.locator("details.call").last
        expect(last.locator("pre.observation")).to_have_count(2)
        assert len(last.locator("pre.observation").first.inner_text()) < 21_000
        expect(last.locator("del.removed")).to_have_attribute("aria-label", "Removed from turn 16 on")
        expect(page.locator(".note.context").first).to_contain_text("characters of results left out")
        reader.check("removed")


def test_a_document_at_its_cited_lines(browser: Browser, served: str) -> None:
    reader = Reader(browser, served)
    page = reader.page
    reader.go("#/1/dh-085", ".explanation button")
    cited = page.locator(".explanation button").first
    path, first = re.match(r"\[(.*):(\d+)", cited.inner_text()).groups()  # type: ignore[union-attr]
    cited.click()
    sheet = page.get_by_role("dialog")
    expect(sheet.get_by_role("heading", level=2)).to_contain_text(path)
    expect(sheet.locator(f'.row.cited[data-line="{first}"]')).to_be_in_viewport()
    entries = sheet.locator(".toc li button")
    assert entries.count() > 3
    entry = entries.nth(3)
    line = entry.locator(".small").inner_text().strip().split("–")[0]
    entry.click()
    expect(sheet.locator(f'[data-line="{line}"]')).to_be_in_viewport()
    expect(sheet.locator(f'[data-line="{line}"]')).to_contain_text(entry.locator("bdi").first.inner_text())
    sheet.get_by_role("button", name="as it came").click()
    expect(sheet.locator(".toc")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(sheet).to_have_count(0)
    page.locator(".gold table th button").first.click()
    expect(page.locator("dialog .row.evidence").first).to_be_in_viewport()
    assert reader.wrong == []


def test_the_workspace_at_any_turn(browser: Browser, served: str) -> None:
    reader = Reader(browser, served)
    page = reader.page
    reader.go("#/1/dh-067/workspace", ".files .paths")
    slider = page.get_by_role("slider")
    said = page.locator(".workspace p[role=status]").first
    whole = int(said.inner_text().split()[0])
    options = page.get_by_label("Brought by").locator("option").all_inner_texts()
    assert sum(int(re.search(r"\((\d+)\)$", option)[1]) for option in options[1:]) == whole  # type: ignore[index]
    assert all(re.match(r"call \d+: .", option) for option in options[1:]), "each by its sub-query"
    slider.focus()
    page.keyboard.press("Home")
    expect(said).to_have_text("0 files in W")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".workspace .bar a")).to_have_text(re.compile("call 1 of"))
    early = int(said.inner_text().split()[0])
    assert 0 < early < whole
    page.get_by_label("Pattern").fill("asgi")
    page.get_by_label("ignore case").check()
    page.get_by_role("button", name="Grep").click()
    expect(page.locator(".found")).to_contain_text("in W after call 1")
    lines = page.locator(".found li")
    assert lines.count() > 0
    lines.first.locator("button").click()
    expect(page.locator("dialog .row.cited")).to_contain_text(re.compile("asgi", re.I))
    page.keyboard.press("Escape")
    page.get_by_label("Pattern").fill("(")
    page.get_by_role("button", name="Grep").click()
    expect(page.get_by_role("alert")).to_contain_text("repair the pattern")
    page.keyboard.press("Tab")
    page.get_by_label("Path contains").fill("releases/")
    expect(page.locator(".files .paths button").first).to_contain_text("releases/")
    page.get_by_label("Order").select_option(value="path")
    paths = page.locator(".files .paths button").all_inner_texts()
    assert paths == sorted(paths)
    page.locator(".workspace .bar a").click()
    expect(page.locator("details.call[open]")).to_have_count(1)
    assert [error for error in reader.wrong if "400" not in error] == [], "but for the pattern that was refused"


def test_from_the_keyboard(browser: Browser, served: str) -> None:
    reader = Reader(browser, served)
    page = reader.page
    reader.go("#/1", "tbody tr")

    def press(*keys: str) -> None:
        for key in keys:
            page.keyboard.press(key)

    press("j")
    assert reader.focused().startswith("dh-001")
    press("j", "j", "k", "j", "Enter")
    expect(page.locator(".trajectory h1")).to_contain_text("ASGI")
    expect(page.locator(".gold table")).to_be_visible()
    press("]")
    expect(page.locator("header nav li").last).to_have_text("dh-077")
    press("[", "[")
    expect(page.locator("header nav li").last).to_have_text("dh-042")
    expect(page.locator(".gold table")).to_be_visible()
    press("/")
    page.keyboard.type("alias")
    expect(page.locator(".snippets").first).to_be_visible()
    press("Escape")
    page.locator("h1").click()
    press("e")
    expect(page.locator("details.call:not([open])")).to_have_count(0)
    press("e")
    expect(page.locator("details.call[open]")).to_have_count(0)
    page.locator("details.call > summary").first.focus()
    press("Enter")
    expect(page.locator("details.call[open]")).to_have_count(1)
    press("w")
    expect(page.locator(".files .paths")).to_be_visible()
    press("t")
    expect(page.locator(".timeline")).to_be_visible()
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    press("d")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    press("?")
    expect(page.get_by_role("dialog")).to_contain_text("next, previous")
    press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    press("u")
    expect(page.locator("tbody tr").first).to_be_visible()
    press("u")
    expect(page.locator("h1")).to_have_text("Runs")
    assert reader.wrong == []


def test_an_export_is_opened_again_from_disk(browser: Browser, hops: Path, tmp_path: Path) -> None:
    file = tmp_path / "runs & all.html"
    program("view", hops, "--export", file)
    reader = Reader(browser, file.as_uri())
    page = reader.page
    for name, (address, wait_for) in PAGES.items():
        reader.go(address, wait_for)
        reader.check(f"exported-{name.replace(' ', '-')}")
    reader.go("#/1/dh-085", ".explanation button")
    page.locator(".explanation button").first.click()
    expect(page.locator("dialog .row.cited").first).to_be_in_viewport()
    page.keyboard.press("Escape")
    page.get_by_label("Search turns").fill("psycopg")
    expect(page.locator(".snippets mark.hit").first).to_be_visible()
    reader.go("#/1/dh-085/workspace", ".files .paths")
    expect(page.locator(".workspace")).to_contain_text("open the run with corpuscope view")
    elsewhere = page.locator(".files .paths button:not(.gold)").last
    elsewhere.click()
    expect(page.get_by_role("alert")).to_contain_text("not in the exported file")
    assert reader.wrong == []
