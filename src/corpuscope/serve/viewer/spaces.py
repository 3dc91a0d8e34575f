"""W as it was after any call, made again: real links, the real sandbox, the real grep."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import Any

from ...agent import read_events
from ...structure import Structured
from ...workspace import Observation, Workspace, grep_tool
from .shelf import Shown

MOST = 4
"""Workspaces that are kept for the next question; the one that was not used for the longest time goes."""


@dataclass(slots=True)
class _Space:
    workspace: Workspace
    stack: ExitStack
    call: int


@dataclass(slots=True)
class Spaces:
    """Workspaces by trajectory. Closing removes them all."""

    _open: dict[tuple[int, str], _Space] = field(default_factory=dict)
    _one: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Searches wait for each other, so that none loses its workspace to the next."""

    async def grep(self, number: int, shown: Shown, key: str, call: int, arguments: Mapping[str, Any]) -> Observation:
        """Search W of a trajectory of run `number` as it was after `call` calls (0: before the first).

        Raises `ToolError` in words that help to repair the pattern, `UsageError` where there are no documents.
        """
        async with self._one:
            workspace = await asyncio.to_thread(self._at, number, shown, key, call)
            return await grep_tool(workspace).call(arguments)

    def _at(self, number: int, shown: Shown, key: str, call: int) -> Workspace:
        space = self._open.pop((number, key), None)
        if space is not None and space.call > call:  # W only grows
            space.stack.close()
            space = None
        space = space or _new(shown)
        self._open[(number, key)] = space
        while len(self._open) > MOST:
            self._open.pop(next(iter(self._open))).stack.close()
        if not space.workspace.whole:
            space.workspace.add(imported(shown, key, call))
        space.call = call
        return space.workspace

    def close(self) -> None:
        for space in self._open.values():
            space.stack.close()
        self._open.clear()


def _new(shown: Shown) -> _Space:
    corpus = shown.documents()
    system = shown.run.settings.system
    with ExitStack() as stack:
        structured = None
        if system.documents == "structured":
            structured = stack.enter_context(closing(Structured.open(corpus)))
        whole = system.boundary == "corpus"
        workspace = stack.enter_context(Workspace(corpus, structured=structured, whole=whole))
        return _Space(workspace, stack.pop_all(), 0)


def imported(shown: Shown, key: str, call: int | None = None) -> list[str]:
    """Docids in W after `call` calls (all of them: None), in the order in which they came."""
    found: dict[str, None] = {}
    tools = (event for event in read_events(shown.events(key)) if event["type"] == "tool")
    for number, event in enumerate(tools, 1):
        if call is not None and number > call:
            break
        found.update(dict.fromkeys(event["data"].get("imported") or ()))
    return list(found)
