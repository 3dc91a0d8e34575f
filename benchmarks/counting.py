"""How much work something is, in counts that are the same on every machine: Python calls, files opened, SQL statements, files made.

Times on shared machines say little; a cost that grows faster than it should shows in these.
"""

from __future__ import annotations

import sqlite3
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any

_counting: list[Work] = []


@dataclass
class Work:
    """`calls` are of Python functions and of built-in ones; the others are what the interpreter's audit events tell."""

    calls: int = 0
    opened: int = 0
    linked: int = 0
    statements: int = 0


def work(function: Callable[..., Any], *arguments: Any, db: sqlite3.Connection | None = None) -> Work:
    """What a call of `function` amounts to, in this thread and those that it starts; `statements` of the database `db`."""
    counted = Work()

    def profile(frame: FrameType, event: str, argument: object) -> None:
        if event in ("call", "c_call"):
            counted.calls += 1

    def statement(_: str) -> None:
        counted.statements += 1

    _counting.append(counted)
    if db:
        db.set_trace_callback(statement)
    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        function(*arguments)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        if db:
            db.set_trace_callback(None)
        _counting.remove(counted)
    return counted


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    for counted in _counting:
        if event == "open":
            counted.opened += 1
        elif event == "os.link":
            counted.linked += 1


sys.addaudithook(_audit)
