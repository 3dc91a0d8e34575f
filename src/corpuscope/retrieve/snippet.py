"""The place in a document that shows why it was found."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

MAX_SCANNED = 1 << 18
"""Bytes of a document looked at: a preview costs the same for a page and for a gigabyte."""

WIDTH = 240
"""Characters of a preview."""

_MAX_PLACES = 64
"""Occurrences of one term looked at."""


class Snippet(NamedTuple):
    """`line` is 1-based, the line on which `text` starts; `text` has no line ends."""

    line: int
    text: str


def snippet(data: bytes, stems: Sequence[str], width: int = WIDTH) -> Snippet:
    """The window of `data` that holds the most distinct `stems` (`Analysis.stems`), else its beginning."""
    text = data[:MAX_SCANNED].decode(errors="ignore")
    folded = text.lower()
    if len(folded) != len(text):  # a few letters grow when folded; their offsets would drift
        folded = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    start = _best_window(sorted(_places(folded, stems)), width)
    start = _beginning(text, start)
    line = text.count("\n", 0, start) + 1
    shown = " ".join(text[start : start + width].split())
    return Snippet(line, ("… " if start and text[start - 1] != "\n" else "") + shown)


def snippet_of(file: str | os.PathLike[str], stems: Sequence[str], *, skip: int = 0, width: int = WIDTH) -> Snippet:
    """`snippet` for a document on disk, of which no more is read than is looked at; its first `skip` bytes are not."""
    with open(file, "rb") as opened:
        opened.seek(skip)
        return snippet(opened.read(MAX_SCANNED), stems, width)


def _places(text: str, stems: Sequence[str]) -> list[tuple[int, int]]:
    """(offset, which stem) of word beginnings."""
    found = []
    for which, stem in enumerate(stems):
        at, count = text.find(stem), 0
        while at >= 0 and count < _MAX_PLACES:
            if at == 0 or not text[at - 1].isalnum() or not stem.isascii():
                found.append((at, which))
                count += 1
            at = text.find(stem, at + len(stem))
    return found


def _best_window(places: list[tuple[int, int]], width: int) -> int:
    best, best_distinct, right = 0, 0, 0
    inside: dict[int, int] = {}
    for left, (start, leaving) in enumerate(places):
        while right < len(places) and places[right][0] < start + width:
            inside[places[right][1]] = inside.get(places[right][1], 0) + 1
            right += 1
        if len(inside) > best_distinct:
            best, best_distinct = places[left][0], len(inside)
        inside[leaving] -= 1
        if not inside[leaving]:
            del inside[leaving]
    return best


def _beginning(text: str, at: int) -> int:
    """A little before `at`: the start of its line, or of a word when the line is long."""
    line = text.rfind("\n", 0, at) + 1
    if at - line <= 80:
        return line
    return text.rfind(" ", at - 60, at) + 1 or at
