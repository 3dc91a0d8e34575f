"""BM25 over a tantivy index (Lucene's k1 = 1.2, b = 0.75), kept in step with the manifest.

Queries are built from analysed terms and never reach tantivy's query parser, which refuses what models
type (case M1).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..corpus import Corpus
from ..errors import UsageError
from .analysis import Analysis
from .bm25_index import Bm25Index, Bm25Writer
from .catching_up import caught_up
from .protocol import Hit, Progress

if TYPE_CHECKING:
    import tantivy

MAX_TERMS = 256
"""Distinct terms of one query; of a longer one the rarest are kept."""


Term = tuple[str, str]
"""(field, term) as they stand in the index."""


class Bm25:
    """The default engine. Raises `UsageError` for a corpus that is unfinished or of an unknown language."""

    name = "bm25"

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        try:
            self.analysis = Analysis(corpus.language)
        except ValueError as error:
            raise UsageError(f"{corpus.root}: {error}; choose another with --language") from error
        self.index = Bm25Index(corpus.root / "index" / self.name, self.analysis)
        self._searcher: tantivy.Searcher | None = None
        self._revision = -1

    @property
    def fresh(self) -> bool:
        """Whether the index on disk stands at the corpus's revision."""
        return self.index.meta().get("revision") == self.corpus.revision

    def update(self, progress: Progress | None = None) -> int:
        return caught_up(self, self.corpus, lambda: self._catch_up(progress))

    def _catch_up(self, progress: Progress | None) -> int:
        writer = Bm25Writer(self.index)
        manifest = self.corpus.manifest
        base, target = int(writer.meta.get("revision", 0)), self.corpus.revision
        done = (int(writer.meta.get("key", 0)), int(writer.meta.get("target", 0)))
        for key in manifest.removed_since(base):
            writer.delete(key)
        total = manifest.count_changed_since(base, done)
        count = 0
        for count, entry in enumerate(manifest.changed_since(base, done), 1):
            writer.put(entry.key, entry.title, self.corpus.store.read(entry.path).decode())
            if writer.commit_is_due():
                writer.commit(revision=base, target=target, key=entry.key)
            if progress:
                progress(count, total)
        writer.commit(revision=target)
        writer.close()
        self._searcher = None
        return count

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        return self.ranked([self.terms(query) for query in queries], k)

    def terms(self, query: str) -> dict[Term, float]:
        """The terms of a query, weighted by how often each is said."""
        counts = Counter(("body", term) for term in self.analysis.query_words(query))
        counts.update(("unspaced", term) for term in self.analysis.query_bigrams(query))
        return dict(counts)

    def ranked(self, queries: Sequence[Mapping[Term, float]], k: int) -> list[list[Hit]]:
        """One ranking for each query of weighted terms."""
        if self._searcher is None or self._revision != self.corpus.revision:
            self.update()
            index = self.index.open()
            index.reload()
            self._searcher, self._revision = index.searcher(), self.corpus.revision
        return [self._rank(self._searcher, weights, k) for weights in queries]

    def _rank(self, searcher: tantivy.Searcher, weights: Mapping[Term, float], k: int) -> list[Hit]:
        parsed = self._query(searcher, weights)
        if parsed is None or k < 1:
            return []
        hits = searcher.search(parsed, limit=k, count=False).hits
        keys: list[int] = searcher.fast_field_values("key", [address for _, address in hits])  # type: ignore[assignment]
        docids = self.corpus.manifest.by_key(keys)
        return [
            Hit(docids[key], float(score or 0.0)) for key, (score, _) in zip(keys, hits, strict=True) if key in docids
        ]

    def _query(self, searcher: tantivy.Searcher, weights: Mapping[Term, float]) -> tantivy.Query | None:
        import tantivy

        terms: Iterable[Term] = weights
        if len(weights) > MAX_TERMS:
            terms = sorted(weights, key=lambda term: searcher.doc_freq(*term))[:MAX_TERMS]
        clauses = []
        for field, term in terms:
            clause = tantivy.Query.term_query(self.index.open().schema, field, term, index_option="freq")
            if (weight := weights[field, term]) != 1:
                clause = tantivy.Query.boost_query(clause, float(weight))
            clauses.append((tantivy.Occur.Should, clause))
        return tantivy.Query.boolean_query(clauses) if clauses else None


@contextmanager
def follow_ingest(corpus: Corpus) -> Iterator[IngestFollower]:
    """Index documents while `Corpus.build` reads them: one pass over the text, and both cores at work.

    An ingest that fails leaves the index behind the manifest, and `update` catches up.
    """
    follower = IngestFollower(Bm25(corpus))
    yield follower
    follower.finish()


class IngestFollower:
    """Told of every document that is new or changed, and of every commit of the manifest."""

    def __init__(self, engine: Bm25) -> None:
        self.engine = engine
        self.base = engine.corpus.revision
        # An index that is behind already has more to catch up than what this ingest brings.
        self.follows = engine.fresh or (self.base == 0 and not engine.index.meta())
        self._writer: Bm25Writer | None = None
        self._last_key = 0

    @property
    def writer(self) -> Bm25Writer:
        if self._writer is None:
            self._writer = Bm25Writer(self.engine.index)
        return self._writer

    def document(self, key: int, title: str, data: bytes) -> None:
        if self.follows:
            self.writer.put(key, title, data.decode())
            self._last_key = key

    def committed(self) -> None:
        """All documents told so far are in the manifest for good. In a new corpus their keys rise."""
        if self._writer is not None and self.base == 0 and self._writer.commit_is_due():
            self._writer.commit(revision=0, target=self.engine.corpus.revision, key=self._last_key)

    def finish(self) -> None:
        revision = self.engine.corpus.revision
        if not self.follows or revision == self.base:
            return
        for key in self.engine.corpus.manifest.removed_since(self.base):
            self.writer.delete(key)
        self.writer.commit(revision=revision)
        self.writer.close()
