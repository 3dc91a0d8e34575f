"""One question through one system: corpus, workspace, tools, model and loop put together."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from pydantic_ai.models import Model

from ..agent import Event, Result
from ..corpus import Corpus
from ..errors import UsageError
from ..models import Backoff
from .answering import answer_question, model_name, model_of
from .run import Run, query_id, structured_revision
from .system import System, Task, default_system, load_system


async def ask_async(
    corpus: Corpus | str | Path,
    question: str = "",
    *,
    system: str | System = "",
    task: Task | None = None,
    model: str | Model = "",
    base_url: str = "",
    run: str | Path | None = None,
    resume: bool = False,
    sandboxed: bool = True,
    on_event: Callable[[Event], None] = lambda event: None,
    backoff: Backoff | None = None,
) -> Result:
    """Answer `question` from `corpus`; the trajectory stays in the folder `run` (`default_run_folder` without one).

    `model` is a `provider:model` string, `scout`, a name that the OpenAI-compatible server at `base_url` knows, or a
    pydantic-ai model. Without one, the key in the environment decides; without a key, the scout. `task` "ranking" asks for
    documents, best first, in place of an answer. With `resume` the
    run goes on with the settings it was started with, and a finished one returns its result. Without a `system` it is
    `rise` where the corpus has tables of contents, else `rise-bm25`.
    Raises `CorpuscopeError` for what a person has to repair.
    """
    corpus = corpus if isinstance(corpus, Corpus) else Corpus.open(corpus)
    if resume:
        if run is None:
            raise UsageError("--resume needs the folder of the run: --run DIR")
        current = Run.open(Path(run))
        question = _same_question(question, current.question())
        _same_corpus(corpus, current)
        if finished := current.finished(query_id(question)):
            return finished
        _same_revision(corpus, current)
        settings = current.settings
        answers = model if isinstance(model, Model) else model_of(settings.system, settings.model, settings.base_url)
    else:
        if not question.strip():
            raise UsageError("the question is empty")
        chosen = system if isinstance(system, System) else load_system(system or default_system(corpus))
        todo = chosen.task(task)
        name = model_name(chosen, model, base_url)
        answers = model if isinstance(model, Model) else model_of(chosen, name, base_url)
        folder = Path(run) if run else default_run_folder(corpus, question)
        current = Run.create(folder, corpus, chosen, todo, name, base_url, sandboxed)
    return await answer_question(corpus, current, query_id(question), question, answers, on_event, backoff or Backoff())


def default_run_folder(corpus: Corpus, question: str) -> Path:
    """Where a run goes that was given no folder: below its corpus, by time and question."""
    folder = corpus.root / "runs" / f"{time.strftime('%Y%m%d-%H%M%S')}-{query_id(question)[2:8]}"
    number = 1
    while folder.exists():  # the same question, asked in the same second
        number += 1
        folder = folder.with_name(f"{folder.name.partition('.')[0]}.{number}")
    return folder


def ask(corpus: Corpus | str | Path, question: str = "", **options: object) -> Result:
    """`ask_async` for callers without an event loop."""
    return asyncio.run(ask_async(corpus, question, **options))  # type: ignore[arg-type]


def _same_question(given: str, recorded: str) -> str:
    if given and given != recorded:
        raise UsageError(f"this run asks another question ({recorded!r}); leave the question out to resume it")
    return recorded


def _same_corpus(corpus: Corpus, run: Run) -> None:
    if str(corpus.root) != run.settings.corpus:
        raise UsageError(f"this run works on {run.settings.corpus}, not on {corpus.root}")


def _same_revision(corpus: Corpus, run: Run) -> None:
    if corpus.revision != run.settings.revision:
        raise UsageError(
            f"{corpus.root} has changed since this run began (revision {run.settings.revision}, now "
            f"{corpus.revision}); its events are kept, ask again in a new run"
        )
    if run.settings.system.documents == "structured" and structured_revision(corpus) != run.settings.structured:
        raise UsageError(
            f"the tables of contents of {corpus.root} have changed since this run began; its events are kept, ask again in a "
            "new run"
        )
