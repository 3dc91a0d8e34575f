"""One question of a run, put together: corpus, workspace, tools, model, and whose loop it is."""

from __future__ import annotations

from collections.abc import Callable

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
from .run import Run
from .system import System
from .tools import open_workspace


async def answer_question(
    corpus: Corpus,
    run: Run,
    identity: str,
    question: str,
    model: Model | None,
    on_event: Callable[[Event], None],
    backoff: Backoff,
) -> Result:
    """The result of `question`, whose folder in the run is named `identity`; goes on where its events end. `model` is None
    where a harness asks it."""
    settings = run.settings
    system = settings.system
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


def model_of(system: System, name: str, base_url: str) -> Model | None:
    """The model that our loop asks; None where a harness asks one itself."""
    if system.harness:
        return None
    model = open_model(name, base_url)
    return tag_model(system.speech, model) if system.speech else model


def model_name(system: System, model: str | Model, base_url: str) -> str:
    """The name of the model that will answer. Raises `UsageError` where the choices do not fit."""
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
