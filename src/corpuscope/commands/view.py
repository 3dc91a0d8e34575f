"""`corpuscope view`: runs as a page, in the browser or in one file."""

from __future__ import annotations

import asyncio
import os
import sys
import webbrowser
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote

from ..corpus import write_whole
from ..errors import SetupError
from ..serve import Shelf, exported, is_loopback, serve_http, viewer_app
from .mcp import address_of, listening, token_of
from .progress import progress

ADDRESS = "127.0.0.1:8801"
"""Where the page is, or at any port that is free where this one is taken."""


def view_command(
    runs: Sequence[Path], *, export: Path | None, http: str, token: str, corpus: Path | None, judge: str, canary: str,
    browser: bool,
) -> None:  # fmt: skip
    address = address_of(http or ADDRESS)
    with closing(Shelf.open(runs, corpus=corpus, judge=judge, canary=canary)) as shelf:
        for problem in shelf.problems:
            print(f"left out: {problem}", file=sys.stderr)
        for shown in shelf.runs:
            for note in shown.notes:
                print(f"note: {shown.run.folder.name}: {note}", file=sys.stderr)
        if export:
            _export(shelf, export)
        else:
            _serve(shelf, address, fixed=bool(http), token=token, browser=browser)


def _export(shelf: Shelf, file: Path) -> None:
    with progress("exporting") as report:
        text = exported(shelf, report)
    try:
        write_whole(file, text)
    except OSError as error:
        raise SetupError(f"cannot write {file} ({error.strerror})") from error
    print(f"{file}: {len(text) / 1e6:.1f} MB")


def _serve(shelf: Shelf, address: tuple[str, int], *, fixed: bool, token: str, browser: bool) -> None:
    host, port = address
    secret = token_of(token) if token or not is_loopback(host) else ""
    try:
        listener = listening(host, port)
    except SetupError:
        if fixed:
            raise
        listener = listening(host, 0)
    with listener:
        shown = f"[{host}]" if ":" in host else host
        url = f"http://{shown}:{listener.getsockname()[1]}/" + (f"?token={quote(secret, safe='')}" if secret else "")
        print(f"{url}  (Ctrl-C ends it)", file=sys.stderr, flush=True)
        if browser and _has_screen():
            webbrowser.open(url)
        with suppress(KeyboardInterrupt):  # how one leaves
            asyncio.run(serve_http(viewer_app(shelf, secret), listener))


def _has_screen() -> bool:
    """Whether a browser has where to open; without one, Python would start a text browser in this terminal."""
    return sys.stderr.isatty() and bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
