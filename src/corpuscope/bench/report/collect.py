"""Everything a report shows, worked out once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...agent import Event, read_events
from ...corpus import Corpus
from ...systems import Run
from ..analysis import accuracy_by_coverage, first_seen, intents, phases, tools_used
from ..comparing import against_first
from ..datasets import nowhere
from ..evaluation import Row, evaluate, results_of, summary
from ..judging import EXACT, judge_exactly, read_judgements
from ..question import Dataset
from ..statistics import Interval, bootstrap
from ..turns import by_turn


@dataclass(frozen=True, slots=True)
class RunReport:
    """One run: what decided it, its questions, its figures and what it did."""

    name: str
    settings: dict[str, Any]
    judge: str
    rows: list[Row]
    summary: dict[str, Any]
    accuracy: Interval | None
    analyses: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Report:
    """Runs over one dataset, each compared with the first. `problems` are what a reader has to know of dataset and runs."""

    dataset: str
    task: str
    problems: tuple[str, ...]
    runs: list[RunReport]
    comparisons: list[dict[str, Any]]


def collect(runs: Sequence[Run], dataset: Dataset, corpus: Corpus, judge: str = EXACT) -> Report:
    """Measure the runs. `judge` is whose judgements count: `exact`, or the name of one that has judged them."""
    reports = [_one(run, dataset, corpus, judge) for run in runs]
    compared = against_first([report.rows for report in reports]) if len(reports) > 1 else []
    undone = [f"{r.name}: {n} of {len(r.rows)} questions are not done" for r in reports if (n := r.summary["missing"])]
    problems = (*dataset.problems, *nowhere(dataset, corpus), *undone)
    return Report(dataset.name, runs[0].settings.task, problems, reports, compared)


def _one(run: Run, dataset: Dataset, corpus: Corpus, judge: str) -> RunReport:
    judged = judge_exactly(dataset, results_of(run, dataset)) if judge == EXACT else read_judgements(run, judge)
    rows = evaluate(run, dataset, corpus, judged)
    right = [float(row["correct"]) for row in rows if row["correct"] is not None]
    trajectories = {q.query_id: list(map(_outline, read_events(run.events(q.query_id)))) for q in dataset.questions}
    told = list(trajectories.values())
    analyses = {
        "tools": dict(tools_used(told).most_common()),
        "intents": dict(intents(told).most_common()),
        "intents_cc": dict(intents(told, "cc").most_common()),
        "phases": phases(told),
        "first_seen": dict(first_seen(trajectories, rows).most_common()),
        "accuracy_by_coverage": accuracy_by_coverage(rows),
        "by_kind": _by_kind(rows),
        "turns": by_turn(told),
    }
    settings = run.settings.model_dump(mode="json", exclude_none=True)
    return RunReport(run.folder.name, settings, judge, rows, summary(rows), bootstrap(right), analyses)


def _outline(event: Event) -> Event:
    """What the analyses look at. Observations and replies of a whole run need not fit into memory."""
    data = event.get("data", {})
    return {
        "type": event["type"], "name": event.get("name", ""), **({"spent": event["spent"]} if "spent" in event else {}),
        "data": {name: data[name] for name in ("command", "workspace") if name in data},
    }  # fmt: skip


def _by_kind(rows: Sequence[Row]) -> dict[str, dict[str, Any]]:
    kinds = dict.fromkeys(row["kind"] for row in rows if row["kind"])
    return {kind: summary([row for row in rows if row["kind"] == kind]) for kind in kinds}
