"""Ours: bounded context with the fewest edits of what the provider has in its cache.

Results are cut when they arrive and not touched until the history is full; then much is blanked at once, so that the
next edit is far away. Short results stay: they cost little, and say what was tried. Each edit is billed as everything
behind it, so the price of a long trajectory is the number of edits and not the size of the context (case J3).
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic_ai.messages import ModelMessage

from .policy import PLACEHOLDER, Kept, Pressure, characters, cut, results, shortened, turns

MAX_RESULT = 20_000
"""Characters of one tool result."""

FULL = 240_000
"""Characters of tool results held, above which old ones are blanked."""

LEFT = 24_000
"""Characters of tool results left after that, or those of the latest turns: little, so that the next edit is far away."""

KEPT_TURNS = 3
"""The latest turns, which are never blanked."""

SHORT = 400
"""Characters of a turn's results that are not worth blanking."""


def frugal(messages: Sequence[ModelMessage], pressure: Pressure) -> Kept:
    """Each context overflow halves all limits."""
    full, left, length = (size >> pressure.overflows for size in (FULL, LEFT, MAX_RESULT))
    places = turns(messages)
    sizes = {i: sum(min(len(str(part.content)), length) for part in results(messages[i])) for i in places}
    blanked: set[int] = set()
    held = 0
    for count, i in enumerate(places, 1):
        held += sizes[i]
        if held <= full:
            continue
        for old in places[: max(0, count - KEPT_TURNS)]:
            if held <= left:
                break
            if old not in blanked and sizes[old] > SHORT:
                blanked.add(old)
                held -= sizes[old]
    kept = [
        shortened(message, (lambda text: PLACEHOLDER) if i in blanked else (lambda text: cut(text, length)))
        for i, message in enumerate(messages)
    ]
    return Kept(kept, blanked=len(blanked), removed_characters=characters(messages) - characters(kept))
