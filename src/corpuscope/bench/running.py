"""A dataset through a system: workers side by side, what is finished kept, what is missing done when it is run again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from pydantic_ai.models import Model

from ..agent import Event, Result
from ..corpus import Corpus
from ..errors import UsageError
from ..models import Backoff
from ..structure import Structured
from ..systems import Run, System, answer_question, model_name, model_of
from .question import Dataset, Question
from .together import together


@dataclass(slots=True)
class Tally:
    """How a run stands. `dollars` is what all of its questions have cost so far, finished or not."""

    questions: int
    results: dict[str, Result] = field(default_factory=dict)
    working: dict[str, float] = field(default_factory=dict)
    """query_id -> dollars so far, of those that are being answered."""
    stopped: bool = False
    """Whether the money was used up."""

    @property
    def dollars(self) -> float:
        return sum(result.spent.dollars or 0.0 for result in self.results.values()) + sum(self.working.values())

    @property
    def unfinished(self) -> int:
        done = sum(not result.stop_reason.resumable for result in self.results.values())
        return self.questions - done


def open_run(
    folder: Path,
    dataset: Dataset,
    corpus: Corpus,
    system: System,
    model: str | Model,
    base_url: str,
    *,
    sandboxed: bool = True,
) -> Run:
    """A new run, or the one in `folder` to go on with.

    Raises `UsageError` where that one was begun with other choices, or what it is about has changed since.
    """
    task = system.task(dataset.task)
    digests = {
        "dataset": dataset.source or dataset.name, "qrels": dataset.qrels, "ids": dataset.ids,
        "dataset_digest": dataset.digest(), "corpus_digest": corpus.manifest.digest(),
        "structured_digest": _tables(corpus) if system.documents == "structured" else "",
    }  # fmt: skip
    if not (folder / "run.toml").exists():
        return Run.create(
            folder, corpus, system, task, model_name(system, model, base_url), base_url, sandboxed, **digests
        )
    run = Run.open(folder)
    now = {
        "system": system, "task": task, "sandboxed": sandboxed, "corpus": str(corpus.root), "base_url": base_url or run.settings.base_url,
        "model": (model if isinstance(model, str) else model.model_name) or run.settings.model, **digests,
    }  # fmt: skip
    if other := [name for name, value in now.items() if value != getattr(run.settings, name)]:
        raise UsageError(f"{folder} was begun with another {', '.join(other)}: choose another --run, or the same again")
    return run


def _tables(corpus: Corpus) -> str:
    with closing(Structured.open(corpus)) as structured:
        return structured.digest()


async def run_dataset(
    dataset: Dataset,
    corpus: Corpus,
    run: Run,
    *,
    model: Model | None = None,
    workers: int = 1,
    limit: int | None = None,
    max_cost: float | None = None,
    on_event: Callable[[Tally, Question, Event], None] = lambda tally, question, event: None,
    on_result: Callable[[Tally, Question, Result], None] = lambda tally, question, result: None,
    backoff: Backoff | None = None,
) -> Tally:
    """Ask every question (the first `limit`) that has no final result yet, `workers` at a time, until all have one or `max_cost`
    dollars are spent.

    `max_cost` counts what earlier runs over the same folder have spent. Replies that are under way when it is reached are still
    paid. Raises `CorpuscopeError` for what a person has to repair; what is done stays done.
    """
    tally = Tally(len(dataset.questions[:limit]))
    open_questions: list[Question] = []
    for question in dataset.questions[:limit]:
        if result := run.finished(question.query_id):
            tally.results[question.query_id] = result
        else:
            open_questions.append(question)
            tally.working[question.query_id] = run.spent(question.query_id)
    asked = model if model is not None else model_of(run.settings.system, run.settings.model, run.settings.base_url)
    waiting = asyncio.Queue[Question]()
    for question in open_questions:
        waiting.put_nowait(question)

    async def one(question: Question) -> None:
        def told(event: Event) -> None:
            if "spent" in event:
                tally.working[question.query_id] = event["spent"]["dollars"] or 0.0
            on_event(tally, question, event)
            if max_cost is not None and tally.dollars >= max_cost and event["type"] == "response":
                tally.stopped = True
                for task in tasks:
                    task.cancel()

        result = await answer_question(
            corpus, run, question.query_id, question.query, asked, told, backoff or Backoff()
        )
        tally.results[question.query_id] = result
        tally.working.pop(question.query_id, None)
        on_result(tally, question, result)

    async def worker() -> None:
        while not waiting.empty():
            if max_cost is not None and tally.dollars >= max_cost:
                tally.stopped = True
                return
            await one(waiting.get_nowait())

    tasks = [asyncio.create_task(worker()) for _ in range(min(workers, len(open_questions)))]
    try:
        await together(tasks)
    except asyncio.CancelledError:
        if not tally.stopped:
            raise
    return tally
