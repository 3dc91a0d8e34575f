"""Reports: figures as worked out elsewhere, comparisons, hostile words as text, exports in others' forms."""

from __future__ import annotations

import asyncio
import json
import math
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest

from corpuscope.bench import (
    Dataset,
    Report,
    collect,
    export_browsecomp_plus,
    export_trec,
    html,
    load_dataset,
    markdown,
    open_run,
    plain,
    run_dataset,
    write_parquet,
)
from corpuscope.corpus import Corpus
from corpuscope.systems import Run, load_system

from ..conftest import write_files
from ..scripted import ScriptedServer, Step, call
from .conftest import Colours

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>|\x1b[31m{{ 7 * 7 }}"


@pytest.fixture
def runs(dataset: Dataset, corpus: Corpus, tmp_path: Path) -> list[Run]:
    """One that is right about even things, and one whose answer is always the same hostile words."""
    with Colours() as server:
        first = open_run(tmp_path / "first", dataset, corpus, load_system("rise-bm25"), "tiny", server.base_url)
        asyncio.run(run_dataset(dataset, corpus, first, workers=4))
    steps: list[Step] = [{"text": f"Explanation: [d01.md:3] {HOSTILE}\nExact Answer: {HOSTILE}\nConfidence: 50%"}]
    with ScriptedServer(steps) as server:
        system = load_system("rise-bm25").model_copy(update={"name": "other"})
        second = open_run(tmp_path / "second", dataset, corpus, system, HOSTILE, server.base_url)
        asyncio.run(run_dataset(dataset, corpus, second, workers=4))
    return [first, second]


@pytest.fixture
def report(runs: list[Run], dataset: Dataset, corpus: Corpus) -> Report:
    return collect(runs, replace(dataset, problems=(HOSTILE,)), corpus)


def test_what_sets_two_runs_apart(report: Report) -> None:
    (comparison,) = report.comparisons
    tab = {name: len(ids) for name, ids in comparison["cross_tab"].items()}
    assert tab == {"both": 0, "first": 6, "second": 0, "neither": 6}
    assert comparison["test"] == "McNemar, exact" and comparison["p"] == comparison["p_holm"] == pytest.approx(2 / 64)
    assert comparison["cannot_tell"] == ""
    difference = comparison["differences"]["accuracy"]
    assert difference.mean == -0.5 and -0.85 < difference.low < difference.high < -0.2
    assert comparison["differences"]["tool_calls"] == (-2.0, -2.0, -2.0)
    assert report.runs[0].analyses["by_kind"]["even"]["accuracy"] == 1.0
    assert report.runs[0].analyses["first_seen"] == {"search": 12}
    assert report.runs[1].analyses["first_seen"] == {"never": 12}
    assert report.runs[0].analyses["tools"] == {"search": 12, "bash": 12}


def test_one_run_that_can_not_be_told_from_itself(runs: list[Run], dataset: Dataset, corpus: Corpus) -> None:
    (comparison,) = collect([runs[0], runs[0]], dataset, corpus).comparisons
    assert comparison["p"] == 1.0 and "only 0 questions set them apart" in comparison["cannot_tell"]


def test_as_tables_and_data(report: Report, tmp_path: Path) -> None:
    text = markdown(report)
    assert "| first | rise-bm25 | tiny | exact | 12 | 50.0% | 50.0% |" in text
    assert "both right 0, first ahead 6, second ahead 0, neither right 6" in text and "p = 0.0312" in text
    assert "<script>" not in text and "\x1b" not in text and not re.search(r"[^\\]\|\[31m", text)
    assert json.loads(json.dumps(plain(report)))["runs"][0]["summary"]["accuracy"] == 0.5
    write_parquet(report, tmp_path / "rows.parquet")
    rows = parquet.read_table(tmp_path / "rows.parquet").to_pylist()
    assert len(rows) == 24 and rows[0]["run"] == "first" and rows[0]["correct"] is True and rows[0]["tool_calls"] == 2


def test_the_page_is_one_file_without_script(report: Report) -> None:
    page = html(report)
    assert "<script" not in page.lower() and "onerror=alert" not in page.replace("onerror=alert(2)&gt;", "")
    assert "&lt;script&gt;alert(1)" in page and "\x1b" not in page and "{{ 7 * 7 }}" in page
    assert not re.search(r"""(?:src|href)\s*=|url\(|@import""", page.replace("img src=x", ""))
    assert "default-src 'none'" in page
    assert "50.0%" in page and "McNemar" in page and "only first" in page


def test_figures_of_the_turns(report: Report) -> None:
    """Three requests of 100 tokens each; all of the gold is in W after the first search."""
    (first, _) = report.runs
    turns = first.analyses["turns"]
    assert [(turn.turn, turn.questions, turn.files) for turn in turns] == [(1, 12, None), (2, 12, 12), (3, 12, 12)]
    assert first.summary["gold_R"] == 1.0 and report.runs[1].summary["gold_R"] is None
    page = html(report)
    assert page.count("<polyline") == 4 and "Files in W, turn by turn: 12 at first, 12 at most, 12 at last" in page
    assert "input tokens" in page and "cached" in page


def test_gold_that_is_nowhere_is_named(runs: list[Run], dataset: Dataset, corpus: Corpus) -> None:
    """Case J4. The questions still count: no system can find what is not there, and the reader has to know."""
    questions = [dataset.questions[0].model_copy(update={"gold": ("d00.md", "lost.md")}), *dataset.questions[1:]]
    report = collect(runs, replace(dataset, questions=questions), corpus)
    (problem,) = report.problems
    assert problem == "1 gold documents of 1 questions are not in the corpus (lost.md)"
    assert f"- {problem}" in markdown(report) and problem in html(report)
    assert report.runs[0].rows[0]["gold_R"] == 0.5


def test_a_run_that_is_not_done_says_so(dataset: Dataset, corpus: Corpus, tmp_path: Path) -> None:
    with Colours() as server:
        run = open_run(tmp_path / "r", dataset, corpus, load_system("rise-bm25"), "tiny", server.base_url)
        asyncio.run(run_dataset(dataset, corpus, run, limit=3))
    report = collect([run], dataset, corpus)
    assert report.problems == ("r: 9 of 12 questions are not done",)
    assert report.runs[0].summary["accuracy"] == pytest.approx(2 / 3), "of those that are"


class Ranks(Colours):
    """The document that is asked for and the next, in this order or (`step` -1) in the other."""

    def __init__(self, step: int) -> None:
        super().__init__()
        self.step = step

    def next_step(self, body: dict[str, Any]) -> tuple[Step, int]:
        question = next(m["content"] for m in body["messages"] if m["role"] == "user")
        n = int(question.split("thing ")[1].rstrip("?"))
        docids = [f"d{n:02}.md", f"d{(n + 1) % 12:02}.md"][:: self.step]
        return {"text": "Relevant Documents:\n" + "\n".join(f"{i}. {d}" for i, d in enumerate(docids, 1))}, 0


def test_rankings_are_compared_as_rankings(dataset: Dataset, corpus: Corpus, tmp_path: Path) -> None:
    """The second ranks every gold document first, the first ranks it second: 1/log2(3) against 1."""
    ranking, runs = replace(dataset, task="ranking"), []
    for name, step in (("one", -1), ("two", 1)):
        with Ranks(step) as server:
            run = open_run(tmp_path / name, ranking, corpus, load_system("rise-bm25"), "tiny", server.base_url)
            asyncio.run(run_dataset(ranking, corpus, run, workers=4))
        runs.append(run)
    (comparison,) = collect(runs, ranking, corpus).comparisons
    assert comparison["test"] == "randomization of nDCG@10" and comparison["p"] < 0.01
    assert {name: len(ids) for name, ids in comparison["cross_tab"].items()} == {"first": 0, "second": 12, "equal": 0}
    assert comparison["differences"]["nDCG@10"].mean == pytest.approx(1 - 1 / math.log2(3))
    assert "accuracy" not in comparison["differences"] and comparison["cannot_tell"] == ""


def test_topics_without_judgements_are_counted_apart(corpus: Corpus, tmp_path: Path) -> None:
    """Case J4. The mean is over the topics that somebody judged."""
    write_files(tmp_path, {"t": "1\tcolour thing 3\n2\tcolour thing 4\n", "q": "1 0 d03.md 1\n"})
    topics = load_dataset(str(tmp_path / "t"), qrels=tmp_path / "q")
    run = open_run(tmp_path / "r", topics, corpus, load_system("bm25"), "", "")
    asyncio.run(run_dataset(topics, corpus, run))
    report = collect([run], topics, corpus)
    assert report.problems == ("1 topics have no judgement and are counted apart (2 ...)",)
    first, second = report.runs[0].rows
    assert first["nDCG@10"] == 1.0 == report.runs[0].summary["nDCG@10"] and "nDCG@10" not in second
    assert report.runs[0].summary["accuracy"] is None


def test_browsecomp_plus_export(runs: list[Run], dataset: Dataset, tmp_path: Path) -> None:
    """The fields that its evaluate_run.py reads."""
    assert export_browsecomp_plus(runs[0], dataset, tmp_path / "bcp") == 12
    record = json.loads((tmp_path / "bcp/run_q%2F2.json").read_text())
    assert (record["query_id"], record["status"]) == ("q/2", "completed")
    assert record["tool_call_counts"] == {"search": 1, "bash": 1} and record["metadata"]["model"] == "tiny"
    assert record["result"][-1]["type"] == "output_text"
    assert record["result"][-1]["output"] == "Explanation: [d02.md].\nExact Answer: shade2\nConfidence: 88%"
    assert record["retrieved_docids"][0] == "d02.md"
    empty = json.loads((tmp_path / "bcp/run_q%2F11.json").read_text())
    assert empty["status"] == "empty_reply" and empty["result"][-1]["type"] == "tool_call"


def test_trec_export(dataset: Dataset, corpus: Corpus, tmp_path: Path) -> None:
    ranking = replace(dataset, task="ranking")
    steps: list[Step] = [
        {"calls": [call("search", {"queries": ["colour"]})]},
        {"text": "Relevant Documents:\n1. d03.md\n2. nope.md\n3. d01.md"},
    ]
    with ScriptedServer(steps) as server:
        run = open_run(
            tmp_path / "r 1", ranking.only(["q/3"]), corpus, load_system("rise-bm25"), "tiny", server.base_url
        )
        asyncio.run(run_dataset(ranking.only(["q/3"]), corpus, run))
    assert export_trec(run, ranking, tmp_path / "out.run") == 1
    assert (tmp_path / "out.run").read_text() == "q/3 Q0 d03.md 1 2 rise-bm25-r-1\nq/3 Q0 d01.md 2 1 rise-bm25-r-1\n"


CHROMIUM = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync"]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_in_a_real_browser(report: Report, tmp_path: Path, width: int) -> None:
    import shutil

    if shutil.which("chromium") is None:
        pytest.skip("no chromium on this machine")
    (tmp_path / "report.html").write_text(html(report))
    command = [*CHROMIUM, f"--user-data-dir={tmp_path / 'profile'}", f"--window-size={width},1600"]
    page = f"file://{tmp_path / 'report.html'}"
    dom = subprocess.run([*command, "--dump-dom", page], capture_output=True, text=True, timeout=120, check=True).stdout
    assert "<script>" not in dom and "<img" not in dom and "alert(1)" in dom
    subprocess.run(
        [*command, f"--screenshot={tmp_path / 'shot.png'}", page], capture_output=True, timeout=120, check=True
    )
    assert (tmp_path / "shot.png").stat().st_size > 10_000
