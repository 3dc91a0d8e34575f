"""Several rankings as one, by reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from .protocol import Hit, Progress, Retriever

RANK_CONSTANT = 60
"""Of the paper: how much a first place counts above a tenth."""

DEPTH = 1_000
"""Places of each ranking that count, where fewer are asked for."""


class Fused:
    """A document's score is the sum over the rankings of 1 / (60 + its place); `+` in its name joins theirs."""

    def __init__(self, parts: Sequence[Retriever]) -> None:
        self.parts = parts
        self.name = "+".join(part.name for part in parts)

    @property
    def fresh(self) -> bool:
        """Whether all of them are."""
        return all(part.fresh for part in self.parts)

    def update(self, progress: Progress | None = None) -> int:
        return sum(part.update(progress) for part in self.parts)

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        rankings = [part.search(queries, max(k, DEPTH)) for part in self.parts]
        return [_fused(of_query)[:k] for of_query in zip(*rankings, strict=True)]


def _fused(rankings: Sequence[list[Hit]]) -> list[Hit]:
    """Best first; of equals the docid decides."""
    scores: defaultdict[str, float] = defaultdict(float)
    for ranking in rankings:
        for place, hit in enumerate(ranking, 1):
            scores[hit.docid] += 1 / (RANK_CONSTANT + place)
    return sorted((Hit(docid, score) for docid, score in scores.items()), key=lambda hit: (-hit.score, hit.docid))
