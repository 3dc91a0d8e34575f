"""A retriever whose best documents are put into another order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...corpus import Corpus
from ..analysis import Analysis
from ..protocol import Hit, Progress, Retriever
from ..snippet import MAX_SCANNED, snippet

DEPTH = 100
"""Documents of each ranking that are read again, unless another number is chosen (DCI's baselines: 100)."""

PASSAGE = 2_000
"""Characters of a document that are read: the window that holds most words of the query."""

Order = Callable[[str, Sequence[str]], list[int]]
"""(query, passages) -> the places of all passages, best first."""


class Reranked:
    """The rankings of `base`; those of the first `depth` documents in the order that `order` gives their passages."""

    def __init__(self, base: Retriever, order: Order, corpus: Corpus, depth: int = DEPTH) -> None:
        self.base, self.order, self.corpus, self.depth = base, order, corpus, depth
        self.name = base.name
        self.analysis = Analysis(corpus.language)

    @property
    def dollars(self) -> float | None:
        """Paid to a language model so far; None where its price is not known."""
        paid: float | None = getattr(self.order, "dollars", 0.0)
        return paid

    @property
    def fresh(self) -> bool:
        """Whether the base is."""
        return self.base.fresh

    def update(self, progress: Progress | None = None) -> int:
        return self.base.update(progress)

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """As the base; a score is 1 / place, for the orders of two models do not compare."""
        rankings = self.base.search(queries, max(k, self.depth)) if k > 0 else [[] for _ in queries]
        return [self._reranked(query, hits)[:k] for query, hits in zip(queries, rankings, strict=True)]

    def _reranked(self, query: str, hits: list[Hit]) -> list[Hit]:
        docids = [hit.docid for hit in hits]
        passages = self._passages(query, docids[: self.depth])
        known = [docid for docid in docids[: self.depth] if docid in passages]
        first = [known[place] for place in self.order(query, [passages[d] for d in known])] if len(known) > 1 else known
        rest = [docid for docid in docids if docid not in passages]
        return [Hit(docid, 1 / place) for place, docid in enumerate([*first, *rest], 1)]

    def _passages(self, query: str, docids: Sequence[str]) -> dict[str, str]:
        """docid -> title and passage, of those that are still there."""
        stems = self.analysis.stems(query)
        found: dict[str, str] = {}
        for docid, entry in self.corpus.manifest.find(docids).items():
            try:
                shown = snippet(self.corpus.store.read(entry.path, MAX_SCANNED), stems, PASSAGE).text
            except FileNotFoundError:
                continue
            found[docid] = f"{entry.title}\n{shown}" if entry.title else shown
        return found
