"""How a run's requests and workspaces grow from turn to turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from statistics import fmean
from typing import NamedTuple

from ..agent import Event


class Turn(NamedTuple):
    """One reply of the model, as the mean over the `questions` that got that far. Tokens are those of its request (cached ones
    included in `input_tokens`); `seconds` are those since the reply before; `files` are in W, None where there is no workspace."""

    turn: int
    questions: int
    input_tokens: float
    cached_tokens: float
    seconds: float
    files: float | None


class _One(NamedTuple):
    input_tokens: int
    cached_tokens: int
    seconds: float
    files: int | None


def by_turn(trajectories: Iterable[Iterable[Event]]) -> list[Turn]:
    """The turns in their order, from 1."""
    reached: list[list[_One]] = []
    for events in trajectories:
        for place, one in enumerate(_turns(events)):
            if place == len(reached):
                reached.append([])
            reached[place].append(one)
    return [
        Turn(
            turn, len(ones), fmean(o.input_tokens for o in ones), fmean(o.cached_tokens for o in ones), fmean(o.seconds for o in ones),
            fmean(files) if (files := [o.files for o in ones if o.files is not None]) else None,
        )
        for turn, ones in enumerate(reached, 1)
    ]  # fmt: skip


def _turns(events: Iterable[Event]) -> Iterator[_One]:
    """Differences between what was spent by one reply and by the next; summaries between two count with the second."""
    tokens, cached, seconds, files = 0, 0, 0.0, None
    for event in events:
        if event["type"] == "tool":
            files = event["data"].get("workspace", files)
        elif event["type"] == "response" and "spent" in event:
            spent = event["spent"]
            yield _One(
                spent["input_tokens"] - tokens, spent["cached_tokens"] - cached, spent["seconds"] - seconds, files
            )
            tokens, cached, seconds = spent["input_tokens"], spent["cached_tokens"], spent["seconds"]
