"""The corpus a program opens: documents and their search engine in one."""

from __future__ import annotations

from . import corpus as _corpus
from .retrieve import Bm25, Hit

__all__ = ["Corpus"]


class Corpus(_corpus.Corpus):
    """A corpus with its search engine: `Corpus.open(path)`, `Corpus.build(source, path)`."""

    _engine: Bm25 | None = None

    def search(self, *queries: str, k: int = 10) -> list[list[Hit]]:
        """One ranking a query, best first: `Hit(docid, score)`. Brings the index up to date when it has to."""
        if self._engine is None:
            self._engine = Bm25(self)
        return self._engine.search(queries, k)
