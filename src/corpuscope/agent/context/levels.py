"""What of the history goes back to the model (DCI, section 3.3): here level 3."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelRequestPart, ToolReturnPart

MAX_RESULT = 20_000
"""Characters of one tool result (L2, L3)."""

MAX_RESULTS = 240_000
"""Characters of all tool results held, above which old turns are blanked (L3)."""

KEPT_TURNS = 12
"""The latest turns, whose results are never blanked (L3)."""

PLACEHOLDER = "[old tool result removed to save context; call the tool again if you need it]"


@dataclass(frozen=True, slots=True)
class Kept:
    """A policy's work: what to send, and how much of the tool results is missing from it."""

    messages: list[ModelMessage]
    blanked: int
    removed_characters: int


Policy = Callable[[Sequence[ModelMessage], int], Kept]
"""`policy(messages, overflows)`: the whole history in, a `Kept` out; stricter after each context overflow."""


def level3(messages: Sequence[ModelMessage], overflows: int = 0) -> Kept:
    """Cut long results; blank all but the latest turns each time what is held outgrows the limit.

    Blanking goes in one big step when the limit is passed and not turn by turn: every edit of old text makes
    the provider read all after it anew. A turn is a reply with the results of its calls. Once the provider
    reported an overflow, its window is the limit: each halves the turns kept and the length of a result.
    """
    limit, kept_turns = 0 if overflows else MAX_RESULTS, max(1, KEPT_TURNS >> overflows)
    cut_at = MAX_RESULT >> overflows
    turns = [i for i, message in enumerate(messages) if isinstance(message, ModelRequest) and _results(message)]
    sizes = {i: sum(min(len(str(p.content)), cut_at) for p in _results(messages[i])) for i in turns}
    blank_before, held = 0, 0
    for count, i in enumerate(turns, 1):
        held += sizes[i]
        if held > limit and count > kept_turns:
            blank_before = count - kept_turns
            held = sum(sizes[j] for j in turns[blank_before:count])
    blanked = set(turns[:blank_before])
    kept = [_shortened(message, i in blanked, cut_at) for i, message in enumerate(messages)]
    return Kept(kept, blank_before, _characters(messages) - _characters(kept))


def _results(message: ModelMessage) -> list[ToolReturnPart]:
    return [part for part in message.parts if isinstance(part, ToolReturnPart)]


def _characters(messages: Sequence[ModelMessage]) -> int:
    return sum(len(str(part.content)) for message in messages for part in _results(message))


def _shortened(message: ModelMessage, blank: bool, cut_at: int) -> ModelMessage:
    if not isinstance(message, ModelRequest) or not _results(message):
        return message
    parts: list[ModelRequestPart] = []
    for part in message.parts:
        if isinstance(part, ToolReturnPart):
            text = PLACEHOLDER if blank else _cut(str(part.content), cut_at)
            parts.append(ToolReturnPart(part.tool_name, text, part.tool_call_id, metadata=part.metadata))
        else:
            parts.append(part)
    return replace(message, parts=parts)


def _cut(text: str, at: int) -> str:
    return text if len(text) <= at else f"{text[:at]}\n[cut: {len(text) - at:,} characters left out]"


POLICIES: dict[str, Policy] = {"level3": level3}
"""By the name a system gives."""
