"""`events.jsonl`: what happened, appended as it happens. Everything else about a run is derived from it."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from ..errors import SetupError, UsageError
from .budget import Spent
from .context import Pressure
from .steer import steer

Event = dict[str, Any]
"""`type` is one of start, retry, context, summary, steer, response, tool, answer, stop; `seconds` counts from the start."""


class EventLog:
    """Appends events to a file; a killed run loses at most the line being written."""

    def __init__(self, file: Path) -> None:
        self.file = file
        file.parent.mkdir(parents=True, exist_ok=True)
        _drop_partial_line(file)
        self._handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        _lock(self._handle, fcntl.LOCK_SH)  # which says that somebody is at it, and goes with the process

    def append(self, event: Event) -> None:
        line = json.dumps(event, ensure_ascii=True, separators=(",", ":"), default=str).encode() + b"\n"
        try:
            while line:
                line = line[os.write(self._handle, line) :]
        except OSError as error:
            raise SetupError(f"cannot write {self.file} ({error.strerror}): free some space, then --resume") from error

    def close(self) -> None:
        os.close(self._handle)


def read_events(file: Path) -> Iterator[Event]:
    """The events of a trajectory in order, also while it runs. Raises `UsageError` for a damaged line."""
    if not file.exists():
        return
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.endswith(b"\n"):
                return
            try:
                yield json.loads(line)
            except ValueError as error:
                raise UsageError(f"{file}, line {number}, is damaged: {error}") from error


def is_written(file: Path) -> bool:
    """Whether a process is at this trajectory now. One without a `stop` that nobody writes was killed."""
    try:
        handle = os.open(file, os.O_RDONLY)
    except OSError:
        return False
    try:
        return not _lock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(handle)


def _lock(handle: int, how: int) -> bool:
    """Whether it could be had; a file system without locks gives any."""
    try:
        fcntl.flock(handle, how)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


@dataclass(slots=True)
class Past:
    """A trajectory so far, as the loop needs it to go on.

    `pending` are calls of the last reply that have no result yet, `results` those that have one; `understood`
    is whether any of these calls was well formed. `pressure` is what a context policy must know besides. `steered` is set
    once the agent was told to submit, `forced` names the limit at which it was asked for its last reply.
    """

    messages: list[ModelMessage] = field(default_factory=list)
    spent: Spent = field(default_factory=Spent)
    pending: list[ToolCallPart] = field(default_factory=list)
    results: list[ToolReturnPart] = field(default_factory=list)
    pressure: Pressure = field(default_factory=Pressure)
    understood: bool = False
    malformed_turns: int = 0
    steered: bool = False
    forced: str = ""
    events: list[Event] = field(default_factory=list)

    def add_response(self, response: ModelResponse) -> None:
        self.messages.append(response)
        self.pending = [part for part in response.parts if isinstance(part, ToolCallPart)]
        self.results = []
        self.understood = False

    def add_result(self, result: ToolReturnPart, *, malformed: bool) -> None:
        """Results may come in any order; the history has them in the order of the calls."""
        self.results.append(result)
        self.understood |= not malformed
        self.spent.tool_calls += 1
        self.pending = [call for call in self.pending if call.tool_call_id != result.tool_call_id]

    def close_turn(self) -> None:
        """All calls are answered: their results become the next request."""
        if not self.results:
            return
        response = self.messages[-1]
        order = [part.tool_call_id for part in response.parts if isinstance(part, ToolCallPart)]
        self.results.sort(key=lambda result: order.index(result.tool_call_id))
        self.messages.append(ModelRequest(parts=list(self.results)))
        self.malformed_turns = 0 if self.understood else self.malformed_turns + 1
        self.results = []

    def add_steer(self, text: str, forced: str) -> None:
        self.messages.append(steer(text))
        self.steered, self.forced = True, forced or self.forced


def first_request(system_prompt: str, question: str) -> ModelRequest:
    return ModelRequest(parts=[SystemPromptPart(system_prompt), UserPromptPart(question)])


def replay(events: Iterator[Event], system_prompt: str, question: str) -> Past:
    """The state of the loop after these events. Money and calls are counted once, from the replies recorded."""
    past = Past(messages=[first_request(system_prompt, question)])
    for event in events:
        advance(past, event)
    if not past.pending:
        past.close_turn()
    return past


def advance(past: Past, event: Event) -> None:
    """One event on."""
    past.events.append(event)
    past.spent.seconds = max(past.spent.seconds, float(event.get("seconds", 0.0)))
    if event["type"] == "response":
        past.close_turn()
        past.add_response(load_response(event["message"]))
        past.spent = Spent.model_validate(event["spent"])
    elif event["type"] == "tool":
        result = ToolReturnPart(event["name"], event["text"], event["id"], metadata=event["data"])
        past.add_result(result, malformed=event["malformed"])
        if "dollars" in event["data"]:
            past.spent.pay(event["data"]["dollars"])
    elif event["type"] == "steer":
        past.close_turn()
        past.add_steer(event["text"], event["forced"])
    elif event["type"] == "context":
        past.pressure = replace(past.pressure, overflows=int(event["overflows"]))
    elif event["type"] == "summary":
        past.pressure = summarised(past.pressure, event["upto"], event["text"])
        past.spent = Spent.model_validate(event["spent"])


def summarised(pressure: Pressure, upto: int, text: str) -> Pressure:
    """After an attempt to summarise the first `upto` messages; '' is one that failed."""
    if not text:
        return replace(pressure, failures=pressure.failures + 1)
    return replace(pressure, summary=text, upto=upto, failures=0)


def dump_response(response: ModelResponse) -> Any:
    return ModelMessagesTypeAdapter.dump_python([response], mode="json")[0]


def load_response(value: Any) -> ModelResponse:
    message = ModelMessagesTypeAdapter.validate_python([value])[0]
    assert isinstance(message, ModelResponse)
    return message


def _drop_partial_line(file: Path) -> None:
    """The line that a kill cut off is no event."""
    if not file.exists():
        return
    with file.open("r+b") as handle:
        size = handle.seek(0, os.SEEK_END)
        end = size
        while end:
            step = min(1 << 16, end)
            handle.seek(end - step)
            newline = handle.read(step).rfind(b"\n")
            if newline >= 0:
                end = end - step + newline + 1
                break
            end -= step
        if end < size:
            handle.truncate(end)
