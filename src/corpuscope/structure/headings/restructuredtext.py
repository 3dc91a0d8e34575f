"""reStructuredText: titles with an underline, or a line above and below, in any characters and any order."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from ..section import MAX_HEADING, Heading

_ADORNING = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_SIMPLE_TABLE = re.compile(r"^=+(?: +=+)+ *$")
_TABLE_BORDER = re.compile(r"^=[= ]*$")
_NO_TITLE = re.compile(r"^(?:[*+\-•‣⁃](?: |$)|\.\.(?: |$)|:(?![: ])[^:\n]*[^: ]:(?: |$)|>>>(?: |$)|\|(?: |$)|\+-)")
_MARKUP = re.compile(
    r"``(?P<literal>.+?)``|:[\w.+-]+(?::[\w.+-]+)*:`(?P<text>[^`]*)`|`(?P<reference>[^`]*)`(?:__?)?"
    r"|(?<![\w*])(?P<stars>\*{1,2})(?=[^\s*])(?P<stressed>[^*]*[^\s*])(?P=stars)(?![\w*])"
)
_TARGET = re.compile(r"(?P<text>.*\S)\s*<[^<>]*>$", re.DOTALL)

SHORT = 4
"""Characters: an adornment shorter than this is one only if it is as long as its title, as docutils has it."""


def rst_headings(lines: Sequence[str]) -> list[Heading]:
    """Section titles; their levels are the order in which their styles first appear."""
    found: list[Heading] = []
    styles: list[tuple[str, bool]] = []
    number = 0
    while number < len(lines):
        line = lines[number]
        if line[:1] == "=" and " " in line and _SIMPLE_TABLE.match(line):
            number = _behind_table(lines, number)
            continue
        title, style, size = _title(lines, number)
        if title:
            if style not in styles:
                styles.append(style)
            found.append(Heading(_clean(title), styles.index(style) + 1, number + size - 1))
        number += size
    return found


def _title(lines: Sequence[str], number: int) -> tuple[str, tuple[str, bool], int]:
    """(title, its style, lines used up, the title being the last but one of them); ('', ..., 1) for any other line."""
    line = lines[number]
    none = "", ("", False), 1
    mark = _adornment(line)
    if mark:
        below = [text.rstrip() for text in lines[number + 1 : number + 3]]
        if (
            len(below) == 2
            and 0 < len(below[0]) <= MAX_HEADING
            and line.rstrip() == below[1]
            and _covers(line, below[0].strip())
        ):
            # An adornment of the same kind as a title of punctuation would be three rules.
            return (below[0].strip(), (mark, True), 3) if not _adornment(below[0]) else none
        return none
    if not line or line[0] in " \t" or number + 1 >= len(lines) or len(line) > MAX_HEADING:
        return none
    mark = _adornment(lines[number + 1])
    if mark and _covers(lines[number + 1], line.rstrip()) and _begins(lines, number) and not _NO_TITLE.match(line):
        return line.strip(), (mark, False), 2
    return none


def _adornment(line: str) -> str:
    """The character that a line consists of; '' for other lines."""
    mark = line[:1]
    if mark not in _ADORNING or not mark:
        return ""
    bare = line.rstrip()
    return mark if bare == mark * len(bare) else ""


def _covers(adornment: str, title: str) -> bool:
    length = len(adornment.rstrip())
    return length >= SHORT or length >= _width(title)


def _width(title: str) -> int:
    """Columns on a terminal."""
    if title.isascii():
        return len(title)
    return sum(0 if unicodedata.combining(char) else 1 + (unicodedata.east_asian_width(char) in "WF") for char in title)


def _begins(lines: Sequence[str], number: int) -> bool:
    """Whether a text may begin on this line: the second line of a paragraph is no title."""
    if number == 0:
        return True
    above = lines[number - 1]
    return not above.strip() or above[0] in " \t" or above.startswith("..") or bool(_adornment(above))


def _behind_table(lines: Sequence[str], number: int) -> int:
    """The line behind a simple table: at its third border, or at one that a blank line follows."""
    borders = 0
    for at in range(number + 1, len(lines)):
        if _TABLE_BORDER.match(lines[at].rstrip()):
            borders += 1
            if borders == 2 or at + 1 >= len(lines) or not lines[at + 1].strip():
                return at + 1
    return number + 1


def _clean(title: str) -> str:
    if "`" in title or "*" in title:
        title = _MARKUP.sub(_words, title)
    return title.replace("\\", "") if "\\" in title else title


def _words(match: re.Match[str]) -> str:
    if (plain := match["literal"] or match["stressed"]) is not None:
        return plain
    text = match["text"] if match["text"] is not None else match["reference"]
    target = _TARGET.match(text)
    return target["text"] if target else text.lstrip("!~")
