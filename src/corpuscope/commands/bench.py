"""`corpuscope bench datasets`, `check` and `run`."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ..agent import Event, Result
from ..api import Corpus
from ..bench import (
    KNOWN,
    Dataset,
    Question,
    Tally,
    check,
    evaluate,
    judge_exactly,
    load_dataset,
    nowhere,
    open_run,
    results_of,
    run_dataset,
    summary,
)  # fmt: skip
from ..corpus import Corpus as CorpusOnDisk
from ..errors import CorpuscopeError, Interrupted, UsageError
from ..systems import Run, System, Task, default_system, indexes, load_system
from ..workspace import clean
from .progress import bring_up_to_date


def datasets_command(action: str, name: str, *, canary: str, as_json: bool) -> None:
    if action not in ("", "show"):
        raise UsageError(
            f"corpuscope bench datasets {action}: it is corpuscope bench datasets, or ... datasets show NAME"
        )
    if not action:
        known = [
            {"name": n, "task": k.task, "description": k.description, "corpus": k.corpus} for n, k in KNOWN.items()
        ]
        if as_json:
            print(json.dumps(known))
            return
        width = max(map(len, KNOWN))
        for row in known:
            print(f"{row['name']:<{width}}  {row['task']:<7}  {row['description']}")
        return
    if not name:
        raise UsageError(f"which dataset? There are {', '.join(KNOWN)}")
    dataset = load_dataset(name, canary=canary)
    kinds: dict[str, int] = {}
    for question in dataset.questions:
        kinds[question.kind or "question"] = kinds.get(question.kind or "question", 0) + 1
    shown = {
        "name": dataset.name, "task": dataset.task, "questions": len(dataset.questions), "kinds": kinds,
        "digest": dataset.digest(), "corpus": KNOWN[name].corpus if name in KNOWN else "", "problems": list(dataset.problems),
        "examples": [question.query for question in dataset.questions[:3]],
    }  # fmt: skip
    if as_json:
        print(json.dumps(shown, ensure_ascii=False))
        return
    for key, value in shown.items():
        for line in value if isinstance(value, list) else [value]:
            print(f"{key:<10} {clean(str(line).encode(errors='replace'))}")


def check_command(name: str, corpus: Path, *, canary: str, qrels: Path | None) -> None:
    dataset = load_dataset(name, canary=canary, qrels=qrels)
    with Corpus.open(corpus) as opened:
        problems = check(dataset, opened)
    for problem in problems:
        print(clean(problem.encode(errors="replace")))
    if problems:
        raise CorpuscopeError(f"{len(problems)} problems in {dataset.name}")
    print(f"{len(dataset.questions)} questions: all documents are there, all evidence stands where it says.")


def run_command(
    name: str, corpus: Path, *, system: str, model: str, base_url: str, run: Path, workers: int, limit: int | None,
    max_cost: float | None, canary: str, qrels: Path | None, ids: Path | None, task: str, sandboxed: bool, as_json: bool,
) -> None:  # fmt: skip
    dataset = load_dataset(name, canary=canary, qrels=qrels, ids=ids)
    with Corpus.open(corpus) as opened:
        chosen = load_system(system or default_system(opened))
        dataset = for_task(dataset, chosen.tasks, task)
        for problem in (*dataset.problems, *nowhere(dataset, opened)):
            print(f"note: {problem}", file=sys.stderr)
        current = run_questions(
            dataset, opened, chosen, model, base_url, run, workers=workers, limit=limit, max_cost=max_cost,
            sandboxed=sandboxed, quiet=as_json,
        )  # fmt: skip
        figures = summary(evaluate(current, dataset, opened, judge_exactly(dataset, results_of(current, dataset))))
    print(json.dumps(figures) if as_json else _closing(figures, run))


def run_questions(
    dataset: Dataset, corpus: CorpusOnDisk, system: System, model: str, base_url: str, folder: Path, *, workers: int,
    limit: int | None, max_cost: float | None, sandboxed: bool, quiet: bool,
) -> Run:  # fmt: skip
    """The run in `folder`, all of its questions done. Raises `CorpuscopeError` where some could not be."""
    bring_up_to_date(indexes(corpus, system))
    run = open_run(folder, dataset, corpus, system, model, base_url, sandboxed=sandboxed)
    with _Watch(quiet=quiet) as watch:
        work = run_dataset(
            dataset,
            corpus,
            run,
            workers=workers,
            limit=limit,
            max_cost=max_cost,
            on_event=watch.event,
            on_result=watch.result,
        )
        try:
            tally = asyncio.run(work)
        except KeyboardInterrupt:
            raise Interrupted(f"interrupted; what is done is kept in {folder}, the same command goes on") from None
    if tally.stopped:
        raise CorpuscopeError(
            f"the money is used up with {tally.unfinished} questions left: raise --max-cost, run it again"
        )
    if tally.unfinished:
        raise CorpuscopeError(
            f"{tally.unfinished} questions could not be finished (the model's server failed): run it again"
        )
    return run


def for_task(dataset: Dataset, tasks: Sequence[str], task: str) -> Dataset:
    """The dataset's own task, else the one chosen, else the only one that the system can do."""
    if task not in ("", "answer", "ranking"):
        raise UsageError(f"--task {task}: it is answer or ranking")
    return replace(dataset, task=cast(Task, task or (dataset.task if dataset.task in tasks else tasks[0])))


def _closing(figures: dict[str, Any], run: Path) -> str:
    done = f"{figures['questions'] - figures['missing']} of {figures['questions']} questions"
    scores = [
        f"{name} {figures[name]:.3f}"
        for name in ("exact_match", "nDCG@10", "coverage_mean")
        if figures[name] is not None
    ]
    money = "price unknown" if figures["total_dollars"] is None else f"${figures['total_dollars']:.4f}"
    return f"{done}, {', '.join(scores)}, {money}; report: corpuscope bench report {run}"


class _Watch:
    """The run as it goes: on a terminal a table of what is being asked, else a line for each question that is done."""

    def __init__(self, *, quiet: bool) -> None:
        self.quiet = quiet
        self.live: Live | None = None
        self.doing: dict[str, str] = {}
        self.started = time.monotonic()

    def __enter__(self) -> _Watch:
        if not self.quiet and sys.stderr.isatty():
            self.live = Live(console=Console(stderr=True), transient=True, refresh_per_second=4)
            self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.live:
            self.live.stop()

    def event(self, tally: Tally, question: Question, event: Event) -> None:
        if event["type"] in ("response", "tool", "retry", "start"):
            self.doing[question.query_id] = f"{event['seconds']:6.0f} s  {event.get('name', event['type'])}"
        if self.live:
            self.live.update(self._table(tally))

    def result(self, tally: Tally, question: Question, result: Result) -> None:
        self.doing.pop(question.query_id, None)
        if self.live:
            self.live.update(self._table(tally))
        elif not self.quiet:
            done = tally.questions - tally.unfinished
            id = clean(question.query_id.encode(errors="replace"))
            print(f"{done}/{tally.questions}  {id}  {result.stop_reason}  ${tally.dollars:.4f} so far", file=sys.stderr)

    def _table(self, tally: Tally) -> Group:
        done = tally.questions - tally.unfinished
        answered = sum(result.answer is not None for result in tally.results.values())
        seconds = time.monotonic() - self.started
        head = f"{done} of {tally.questions} done, {answered} answered, ${tally.dollars:.4f}, {seconds:.0f} s"
        table = Table.grid(padding=(0, 2))
        for query_id, what in list(self.doing.items())[:20]:
            table.add_row(Text(clean(query_id.encode(errors="replace"))[:40]), Text(what))
        return Group(Text(head, style="bold"), table)
