"""An MCP server on a Unix socket, for a client that our own process has started."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
from mcp import types
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage

MAX_LINE = 64 << 20
"""Bytes of one message."""


@asynccontextmanager
async def serve_socket(server: Server[Any], path: Path) -> AsyncIterator[None]:
    """Serve whoever connects to `path`, one JSON-RPC message a line, while the context lasts."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        to_server, inbox = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outbox, from_server = anyio.create_memory_object_stream[SessionMessage](0)
        with suppress(ConnectionError, asyncio.CancelledError):
            async with anyio.create_task_group() as group:
                group.start_soon(_receive, reader, to_server)
                group.start_soon(_send, writer, from_server)
                await server.run(inbox, outbox, server.create_initialization_options())
        writer.close()

    listening = await asyncio.start_unix_server(connected, path, limit=MAX_LINE)
    path.chmod(0o600)
    try:
        yield
    finally:
        listening.close()


async def _receive(reader: asyncio.StreamReader, to_server: Any) -> None:
    async with to_server:
        while line := await reader.readline():
            try:
                message: SessionMessage | Exception = SessionMessage(
                    types.jsonrpc_message_adapter.validate_json(line, by_name=False)
                )
            except ValueError as error:
                message = error
            await to_server.send(message)


async def _send(writer: asyncio.StreamWriter, from_server: Any) -> None:
    async with from_server:
        async for message in from_server:
            writer.write(message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
            await writer.drain()
