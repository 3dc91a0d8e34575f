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
from .scout import SCOUT
from .summary import question as summary_question
from .trajectory import Event, EventLog, Past, dump_response, read_events, replay, summarised

MAX_MALFORMED_TURNS = 5
"""Turns in a row in which no call could be understood."""

MAX_OVERFLOWS = 3
"""Times the context policy is tightened before the trajectory ends."""


@dataclass(frozen=True, slots=True)
class Result:
    """How a trajectory ended. `answer` is None unless `stop_reason` is ANSWERED; `detail` says more of an error."""

    question: str
    answer: Answer | None
    stop_reason: StopReason
    spent: Spent
    detail: str = ""


@dataclass(slots=True)
class Agent:
    """One question's loop over its workspace. `events` is the file it appends to and goes on from."""

    model: Model
    tools: Mapping[str, Tool]
    workspace: Workspace
    system_prompt: str
    events: Path
    budget: Budget = field(default_factory=Budget)
    policy: Policy = level3
    settings: ModelSettings = field(default_factory=ModelSettings)
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
            command = str(event["data"].get("command", ""))
            if any(word in command for word in ("/tmp", "~", "HOME", "TMPDIR", "mktemp")):
                await self.tools[event["name"]].call({"command": command})


@dataclass(slots=True)
class _Run:
    agent: Agent
    past: Past
    log: EventLog
    started: float
    left_out: tuple[int, int, int, int] = (0, 0, 0, 0)
    prefix: Prefix = field(default_factory=Prefix)

    def record(self, kind: str, **values: object) -> None:
        event = {"type": kind, "seconds": round(self.seconds(), 3), **values}
        self.log.append(event)
        self.agent.on_event(event)

    def seconds(self) -> float:
        return time.monotonic() - self.started

    def spent(self) -> Spent:
        return self.past.spent.model_copy(update={"seconds": self.seconds()})

    async def to_the_end(self, question: str) -> Result:
        answer, reason, detail = None, StopReason.ANSWERED, ""
        try:
            if self.past.pending:
                await self._call_tools(self.past.pending)
            while (text := self._final_text()) is None:
                reason_now = self.spent().exceeds(self.agent.budget) or self._misunderstood()
                if reason_now:
                    return self._stop(question, None, reason_now, "")
                await self._turn()
            if text:
                answer = parse_answer(text, self.agent.workspace)
                if not any(event["type"] == "answer" for event in self.past.events):
                    self.record("answer", text=text, answer=answer.model_dump(mode="json"))
            else:
                reason = StopReason.EMPTY_REPLY
        except TimeoutError:
            reason = StopReason.WALL_CLOCK
        except ContextOverflow as error:
            reason, detail = StopReason.CONTEXT_OVERFLOW, str(error)
        except ModelFailed as error:
            reason, detail = StopReason.MODEL_ERROR, str(error)
        return self._stop(question, answer, reason, detail)

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
        response = await self._ask()
        self._count(response)
        self.record("response", message=dump_response(response), spent=self.spent().model_dump())
        self.past.add_response(response)
        if self.past.spent.dollars is None and self.agent.budget.dollars is not None:
            raise CorpuscopeError(
                f"no price is known for {response.model_name} (or its reply has no usage), so --max-cost cannot be "
                "kept: leave it out, or choose a model with public prices"
            )
        await self._call_tools(self.past.pending)

    async def _ask(self) -> ModelResponse:
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
                response = await self._request(kept.messages, _definitions(self.agent.tools))
            except ContextOverflow:
                if self.past.pressure.overflows >= MAX_OVERFLOWS:
                    raise
                overflowed = kept
                self.past.pressure = replace(self.past.pressure, overflows=self.past.pressure.overflows + 1)
                continue
            self._sent(kept.messages)
            return response

    async def _request(self, messages: Sequence[ModelMessage], tools: list[ToolDefinition]) -> ModelResponse:
        return await request(
            self.agent.model,
            messages,
            ModelSettings(**{"max_retries": 0, **self.agent.settings}),
            ModelRequestParameters(function_tools=tools),
            backoff=self.agent.backoff,
            seconds_left=lambda: self.agent.budget.seconds - self.seconds(),
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
        if response.model_name == SCOUT:
            return  # no tokens, no money
        spent.input_tokens += usage.input_tokens
        spent.cached_tokens += usage.cache_read_tokens
        spent.cache_write_tokens += usage.cache_write_tokens
        spent.output_tokens += usage.output_tokens
        spent.reasoning_tokens += usage.output_reasoning_tokens or 0
        spent.unmeasured += usage.unmeasured_requests
        dollars = price(response)
        spent.dollars = None if dollars is None or spent.dollars is None else spent.dollars + dollars

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
                observation = await _observe(call, self.agent.tools)
        except ToolError as error:
            failed, malformed = True, isinstance(error, MalformedCall)
            observation = Observation(f"Error: {error}")
        except TimeoutError:
            failed, observation = True, Observation("Error: the time for this question is used up")
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


async def _observe(call: ToolCallPart, tools: Mapping[str, Tool]) -> Observation:
    tool = tools.get(call.tool_name)
    if tool is None:
        raise MalformedCall(f"there is no tool {call.tool_name!r}; the tools are {', '.join(tools)}")
    return await tool.call(call.args)


def _definitions(tools: Mapping[str, Tool]) -> list[ToolDefinition]:
    return [
        ToolDefinition(name=tool.name, description=tool.description, parameters_json_schema=tool.schema)
        for tool in tools.values()
    ]
