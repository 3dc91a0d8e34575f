"""A trajectory by its first and last events: however long it is, a moment tells how it stands."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ...agent import Answer, Event, Result, Spent, StopReason, is_written
from ...errors import UsageError

_WINDOW = 1 << 16
"""Bytes looked at from the end at first; four times as many while they do not tell enough."""


@dataclass(frozen=True, slots=True)
class Glance:
    """`result` is None for a trajectory that has not ended; `live` is whether somebody is at it."""

    question: str
    result: Result | None
    spent: Spent
    live: bool


class _End(NamedTuple):
    """The last event, the last that says what was spent, and the last answer; None for what was not seen."""

    last: Event | None
    spent: Event | None
    answer: Event | None

    @property
    def is_enough(self) -> bool:
        if self.last is None or self.spent is None:
            return False
        return self.answer is not None or not _has_answer(self.last)


def glance(file: Path) -> Glance | None:
    """None where nothing has happened yet. Raises `UsageError` for a line that is no event."""
    try:
        size = file.stat().st_size
        with file.open("rb") as lines:
            first = lines.readline()
    except FileNotFoundError:
        return None
    if not first.endswith(b"\n"):
        return None
    question = str(_event(file, first).get("question", ""))
    window = _WINDOW
    while not (end := _end(_event(file, line) for line in _last_lines(file, window))).is_enough and window < size:
        window *= 4
    spent = Spent.model_validate(end.spent["spent"] if end.spent else {})
    return Glance(question, _result(question, end, spent), spent, is_written(file))


def _last_lines(file: Path, window: int) -> list[bytes]:
    """Whole lines within the last `window` bytes, the last first; one that is just being written is none."""
    with file.open("rb") as handle:
        start = max(0, handle.seek(0, 2) - window)
        handle.seek(start)
        lines = handle.read().split(b"\n")[:-1]
    return lines[:0:-1] if start else lines[::-1]


def _end(events: Iterable[Event]) -> _End:
    last = spent = answer = None
    for event in events:
        last = last or event
        spent = spent or (event if "spent" in event else None)
        answer = answer or (event if event["type"] == "answer" else None)
        if _End(last, spent, answer).is_enough:
            break
    return _End(last, spent, answer)


def _has_answer(event: Event) -> bool:
    return event["type"] == "stop" and StopReason(event["reason"]).has_answer


def _result(question: str, end: _End, spent: Spent) -> Result | None:
    if end.last is None or end.last["type"] != "stop":
        return None
    answer = Answer.model_validate(end.answer["answer"]) if end.answer and _has_answer(end.last) else None
    return Result(question, answer, StopReason(end.last["reason"]), spent, str(end.last.get("detail", "")))


def _event(file: Path, line: bytes) -> Event:
    try:
        event: Event = json.loads(line)
        if "type" in event:
            return event
    except (ValueError, TypeError) as error:
        raise UsageError(f"{file} is damaged: {str(error)[:200]}") from error
    raise UsageError(f"{file} is damaged: a line without a type")
