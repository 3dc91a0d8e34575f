"""What a tag-speaking agent was trained on: how its prompt opens, where it stops, what it says and what it is told."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from ...workspace import Show

INVALID = "invalid"
"""The name of a call that stands for an action nobody can understand; no tool has it."""


class Action(NamedTuple):
    """What a reply asks for: a call, or with `tool` '' the answer."""

    tool: str
    arguments: Mapping[str, Any]
    answer: str = ""


class Told(NamedTuple):
    """An observation as the adapter knows it. `latest`: nothing was said since."""

    tool: str
    text: str
    data: Mapping[str, Any]
    latest: bool


class Forced(NamedTuple):
    """A reply whose end is not the model's to choose: where it stops, and the call that follows."""

    stop: tuple[str, ...]
    action: Action


@dataclass(frozen=True, slots=True)
class Grammar:
    """`mode`: one raw text that is completed, one assistant message that is continued behind the server's chat template, or a
    dialogue of messages. `show` forms the passages of a search; the prompt is the system's own (`{question}` in it)."""

    mode: Literal["completion", "continued", "dialogue"]
    stop: tuple[str, ...]
    parse: Callable[[str], Action]
    tell: Callable[[Told], str]
    show: Show
    system: str = ""
    """A system message before the prompt, where the chat template was given one in training."""
    forced: Callable[[Told], Forced | None] = lambda told: None


def tagged(text: str, tag: str) -> list[str]:
    """What stands between `<tag>` and `</tag>`, in order."""
    return re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)


def first_action(text: str) -> Action:
    """Search-R1's rule, which others took over: the first whole `<search>` or `<answer>`."""
    found = re.search(r"<(search|answer)>(.*?)</\1>", text, re.DOTALL)
    if found is None:
        return Action(INVALID, {})
    inside = found[2].strip()
    return Action("search", {"query": inside}) if found[1] == "search" else Action("", {}, inside)


def last_search(text: str) -> Action:
    """VerlTool's rule: the last whole `<search>`, before any `<answer>`."""
    if searches := tagged(text, "search"):
        return Action("search", {"query": searches[-1].strip()})
    if answers := tagged(text, "answer"):
        return Action("", {}, answers[-1].strip())
    return Action(INVALID, {})


def numbered(passages: Sequence[Any]) -> str:
    """Search-R1's form of passages."""
    return "".join(f"Doc {i}(Title: {p.title}) {p.text}\n" for i, p in enumerate(passages, 1)).strip()


def information(told: Told) -> str:
    """Search-R1's wrapping of what a search brought."""
    return f"\n\n<information>{told.text}</information>\n\n"


TRY_AGAIN = (
    "\nThat action cannot be understood. A search goes between <search> and </search>, the final answer between <answer> and "
    "</answer>. Let me try again.\n"
)
