"""kill -9 at many points of `index` and `ask`: the next run finishes, and its result is an undisturbed one's."""

from __future__ import annotations

import json
import random
import subprocess
import time
from pathlib import Path

import pytest

from corpuscope.corpus import Corpus
from corpuscope.retrieve import Bm25

from ..conftest import write_files
from ..scripted import ANSWER, ByHistory, Step, call
from .conftest import PROGRAM, Cli, clean_environment


def killed(arguments: list[object], cwd: Path, after: float) -> bool:
    """Run and kill after so many seconds; returns whether it was still at work."""
    process = subprocess.Popen([PROGRAM, *map(str, arguments)], cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env=clean_environment())  # fmt: skip
    time.sleep(after)
    at_work = process.poll() is None
    process.kill()
    process.wait()
    return at_work


def state(corpus_folder: Path) -> tuple[object, ...]:
    """All that a reader of the corpus can see."""
    with Corpus.open(corpus_folder) as corpus:
        entries = [(e.docid, e.path, e.title, e.sha256, e.lines) for e in corpus.entries()]
        kept = [file for file in corpus.store.root.rglob("*") if file.is_file()]
        files = sorted(str(file.relative_to(corpus.store.root)) for file in kept)
        if corpus.packs is not None:  # in which order they stand there tells of the way there
            files = sorted(part for file in kept for part in file.read_text().split("==> "))
        engine = Bm25(corpus)
        found = [
            sorted(hit.docid for hit in r) for r in engine.search(["stable", "number", "edited", "w7", "w311"], 10_000)
        ]
        return entries, files, list(corpus.verify()), corpus.finished, found


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--packed"]])
def test_index_killed_at_many_points(tmp_path: Path, cli: Cli, options: list[str]) -> None:
    chance = random.Random(7)
    docs = tmp_path / "docs"
    write_files(docs, {f"{i % 37}/doc{i}.md": f"# Doc {i}\n\nstable number w{i}\n" * 40 for i in range(4000)})
    started = time.monotonic()
    cli("index", "docs", "--into", "whole.corpus", *options)
    whole_time = time.monotonic() - started
    kills = 0
    for round_ in range(12):
        kills += killed(
            ["index", "docs", "--into", "broken.corpus", *options], tmp_path, chance.uniform(0.1, whole_time)
        )
        if round_ == 5:  # the source changes between kills, too
            for i in range(0, 4000, 5):
                (docs / f"{i % 37}/doc{i}.md").write_text(f"# Doc {i}\n\nedited w{i}\n")
            for i in range(1, 4000, 50):
                (docs / f"{i % 37}/doc{i}.md").unlink()
    cli("index", "docs", "--into", "broken.corpus", *options)
    cli("index", "docs", "--into", "whole.corpus", *options)
    assert kills >= 3, "too few runs were cut off to prove anything"
    assert state(tmp_path / "broken.corpus") == state(tmp_path / "whole.corpus")


STEPS: list[Step] = [
    {"calls": [call("search", {"queries": ["stable", "number"]})]},
    {"calls": [call("bash", {"command": "rg -l stable | sort > /tmp/list; wc -l < /tmp/list"})]},
    {"calls": [call("read", {"path": "doc3.md"}), call("bash", {"command": "head -2 /tmp/list; sleep 0.1"})]},
    {"calls": [call("search", {"queries": ["other"]}), call("bash", {"command": "rg -c stable | sort | head -5"})]},
    {"calls": [call("bash", {"command": "cat /tmp/list | wc -l; ls | wc -l"})]},
    {**ANSWER, "text": "Explanation: found [doc3.md:1].\nExact Answer: three\nConfidence: 70%"},
]


@pytest.mark.slow
def test_ask_killed_at_many_points(tmp_path: Path, cli: Cli) -> None:
    files = {f"doc{i}.md": f"# Doc {i}\n\nstable number {i}\n" for i in range(30)}
    write_files(tmp_path / "docs", files | {"other.md": "other\n"})
    cli("index", "docs", "--into", "c")
    chance = random.Random(11)
    with ByHistory([{**step, "slow": 0.05} for step in STEPS]) as server:
        options = ["--base-url", server.base_url, "--model", "m", "--json"]
        started = time.monotonic()
        whole = json.loads(cli("ask", "c", "How many?", *options, "--run", "whole").stdout)
        whole_time = time.monotonic() - started
        for number in range(10):
            run = f"broken{number}"
            killed(["ask", "c", "How many?", *options, "--run", run], tmp_path, chance.uniform(0.3, whole_time))
            for _ in range(2):
                if (tmp_path / run / "run.toml").exists():
                    killed(["ask", "c", "--run", run, "--resume"], tmp_path, chance.uniform(0.3, whole_time))
            resume = (tmp_path / run / "queries").exists()
            again = ["--run", run, "--resume"] if resume else ["How many?", *options, "--run", run + "x"]
            broken = json.loads(cli("ask", "c", *again, "--json").stdout)
            assert broken["answer"] == whole["answer"] and broken["stop_reason"] == "answered"
            for count in ("model_calls", "tool_calls", "input_tokens", "output_tokens"):
                assert broken["spent"][count] == whole["spent"][count], count
    assert list((tmp_path / "c/workspaces").iterdir()) == [], "what killed runs left is gone"
