"""AsciiDoc (`== Title`, or the old two-line form) and MediaWiki (`== Title ==`)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..section import MAX_HEADING, Heading

_TITLE = re.compile(r"^(?P<marks>={1,6}|#{1,6})[ \t]*(?P<title>\S.*)$")
_DELIMITER = re.compile(r"^(?:-{4,}|\.{4,}|={4,}|\*{4,}|_{4,}|\+{4,}|/{4,}|`{3,}\w*|[|,:!]={3,})$")
_DELIMITING = frozenset("-.=*_+/`|,:!")
_UNDERLINES = {"=": 1, "-": 2, "~": 3, "^": 4, "+": 5}

SLACK = 2
"""Characters by which the underline of a two-line title may be longer or shorter than the title."""


def asciidoc_headings(lines: Sequence[str]) -> list[Heading]:
    """Section titles outside of delimited blocks (listings, tables, examples, comments) and wiki comments."""
    found: list[Heading] = []
    last = _closed_by(lines)
    number = 0
    while number < len(lines):
        line = lines[number].rstrip()
        below = lines[number + 1].rstrip() if number + 1 < len(lines) else ""
        above = lines[number - 1].strip() if number else ""
        if not line or len(line) > MAX_HEADING:
            number += 1
        elif (level := _underlined(line, below)) and (not above or above.startswith(("[", "//", ":"))):
            found.append(Heading(line.strip(), level, number + 1))
            number += 2
        elif _DELIMITER.match(line):
            number = _behind(lines, number, re.sub(r"^(```).*$", r"\1", line), last)
        elif line.startswith("<!--") and "-->" not in line:
            number = next((n + 1 for n in range(number, len(lines)) if "-->" in lines[n]), len(lines))
        else:
            if line[0] in "=#" and (title := _one_line(line)):
                found.append(Heading(title[1], title[0], number + 1))
            number += 1
    return found


def _one_line(line: str) -> tuple[int, str] | None:
    match = _TITLE.match(line)
    if not match:
        return None
    marks, title = match["marks"], match["title"].rstrip()
    closed = title.endswith(marks)
    if closed:
        title = title.removesuffix(marks).rstrip()
    # Only MediaWiki writes no space behind the marks, and always closes them.
    spaced = line[len(marks)] in " \t"
    return (len(marks), title) if title and title.strip("=#") and (spaced or closed) else None


def _underlined(title: str, below: str) -> int:
    mark = below[:1]
    if mark not in _UNDERLINES or below != mark * len(below):
        return 0
    plain = title[0] not in "=.[/|:*-_+`#" and not title[0].isspace() and any(map(str.isalnum, title))
    return _UNDERLINES[mark] if plain and abs(len(below) - len(title)) <= SLACK and len(below) > 1 else 0


def _closed_by(lines: Sequence[str]) -> dict[str, int]:
    """Delimiter -> the last line that it stands on."""
    return {
        line.rstrip(): n for n, line in enumerate(lines) if line[:1] in _DELIMITING and _DELIMITER.match(line.rstrip())
    }


def _behind(lines: Sequence[str], number: int, delimiter: str, last: dict[str, int]) -> int:
    """The line behind a block; one that is never closed holds nothing."""
    if last.get(delimiter, -1) <= number:
        return number + 1
    return next(n + 1 for n in range(number + 1, len(lines)) if lines[n].rstrip() == delimiter)
