"""Answers the fronts of one workspace: which files the command that was typed need look at.

What comes in was written by whoever is in the sandbox. All that goes out is names of documents that the sandbox shows
anyway; a question that is not understood is answered by nothing, and the real program does all of the work.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from ...corpus import Corpus
from ...retrieve import NOTHING, GrepIndex, Need, literals
from . import gnu_grep, ripgrep
from .request import Request, Untouched, within_limits

SOCKET = "index"
"""Its name."""

MAX_QUESTION = 1 << 18
"""Bytes; fronts ask no longer ones."""

PATIENCE = 1.0
"""Seconds for which a front may keep the others waiting in the middle of its question."""

WORTHWHILE = 0.25
"""Share of the documents above which the real program walks them all as fast."""

MAX_LITERALS = 256
"""Asked of the index for one command: some 100 ms at a million documents."""

LOOKED_AT = 20_000
"""Documents among which one is sought that a filter lets through."""


class Narrowing:
    """A thread that listens on a socket in `folder`, over the documents of the corpus at `root`, until it is closed.

    Raises `OSError` where there can be no socket.
    """

    def __init__(self, root: Path, folder: Path) -> None:
        self._listening = _listening(folder / SOCKET)
        self.corpus = Corpus.open(root)
        self.index = GrepIndex(self.corpus)
        self.narrowed = 0
        """Commands that were."""
        self._thread = threading.Thread(target=self._serve, name="corpuscope-grep", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listening.close()
        self.corpus.close()

    def answer(self, question: bytes) -> list[str]:
        """The arguments to use; none for a command that stays as it was typed."""
        request = _request(question)
        if request is None:
            return []
        files = self.corpus.store.root
        try:
            if request.program == "rg":
                arguments = ripgrep.narrowed(request, self._candidates, files, self._some())
            else:
                arguments = gnu_grep.narrowed(request, self._candidates, files)
        except Untouched:
            return []
        except Exception:  # a fault in here must not cost the agent its command, nor those after it
            return []
        return arguments if within_limits(arguments) else []

    def _candidates(self, need: Need) -> list[str]:
        answerable = need != NOTHING and literals(need) <= MAX_LITERALS
        keys = self.index.candidates(need) if answerable else None
        if keys is None or len(keys) > max(WORTHWHILE * self.index.documents, 1):
            raise Untouched
        return self.index.paths(keys)

    def _some(self) -> Iterator[str]:
        return (entry.path for entry in islice(self.corpus.files.entries(), LOOKED_AT))

    def _serve(self) -> None:
        while True:
            try:
                front, _ = self._listening.accept()
            except OSError:
                return
            with front:
                front.settimeout(PATIENCE)
                try:
                    arguments = self.answer(_received(front))
                    self.narrowed += bool(arguments)
                    front.sendall(b"".join(os.fsencode(argument) + b"\0" for argument in arguments))
                except OSError:
                    continue


def _received(front: socket.socket) -> bytes:
    parts: list[bytes] = []
    size = 0
    while size < MAX_QUESTION and (part := front.recv(1 << 16)):
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _request(question: bytes) -> Request | None:
    fields = os.fsdecode(question).split("\0")
    if len(fields) < 4 or fields[-1]:
        return None
    program, folder, readable, *arguments = fields[:-1]
    return Request(program, folder, bool(readable), tuple(arguments))


def _listening(name: Path) -> socket.socket:
    """A socket of that name, by a way to its folder that fits into the 108 bytes of an address wherever the corpus lies."""
    made = socket.socket(socket.AF_UNIX)
    folder = os.open(name.parent, os.O_PATH)
    try:
        made.bind(f"/proc/self/fd/{folder}/{name.name}")
    finally:
        os.close(folder)
    made.listen(64)
    return made
