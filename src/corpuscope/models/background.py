"""Models asked from code that does not await: a search runs in any thread, with or without a loop of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from functools import cache
from typing import Any, TypeVar

Value = TypeVar("Value")


def awaited(work: Coroutine[Any, Any, Value]) -> Value:
    """What `work` returns, from the one loop in which such models live: their connections belong to it."""
    return asyncio.run_coroutine_threadsafe(work, _loop()).result()


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="corpuscope-models", daemon=True).start()
    return loop
