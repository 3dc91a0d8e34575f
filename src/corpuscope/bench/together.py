"""Workers side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ..errors import CorpuscopeError


async def together(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Until all have ended; the first that fails, or being cancelled, ends the others. What a person has to repair comes first."""
    try:
        await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        for error in ended:
            if isinstance(error, CorpuscopeError):
                raise error from None
        raise
