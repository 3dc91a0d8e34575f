"""One question through one system: corpus, workspace, tools, model and loop put together."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings

from ..agent import (
    DEFAULT_MODEL,
    POLICIES,
    RANKER,
    SCOUT,
    Agent,
    Event,
    Job,
    Result,
    default_model,
    open_model,
    parse_answer,
    parse_ranking,
    run_harness,
    tag_model,
)
from ..corpus import Corpus
from ..errors import UsageError
from ..models import Backoff, served_model
from .run import Run, query_id, structured_revision
from .system import System, Task, default_system, load_system
from .tools import open_workspace


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
        answers = model if isinstance(model, Model) else _opened_for(settings.system, settings.model, settings.base_url)
    else:
        if not question.strip():
            raise UsageError("the question is empty")
        chosen = system if isinstance(system, System) else load_system(system or default_system(corpus))
        todo = chosen.task(task)
        name = _model_name(chosen, model, base_url)
        answers = model if isinstance(model, Model) else _opened_for(chosen, name, base_url)
        folder = Path(run) if run else default_run_folder(corpus, question)
        current = Run.create(folder, corpus, chosen, todo, name, base_url, sandboxed)
    return await _answer(corpus, question, current, answers, on_event, backoff or Backoff())


def default_run_folder(corpus: Corpus, question: str) -> Path:
    """Where a run goes that was given no folder: below its corpus, by time and question."""
    return corpus.root / "runs" / f"{time.strftime('%Y%m%d-%H%M%S')}-{query_id(question)[2:8]}"


def ask(corpus: Corpus | str | Path, question: str = "", **options: object) -> Result:
    """`ask_async` for callers without an event loop."""
    return asyncio.run(ask_async(corpus, question, **options))  # type: ignore[arg-type]


async def _answer(
    corpus: Corpus, question: str, run: Run, model: Model | None, on_event: Callable[[Event], None], backoff: Backoff
) -> Result:
    settings = run.settings
    system = settings.system
    identity = query_id(question)
    parse = parse_answer if settings.task == "answer" else parse_ranking
    with open_workspace(corpus, system, sandboxed=settings.sandboxed) as (workspace, tools):
        if model is None:
            job = Job(
                question=question,
                model=settings.model,
                base_url=settings.base_url,
                system_prompt=system.system_prompt(settings.task),
                tools=tools,
                workspace=workspace,
                events=run.events(identity),
                budget=system.budget,
                settings=system.settings,
                parse=parse,
                on_event=on_event,
            )
            result = await run_harness(system.harness, job)
            run.write_answer(identity, result)
            return result
        agent = Agent(
            model=model,
            tools=tools,
            workspace=workspace,
            system_prompt=system.system_prompt(settings.task),
            events=run.events(identity),
            budget=system.budget,
            policy=POLICIES[system.context],
            settings=ModelSettings(**system.settings),  # type: ignore[typeddict-item]
            parse=parse,
            submit_at=system.submit_at,
            force_answer=system.force_answer,
            backoff=backoff,
            on_event=on_event,
        )
        result = await agent.run(question)
    run.write_answer(identity, result)
    return result


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


def _opened_for(system: System, name: str, base_url: str) -> Model | None:
    """The model that our loop asks; None where a harness asks one itself."""
    if system.harness:
        return None
    model = open_model(name, base_url)
    return tag_model(system.speech, model) if system.speech else model


def _model_name(system: System, model: str | Model, base_url: str) -> str:
    if isinstance(model, Model):
        if system.harness:
            raise UsageError(f"system {system.name} asks its model itself: give its name, not an object")
        model = model.model_name
    if system.harness or system.speech:
        return _language_model(system, model, base_url)
    if system.model:
        if base_url or model not in ("", system.model):
            raise UsageError(f"system {system.name} asks no language model: leave --model and --base-url out")
        return system.model
    return model or (served_model(base_url) if base_url else default_model())


def _language_model(system: System, model: str, base_url: str) -> str:
    known = model or DEFAULT_MODEL.get(system.harness, "") or (served_model(base_url) if base_url else default_model())
    if known in (SCOUT, RANKER):
        raise UsageError(f"system {system.name} asks a language model: set a provider's key, or name one with --model")
    return known
