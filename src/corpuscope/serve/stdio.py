"""One client on standard input and output, with one workspace."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import ExitStack

from mcp.server.stdio import stdio_server

from ..bridges import Context, Session, mcp_server
from ..corpus import Corpus
from ..systems import System, open_workspace
from ..workspace import Limits


async def serve_stdio(corpus: Corpus, system: System, *, sandboxed: bool = True, limits: Limits | None = None) -> None:
    """Serve until the client closes its end or a signal comes; the workspace goes with it."""
    with ExitStack() as stack:
        _, tools = stack.enter_context(open_workspace(corpus, system, sandboxed=sandboxed, limits=limits))
        session = Session(corpus, tools)
        _close_on_signal(stack)

        async def only(context: Context) -> Session:
            return session

        server = mcp_server("corpuscope", system.prompt.strip(), only)
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())


def _close_on_signal(stack: ExitStack) -> None:
    """A thread waits in a read of standard input, which nothing ends: leave at once, with the workspace removed."""

    def leave(number: int) -> None:
        stack.close()
        os._exit(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, leave, number)
