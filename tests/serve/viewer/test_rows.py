"""Runs and questions in rows: the benchmark's own figures, worked out from events alone, also while they are written."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from corpuscope.agent import EventLog, is_written
from corpuscope.bench import Dataset, collect, evaluate, judge_exactly, load_dataset, plain, results_of
from corpuscope.corpus import Corpus
from corpuscope.errors import UsageError
from corpuscope.serve.viewer.glance import glance
from corpuscope.systems import Run, ask, load_system

from ...bench.conftest import Colours, N
from ...conftest import MakeCorpus
from .conftest import Ask, OpenShelf, run_with
from .trajectories import called, new_run, reply, trajectory, write


def test_the_rows_are_those_of_the_benchmark(
    run: Run, dataset: Dataset, corpus: Corpus, shelf_of: OpenShelf, ask: Ask
) -> None:
    expected = evaluate(run, dataset, corpus, judge_exactly(dataset, results_of(run, dataset)))
    for file in run.folder.glob("queries/*/answer.json"):
        file.unlink()  # events are enough
    told = ask(shelf_of(run.folder), "questions?run=0")
    for row, wanted in zip(told["rows"], expected, strict=True):
        assert {name: row[name] for name in wanted} == wanted
    report = plain(collect([run], dataset, corpus))["runs"][0]["summary"]
    assert told["run"]["summary"]["accuracy"] == 0.5 and told["run"]["summary"]["coverage_mean"] == 1.0
    assert report["accuracy"] is None, "the report reads answer.json, which is gone"
    assert told["run"]["measured"] == told["run"]["begun"] == N


def test_two_runs_are_compared(
    run: Run, dataset: Dataset, corpus: Corpus, tmp_path: Path, shelf_of: OpenShelf, ask: Ask
) -> None:
    class Grey(Colours):
        def next_step(self, body: dict[str, Any]) -> tuple[dict[str, Any], int]:
            step, turn = super().next_step(body)
            return ({**step, "text": "Exact Answer: grey\nConfidence: 10%"} if "text" in step else step), turn

    with Grey() as server:
        other = new_run(tmp_path / "other", dataset, corpus, load_system("rise-bm25"))
        run_with(server, dataset, corpus, other)
    shelf = shelf_of(run.folder, other.folder)
    names = [row["name"] for row in ask(shelf, "runs")["runs"]]
    assert names == ["run", "other"]
    compared = ask(shelf, "compare?run=0&second=1")
    assert compared["cross_tab"]["first"] == [f"q/{n}" for n in range(0, N, 2)]
    assert len(compared["cross_tab"]["neither"]) == N // 2
    assert compared["p"] == pytest.approx(2 / 64) and compared["differences"]["accuracy"][0] == -0.5
    assert compared["problem"] == ""
    asked = tmp_path / "asked"
    ask_once(corpus, asked)
    apart = ask(shelf_of(run.folder, asked), "compare?run=0&second=1")
    assert apart["problem"] == "these runs ask other questions, or another corpus"
    assert not any(apart["cross_tab"].values())


def test_a_run_of_ask_needs_no_dataset(make_corpus: MakeCorpus, tmp_path: Path, shelf_of: OpenShelf, ask: Ask) -> None:
    corpus = make_corpus({"a.md": "The owl is white.\n", "b.md": "nothing\n"})
    result = ask_once(corpus, tmp_path / "r")
    told = ask(shelf_of(tmp_path / "r"), "questions?run=0")
    (row,) = told["rows"]
    assert row["question"] == "What colour is the owl?" and row["state"] == "ended" and row["correct"] is None
    assert row["answer"] == str(result.answer)[:500] and row["tool_calls"] == result.spent.tool_calls
    assert told["run"]["judge"] == "" and told["run"]["notes"] == []


def ask_once(corpus: Corpus, folder: Path) -> Any:
    return ask(corpus, "What colour is the owl?", model="scout", run=folder)


def test_folders_that_hold_runs(run: Run, corpus: Corpus, shelf_of: OpenShelf, ask: Ask) -> None:
    """A folder of runs, and a corpus with its own."""
    assert [r["name"] for r in ask(shelf_of(run.folder.parent), "runs")["runs"]] == ["run"]
    ask_once(corpus, corpus.root / "runs/one")
    assert [r["name"] for r in ask(shelf_of(corpus.root), "runs")["runs"]] == ["one"]
    with pytest.raises(UsageError, match=r"no run in .*nowhere"):
        shelf_of(Path("nowhere"))


def test_what_cannot_be_had_is_said(run: Run, corpus: Corpus, tmp_path: Path, shelf_of: OpenShelf, ask: Ask) -> None:
    """Without questions and documents the events still tell all they know."""
    moved = tmp_path / "moved.corpus"
    corpus.close()
    corpus.root.rename(moved)
    Path(run.settings.dataset).unlink()
    shelf = shelf_of(run.folder)
    told = ask(shelf, "questions?run=0")
    notes = " ".join(told["run"]["notes"])
    assert "--corpus" in notes and "what is right is not known here" in notes
    assert len(told["rows"]) == N and {row["correct"] for row in told["rows"]} == {None}
    assert all(row["question"].startswith("What is the colour") for row in told["rows"])
    key = quote(told["rows"][0]["key"])
    assert ask(shelf, f"marks?run=0&question={key}") == {"gold": [], "removals": []}
    for path in ("document?run=0&name=d01.md&block=0", "folder?run=0", f"grep?run=0&question={key}&call=1&pattern=x"):
        answer = ask(shelf, path, whole=True)
        assert answer.status_code == 400 and "--corpus" in answer.json()["error"], path
    assert ask(shelf_of(run.folder, corpus=moved), "document?run=0&name=d01.md&block=0")["path"] == "d01.md"


def test_another_dataset_or_corpus_than_then(
    run: Run, corpus: Corpus, tmp_path: Path, shelf_of: OpenShelf, ask: Ask
) -> None:
    Path(run.settings.dataset).write_text('{"query_id": "q/0", "query": "Other?", "answer": "x"}\n')
    source = tmp_path / "source0/d00.md"
    source.chmod(0o644)
    source.write_text("other words\n")
    Corpus.build(source.parent, corpus.root)[0].close()
    notes = " ".join(ask(shelf_of(run.folder), "runs")["runs"][0]["notes"])
    assert "not what it was" in notes and "the corpus has changed since" in notes


def test_whose_judgements_count(run: Run, shelf_of: OpenShelf, ask: Ask) -> None:
    with pytest.raises(UsageError, match=r"somebody has not judged .*: exact have"):
        shelf_of(run.folder, judge="somebody")
    line = {"query_id": "q/1", "judge": "m", "correct": True}
    (run.folder / "judgements.jsonl").write_text(json.dumps(line) + "\n")
    shelf = shelf_of(run.folder)
    told = ask(shelf, "questions?run=0")
    assert [row["correct"] for row in told["rows"][:3]] == [None, True, None], "the model that judged"
    with (run.folder / "judgements.jsonl").open("a") as file:
        file.write(json.dumps({**line, "query_id": "q/2", "correct": False}) + "\n")
    later = ask(shelf, "questions?run=0")
    assert later["version"] > told["version"] and later["rows"][2]["correct"] is False, "it goes on judging"
    assert [row["correct"] for row in ask(shelf_of(run.folder, judge="exact"), "questions?run=0")["rows"][:3]] == [
        True, False, True,
    ]  # fmt: skip


WRITER = """
import sys
from pathlib import Path
from corpuscope.agent import EventLog
log = EventLog(Path(sys.argv[1]))
log.append({"type": "start", "seconds": 0.0, "question": "Q?", "time": 0.0, "workspace": 0})
print("ready", flush=True)
sys.stdin.read()
"""


def test_who_is_at_it(tmp_path: Path) -> None:
    """A process that writes is seen, and not seen any more once it was killed."""
    file = tmp_path / "events.jsonl"
    assert not is_written(file)
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, file], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout and writer.stdout.readline() == "ready\n"
    assert is_written(file)
    told = glance(file)
    assert told and (told.question, told.result, told.live) == ("Q?", None, True)
    second = EventLog(file)  # nothing here forbids another
    second.close()
    assert is_written(file)
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    assert not is_written(file)
    told = glance(file)
    assert told and not told.live


def test_states(dataset: Dataset, corpus: Corpus, tmp_path: Path, shelf_of: OpenShelf, ask: Ask) -> None:
    made = new_run(tmp_path / "r", dataset, corpus, load_system("rise-bm25"))
    whole = list(trajectory("?", [("bash", {"command": "ls"}, "x", {})], "shade0"))
    write(made, "q/0", whole)
    write(made, "q/1", whole[:-1])
    file = write(made, "q/2", whole[:2])
    log = EventLog(file)
    shelf = shelf_of(made.folder)
    rows = ask(shelf, "questions?run=0")["rows"]
    assert [row["state"] for row in rows[:4]] == ["ended", "cut off", "running", "not begun"]
    assert rows[2]["dollars"] == 0.01 and rows[2]["model_calls"] == 1, "what it has cost so far"
    (told,) = ask(shelf, "runs")["runs"]
    assert told["live"] and told["begun"] == 3
    version = ask(shelf, "runs")["version"]
    assert ask(shelf, "runs")["version"] == version, "nothing has changed"
    log.append(whole[2])
    log.close()
    rows = ask(shelf, "questions?run=0")["rows"]
    assert rows[2]["state"] == "cut off" and ask(shelf, "runs")["version"] > version


def test_taken_up_again_after_a_stop(tmp_path: Path) -> None:
    first = list(trajectory("?", [("bash", {"command": "ls"}, "x", {})]))
    first[-1] = {**first[-1], "reason": "model_error", "detail": "busy"}
    file = tmp_path / "events.jsonl"
    log = EventLog(file)
    for event in first:
        log.append(event)
    told = glance(file)
    assert told and told.result and told.result.stop_reason == "model_error" and told.result.detail == "busy"
    log.append(reply(2, called("bash", "{}", "c2")))
    told = glance(file)
    assert told and told.result is None and told.spent.model_calls == 2
    for event in list(trajectory("?", [], "grey"))[1:]:
        log.append(event)
    log.append({"type": "stop", "seconds": 9.0, "reason": "answered", "detail": "", "spent": first[-1]["spent"]})
    told = glance(file)
    assert told and told.result and str(told.result.answer) == "grey", "the answer stands before an earlier stop"


def test_a_glance_reads_little_of_a_long_trajectory(tmp_path: Path) -> None:
    """However long: its first line and its last."""
    file = tmp_path / "events.jsonl"
    log = EventLog(file)
    for event in trajectory("?", [("bash", {"command": "x"}, "y" * 1_000_000, {})] * 20, "white"):
        log.append(event)
    before = _read_by_us()
    told = glance(file)
    assert told and told.result and str(told.result.answer) == "white"
    assert _read_by_us() - before < 200_000 < 20_000_000 < os.path.getsize(file)


def _read_by_us() -> int:
    return int(Path("/proc/self/io").read_text().split("rchar: ")[1].split()[0])


def test_lines_longer_than_the_window(tmp_path: Path) -> None:
    """A last call with a megabyte of text, and a line that is just being written."""
    file = tmp_path / "events.jsonl"
    log = EventLog(file)
    for event in list(trajectory("?", [("bash", {"command": "x"}, "y" * 3_000_000, {})]))[:-1]:
        log.append(event)
    with file.open("ab") as handle:
        handle.write(b'{"type": "resp')
    told = glance(file)
    assert told and told.result is None and told.spent.model_calls == 1


def test_damage_is_told_of_and_stops_nothing(
    dataset: Dataset, corpus: Corpus, tmp_path: Path, shelf_of: OpenShelf, ask: Ask
) -> None:
    made = new_run(tmp_path / "r", dataset, corpus, load_system("rise-bm25"))
    whole = list(trajectory("?", [("bash", {"command": "ls"}, "x", {})], "shade0"))
    write(made, "q/0", whole)
    for number, line in enumerate(
        (b"no json\n", b"[1]\n", b"{}\n", b'{"type":"tool"}\n', b'{"type":"stop","reason":"?"}\n'), 1
    ):
        file = write(made, f"q/{number}", whole[:2])
        file.write_bytes(file.read_bytes() + line)
    shelf = shelf_of(made.folder)
    rows = ask(shelf, "questions?run=0")["rows"]
    assert rows[0]["coverage_mean"] == 0.0 and rows[0]["broken"] == ""
    assert all(row["broken"] for row in rows[1:6]), [row["broken"] for row in rows[1:6]]
    answer = ask(shelf, f"marks?run=0&question={quote(rows[1]['key'])}", whole=True)
    assert answer.status_code == 400 and "events.jsonl" in answer.json()["error"]


def test_rankings_are_measured_as_rankings(
    corpus: Corpus, tmp_path: Path, shelf_of: OpenShelf, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t").write_text("1\tcolour thing 3\n")
    (tmp_path / "q").write_text("1 0 d03.md 1\n")
    topics = load_dataset(str(tmp_path / "t"), qrels=tmp_path / "q")
    made = new_run(tmp_path / "r", topics, corpus, load_system("rise-bm25"))
    events = list(trajectory("?", [], "x"))
    citation = {"path": "d04.md", "docid": "d04.md"}
    events[-2]["answer"]["ranking"] = [citation, {"path": "d03.md", "docid": "d03.md"}]
    write(made, "1", events)
    (row,) = ask(shelf_of(made.folder), "questions?run=0")["rows"]
    assert row["nDCG@10"] == pytest.approx(1 / math.log2(3)) and row["correct"] is None
    monkeypatch.setitem(sys.modules, "ir_measures", None)  # type: ignore[arg-type]
    told = ask(shelf_of(made.folder), "questions?run=0")
    assert "nDCG@10" not in told["rows"][0] and told["rows"][0]["answered"]
    assert told["run"]["notes"] == ["ranking measures need a package: pip install 'corpuscope[bench]'"]
