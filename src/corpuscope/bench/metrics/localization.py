"""Localization (DCI, section 3.4): how narrow the best piece of each surfaced gold document was.

nu(x) = max(1, ceil(x / c_seg)) turns characters into segments; psi(a; b) = max(1 - log a / log b, 0). The score of a piece of
length l of document d* is psi(nu(l); nu(|d*|)); a document counts with its best piece, a question with the mean over the gold
documents that surfaced. A document of which only the name was seen has l = |d*|.

The paper leaves open: c_seg, for which 500 characters are taken; and a document of one segment, where psi divides by zero: it
cannot be seen in a narrower piece than itself, and scores 1 once it surfaced.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from ..gold import Surfaced

C_SEG = 500
"""Characters of a segment."""


def segments(characters: int, c_seg: int = C_SEG) -> int:
    """nu."""
    return max(1, math.ceil(characters / c_seg))


def psi(a: int, b: int) -> float:
    """For `a` segments of `b`; 1 is as narrow as can be, 0 the whole document or more."""
    if b == 1:
        return 1.0
    return max(1 - math.log(a) / math.log(b), 0.0)


def localization(surfaced: Iterable[Surfaced], lengths: Mapping[str, int], c_seg: int = C_SEG) -> float | None:
    """The mean over surfaced gold documents; `lengths` is docid -> characters of each. None when none surfaced."""
    best: dict[str, float] = {}
    for docid, _, characters in surfaced:
        if docid in lengths:
            whole = lengths[docid]
            score = psi(segments(whole if characters is None else characters, c_seg), segments(whole, c_seg))
            best[docid] = max(best.get(docid, 0.0), score)
    return sum(best.values()) / len(best) if best else None
