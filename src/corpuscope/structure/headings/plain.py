"""Plain text: numbered headings ("3.2 Results", "Chapter IV") and headings in upper case."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..section import Heading

_NUMBERED = re.compile(r"^ {0,3}(?P<number>\d{1,3}(?:\.\d{1,3}){0,5})[.)]?[ \t]+(?P<title>\S.*)$")
_NAMED = re.compile(
    r"^\s*(?P<name>chapter|part|section|appendix|book|volume|article|act|scene|canto)[ \t]+"
    r"(?P<number>\d{1,3}|[ivxlc]{1,7}|[a-z])\b(?P<rest>.*)$",
    re.IGNORECASE,
)
_LEADER = re.compile(r"(?:\. ?){4,}|\.{3,}|\s{2,}\d+$|\t\d+$")
_NOT_TEXT = re.compile(r"\S(?: {3,}|\t+)\S|[|<>{}=;\\]|https?:|\w\(")

MAX_TITLE = 100
"""Characters of a heading that has nothing but its form to be known by."""

MAX_WORDS = 14
MAX_UPPER_SHARE = 0.5
"""Of the lines of a text: one that is mostly in upper case has no headings by it."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    line: int
    title: str
    number: tuple[int, ...]  # () for one in upper case or with a name


def plain_headings(lines: Sequence[str]) -> list[Heading]:
    """Lines that stand alone as headings do: numbers must follow one another, and a single one proves nothing."""
    candidates = [found for number in range(len(lines)) if (found := _candidate(lines, number))]
    numbered = _in_sequence([found for found in candidates if found.number], lines)
    upper = [found for found in candidates if not found.number]
    written = sum(1 for line in lines if line.strip())
    if sum(1 for found in upper if found.title.isupper()) > MAX_UPPER_SHARE * written:
        upper = []
    chosen = sorted([*numbered, *upper], key=lambda found: found.line)
    if len(chosen) < 2:
        return []
    return [Heading(found.title, max(1, len(found.number)), found.line) for found in chosen]


def _candidate(lines: Sequence[str], number: int) -> _Candidate | None:
    line = lines[number]
    if not 2 < len(line) <= MAX_TITLE or (number and lines[number - 1].strip()):
        return None
    bare = line.strip()
    if not bare or _LEADER.search(line) or _NOT_TEXT.search(bare):
        return None
    if bare[-1] in ".,;:" and not bare[:-1].isupper():
        return None
    if match := _NUMBERED.match(line):
        title = match["title"]
        if title[0].isalpha() and not title[0].islower() and _ends_there(lines, number):
            return _Candidate(number + 1, bare, tuple(map(int, match["number"].split("."))))
        return None
    if len(bare.split()) > MAX_WORDS or not (bare[0].isalnum() or bare[0] in "\"'(“‘"):
        return None
    if _NAMED.match(bare) or (bare.isupper() and sum(map(str.isalpha, bare)) >= 3 and _ends(lines, number)):
        return _Candidate(number + 1, bare, ())
    return None


def _ends(lines: Sequence[str], number: int) -> bool:
    """Whether the line below does not go on in upper case, as a paragraph of it would."""
    below = lines[number + 1].strip() if number + 1 < len(lines) else ""
    return not below.isupper() or len(below) < MAX_TITLE // 2


def _ends_there(lines: Sequence[str], number: int) -> bool:
    """Whether a numbered line is a paragraph of its own, or another numbered line follows it."""
    below = lines[number + 1] if number + 1 < len(lines) else ""
    return not below.strip() or _NUMBERED.match(below) is not None


def _in_sequence(candidates: Sequence[_Candidate], lines: Sequence[str]) -> list[_Candidate]:
    """Those whose numbers go on from the one before: 1, 1.1, 1.2, 2. A list has nothing between its items."""
    chosen: list[_Candidate] = []
    for found in candidates:
        if _follows(chosen[-1].number if chosen else (), found.number):
            chosen.append(found)
    ends = [*(following.line - 1 for following in chosen[1:]), len(lines)]
    with_text = sum(
        any(lines[n].strip() for n in range(found.line, end)) for found, end in zip(chosen, ends, strict=False)
    )
    return chosen if len(chosen) > 1 and with_text * 2 >= len(chosen) else []


def _follows(before: tuple[int, ...], number: tuple[int, ...]) -> bool:
    if not before:
        return number[0] in (0, 1) and all(part in (0, 1) for part in number)
    if len(number) > len(before):
        return number[: len(before)] == before and all(part in (0, 1) for part in number[len(before) :])
    upto = len(number) - 1
    return number[:upto] == before[:upto] and number[upto] == before[upto] + 1
