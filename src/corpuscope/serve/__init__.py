"""The corpus as a service: an MCP server on standard input and output or over HTTP, and how to tell other agents of it. Runs as a
page: the trajectory viewer."""

from typing import TYPE_CHECKING

from ..lazy import lazily

if TYPE_CHECKING:
    from .http import http_app
    from .install import CLIENTS, Change, planned, write
    from .serving import serve_http
    from .stdio import serve_stdio
    from .viewer import Shelf, exported, is_loopback, viewer_app

__getattr__ = lazily(
    __name__,
    {
        "http_app": ".http",
        "serve_http": ".serving",
        **dict.fromkeys(("CLIENTS", "Change", "planned", "write"), ".install"),
        "serve_stdio": ".stdio",
        **dict.fromkeys(("Shelf", "exported", "is_loopback", "viewer_app"), ".viewer"),
    },
)
__all__ = [
    "CLIENTS", "Change", "Shelf", "exported", "http_app", "is_loopback", "planned", "serve_http", "serve_stdio", "viewer_app",
    "write",
]  # fmt: skip
