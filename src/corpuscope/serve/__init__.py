"""The corpus as a service: an MCP server on standard input and output or over HTTP, and how to tell other agents of it."""

from typing import TYPE_CHECKING

from ..lazy import lazily

if TYPE_CHECKING:
    from .http import http_app, serve_http
    from .install import CLIENTS, Change, planned, write
    from .stdio import serve_stdio

__getattr__ = lazily(
    __name__,
    {
    "CLIENTS": ".install", "Change": ".install", "http_app": ".http", "planned": ".install", "serve_http": ".http",
    "serve_stdio": ".stdio", "write": ".install",
},
)  # fmt: skip
__all__ = ["CLIENTS", "Change", "http_app", "planned", "serve_http", "serve_stdio", "write"]
