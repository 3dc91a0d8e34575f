"""What a harness is given, and the record it leaves."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic_ai.messages import ModelResponse, ToolCallPart

from ...errors import CorpuscopeError
from ...models import price
from ...workspace import Observation, Tool, Workspace
from ..answer import Answer
from ..budget import Budget, Spent, StopReason
from ..loop import Result
from ..trajectory import Event, EventLog, dump_response, read_events


@dataclass(frozen=True, slots=True)
class Job:
    """One question for a harness. `model` is `provider:model`; `base_url` replaces its provider's address."""

    question: str
    model: str
    base_url: str
    system_prompt: str
    tools: Mapping[str, Tool]
    workspace: Workspace
    events: Path
    budget: Budget
    settings: Mapping[str, Any]
    parse: Callable[[str, Workspace], Answer]
    on_event: Callable[[Event], None]


@dataclass(slots=True)
class Record:
    """Events as our own loop writes them. Calls are told when they end and written behind the reply that made them."""

    job: Job
    spent: Spent = field(default_factory=Spent)
    started: float = field(default_factory=time.monotonic)
    log: EventLog | None = None
    _done: dict[str, tuple[str, Mapping[str, Any], Observation, bool, float]] = field(default_factory=dict)
    _pending: list[ToolCallPart] = field(default_factory=list)

    def open(self) -> None:
        """Begin. What a killed run left is kept beside, and what it spent stays spent: no harness can go on in the middle."""
        if before := list(read_events(self.job.events)):
            spent = [Spent.model_validate(event["spent"]) for event in before if "spent" in event]
            self.spent = spent[-1].model_copy(update={"tool_calls": 0, "model_calls": 0}) if spent else Spent()
            number = len(list(self.job.events.parent.glob("events.*.jsonl"))) + 1
            self.job.events.rename(self.job.events.with_name(f"events.{number}.jsonl"))
        self.log = EventLog(self.job.events)
        self.write("start", question=self.job.question, time=time.time(), workspace=len(self.job.workspace))

    def write(self, kind: str, **values: object) -> None:
        event = {"type": kind, "seconds": round(self.seconds(), 3), **values}
        assert self.log
        self.log.append(event)
        self.job.on_event(event)

    def seconds(self) -> float:
        return time.monotonic() - self.started

    def told(
        self, id: str, name: str, arguments: Mapping[str, Any], observation: Observation, failed: bool, seconds: float
    ) -> None:
        """A call of ours has ended."""
        self._done[id] = (name, arguments, observation, failed, seconds)

    def response(self, response: ModelResponse) -> None:
        """A reply, whole."""
        usage = response.usage
        self.spent.model_calls += 1
        self.spent.input_tokens += usage.input_tokens
        self.spent.cached_tokens += usage.cache_read_tokens
        self.spent.cache_write_tokens += usage.cache_write_tokens
        self.spent.output_tokens += usage.output_tokens
        dollars = price(response)
        self.spent.dollars = None if dollars is None or self.spent.dollars is None else self.spent.dollars + dollars
        self.spent.seconds = self.seconds()
        self.write("response", message=dump_response(response), spent=self.spent.model_dump())
        self._pending += [part for part in response.parts if isinstance(part, ToolCallPart)]

    def results(self, seen: Mapping[str, tuple[str, bool]]) -> None:
        """These calls are answered: id -> (text, failed) as the harness shows it, which counts for calls that never came to us."""
        for call in [call for call in self._pending if call.tool_call_id in seen]:
            self._pending.remove(call)
            text, refused = seen[call.tool_call_id]
            name, arguments, observation, failed, seconds = self._done.pop(
                call.tool_call_id, (call.tool_name, call.args_as_dict(), Observation(text), refused, 0.0)
            )
            self.spent.tool_calls += 1
            self.write(
                "tool", id=call.tool_call_id, name=name, arguments=dict(arguments), text=observation.text,
                data=dict(observation.data), error=failed, malformed=False, took=round(seconds, 4),
            )  # fmt: skip

    def end(self, text: str, reason: StopReason, detail: str = "") -> Result:
        """The last word; '' is none. Calls that are still open have come to nothing."""
        self.results(
            {call.tool_call_id: ("Error: the question ended before its result", True) for call in self._pending}
        )
        answer = None
        if reason is StopReason.ANSWERED and not text.strip():
            reason = StopReason.EMPTY_REPLY
        if reason is StopReason.ANSWERED:
            answer = self.job.parse(text, self.job.workspace)
            self.write("answer", text=text, answer=answer.model_dump(mode="json"))
        self.spent.seconds = self.seconds()
        self.write("stop", reason=reason, detail=detail, spent=self.spent.model_dump())
        return Result(self.job.question, answer, reason, self.spent, detail)


async def recorded(job: Job, work: Callable[[Record], Any]) -> Result:
    """Run `work(record)`, which returns the result, within the time of the job; however it ends, the record says so."""
    record = Record(job)
    record.open()
    try:
        async with asyncio.timeout(job.budget.seconds):
            result: Result = await work(record)
            return result
    except TimeoutError:
        return record.end("", StopReason.WALL_CLOCK)
    except asyncio.CancelledError:
        record.end("", StopReason.INTERRUPTED)
        raise
    except CorpuscopeError as error:
        record.end("", StopReason.MODEL_ERROR, str(error))
        raise
    finally:
        assert record.log
        record.log.close()
