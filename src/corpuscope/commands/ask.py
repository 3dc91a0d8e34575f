"""`corpuscope ask`: each call as it happens, then the answer."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import closing
from pathlib import Path
from typing import Any, cast, get_args

from ..agent import SCOUT, StopReason, default_model
from ..api import Corpus
from ..errors import CorpuscopeError, Interrupted, UsageError
from ..structure import Structured
from ..systems import System, Task, ask_async, default_run_folder, default_system, indexes, load_system, result_json
from .live import LiveView
from .progress import bring_up_to_date

_HELP = {
    StopReason.MODEL_CALLS: "the model-call budget is used up; raise it with --max-calls",
    StopReason.WALL_CLOCK: "the time is used up; raise it with --max-seconds",
    StopReason.MONEY: "the money is used up; raise it with --max-cost",
    StopReason.CONTEXT_OVERFLOW: "the conversation no longer fits the model's context window",
    StopReason.MALFORMED_CALLS: "the model kept making calls that cannot be understood; try another model",
    StopReason.EMPTY_REPLY: "the model replied with nothing",
    StopReason.MODEL_ERROR: "the model's server failed; go on later with --run {run} --resume",
}
_NO_KEY = (
    "no API key in the environment: the scout answers, a fixed search policy and not a language model. "
    "For one: set OPENAI_API_KEY or ANTHROPIC_API_KEY, or serve a model and add --base-url"
)


def ask_command(
    path: Path,
    question: str,
    *,
    system: str,
    task: str,
    force_answer: bool,
    model: str,
    base_url: str,
    run: Path | None,
    resume: bool,
    max_cost: float | None,
    max_calls: int | None,
    max_seconds: float | None,
    sandboxed: bool,
    as_json: bool,
) -> None:
    if not resume and not question.strip():
        raise UsageError('no question: corpuscope ask CORPUS "question"')
    with Corpus.open(path) as corpus:
        named = load_system(system or default_system(corpus))
        chosen = _limited(named, max_cost, max_calls, max_seconds)
        chosen = chosen.changed(force_answer=True) if force_answer else chosen
        if (
            not resume
            and not (model or base_url or named.model or named.harness or named.speech)
            and default_model() == SCOUT
        ):
            print(_NO_KEY, file=sys.stderr)
        if corpus.finished:
            bring_up_to_date(indexes(corpus, named))
        if named.documents == "structured":
            _tell_of_missing_tables(corpus)
        view = LiveView(quiet=as_json)
        folder = run or (None if resume else default_run_folder(corpus, question))
        answering = ask_async(
            corpus, question, system=chosen, task=_task(task), model=model, base_url=base_url, run=folder, resume=resume,
            sandboxed=sandboxed, on_event=view.show,
        )  # fmt: skip
        try:
            result = asyncio.run(answering)
        except KeyboardInterrupt:
            raise Interrupted(f"interrupted; go on with: corpuscope ask {path} --run {folder} --resume") from None
        if as_json:
            print(json.dumps(result_json(result), ensure_ascii=False))
        else:
            view.answer(result)
            view.note(f"trajectory: {folder} (corpuscope view {folder})")
        if sandboxed and not corpus.store.links:
            print(
                "note: the workspace is on another file system than the corpus; documents were copied", file=sys.stderr
            )
    if not result.stop_reason.has_answer:
        detail = f" ({result.detail})" if result.detail else ""
        raise CorpuscopeError(f"no answer: {_HELP[result.stop_reason].format(run=folder)}{detail}")


def _tell_of_missing_tables(corpus: Corpus) -> None:
    with closing(Structured.open(corpus)) as structured:
        if structured.behind:
            print(
                "note: the corpus has changed since its tables of contents were made; documents that are new stand in the "
                f"workspace without: corpuscope structure {corpus.root}",
                file=sys.stderr,
            )


def _task(name: str) -> Task | None:
    if name not in ("", *get_args(Task)):
        raise UsageError(f"--task {name}: it is {' or '.join(get_args(Task))}")
    return cast(Task, name) if name else None


def _limited(system: System, max_cost: float | None, max_calls: int | None, max_seconds: float | None) -> System:
    limits = {"dollars": max_cost, "model_calls": max_calls, "seconds": max_seconds}
    chosen: dict[str, Any] = {name: limit for name, limit in limits.items() if limit is not None}
    if any(limit <= 0 for limit in chosen.values()):
        raise UsageError("a limit must be above zero")
    return system.model_copy(update={"budget": system.budget.model_copy(update=chosen)})
