"""The viewer over HTTP: the page, and what it asks for. Nothing here writes anything but workspaces that go when it ends."""

from __future__ import annotations

import asyncio
import hmac
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from ...agent import is_written
from ...errors import CorpuscopeError, ToolError
from .answers import ANSWERS, Shelf, as_json, events_from, number_of
from .page import page
from .spaces import Spaces

COOKIE = "corpuscope_token"

IDLE = 0.3
"""Seconds between two looks for events to measure."""

_HEADERS = {
    "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin",
}  # fmt: skip


def viewer_app(shelf: Shelf, token: str = "") -> ASGIApp:
    """The viewer as an ASGI application. With a `token` only who shows it is answered; without, only who asks for this machine by
    a name of its own (a page elsewhere cannot read it through a name that it has pointed here)."""
    spaces = Spaces()

    async def shown(request: Request) -> Response:
        return HTMLResponse(page())

    async def answer(request: Request) -> Response:
        name, asked = request.path_params["name"], dict(request.query_params)
        if name not in ANSWERS:
            return JSONResponse({"error": f"there is nothing called {name}"}, 404)
        value = await asyncio.to_thread(ANSWERS[name], shelf, asked)
        return Response(await asyncio.to_thread(as_json, value), media_type="application/json")

    async def events(request: Request) -> Response:
        asked = request.query_params
        run, key = shelf.run(asked), asked.get("question", "")
        live = is_written(run.events(key))  # asked before reading: what is written meanwhile comes next time
        data, end = await asyncio.to_thread(events_from, run, key, number_of(asked, "from"))
        headers = {"X-Next": str(end), "X-Live": "1" if live else "0"}
        return Response(data, media_type="application/x-ndjson", headers=headers)

    async def grep(request: Request) -> Response:
        asked = dict(request.query_params)
        run = shelf.run(asked)
        arguments: dict[str, Any] = {"pattern": asked.get("pattern", ""), "limit": 500}
        arguments |= {name: asked.get(name) == "1" for name in ("ignore_case", "literal")}
        arguments |= {"glob": asked["glob"]} if asked.get("glob") else {}
        number, call = number_of(asked, "run"), number_of(asked, "call")
        found = await spaces.grep(number, run, asked.get("question", ""), call, arguments)
        return JSONResponse({"text": found.text, **found.data})

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        done = threading.Event()
        measuring = asyncio.create_task(asyncio.to_thread(_measure, shelf, done))
        try:
            yield
        finally:
            done.set()
            await measuring
            await asyncio.to_thread(spaces.close)

    routes = [Route("/", shown), *(Route(path, _told(endpoint)) for path, endpoint in (
        ("/api/events", events), ("/api/grep", grep), ("/api/{name}", answer),
    ))]  # fmt: skip
    return Starlette(routes=routes, lifespan=lifespan, middleware=[Middleware(_Guard, token=token)])


def _told(endpoint: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """Errors as answers that say what to do."""

    async def answered(request: Request) -> Response:
        try:
            return await endpoint(request)
        except (CorpuscopeError, ToolError) as error:
            return JSONResponse({"error": str(error)}, 400)

    return answered


def _measure(shelf: Shelf, done: threading.Event) -> None:
    """Beside the serving: read events of questions nobody has read yet, until there are none, and wait for more."""
    while not done.is_set():
        if not any(shown.measure_next() for shown in shelf.runs):
            done.wait(IDLE)


class _Guard:
    """Lets through who may read, and says on every answer that it is for this page alone."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self.app = app
        self.token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope, receive)
        refusal = self._refused(request)

        async def sent(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *((k.encode(), v.encode()) for k, v in _HEADERS.items())]
            await send(message)

        await (refusal or self.app)(scope, receive, sent)

    def _refused(self, request: Request) -> Response | None:
        if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and request.url.path != "/":
            return PlainTextResponse("another site asks for this", 403)
        if self.token:
            return self._without_token(request)
        if not is_loopback(urlsplit(f"//{request.headers.get('host', '')}").hostname or ""):
            return PlainTextResponse("this viewer is for this machine: open http://127.0.0.1", 421)
        return None

    def _without_token(self, request: Request) -> Response | None:
        if self._is_token(request.cookies.get(COOKIE, "")):
            return None
        if request.url.path == "/" and self._is_token(request.query_params.get("token", "")):
            response = RedirectResponse("/", 303)
            response.set_cookie(COOKIE, self.token, httponly=True, samesite="strict")
            return response
        return PlainTextResponse("the token is missing or wrong: open the address that corpuscope view printed", 401)

    def _is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode(), self.token.encode())


def is_loopback(host: str) -> bool:
    """Whether a name or address means this machine alone."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
