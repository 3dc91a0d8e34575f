"""Where in a document the proposed sections begin (RISE, 3.2: exact substring, else whitespace-normalised)."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from .section import Located, Proposed

MAX_PLACES = 100
"""Occurrences of one anchor that are considered."""


@dataclass(frozen=True, slots=True)
class Anchored:
    """What became of a proposal: `sections` in the order of the text, whether each one's anchor was found
    `to_the_letter`, and how many were `lost`."""

    sections: tuple[Located, ...]
    to_the_letter: tuple[bool, ...]
    lost: int


def locate(text: str, proposed: Sequence[Proposed]) -> Anchored:
    """Find each anchor, keeping the order of the proposal: an anchor that occurs more than once is taken where the
    others leave it room, and the fewest possible are lost to keep the rest in order."""
    found = [_places(text, proposal.anchor) for proposal in proposed]
    chosen = _in_order([places for places, _ in found])
    sections = tuple(Located(proposed[n].title, proposed[n].description, offset) for n, offset in chosen)
    return Anchored(sections, tuple(found[n][1] for n, _ in chosen), len(proposed) - len(chosen))


def _places(text: str, anchor: str) -> tuple[list[int], bool]:
    """(offsets at which `anchor` occurs, whether to the letter). Inside of a word only where it occurs nowhere else."""
    words = anchor.split()
    if not words:
        return [], False
    letters = anchor.strip()
    found: list[int] = []
    at = text.find(letters)
    while at >= 0 and len(found) < MAX_PLACES:
        found.append(at)
        at = text.find(letters, at + 1)
    exact = bool(found)
    if not exact and len(words) > 1:
        pattern = re.compile(r"\s+".join(map(re.escape, words)))
        found = [match.start() for match, _ in zip(pattern.finditer(text), range(MAX_PLACES), strict=False)]
    whole = [at for at in found if at == 0 or not (text[at - 1].isalnum() and text[at].isalnum())]
    return whole or found, exact


def _in_order(places: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """The longest choice of (which anchor, its offset) with rising anchors and rising offsets, at the least offsets.

    Longest increasing subsequence over all places; those of one anchor from last to first, so that none follows another.
    """
    tails: list[int] = []  # the least offset that ends a choice of each length
    ends: list[int] = []  # the node that does
    nodes: list[tuple[int, int, int]] = []  # anchor, offset, the node before
    for which, offsets in enumerate(places):
        for offset in sorted(offsets, reverse=True):
            length = bisect_left(tails, offset)
            nodes.append((which, offset, ends[length - 1] if length else -1))
            tails[length : length + 1] = [offset]
            ends[length : length + 1] = [len(nodes) - 1]
    chosen: list[tuple[int, int]] = []
    node = ends[-1] if ends else -1
    while node >= 0:
        which, offset, node = nodes[node]
        chosen.append((which, offset))
    return chosen[::-1]
