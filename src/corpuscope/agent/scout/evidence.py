"""From grep's matches to windows worth reading, and from what was read to passages worth citing."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...structure import BODY

WINDOW = 12
"""Lines around which matches count together."""

MAX_PASSAGE_LINES = 10

TABLE_END = BODY.decode()
"""How the line begins that ends a table of contents."""


@dataclass(frozen=True, slots=True)
class Window:
    """Lines of a document that hold several of the question's terms; `score` is the sum of their weights."""

    path: str
    first: int
    last: int
    score: float
    terms: frozenset[str]


@dataclass(frozen=True, slots=True)
class Passage:
    """Consecutive lines of a document, numbered from `first`."""

    path: str
    first: int
    lines: tuple[str, ...]

    @property
    def last(self) -> int:
        return self.first + len(self.lines) - 1

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def weights(counts: Mapping[str, int], documents: int) -> dict[str, float]:
    """Inverse document frequency in W; a term that no document holds weighs nothing."""
    return {term: math.log(1 + documents / n) if n else 0.0 for term, n in counts.items()}


def windows(path: str, matches: Iterable[tuple[int, str]], weight: Mapping[str, float], most: int) -> list[Window]:
    """The best windows of one document from (line, term) matches, best first, none overlapping another."""
    by_line = sorted((line, term) for line, term in matches if weight.get(term, 0) > 0)
    found = []
    for start in range(len(by_line)):
        first = by_line[start][0]
        inside = [(line, term) for line, term in by_line[start : start + 200] if line < first + WINDOW]
        terms = frozenset(term for _, term in inside)
        tightness = 1 + 0.5 / (1 + inside[-1][0] - first)
        found.append(Window(path, first, inside[-1][0], tightness * sum(weight[t] for t in terms), terms))
    best: list[Window] = []
    for window in sorted(found, key=lambda w: -w.score):
        if all(window.last < b.first or window.first > b.last for b in best):
            best.append(window)
        if len(best) == most:
            break
    return best


def choose(candidates: Sequence[Window], weight: Mapping[str, float], most: int) -> list[Window]:
    """Windows that together hold most of the question: what a chosen one already has counts for little."""
    chosen: list[Window] = []
    covered: set[str] = set()
    rest = list(candidates)
    while rest and len(chosen) < most:
        seen = {w.path for w in chosen}

        def gain(window: Window, covered: set[str] = covered, seen: set[str] = seen) -> float:
            new = sum(weight[t] for t in window.terms - covered)
            return (window.score + new) * (0.6 if window.path in seen else 1.0)

        best = max(rest, key=gain)
        rest.remove(best)
        chosen.append(best)
        covered |= best.terms
    return chosen


def passages(path: str, numbered: str) -> list[Passage]:
    """The paragraphs of what `read` returned, each at most `MAX_PASSAGE_LINES` long."""
    found: list[Passage] = []
    held: list[str] = []
    first = 0
    for row in [*numbered.split("\n"), ""]:
        match = re.match(r" *(\d+)\t(.*)", row)
        text = match[2] if match else ""
        if text.startswith(TABLE_END):
            found, held, text = [], [], ""  # a table of contents is no evidence
        if match and text.strip() and len(held) < MAX_PASSAGE_LINES:
            first = first if held else int(match[1])
            held.append(text)
        elif held:
            found.append(Passage(path, first, tuple(held)))
            held, first = ([text], int(match[1])) if match and text.strip() else ([], 0)
    return found


def holds(text: str, terms: Iterable[str]) -> frozenset[str]:
    """Which of `terms` begin a word of `text`."""
    lower = text.lower()
    return frozenset(t for t in terms if re.search(rf"(?<![^\W_]){re.escape(t)}", lower))
