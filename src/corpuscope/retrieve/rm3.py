"""BM25 that asks twice: the second query also has the words that the first one's best documents share (RM3: Lavrenko and Croft, SIGIR
2001; Abdul-Jaleel et al., TREC 2004). More is found, at some cost to the first places."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from heapq import nlargest

from ..corpus import Corpus
from .bm25 import Bm25, Term
from .protocol import Hit, Progress
from .snippet import MAX_SCANNED

DOCUMENTS, TERMS, OWN = 10, 10, 0.5
"""Of feedback, of the second query, and the share that the query's own terms keep: Anserini's defaults."""


class Rm3:
    """The index is that of `bm25`."""

    name = "rm3"

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.base = Bm25(corpus)

    @property
    def fresh(self) -> bool:
        """Whether the index of `bm25` is."""
        return self.base.fresh

    def update(self, progress: Progress | None = None) -> int:
        return self.base.update(progress)

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        own = [self.base.terms(query) for query in queries]
        first = self.base.ranked(own, DOCUMENTS)
        return self.base.ranked([self._fed_back(terms, hits) for terms, hits in zip(own, first, strict=True)], k)

    def _fed_back(self, terms: Mapping[Term, float], hits: Sequence[Hit]) -> Mapping[Term, float]:
        """The query's terms and those of its best documents, each by its probability."""
        model: defaultdict[Term, float] = defaultdict(float)
        entries = self.corpus.manifest.find([hit.docid for hit in hits])
        for hit in hits:
            entry = entries.get(hit.docid)
            if entry is None:
                continue
            words = self.base.terms(self.corpus.store.read(entry.path, MAX_SCANNED).decode(errors="ignore"))
            said = {term: count for term, count in words.items() if not term[1].isdecimal() and len(term[1]) > 1}
            length = sum(said.values())
            for term, count in said.items():
                model[term] += hit.score * count / length
        if not model:
            return terms
        told = nlargest(TERMS, model.items(), key=lambda item: item[1])
        whole, asked = sum(weight for _, weight in told), sum(terms.values())
        mixed = {term: OWN * weight / asked for term, weight in terms.items()}
        for term, weight in told:
            mixed[term] = mixed.get(term, 0.0) + (1 - OWN) * weight / whole
        return mixed
