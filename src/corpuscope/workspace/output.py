"""What programs print, made fit for a model, a log and a terminal (case M4)."""

from __future__ import annotations

import re

_CONTROL_STRINGS = re.compile(r"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f]).*?(?:\x1b\\|\x07|\x9c|\Z)", re.DOTALL)
"""OSC (titles, links, clipboard), DCS, SOS, PM and APC with all they carry."""

_ESCAPES = re.compile(r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-~]|\x1b")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def clean(data: bytes) -> str:
    """Plain text: no escape sequences, no control characters but tab and LF, invalid UTF-8 as U+FFFD."""
    text = data.decode("utf-8", "replace")
    if "\x1b" in text or re.search(r"[\x90-\x9f]", text):
        text = _ESCAPES.sub("", _CONTROL_STRINGS.sub("", text))
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROLS.sub("", text)


def clean_line(data: bytes) -> str:
    """`clean` for one line of a document, which stays one line."""
    return clean(data.rstrip(b"\r\n")).replace("\n", " ")


class Head:
    """The beginning of a stream and the size of the rest."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.kept = bytearray()
        self.total = 0
        self.lines = 0

    def feed(self, chunk: bytes) -> None:
        self.total += len(chunk)
        self.lines += chunk.count(b"\n")
        if len(self.kept) < self.limit:
            self.kept += chunk[: self.limit - len(self.kept)]


class Tail(Head):
    """The end of a stream and the size of the rest."""

    def feed(self, chunk: bytes) -> None:
        self.total += len(chunk)
        self.lines += chunk.count(b"\n")
        self.kept += chunk
        if len(self.kept) > 2 * self.limit:  # now and then, not with each chunk
            del self.kept[: -self.limit]
