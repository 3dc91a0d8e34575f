"""The agent: ask the model, run the tools it calls, until it answers or a limit stops it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from ..errors import CorpuscopeError, ToolError
from ..models import Backoff, ContextOverflow, ModelFailed, context_window, price, request
from ..workspace import MalformedCall, Observation, Tool, Workspace
from .answer import Answer, parse_answer
from .budget import Budget, Spent, StopReason
from .context import DEFAULT_WINDOW, Kept, Policy, Prefix, level3
from .ranker import RANKER
from .scout import SCOUT
from .steer import CLOSED, LAST_REPLY, LAST_SECONDS, SUBMIT_NOW
from .summary import question as summary_question
from .trajectory import Event, EventLog, Past, dump_response, read_events, replay, summarised

MAX_MALFORMED_TURNS = 5
"""Turns in a row in which no call could be understood."""

MAX_OVERFLOWS = 3
"""Times the context policy is tightened before the trajectory ends."""

FORCEABLE = (
    StopReason.MODEL_CALLS, StopReason.WALL_CLOCK, StopReason.MONEY, StopReason.MALFORMED_CALLS, StopReason.EMPTY_REPLY,
)  # fmt: skip
"""Endings at which a last reply can still be asked for."""


@dataclass(frozen=True, slots=True)
class Result:
    """How a trajectory ended. `answer` is None unless `stop_reason` is ANSWERED or FORCED; `detail` says more of an error, or
    which limit forced the answer."""

    question: str
    answer: Answer | None
    stop_reason: StopReason
    spent: Spent
    detail: str = ""


@dataclass(slots=True)
class Agent:
    """One question's loop over its workspace. `events` is the file it appends to and goes on from.

    With `submit_at`, the agent is told to answer once that share of its time is used up, and its tools are closed. With
    `force_answer`, one last reply is asked for when a limit is reached.
    """

    model: Model
    tools: Mapping[str, Tool]
    workspace: Workspace
    system_prompt: str
    events: Path
    budget: Budget = field(default_factory=Budget)
    policy: Policy = level3
    settings: ModelSettings = field(default_factory=ModelSettings)
    parse: Callable[[str, Workspace], Answer] = parse_answer
    submit_at: float | None = None
    force_answer: bool = False
    backoff: Backoff = field(default_factory=Backoff)
    on_event: Callable[[Event], None] = lambda event: None

    async def run(self, question: str) -> Result:
        """Answer `question`, going on where `events` ends. A cancelled run can be taken up again.

        Raises `CorpuscopeError` for what only a person can repair; the events so far are kept.
        """
        past = replay(read_events(self.events), self.system_prompt, question)
        past.pressure = replace(past.pressure, window=context_window(self.model) or DEFAULT_WINDOW)
        log = EventLog(self.events)
        run = _Run(self, past, log, started=time.monotonic() - past.spent.seconds)
        try:
            if past.events:
                await self._restore(past)
            else:
                run.record("start", question=question, time=time.time(), workspace=len(self.workspace))
            return await run.to_the_end(question)
        except asyncio.CancelledError:
            run.record("stop", reason=StopReason.INTERRUPTED, detail="", spent=run.spent().model_dump())
            raise
        except CorpuscopeError as error:
            run.record("stop", reason=StopReason.MODEL_ERROR, detail=str(error), spent=run.spent().model_dump())
            raise
        finally:
            log.close()

    async def _restore(self, past: Past) -> None:
        """Bring W and its scratch to where the killed run had them."""
        for event in past.events:
            if event["type"] != "tool":
                continue
            if imported := event["data"].get("imported"):
                self.workspace.add(imported)
            tool = self.tools.get(event["name"])
            if tool and not event["error"] and tool.leaves_something(event["data"]):
                await tool.call(event["arguments"])


@dataclass(slots=True)
class _Run:
    agent: Agent
    past: Past
    log: EventLog
    started: float
    left_out: tuple[int, int, int, int] = (0, 0, 0, 0)
    prefix: Prefix = field(default_factory=Prefix)
    seconds_beyond: float = 0.0

    def record(self, kind: str, **values: object) -> None:
        event = {"type": kind, "seconds": round(self.seconds(), 3), **values}
        self.log.append(event)
        self.agent.on_event(event)

    def seconds(self) -> float:
        return time.monotonic() - self.started

    def spent(self) -> Spent:
        return self.past.spent.model_copy(update={"seconds": self.seconds()})

    async def to_the_end(self, question: str) -> Result:
        text, reason, detail = await self._until_stopped()
        if not text and self.agent.force_answer and reason in FORCEABLE:
            text, reason, detail = await self._forced(reason)
        answer = None
        if text:
            answer = self.agent.parse(text, self.agent.workspace)
            if not any(event["type"] == "answer" for event in self.past.events):
                self.record("answer", text=text, answer=answer.model_dump(mode="json"))
        return self._stop(question, answer, reason, detail)

    async def _until_stopped(self) -> tuple[str, StopReason, str]:
        """The final text ('' without one), why it ended, and more about that."""
        if self.past.forced:
            return "", StopReason(self.past.forced), ""
        try:
            if self.past.pending:
                await self._call_tools(self.past.pending)
            while (text := self._final_text()) is None:
                if limit := self.spent().exceeds(self.agent.budget) or self._misunderstood():
                    return "", limit, ""
                self._submit_now()
                await self._turn()
        except TimeoutError:
            return "", StopReason.WALL_CLOCK, ""
        except ContextOverflow as error:
            return "", StopReason.CONTEXT_OVERFLOW, str(error)
        except ModelFailed as error:
            return "", StopReason.MODEL_ERROR, str(error)
        return text, StopReason.ANSWERED if text else StopReason.EMPTY_REPLY, ""

    async def _forced(self, limit: StopReason) -> tuple[str, StopReason, str]:
        """Ask for the last reply. Without a text in it, the question ends as it would have."""
        if not self.past.forced:
            self._steer(LAST_REPLY, forced=limit)
        self.seconds_beyond = LAST_SECONDS
        try:
            if self._final_text() is None:
                await self._reply(ModelSettings(tool_choice="none"))
        except ModelFailed as error:
            return "", StopReason.MODEL_ERROR, str(error)  # a resumed run asks for it again
        except (TimeoutError, ContextOverflow) as error:
            return "", limit, f"a last reply was asked for and did not come ({error})".replace(" ()", "")
        text = self._final_text()
        return (text, StopReason.FORCED, limit.value) if text else ("", limit, "the last reply was empty")

    def _submit_now(self) -> None:
        share = self.agent.submit_at
        if share is not None and not self.past.steered and self.seconds() >= share * self.agent.budget.seconds:
            self._steer(SUBMIT_NOW)

    def _steer(self, text: str, forced: str = "") -> None:
        self.record("steer", text=text, forced=forced)
        self.past.add_steer(text, forced)

    def _stop(self, question: str, answer: Answer | None, reason: StopReason, detail: str) -> Result:
        spent = self.spent()
        self.record("stop", reason=reason, detail=detail, spent=spent.model_dump())
        return Result(question, answer, reason, spent, detail)

    def _final_text(self) -> str | None:
        """The text of a reply without calls, '' when it is empty; None while there is more to do."""
        last = self.past.messages[-1]
        if not isinstance(last, ModelResponse):
            return None
        return "\n".join(part.content for part in last.parts if isinstance(part, TextPart)).strip()

    def _misunderstood(self) -> StopReason | None:
        return StopReason.MALFORMED_CALLS if self.past.malformed_turns >= MAX_MALFORMED_TURNS else None

    async def _turn(self) -> None:
        await self._reply()
        await self._call_tools(self.past.pending)

    async def _reply(self, more: ModelSettings | None = None) -> None:
        """The next reply, counted, recorded and in the history. `more` are settings for this one."""
        response = await self._ask(more)
        self._count(response)
        self.record("response", message=dump_response(response), spent=self.spent().model_dump())
        self.past.add_response(response)
        if self.past.spent.dollars is None and self.agent.budget.dollars is not None:
            raise CorpuscopeError(
                f"no price is known for {response.model_name} (or its reply has no usage), so --max-cost cannot be "
                "kept: leave it out, or choose a model with public prices"
            )

    async def _ask(self, more: ModelSettings | None = None) -> ModelResponse:
        overflowed: Kept | None = None
        while True:
            kept = self.agent.policy(self.past.messages, self.past.pressure)
            if kept.wants_summary:
                await self._summarise(kept)
                continue
            if overflowed and kept == overflowed:
                raise ContextOverflow("the context is too long, and this policy leaves nothing more out")
            self._tell(kept)
            try:
                response = await self._request(kept.messages, _definitions(self.agent.tools), more)
            except ContextOverflow:
                if self.past.pressure.overflows >= MAX_OVERFLOWS:
                    raise
                overflowed = kept
                self.past.pressure = replace(self.past.pressure, overflows=self.past.pressure.overflows + 1)
                continue
            self._sent(kept.messages)
            return response

    async def _request(
        self, messages: Sequence[ModelMessage], tools: list[ToolDefinition], more: ModelSettings | None = None
    ) -> ModelResponse:
        return await request(
            self.agent.model,
            messages,
            ModelSettings(**{"max_retries": 0, **self.agent.settings, **(more or {})}),
            ModelRequestParameters(function_tools=tools),
            backoff=self.agent.backoff,
            seconds_left=lambda: self.agent.budget.seconds + self.seconds_beyond - self.seconds(),
            on_retry=lambda error, wait: self.record("retry", error=error, wait=round(wait, 2)),
        )

    def _tell(self, kept: Kept) -> None:
        """Record what the policy leaves out, when that changes."""
        left_out = (kept.blanked, kept.removed_characters, kept.summarised, self.past.pressure.overflows)
        if left_out != self.left_out:
            self.left_out = left_out
            names = ("blanked", "removed_characters", "summarised", "overflows")
            self.record("context", **dict(zip(names, left_out, strict=True)))

    def _sent(self, messages: Sequence[ModelMessage]) -> None:
        total, same = self.prefix.sent(messages)
        self.past.spent.sent_characters += total
        self.past.spent.prefix_characters += same

    async def _summarise(self, kept: Kept) -> None:
        """One attempt to have the older history summarised; a failure is recorded and counted, and the run goes on."""
        upto = kept.wants_summary
        older = kept.messages[: len(kept.messages) - (len(self.past.messages) - upto)]
        text, error = "", ""
        try:
            response = await self._request([summary_question(older)], [])
            self._pay(response)
            text = "\n".join(part.content for part in response.parts if isinstance(part, TextPart)).strip()
        except (ContextOverflow, ModelFailed) as failed:
            error = str(failed)
        self.past.pressure = summarised(self.past.pressure, upto, text)
        self.record("summary", upto=upto, text=text, error=error, spent=self.spent().model_dump())

    def _count(self, response: ModelResponse) -> None:
        self.past.spent.model_calls += 1
        self._pay(response)

    def _pay(self, response: ModelResponse) -> None:
        spent, usage = self.past.spent, response.usage
        if response.model_name in (SCOUT, RANKER):
            return  # no tokens, no money
        spent.input_tokens += usage.input_tokens
        spent.cached_tokens += usage.cache_read_tokens
        spent.cache_write_tokens += usage.cache_write_tokens
        spent.output_tokens += usage.output_tokens
        spent.reasoning_tokens += usage.output_reasoning_tokens or 0
        spent.unmeasured += usage.unmeasured_requests
        spent.pay(price(response))

    async def _call_tools(self, calls: Sequence[ToolCallPart]) -> None:
        """Run the calls of one reply side by side, each recorded as it ends."""
        try:
            async with asyncio.TaskGroup() as group:
                for call in list(calls):
                    group.create_task(self._call_tool(call))
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        self.past.close_turn()

    async def _call_tool(self, call: ToolCallPart) -> None:
        started = time.monotonic()
        malformed = failed = False
        try:
            async with asyncio.timeout(max(0.0, self.agent.budget.seconds - self.seconds())):
                observation = await _observe(call, self.agent.tools, closed=self.past.steered)
        except ToolError as error:
            failed, malformed = True, isinstance(error, MalformedCall)
            observation = Observation(f"Error: {error}")
        except TimeoutError:
            failed, observation = True, Observation("Error: the time for this question is used up")
        if "dollars" in observation.data:  # of a model that a tool asks
            self.past.spent.pay(observation.data["dollars"])
        self.record(
            "tool",
            id=call.tool_call_id,
            name=call.tool_name,
            arguments=call.args,
            text=observation.text,
            data=dict(observation.data),
            error=failed,
            malformed=malformed,
            took=round(time.monotonic() - started, 4),
        )
        result = ToolReturnPart(call.tool_name, observation.text, call.tool_call_id, metadata=dict(observation.data))
        self.past.add_result(result, malformed=malformed)


async def _observe(call: ToolCallPart, tools: Mapping[str, Tool], *, closed: bool) -> Observation:
    if closed:
        raise ToolError(CLOSED)
    tool = tools.get(call.tool_name)
    if tool is None:
        raise MalformedCall(f"there is no tool {call.tool_name!r}; the tools are {', '.join(tools)}")
    return await tool.call(call.args)


def _definitions(tools: Mapping[str, Tool]) -> list[ToolDefinition]:
    return [
        ToolDefinition(name=tool.name, description=tool.description, parameters_json_schema=tool.schema)
        for tool in tools.values()
    ]
