"""Many clients over HTTP (MCP's streamable transport), each with a workspace of its own and a token to show."""

from __future__ import annotations

import asyncio
import hmac
import json
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import cast

from mcp import types
from mcp.server.lowlevel import Server
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from ..bridges import Context, Session, mcp_server
from ..corpus import Corpus
from ..errors import CorpuscopeError
from ..systems import System, open_workspace
from ..workspace import Limits

PATH = "/mcp"

MAX_SESSIONS = 100
IDLE_SECONDS = 1800.0
"""After which a client that is not connected is taken for gone, and its workspace removed."""


@dataclass(slots=True)
class _Sessions:
    """A workspace for each session, made when it is first needed and removed when the session ends."""

    corpus: Corpus
    system: System
    limits: Limits | None
    open: dict[str, asyncio.Task[Session]] = field(default_factory=dict)

    async def of(self, context: Context) -> Session:
        key = cast(Request, context.request).headers["mcp-session-id"]
        if key not in self.open:
            stack = ExitStack()
            self.open[key] = asyncio.create_task(asyncio.to_thread(self._make, stack))
            # The SDK means this for what belongs to a connection; its low-level context has no public name for it yet.
            context.session._connection.exit_stack.push_async_callback(self._close, key, stack)
        try:
            return await asyncio.shield(self.open[key])
        except CorpuscopeError:
            self.open.pop(key, None)  # the next call tries again
            raise

    def _make(self, stack: ExitStack) -> Session:
        _, tools = stack.enter_context(open_workspace(self.corpus, self.system, limits=self.limits))
        return Session(self.corpus, tools)

    async def _close(self, key: str, stack: ExitStack) -> None:
        if task := self.open.pop(key, None):
            await asyncio.wait([task])
        await asyncio.to_thread(stack.close)


def http_app(
    corpus: Corpus,
    system: System,
    token: str,
    *,
    host: str = "127.0.0.1",
    limits: Limits | None = None,
    max_sessions: int = MAX_SESSIONS,
    idle_seconds: float = IDLE_SECONDS,
) -> ASGIApp:
    """The service as an ASGI application. There is no way to run it without the sandbox or without a token."""
    sessions = _Sessions(corpus, system, limits)
    server: Server[None] = mcp_server("corpuscope", system.prompt.strip(), sessions.of)
    app = server.streamable_http_app(
        streamable_http_path=PATH, host=host, max_sessions=max_sessions, session_idle_timeout=idle_seconds
    )
    return _with_token(_with_sessions(app), token)


def _with_token(app: ASGIApp, token: str) -> ASGIApp:
    """Only requests with `Authorization: Bearer TOKEN` reach `app`."""
    wanted = f"Bearer {token}".encode()

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            given = dict(scope["headers"]).get(b"authorization", b"")
            if not hmac.compare_digest(given, wanted):
                refusal = JSONResponse(
                    {"error": "the token is missing or wrong: send Authorization: Bearer TOKEN"}, 401,
                    headers={"WWW-Authenticate": "Bearer"},
                )  # fmt: skip
                await refusal(scope, receive, send)
                return
        await app(scope, receive, send)

    return checked


def _with_sessions(app: ASGIApp) -> ASGIApp:
    """Refuse protocol versions that have no sessions, in the words on which a client falls back to one that has.

    From 2026-07-28 on each request stands for itself, and nothing would say whose workspace a call means.
    """

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        version = dict(scope["headers"]).get(b"mcp-protocol-version", b"").decode() if scope["type"] == "http" else ""
        if version and version not in HANDSHAKE_PROTOCOL_VERSIONS:
            try:
                asked = json.loads(await Request(scope, receive).body()).get("id")
            except (ValueError, AttributeError):
                asked = None
            error = {
                "code": types.UNSUPPORTED_PROTOCOL_VERSION,
                "message": "this server keeps a workspace for each session: begin with initialize",
                "data": {"supported": list(HANDSHAKE_PROTOCOL_VERSIONS), "requested": version},
            }
            await JSONResponse({"jsonrpc": "2.0", "id": asked, "error": error}, 400)(scope, receive, send)
            return
        await app(scope, receive, send)

    return checked
