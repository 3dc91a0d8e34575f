"""Ctrl-C, a full disk, a read-only corpus: one clear line, nothing lost."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from corpuscope.corpus import Corpus
from corpuscope.workspace import bubblewrap

from ..conftest import write_files
from ..scripted import ANSWER, ByHistory, call
from .conftest import PROGRAM, Cli, clean_environment

DOCS = {"cats.md": "# Cats\n\nA cat sat.\nIt sat on the mat.\n", "dogs.md": "A dog.\n"}


@pytest.fixture
def indexed(cli: Cli, tmp_path: Path) -> Path:
    write_files(tmp_path / "docs", DOCS)
    cli("index", "docs", "--into", "my.corpus")
    return tmp_path / "my.corpus"


def interrupt(arguments: list[str], cwd: Path, ready: Path) -> subprocess.CompletedProcess[str]:
    """Run, and press Ctrl-C once `ready` exists."""
    process = subprocess.Popen(
        [PROGRAM, *arguments], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clean_environment(),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a suite in the background ignores it
    )  # fmt: skip
    while not list(ready.parent.glob(ready.name)) and process.poll() is None:
        time.sleep(0.02)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    return subprocess.CompletedProcess(arguments, process.returncode, out, err)


def test_an_interrupted_ask_says_how_to_go_on(cli: Cli, indexed: Path, tmp_path: Path) -> None:
    steps = [
        {"calls": [call("search", {"queries": ["cat"]})]},
        {"calls": [call("bash", {"command": "sleep 3; echo slept"})]},
        ANSWER,
    ]
    with ByHistory(steps) as server:
        arguments = ["ask", "my.corpus", "Where?", "--base-url", server.base_url, "--run", "runs/one"]
        done = interrupt(arguments, tmp_path, tmp_path / "runs/one/queries/*")
        assert done.returncode == 130 and "Traceback" not in done.stderr
        assert "corpuscope ask my.corpus --run runs/one --resume" in done.stderr.splitlines()[-1]
        out = cli("ask", "my.corpus", "--run", "runs/one", "--resume", "--json").stdout
    assert json.loads(out)["answer"]["exact_answer"] == "the mat"


def test_an_interrupted_index_goes_on(cli: Cli, tmp_path: Path) -> None:
    write_files(tmp_path / "docs", {f"{i}.md": f"number {i} word\n" * 50 for i in range(6000)})
    done = interrupt(["index", "docs", "--into", "c"], tmp_path, tmp_path / "c/text/*")
    assert done.returncode == 130 and "run the same command again" in done.stderr and "Traceback" not in done.stderr
    assert "6,000 documents" in cli("index", "docs", "--into", "c").stdout


def test_a_full_disk_is_one_line_and_the_corpus_stays_whole(tmp_path: Path) -> None:
    write_files(tmp_path / "docs", {f"{i}.md": f"number {i} word\n" * 4000 for i in range(100)})
    small = tmp_path / "small"
    small.mkdir()
    script = f"{PROGRAM} index docs --into small/c; echo code=$?; {PROGRAM} doctor small/c | grep index:"
    command = [
        bubblewrap(),
        "--dev-bind",
        "/",
        "/",
        "--size",
        str(3 << 20),
        "--tmpfs",
        str(small),
        "--",
        "bash",
        "-c",
        script,
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=clean_environment())
    assert "code=3" in done.stdout and "Traceback" not in done.stderr
    assert "space" in done.stderr and len(done.stderr.strip().splitlines()) == 1
    assert "cut off" in done.stdout, "the next index knows that it has to go on"


def test_a_read_only_corpus_is_searched_and_asked(indexed: Path, tmp_path: Path) -> None:
    script = (
        f"{PROGRAM} search my.corpus cat && {PROGRAM} ask my.corpus 'Where did the cat sit?' --run {tmp_path}/r && "
        f"{PROGRAM} shell my.corpus cat -c 'cat cats.md' && ! {PROGRAM} index docs --into my.corpus"
    )
    command = [
        bubblewrap(),
        "--dev-bind",
        "/",
        "/",
        "--ro-bind",
        str(indexed),
        str(indexed),
        "--",
        "bash",
        "-c",
        script,
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=clean_environment())
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert "cats.md:3-4" in done.stdout and "documents were copied" in done.stderr


@pytest.mark.slow
def test_a_run_is_not_taken_up_on_a_changed_corpus(cli: Cli, indexed: Path, tmp_path: Path) -> None:
    steps = [{"calls": [call("search", {"queries": ["cat"]})]}, {"status": 400, "error": {"message": "no"}}]
    with ByHistory(steps) as server:
        cli("ask", "my.corpus", "Where?", "--base-url", server.base_url, "--run", "r", check=False)
    (tmp_path / "docs/new.md").write_text("new")
    cli("index", "docs", "--into", "my.corpus")
    done = cli("ask", "my.corpus", "--run", "r", "--resume", check=False)
    assert done.returncode == 2 and "has changed since this run began" in done.stderr


def test_a_corpus_that_another_version_wrote_is_refused(cli: Cli, indexed: Path) -> None:
    config = indexed / "corpuscope.toml"
    config.write_text(config.read_text().replace("format = 1", "format = 99"))
    done = cli("search", indexed, "cat", check=False)
    assert done.returncode == 2 and "format 99" in done.stderr


def test_a_manifest_that_is_no_database_is_refused(cli: Cli, indexed: Path) -> None:
    for file in indexed.glob("manifest.sqlite*"):
        file.unlink()
    (indexed / "manifest.sqlite").write_text("not a database at all, but long enough to be looked at " * 20)
    done = cli("search", indexed, "cat", check=False)
    assert done.returncode == 2 and "is no database of corpuscope" in done.stderr


def test_the_corpus_is_readable_while_it_is_indexed(indexed: Path) -> None:
    with Corpus.open(indexed) as one, Corpus.open(indexed) as other:
        one.manifest.db.execute("BEGIN IMMEDIATE")
        assert len(other) == 2
