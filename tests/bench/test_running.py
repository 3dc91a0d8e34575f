"""A dataset through a system: done once, gone on with, stopped by money, killed at any point."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import sqlite3
import subprocess
import time
import tomllib
from contextlib import closing
from pathlib import Path

import pytest

from corpuscope.agent import StopReason
from corpuscope.bench import Dataset, Tally, evaluate, judge_exactly, open_run, results_of, run_dataset, summary
from corpuscope.corpus import Corpus
from corpuscope.errors import SetupError, UsageError
from corpuscope.models import Backoff
from corpuscope.structure import structure
from corpuscope.systems import Run, load_system

from ..e2e.conftest import PROGRAM, clean_environment
from ..scripted import ScriptedServer
from .conftest import Colours, N

RISE = load_system("rise-bm25")


def run_all(dataset: Dataset, corpus: Corpus, run: Run, **options: object) -> Tally:
    return asyncio.run(run_dataset(dataset, corpus, run, workers=4, backoff=Backoff(tries=2, first=0.01), **options))  # type: ignore[arg-type]


def figures(dataset: Dataset, corpus: Corpus, run: Run) -> dict[str, object]:
    """All of a run that does not depend on the clock."""
    rows = evaluate(run, dataset, corpus, judge_exactly(dataset, results_of(run, dataset)))
    return {name: value for name, value in summary(rows).items() if name != "seconds"}


def test_every_question_once_and_every_figure_by_hand(dataset: Dataset, corpus: Corpus, tmp_path: Path) -> None:
    with Colours() as server:
        run = open_run(tmp_path / "run", dataset, corpus, RISE, "tiny", server.base_url)
        tally = run_all(dataset, corpus, run)
        assert tally.unfinished == 0 and len(server.requests) == 3 * N
        again = run_all(dataset, corpus, Run.open(tmp_path / "run"))
        assert len(server.requests) == 3 * N and again.results == tally.results, "what is done is not asked again"
    found = figures(dataset, corpus, run)
    assert (found["questions"], found["answered"], found["correct"], found["no_answer"]) == (12, 11, 6, 1)
    assert found["accuracy"] == 6 / 12 and found["exact_match"] == 6 / 12
    assert found["stop_reasons"] == {"answered": 11, "empty_reply": 1}
    assert found["coverage_mean"] == found["coverage_all"] == found["retained_coverage"] == 1.0
    assert found["localization"] == 1.0, "documents of one segment"
    assert found["citation_precision"] == found["citation_recall"] == pytest.approx(11 / 12)
    assert found["tool_calls"] == 2 and found["model_calls"] == 3
    assert (found["input_tokens"], found["output_tokens"]) == (12 * 300, 12 * 30)
    settings = tomllib.loads((tmp_path / "run/run.toml").read_text())
    assert settings["dataset"].endswith("colours.jsonl") and settings["dataset_digest"] == dataset.digest()
    assert settings["corpus_digest"] == corpus.manifest.digest() and settings["system"]["k"] == 1000
    assert "shade" not in (tmp_path / "run/run.toml").read_text(), "no answers in there"
    folders = sorted(folder.name for folder in (tmp_path / "run/queries").iterdir())
    assert folders[0] == "q%2F0" and len(folders) == N, "an id with a slash is one folder"


def test_a_limit_now_and_the_rest_later(dataset: Dataset, corpus: Corpus, tmp_path: Path) -> None:
    with Colours() as server:
        run = open_run(tmp_path / "run", dataset, corpus, RISE, "tiny", server.base_url)
        assert len(run_all(dataset, corpus, run, limit=5).results) == 5
        assert figures(dataset, corpus, run)["missing"] == 7 and figures(dataset, corpus, run)["accuracy"] == 3 / 5
        run_all(dataset, corpus, open_run(tmp_path / "run", dataset, corpus, RISE, "", ""))
        assert len(server.requests) == 3 * N


def test_other_choices_need_another_folder(dataset: Dataset, corpus: Corpus, tmp_path: Path) -> None:
    open_run(tmp_path / "run", dataset, corpus, RISE, "tiny", "http://127.0.0.1:9/v1")
    for options, words in (
        ((dataset, corpus, load_system("retrieval-agent"), "tiny", ""), "another system"),
        ((dataset, corpus, RISE, "huge", ""), "another model"),
        ((dataset.only(["q/1"]), corpus, RISE, "tiny", ""), "another dataset_digest"),
    ):
        with pytest.raises(UsageError, match=words):
            open_run(tmp_path / "run", *options)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="another sandboxed"):
        open_run(tmp_path / "run", dataset, corpus, RISE, "tiny", "", sandboxed=False)


def test_other_tables_of_contents_need_another_folder(dataset: Dataset, corpus: Corpus, tmp_path: Path) -> None:
    structure(corpus)
    options = (dataset, corpus, load_system("rise"), "tiny", "http://127.0.0.1:9/v1")
    digest = open_run(tmp_path / "run", *options).settings.structured_digest
    assert len(digest) == 16 and open_run(tmp_path / "run", *options).settings.structured_digest == digest
    with closing(sqlite3.connect(corpus.root / "structured.sqlite")) as db, db:
        db.execute("UPDATE documents SET entries = entries + 1 WHERE path = 'd03.md'")
    with pytest.raises(UsageError, match="another structured_digest"):
        open_run(tmp_path / "run", *options)


def test_money_stops_it_and_more_goes_on(dataset: Dataset, corpus: Corpus, tmp_path: Path) -> None:
    """gpt-4o-mini: 100 tokens in and 10 out cost (100 * 0.15 + 10 * 0.60) / 1e6 = $0.000021 a reply, $0.000756 in all."""
    reply = 21e-6
    with Colours() as server:
        run = open_run(tmp_path / "run", dataset, corpus, RISE, "gpt-4o-mini", server.base_url)
        tally = run_all(dataset, corpus, run, max_cost=10 * reply)
        assert tally.stopped and 10 * reply <= tally.dollars + 1e-12 <= 14 * reply, (
            "at most the replies under way are over"
        )
        assert run_all(dataset, corpus, run, max_cost=10 * reply).dollars == pytest.approx(tally.dollars)
        whole = run_all(dataset, corpus, run, max_cost=1.0)
    assert not whole.stopped and whole.unfinished == 0
    assert whole.dollars == pytest.approx(3 * N * reply), "nothing is paid twice"


def test_a_failing_server_leaves_questions_open(dataset: Dataset, corpus: Corpus, tmp_path: Path) -> None:
    with ScriptedServer([{"status": 500}]) as server:
        run = open_run(tmp_path / "run", dataset, corpus, RISE, "tiny", server.base_url)
        tally = run_all(dataset, corpus, run, limit=3)
    assert tally.unfinished == 3
    assert {result.stop_reason for result in tally.results.values()} == {StopReason.MODEL_ERROR}
    assert figures(dataset, corpus, run)["accuracy"] is None, "open questions are not wrong ones"


def test_a_refused_key_stops_everything_at_once(dataset: Dataset, corpus: Corpus, tmp_path: Path) -> None:
    with ScriptedServer([{"status": 401}]) as server:
        run = open_run(tmp_path / "run", dataset, corpus, RISE, "tiny", server.base_url)
        with pytest.raises(SetupError, match="refuses the API key"):
            run_all(dataset, corpus, run)
        assert len(server.requests) <= 4


@pytest.mark.slow
def test_killed_twenty_times_it_comes_to_the_same(dataset: Dataset, corpus: Corpus, tmp_path: Path) -> None:
    chance = random.Random(7)
    with Colours() as server:
        whole = open_run(tmp_path / "whole", dataset, corpus, RISE, "tiny", server.base_url)
        run_all(dataset, corpus, whole)
    with Colours(slow=0.05) as server:
        command = [PROGRAM, "bench", "run", dataset.source, "--corpus", corpus.root, "--system", "rise-bm25", "--model", "tiny",
                   "--base-url", server.base_url, "--run", tmp_path / "killed", "--workers", "4"]  # fmt: skip
        for _ in range(20):
            process = subprocess.Popen(
                command, env=clean_environment(), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
            )
            time.sleep(chance.uniform(0.5, 2.2))
            process.send_signal(signal.SIGKILL)
            process.wait()
        subprocess.run(command, env=clean_environment(), check=True, capture_output=True)
        asked = len(server.requests)
    killed = Run.open(tmp_path / "killed")
    assert figures(dataset, corpus, killed) == figures(dataset, corpus, whole)
    # A request that a kill cut off was paid to the provider and is asked again; what came back is never asked twice.
    responses = [
        json.loads(line)
        for file in (tmp_path / "killed/queries").glob("*/events.jsonl")
        for line in file.read_text().splitlines()
        if '"type":"response"' in line
    ]
    assert len(responses) == 3 * N and asked <= 3 * N + 20 * 4
