"""An ASGI application, served until somebody says stop."""

from __future__ import annotations

import socket

from starlette.types import ASGIApp

SHUTDOWN_SECONDS = 3


async def serve_http(app: ASGIApp, listener: socket.socket) -> None:
    """Serve whoever comes to `listener` until a signal says to stop; what the application holds open goes with it."""
    import uvicorn

    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=SHUTDOWN_SECONDS, lifespan="on")
    await uvicorn.Server(config).serve(sockets=[listener])
