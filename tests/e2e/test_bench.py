"""`corpuscope bench` as a person runs it, on our own benchmark."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path

import pytest

from ..bench.conftest import FILES, Colours
from ..conftest import write_files
from ..scripted import ScriptedServer
from .conftest import PROGRAM, Cli, clean_environment


@pytest.fixture
def colours(cli: Cli, tmp_path: Path) -> Path:
    """A corpus `c` and a dataset `d.jsonl`."""
    write_files(tmp_path / "docs", FILES)
    rows = [
        {"query_id": str(n), "query": f"What is the colour of thing {n}?", "answer": f"shade{n}", "gold_doc_ids": [f"d{n:02}.md"],
         "evidence": [f"d{n:02}.md:3"]}
        for n in range(12)
    ]  # fmt: skip
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    cli("index", "docs", "--into", "c")
    return tmp_path


@pytest.mark.slow
def test_datasets_are_listed_and_shown(cli: Cli) -> None:
    listed = cli("bench", "datasets").stdout
    assert all(name in listed for name in ("django-hops", "browsecomp-plus", "bright-biology", "scifact"))
    assert len(json.loads(cli("bench", "datasets", "--json").stdout)) == 14
    shown = json.loads(cli("bench", "datasets", "show", "django-hops", "--json").stdout)
    assert shown["questions"] >= 80 and shown["kinds"]["bridge"] == 40 and "shade" not in json.dumps(shown)
    assert cli("bench", "datasets", "show", check=False).returncode == 2
    assert cli("bench", "datasets", "hide", check=False).returncode == 2


@pytest.mark.slow
def test_from_a_dataset_to_a_report(cli: Cli, colours: Path) -> None:
    assert "12 questions: all documents are there" in cli("bench", "check", "d.jsonl", "--corpus", "c").stdout
    with Colours() as server:
        options = [
            "d.jsonl",
            "--corpus",
            "c",
            "--system",
            "rise-bm25",
            "--model",
            "tiny",
            "--base-url",
            server.base_url,
        ]
        first = cli("bench", "run", *options, "--run", "one", "--limit", 4)
        assert "4 of 12 questions, exact_match 0.500" in first.stdout and "4/4" in first.stderr
        whole = cli("bench", "run", *options, "--run", "one", "--json")
        assert json.loads(whole.stdout)["accuracy"] == 0.5 and len(server.requests) == 36
        cli("bench", "run", *options, "--run", "two", "--json")
    text = cli("bench", "report", "one")
    assert "| one | rise-bm25 | tiny | exact | 12 | 50.0% |" in text.stdout and (colours / "one/report.html").exists()
    compared = cli("bench", "compare", "one", "two").stdout
    assert "## two against one" in compared and "This sample cannot tell" in compared
    cli("bench", "report", "one", "two", "--html", "both.html", "--parquet", "rows.parquet")
    assert (colours / "both.html").read_text().count("<h2>two") == 2 and (colours / "rows.parquet").exists()
    assert json.loads(cli("bench", "report", "one", "--json").stdout)["runs"][0]["summary"]["correct"] == 6
    assert "12 questions in bcp" in cli("bench", "export", "one", "--browsecomp-plus", "bcp").stdout
    verdict = {"text": "extracted_final_answer: x\nreasoning: x\ncorrect: yes\nconfidence: 50"}
    with ScriptedServer([verdict]) as judge:
        judged = cli("bench", "judge", "one", "--model", "j", "--base-url", judge.base_url)
    with ScriptedServer([verdict]) as judge:
        short = ["bench", "judge", "two", "--model", "gpt-4o-mini", "--base-url", judge.base_url, "--workers", 1]
        capped = cli(*short, "--max-cost", 0.00003, check=False)
        assert capped.returncode == 1 and "the money is used up with 9 answers left" in capped.stderr
    assert "11 right, 0 wrong, 0 unjudged by j" in judged.stdout and "agreement with exact" in judged.stdout
    assert "| one | rise-bm25 | tiny | j | 12 | 91.7% |" in cli("bench", "report", "one", "--markdown").stdout
    assert "| exact | 12 | 50.0% |" in cli("bench", "report", "one", "--markdown", "--judge", "exact").stdout


@pytest.mark.slow
def test_a_terminal_shows_a_live_table_that_ids_cannot_drive(colours: Path) -> None:
    rows = (colours / "d.jsonl").read_text().splitlines()
    first = {**json.loads(rows[0]), "query_id": "zero\x1b]0;owned\x07 [bold]x"}
    (colours / "d.jsonl").write_text("\n".join([json.dumps(first), *rows[1:]]))
    controller, terminal = pty.openpty()
    with Colours(slow=0.3) as server:
        command = [PROGRAM, "bench", "run", "d.jsonl", "--corpus", "c", "--system", "rise-bm25", "--model", "tiny",
                   "--base-url", server.base_url, "--run", "r", "--workers", "4"]  # fmt: skip
        running = subprocess.Popen(command, cwd=colours, env=clean_environment(TERM="xterm"), stderr=terminal,
                                   stdout=subprocess.PIPE, text=True)  # fmt: skip
        os.close(terminal)
        seen = b""
        while True:
            try:
                seen += os.read(controller, 4096)
            except OSError:
                break  # the other end is closed
        said, _ = running.communicate(timeout=60)
    os.close(controller)
    assert running.returncode == 0 and "12 of 12 questions" in said
    assert b"0 of 12 done" in seen and b"12 of 12 done, 11 answered" in seen
    assert b"zero [bold]x" in seen and b"owned" not in seen


@pytest.mark.slow
def test_what_no_longer_fits_is_refused(cli: Cli, colours: Path) -> None:
    cli("bench", "run", "d.jsonl", "--corpus", "c", "--system", "bm25", "--run", "r", "--json")
    rows = (colours / "d.jsonl").read_text()
    (colours / "d.jsonl").write_text(rows.replace("shade3", "shade4"))
    assert "is not what it was" in cli("bench", "report", "r", check=False).stderr
    (colours / "d.jsonl").write_text(rows)
    (colours / "docs/d00.md").write_text("changed\n")
    cli("index", "docs", "--into", "c")
    assert "has changed since these runs" in cli("bench", "report", "r", check=False).stderr
    assert (
        "another corpus_digest"
        in cli("bench", "run", "d.jsonl", "--corpus", "c", "--system", "bm25", "--run", "r", check=False).stderr
    )
    problems = cli("bench", "check", "d.jsonl", "--corpus", "c", check=False)
    assert problems.returncode == 1 and "0: d00.md:3-3 is no range of its 1 lines" in problems.stdout
    cli("ask", "c", "colour", "--model", "scout", "--run", "asked")
    assert "not of a benchmark" in cli("bench", "report", "asked", check=False).stderr
    assert "no run in nowhere" in cli("bench", "report", "nowhere", check=False).stderr
    assert "which form" in cli("bench", "export", "r", check=False).stderr


@pytest.mark.slow
def test_a_growing_corpus_and_a_grid(cli: Cli, colours: Path) -> None:
    """Run again, both do nothing but show their tables; nothing is paid for twice."""
    write_files(colours / "noise", {f"n{n:02}.md": f"The colour of noise {n}.\n" for n in range(40)})
    cli("index", "noise", "--into", "noise.corpus")
    scale = ["bench", "scale", "d.jsonl", "--corpus", "c", "--distractors", "noise.corpus", "--into", "s"]
    sizes = [*scale, "--times", 1, "--times", 2, "--times", 4, "--system", "bm25"]
    table = cli(*sizes)
    assert [row.split("|")[1:4] for row in table.stdout.splitlines()[2:]] == [
        [" bm25 1x ", " 12 ", " 12 "], [" bm25 2x ", " 12 ", " 24 "], [" bm25 4x ", " 12 ", " 48 "],
    ]  # fmt: skip
    assert "accuracy" not in table.stdout and "bm25 4x:" in table.stderr
    assert cli(*sizes).stdout == table.stdout
    assert "40 documents, not 108" in cli(*scale, "--times", 10, "--system", "bm25", check=False).stderr
    with Colours() as server:
        vary = ["bench", "grid", "d.jsonl", "--corpus", "c", "--system", "rise-bm25", "--model", "tiny", "--base-url",
                server.base_url, "--vary", "k=1,5", "--into", "g"]  # fmt: skip
        first = json.loads(cli(*vary, "--json").stdout)
        assert len(server.requests) == 72 and json.loads(cli(*vary, "--json").stdout) == first
        assert len(server.requests) == 72
    (colours / "ids").write_text("3\n4\n")
    assert "| bm25 1x | 2 |" in cli(*scale, "--times", 1, "--system", "bm25", "--ids", "ids", "--into", "two").stdout
    write_files(colours, {"t": "1\tcolour thing 3\n", "q": "1 0 d03.md 1\n"})
    topics = cli(
        "bench", "grid", "t", "--qrels", "q", "--corpus", "c", "--system", "bm25", "--vary", "k=5", "--into", "t1"
    )
    assert "| k=5 | 1 | 1 |" in topics.stdout, "nDCG@10"
    assert list(first) == ["k=1", "k=5"] and [row["accuracy"] for row in first.values()] == [0.5, 0.5]
    assert (colours / "g/k=5/run.toml").exists()
    assert "KEY of" in cli(*vary[:-4], "--vary", "size=1", "--into", "h", check=False).stderr


@pytest.mark.slow
def test_scout_and_bm25_on_all_of_django_hops(cli: Cli, django_docs: Path, tmp_path: Path) -> None:
    cli("index", django_docs, "--into", "django.corpus")
    assert "87 questions" in cli("bench", "check", "django-hops", "--corpus", "django.corpus").stdout
    for system in ("scout", "bm25"):
        cli("bench", "run", "django-hops", "--corpus", "django.corpus", "--system", system, "--run", system, "--json")
        cli("bench", "report", system)
    scout = json.loads(cli("bench", "report", "scout", "--json").stdout)["runs"][0]
    bm25 = json.loads(cli("bench", "report", "bm25", "--json").stdout)["runs"][0]
    assert scout["summary"]["answered"] == bm25["summary"]["answered"] == 87
    assert scout["summary"]["coverage_mean"] > 0.75 and bm25["summary"]["nDCG@10"] > 0.4
    assert "django-hops" in (tmp_path / "scout/report.html").read_text()
