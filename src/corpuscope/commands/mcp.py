"""`corpuscope mcp`: the corpus as an MCP server, and its entry in another agent's settings."""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import shutil
import socket
import sys
from pathlib import Path

from ..api import Corpus
from ..errors import SetupError, UsageError
from ..systems import System, default_system, indexes, load_system
from ..workspace import Limits, bubblewrap
from .progress import bring_up_to_date

TOKEN = "CORPUSCOPE_TOKEN"


def mcp_command(
    path: Path, *, system: str, http: str, token: str, k: int | None, command_seconds: float | None, max_sessions: int,
    idle_seconds: float, sandboxed: bool,
) -> None:  # fmt: skip
    if http and not sandboxed:
        raise UsageError("--sandbox off is refused over HTTP: whoever has the token could run anything on this machine")
    if (command_seconds is not None and command_seconds <= 0) or idle_seconds <= 0:
        raise UsageError("a limit must be above zero")
    address = address_of(http) if http else None
    if sandboxed:
        bubblewrap()
    with Corpus.open(path) as corpus:
        chosen = load_system(system or default_system(corpus))
        if k is not None:
            chosen = chosen.model_copy(update={"k": k})
        bring_up_to_date(indexes(corpus, chosen))
        limits = Limits(seconds=command_seconds) if command_seconds is not None else None
        if address is None:
            from ..serve import serve_stdio

            asyncio.run(serve_stdio(corpus, chosen, sandboxed=sandboxed, limits=limits))
            return
        _serve(corpus, chosen, address, token, limits, max_sessions, idle_seconds)


def _serve(
    corpus: Corpus, system: System, address: tuple[str, int], token: str, limits: Limits | None, max_sessions: int,
    idle_seconds: float,
) -> None:  # fmt: skip
    from ..serve import http_app, serve_http

    host, port = address
    secret = token_of(token)
    app = http_app(
        corpus, system, secret, host=host, limits=limits, max_sessions=max_sessions, idle_seconds=idle_seconds
    )
    with listening(host, port) as listener:
        shown = f"[{host}]" if ":" in host else host
        print(f"serving {corpus.root} at http://{shown}:{listener.getsockname()[1]}/mcp", file=sys.stderr)
        if not token and not os.environ.get(TOKEN):
            print(f"token for this run: {secret}", file=sys.stderr)
        sys.stderr.flush()
        asyncio.run(serve_http(app, listener))


def token_of(token: str) -> str:
    """The one that was given, that of the environment, or a new one. Raises `UsageError` for one that cannot be sent."""
    secret = token or os.environ.get(TOKEN) or secrets.token_urlsafe(24)
    if not re.fullmatch(r"[!-~]{8,}", secret):
        raise UsageError("a token has eight or more visible ASCII characters and no space")
    return secret


def listening(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or error
        raise SetupError(f"cannot listen on {host}:{port} ({why}); choose another --http") from error


def install_command(path: Path, client: str, *, name: str, system: str, yes: bool) -> None:
    from ..serve import planned, write

    with Corpus.open(path) as corpus:
        root = corpus.root.absolute()
    name = name or re.sub(r"[^A-Za-z0-9_-]+", "-", root.name.removesuffix(".corpus")).strip("-") or "corpus"
    if not re.fullmatch(r"[A-Za-z0-9_-]+", name):
        raise UsageError(f"--name {name}: letters, digits, - and _")
    arguments = ["mcp", str(root), *(["--system", _system_argument(system)] if system else [])]
    change = planned(client, name, _program(), arguments)
    if not change.added:
        print(f"{change.file} has it already.")
        return
    print(f"{change.file}:\n\n{change.added}\n")
    if not yes and not _agreed():
        raise UsageError("nothing was written")
    write(change)
    print(f"written; {client} has the tools of {root.name} when it starts next.")


def _agreed() -> bool:
    if not sys.stdin.isatty():
        raise UsageError("nobody to ask whether to write this: add --yes")
    return input("Write it? [y/N] ").strip().lower() in ("y", "yes")


def _system_argument(system: str) -> str:
    load_system(system)
    return str(Path(system).absolute()) if system.endswith(".toml") else system


def _program() -> str:
    """Where this program is, for one that is started from elsewhere."""
    found = shutil.which(sys.argv[0]) or shutil.which("corpuscope")
    if found is None:
        raise SetupError("cannot tell where the program corpuscope is; put it on PATH")
    return os.path.abspath(found)


def address_of(http: str) -> tuple[str, int]:
    host, _, port = http.rpartition(":")
    host = host.strip("[]")
    if not host or not port.isdigit() or int(port) > 65535:
        raise UsageError(f"--http {http}: it is HOST:PORT, such as 127.0.0.1:8800 (port 0: any that is free)")
    return host, int(port)
