"""What a context policy is: the whole history in, what goes back to the model out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
)

CHARACTERS_PER_TOKEN = 4
"""Of a request, where nothing better is known."""

PLACEHOLDER = "[old tool result removed to save context; call the tool again if you need it]"

DEFAULT_WINDOW = 128_000
"""Tokens of a model whose context window is not known."""


@dataclass(frozen=True, slots=True)
class Pressure:
    """What a policy must know besides the history. All of it comes from the events, so that a run can be replayed.

    `overflows`: how often the provider said that the context is too long. `summary` stands for the first `upto`
    messages ('' and 0 without one); `failures` counts attempts at one that failed, in a row. `window` is in tokens.
    """

    overflows: int = 0
    summary: str = ""
    upto: int = 0
    failures: int = 0
    window: int = DEFAULT_WINDOW


@dataclass(frozen=True, slots=True)
class Kept:
    """A policy's work: what to send, and what is missing from it.

    `blanked` counts turns with a placeholder for their results, `removed_characters` those of tool results that are not
    sent, `summarised` messages that a summary stands for. With `wants_summary`, the first that many messages of the
    history should be summarised before anything is sent.
    """

    messages: list[ModelMessage]
    blanked: int = 0
    removed_characters: int = 0
    summarised: int = 0
    wants_summary: int = 0


Policy = Callable[[Sequence[ModelMessage], Pressure], Kept]


def results(message: ModelMessage) -> list[ToolReturnPart]:
    return [part for part in message.parts if isinstance(part, ToolReturnPart)]


def characters(messages: Sequence[ModelMessage]) -> int:
    """Of all tool results."""
    return sum(len(str(part.content)) for message in messages for part in results(message))


def tokens(messages: Sequence[ModelMessage]) -> int:
    """An estimate for all that is sent."""
    total = 0
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                total += len(part.tool_name) + len(part.args_as_json_str())
            elif isinstance(part, TextPart | ThinkingPart):
                total += len(part.content)
            else:
                total += len(str(getattr(part, "content", "")))
    return total // CHARACTERS_PER_TOKEN


def turns(messages: Sequence[ModelMessage]) -> list[int]:
    """Where the results of each turn stand: a turn is a reply with the results of its calls."""
    return [i for i, message in enumerate(messages) if isinstance(message, ModelRequest) and results(message)]


def shortened(message: ModelMessage, change: Callable[[str], str]) -> ModelMessage:
    """The message with another text in each of its tool results; itself where nothing changes."""
    parts: list[ModelRequestPart] = []
    changed = False
    for part in message.parts:
        if isinstance(part, ToolReturnPart) and (text := change(str(part.content))) != part.content:
            # With its time: a part that differs in that alone is the same to whoever compares requests.
            at = part.timestamp
            parts.append(ToolReturnPart(part.tool_name, text, part.tool_call_id, metadata=part.metadata, timestamp=at))
            changed = True
        else:
            parts.append(part)  # type: ignore[arg-type]
    return replace(message, parts=parts) if changed else message  # type: ignore[arg-type]


def cut(text: str, at: int) -> str:
    return text if len(text) <= at else f"{text[:at]}\n[cut: {len(text) - at:,} characters left out]"
