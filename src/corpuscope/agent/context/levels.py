"""The five levels of DCI-Agent-Lite (DCI, section 3.3): cutting, blanking, summarising."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, UserPromptPart

from .policy import PLACEHOLDER, Kept, Policy, Pressure, characters, cut, results, shortened, tokens, turns

LIGHT = 50_000
"""Characters of one tool result (L1)."""

MAX_RESULT = 20_000
"""Characters of one tool result (L2, L3, L4)."""

MAX_RESULTS = 240_000
"""Characters of all tool results held, above which old turns are blanked (L3, L4)."""

KEPT_TURNS = 12
"""The latest turns, whose results are never blanked (L3, L4)."""

KEPT_TOKENS = 20_000
"""Of the latest history, which no summary replaces (L4)."""

MAX_FAILURES = 3
"""Attempts in a row at a summary, after which none is made any more (L4)."""

SUMMARISE_ABOVE = 60_000
"""Tokens of a request, by estimate, above which a summary is due (L4). The paper names no number; this is what compaction
alone lets stand of tool results."""

RESERVE = 16_384
"""Tokens of the model's window that are left for its reply, where that leaves less than `SUMMARISE_ABOVE` (L4)."""

SUMMARY = "Summary of the work so far, which replaces the older part of this conversation:\n\n"


def level(cut_at: int | None, *, compact: bool = False, summarise: bool = False) -> Policy:
    """A level by what it does: cut results at `cut_at` characters, blank old ones, summarise what is still too long."""

    def policy(messages: Sequence[ModelMessage], pressure: Pressure) -> Kept:
        history = _with_summary(messages, pressure) if summarise else list(messages)
        kept = _compacted(history, cut_at, pressure.overflows) if compact else _truncated(history, cut_at)
        lost = characters(messages) - characters(kept.messages)
        summarised = pressure.upto if summarise else 0
        kept = replace(kept, removed_characters=lost, summarised=summarised)
        if summarise and (upto := _due(messages, kept.messages, pressure)):
            return replace(kept, wants_summary=upto)
        return kept

    return policy


def _truncated(history: list[ModelMessage], cut_at: int | None) -> Kept:
    if cut_at is None:
        return Kept(history)
    return Kept([shortened(message, lambda text: cut(text, cut_at)) for message in history])


def _compacted(history: list[ModelMessage], cut_at: int | None, overflows: int) -> Kept:
    """Cut long results; blank all but the latest turns each time what is held outgrows the limit.

    Blanking goes in one big step when the limit is passed and not turn by turn: every edit of old text makes
    the provider read all after it anew (case J3). Once the provider reported an overflow, its window is the
    limit: each halves the turns kept and the length of a result.
    """
    assert cut_at is not None
    limit, kept_turns = 0 if overflows else MAX_RESULTS, max(1, KEPT_TURNS >> overflows)
    length = cut_at >> overflows
    places = turns(history)
    sizes = {i: sum(min(len(str(p.content)), length) for p in results(history[i])) for i in places}
    blank_before, held = 0, 0
    for count, i in enumerate(places, 1):
        held += sizes[i]
        if held > limit and count > kept_turns:
            blank_before = count - kept_turns
            held = sum(sizes[j] for j in places[blank_before:count])
    blanked = set(places[:blank_before])
    kept = [
        shortened(message, (lambda text: PLACEHOLDER) if i in blanked else (lambda text: cut(text, length)))
        for i, message in enumerate(history)
    ]
    return Kept(kept, blanked=blank_before)


def _with_summary(messages: Sequence[ModelMessage], pressure: Pressure) -> list[ModelMessage]:
    """The question, the summary, and the history that it does not stand for."""
    if not pressure.upto:
        return list(messages)
    first = messages[0]
    assert isinstance(first, ModelRequest)
    asked = next(part for part in first.parts if isinstance(part, UserPromptPart))
    told = replace(first, parts=[*first.parts, replace(asked, content=SUMMARY + pressure.summary)])
    return [told, *messages[pressure.upto :]]


def _due(messages: Sequence[ModelMessage], kept: Sequence[ModelMessage], pressure: Pressure) -> int:
    """How many messages should be summarised now; 0 for none."""
    if pressure.failures >= MAX_FAILURES:
        return 0
    # What is kept must fit well below the limit, or every turn would be summarised by itself.
    if tokens(kept) <= max(min(SUMMARISE_ABOVE, pressure.window - RESERVE), 2 * KEPT_TOKENS):
        return 0
    upto, recent = len(messages), 0
    for i in range(len(messages) - 1, max(0, pressure.upto), -1):
        recent += tokens([kept[i - len(messages)]])
        if recent > KEPT_TOKENS and upto < len(messages):
            break
        if isinstance(messages[i], ModelResponse):
            upto = i  # calls stay with their results
    return upto if pressure.upto < upto < len(messages) and upto > 1 else 0
