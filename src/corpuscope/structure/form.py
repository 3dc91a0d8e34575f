"""A structured document: a table of contents on top, and below it the original text, not altered by a byte (RISE, 3.2).

    ## Table of Contents

    - lines 6-240: Sessions — What they are and how to switch them on.
      - lines 31-90: Backends — ...

    <!-- body with inserted headings -->
    (the original text)

Line numbers are those of this file, counted from 1, both ends included. A document's own headings stay where they are.
Headings that a model proposed stand as `## Title` lines of their own right before their anchors; `strip` takes them out
again. Nothing but this file is needed for that.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ..corpus import count_lines
from .section import MAX_DESCRIPTION, MAX_TITLE, Heading, Located, one_line

TITLE = b"## Table of Contents"
BODY = b"<!-- body"
"""How the line begins that ends a table."""

OWN_BODY = BODY + b" -->"
MARKED_BODY = BODY + b" with inserted headings -->"
NO_SECTIONS = b"(no sections)"
CONTINUES = " (the line goes on)"
"""Ends an inserted heading that breaks a line in two."""

NEAR = 200
"""Characters: an anchor this near to the start of its line gets its heading before the line; farther in, the line is
broken at the anchor, or a document of one long line could not be read by line ranges."""

_MAX_ROW = 1 << 12
"""Bytes; rows are far shorter, and a file that is not ours may be one line of a gigabyte."""

_DASH = " — "
_ENTRY = re.compile(rb"^(?P<indent> *)- lines (?P<first>\d+)-(?P<last>\d+): (?P<words>[^\r\n]*)\r?$")
_LINE = re.compile(rb"[^\n]*\n|[^\n]+\Z")


@dataclass(frozen=True, slots=True)
class TocEntry:
    """One row of a table: lines `first` to `last` of the structured file; `depth` 0 is outermost."""

    title: str
    description: str
    depth: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Toc:
    """The head of a structured document. The body begins at byte `body` of the file, on line `body_line`.

    `inserted`: the lines on which the entries begin are not the document's own.
    """

    entries: tuple[TocEntry, ...]
    body: int
    body_line: int
    inserted: bool

    def section_at(self, line: int) -> TocEntry | None:
        """The innermost section that holds `line`."""
        around = [entry for entry in self.entries if entry.first <= line <= entry.last]
        return max(around, key=lambda entry: entry.first, default=None)


def with_own_headings(body: bytes, headings: Sequence[Heading]) -> bytes:
    """The structured form of a document whose headings are there already, in the order of their lines."""
    shown = [(one_line(heading.title, MAX_TITLE), "", heading.level) for heading in headings]
    starts = [heading.line for heading in headings]
    return _table(body, shown, starts, count_lines(body), OWN_BODY) + body


def with_inserted_headings(text: str, sections: Sequence[Located]) -> bytes:
    """The structured form of a document with a heading before each of `sections`, whose offsets must rise."""
    line_end = _line_end(text[: text.find("\n") + 1].encode()).decode()
    pieces: list[str] = []
    starts: list[int] = []
    titles = [_heading_title(section.title) for section in sections]
    line, done, held = 1, 0, -1
    for section, title in zip(sections, titles, strict=True):
        start = text.rfind("\n", 0, section.offset) + 1
        before_line = section.offset - start <= NEAR and start > held
        held = start if before_line else section.offset
        broken = held != start
        passed = text[done:held]
        heading = f"## {title}{CONTINUES}{line_end}" if broken else f"## {title}{line_end}"
        line += passed.count("\n") + broken
        starts.append(line)
        pieces += [passed, line_end if broken else "", heading]
        line += 1
        done = held
    body = "".join([*pieces, text[done:]]).encode()
    shown = [
        (title, one_line(section.description, MAX_DESCRIPTION), 1)
        for section, title in zip(sections, titles, strict=True)
    ]
    return _table(body, shown, starts, count_lines(body), MARKED_BODY) + body


def read_toc(file: str | os.PathLike[str]) -> Toc:
    """The table of a structured file, of which no more is read. Raises `ValueError` for any other file."""
    with open(file, "rb") as opened:
        return _parse(iter(lambda: opened.readline(_MAX_ROW), b""))


def parse_toc(data: bytes) -> Toc:
    """`read_toc` of a file's bytes."""
    return _parse(match[0] for match in _LINE.finditer(data))


def strip(data: bytes) -> bytes:
    """The original of a structured document, byte for byte. Raises `ValueError` for any other file."""
    toc = parse_toc(data)
    if not toc.inserted:
        return data[toc.body :]
    headings = {entry.first for entry in toc.entries}
    line_end = b"\r\n" if data.startswith(TITLE + b"\r\n") else b"\n"
    kept: list[bytes] = []
    for number, line in _body_lines(data, toc):
        if number not in headings:
            kept.append(line)
        elif _breaks(line):
            kept[-1] = kept[-1].removesuffix(line_end)
    return b"".join(kept)


def original_lines(data: bytes) -> Callable[[int], int | None]:
    """A function from a line of a structured document to that line of the original; None for one of the table."""
    toc = parse_toc(data)
    inserted = [entry.first for entry in toc.entries] if toc.inserted else []
    headings = set(inserted)
    broken = [number for number, line in _body_lines(data, toc) if number in headings and _breaks(line)]

    def original(line: int) -> int | None:
        if line < toc.body_line:
            return None
        return line - toc.body_line + 1 - bisect_left(inserted, line) - bisect_right(broken, line)

    return original


def _body_lines(data: bytes, toc: Toc) -> Iterator[tuple[int, bytes]]:
    """(number, line with its end) below the table."""
    for number, match in enumerate(_LINE.finditer(data, toc.body), toc.body_line):
        yield number, match[0]


def _breaks(heading: bytes) -> bool:
    """Whether an inserted heading stands in the middle of a line of the original."""
    return heading.rstrip(b"\r\n").endswith(CONTINUES.encode())


def _table(
    body: bytes, shown: Sequence[tuple[str, str, int]], starts: Sequence[int], lines: int, sentinel: bytes
) -> bytes:
    """The head of the file. `shown` are (title, description, level), `starts` their lines in the body of `lines` lines."""
    above = len(shown or [()]) + 4
    depths, ends = _nest([level for _, _, level in shown], starts, lines)
    rows = [
        f"{'  ' * depth}- lines {start + above}-{end + above}: {title}{_DASH + description if description else ''}"
        for (title, description, _), depth, start, end in zip(shown, depths, starts, ends, strict=True)
    ]
    listed = [row.encode() for row in rows] or [NO_SECTIONS]
    return _line_end(body).join([TITLE, b"", *listed, b"", sentinel, b""])


def _nest(levels: Sequence[int], starts: Sequence[int], lines: int) -> tuple[list[int], list[int]]:
    """The depth of each section and its last line: before the next one that is not below it."""
    depths, ends = [], [lines] * len(levels)
    open_sections: list[int] = []
    for number, level in enumerate(levels):
        while open_sections and levels[open_sections[-1]] >= level:
            ends[open_sections.pop()] = starts[number] - 1
        depths.append(len(open_sections))
        open_sections.append(number)
    return depths, ends


def _heading_title(title: str) -> str:
    """A title that cannot be taken for more than a title when the file is read again."""
    plain = one_line(title, MAX_TITLE).replace(_DASH, " - ")
    while plain.endswith(CONTINUES.strip()):
        plain = plain.removesuffix(CONTINUES.strip()).rstrip()
    return plain


def _line_end(body: bytes) -> bytes:
    """That of the first line: what is added looks like the rest."""
    at = body.find(b"\n")
    return b"\r\n" if at > 0 and body[at - 1 : at] == b"\r" else b"\n"


def _parse(lines: Iterator[bytes]) -> Toc:
    first = next(lines, b"")
    if first.rstrip(b"\r\n") != TITLE:
        raise ValueError("not a structured document")
    entries: list[tuple[bytes, int, int, int]] = []
    size, number = len(first), 1
    for line in lines:
        size += len(line)
        number += 1
        bare = line.rstrip(b"\r\n")
        if bare in (OWN_BODY, MARKED_BODY):
            inserted = bare == MARKED_BODY
            return Toc(tuple(_entry(*entry, inserted) for entry in entries), size, number + 1, inserted)
        if row := _ENTRY.match(line):
            entries.append((row["words"], len(row["indent"]) // 2, int(row["first"]), int(row["last"])))
        elif bare not in (b"", NO_SECTIONS):
            break
    raise ValueError("not a structured document")


def _entry(words: bytes, depth: int, first: int, last: int, inserted: bool) -> TocEntry:
    text = words.decode(errors="replace")
    title, _, description = text.partition(_DASH) if inserted else (text, "", "")
    return TocEntry(title, description, depth, first, last)
