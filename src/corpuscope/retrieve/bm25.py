"""BM25 over a tantivy index (Lucene's k1 = 1.2, b = 0.75), kept in step with the manifest.

Queries are built from analysed terms and never reach tantivy's query parser, which refuses what models
type (case M1). Documents are known to the index by their manifest key alone.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..corpus import Corpus, Entry, one_at_a_time, write_whole
from ..errors import SetupError, UsageError
from .analysis import Analysis, normalize, unspaced_runs
from .protocol import Hit, Progress

if TYPE_CHECKING:
    import tantivy

FORMAT = 1
HEAP_BYTES = 128 << 20
"""Of the writer, over all its threads."""

MAX_TERMS = 256
"""Distinct terms of one query; of a longer one the rarest are kept."""

COMMIT_SECONDS = 60.0
"""A killed build is taken up from its last commit."""

LOCK_SECONDS = 30.0
"""How long to wait for another process that is bringing the same index up to date."""

_CHUNK = 1 << 20
"""Long documents are given to tantivy in pieces of this many characters."""


class Bm25:
    """The default engine. Raises `UsageError` for a corpus that is unfinished or of an unknown language."""

    name = "bm25"

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.folder = corpus.root / "index" / self.name
        try:
            self.analysis = Analysis(corpus.language)
        except ValueError as error:
            raise UsageError(f"{corpus.root}: {error}; choose another with --language") from error
        self._searcher: tantivy.Searcher | None = None
        self._revision = -1
        self._index: tantivy.Index | None = None

    @property
    def fresh(self) -> bool:
        """Whether the index on disk stands at the corpus's revision."""
        return self._meta().get("revision") == self.corpus.revision

    def update(self, progress: Progress | None = None) -> int:
        if not self.corpus.finished:
            raise UsageError(
                f"{self.corpus.root} is unfinished (its last index run was cut off or met bad rows); "
                "run corpuscope index again"
            )
        if self.fresh:
            return 0
        with one_at_a_time(self.corpus.root, wait=LOCK_SECONDS):
            return 0 if self.fresh else self._catch_up(progress)

    def _catch_up(self, progress: Progress | None) -> int:
        meta = self._meta()
        index = self._open()
        target = self.corpus.revision
        base = int(meta.get("revision", 0))
        done_key = int(meta.get("key", 0)) if meta.get("target") == target else 0
        try:
            writer = index.writer(heap_size=HEAP_BYTES)
        except ValueError as error:
            raise _writer_error(error, self.folder) from error
        for key in self.corpus.manifest.removed_since(base):
            self._delete(writer, key)
        total = self.corpus.manifest.count_changed_since(base)
        count, last = 0, time.monotonic()
        for count, entry in enumerate(self.corpus.manifest.changed_since(base), 1):
            if entry.key > done_key:
                if meta:  # only an index that holds something can hold an old version
                    self._delete(writer, entry.key)
                self._add(writer, entry)
                if time.monotonic() - last > COMMIT_SECONDS:
                    self._commit(writer, {"revision": base, "target": target, "key": entry.key})
                    last = time.monotonic()
            if progress:
                progress(count, total)
        self._commit(writer, {"revision": target})
        writer.wait_merging_threads()
        self._searcher = None
        return count

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        if self._searcher is None or self._revision != self.corpus.revision:
            self.update()
            index = self._open()
            index.reload()
            self._searcher, self._revision = index.searcher(), self.corpus.revision
        return [self._rank(self._searcher, query, k) for query in queries]

    def _rank(self, searcher: tantivy.Searcher, query: str, k: int) -> list[Hit]:
        parsed = self._query(searcher, query)
        if parsed is None or k < 1:
            return []
        hits = searcher.search(parsed, limit=k, count=False).hits
        keys: list[int] = searcher.fast_field_values("key", [address for _, address in hits])  # type: ignore[assignment]
        docids = self.corpus.manifest.by_key(keys)
        return [
            Hit(docids[key], float(score or 0.0)) for key, (score, _) in zip(keys, hits, strict=True) if key in docids
        ]

    def _query(self, searcher: tantivy.Searcher, query: str) -> tantivy.Query | None:
        import tantivy

        counts = Counter(("body", term) for term in self.analysis.query_words(query))
        counts.update(("unspaced", term) for term in self.analysis.query_bigrams(query))
        terms: Iterable[tuple[str, str]] = counts
        if len(counts) > MAX_TERMS:
            terms = sorted(counts, key=lambda term: searcher.doc_freq(*term))[:MAX_TERMS]
        clauses = []
        for field, term in terms:
            clause = tantivy.Query.term_query(self._schema(), field, term, index_option="freq")
            if (n := counts[field, term]) > 1:
                clause = tantivy.Query.boost_query(clause, float(n))
            clauses.append((tantivy.Occur.Should, clause))
        return tantivy.Query.boolean_query(clauses) if clauses else None

    def _delete(self, writer: tantivy.IndexWriter, key: int) -> None:
        """By query: `delete_documents_by_term` takes a number for a signed one, which an unsigned field never holds."""
        import tantivy

        writer.delete_documents_by_query(tantivy.Query.term_query(self._schema(), "key", key))

    def _add(self, writer: tantivy.IndexWriter, entry: Entry) -> None:
        import tantivy

        text = normalize(f"{entry.title}\n{self.corpus.store.read(entry.path).decode()}")
        document = tantivy.Document()
        document.add_unsigned("key", entry.key)
        for start in range(0, len(text), _CHUNK):
            document.add_text("body", text[start : start + _CHUNK])
        if runs := unspaced_runs(text):
            document.add_text("unspaced", "\n".join(runs))
        try:
            writer.add_document(document)
        except ValueError as error:
            raise _writer_error(error, self.folder) from error

    def _commit(self, writer: tantivy.IndexWriter, meta: dict[str, Any]) -> None:
        try:
            writer.commit()
        except ValueError as error:
            raise _writer_error(error, self.folder) from error
        write_whole(self._meta_file, json.dumps({"format": FORMAT, "language": self.corpus.language, **meta}))

    @property
    def _meta_file(self) -> Path:
        return self.folder / "corpuscope.json"

    def _meta(self) -> dict[str, Any]:
        """What the index was built from; empty when it must be built anew."""
        try:
            meta: dict[str, Any] = json.loads(self._meta_file.read_text())
        except (OSError, ValueError):
            return {}
        same = meta.get("format") == FORMAT and meta.get("language") == self.corpus.language
        return meta if same else {}

    def _schema(self) -> tantivy.Schema:
        return self._open().schema

    def _open(self) -> tantivy.Index:
        import tantivy

        if self._index is not None:
            return self._index
        if not self._meta():
            self._clear()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            build = tantivy.SchemaBuilder()
            build.add_unsigned_field("key", indexed=True, fast=True)
            build.add_text_field("body", tokenizer_name="words", index_option="freq")
            build.add_text_field("unspaced", tokenizer_name="bigrams", index_option="freq")
            self._index = tantivy.Index(build.build(), path=str(self.folder))
        except (OSError, ValueError) as error:
            raise SetupError(
                f"cannot open the index in {self.folder} ({error}); delete that folder and index again"
            ) from error
        self._index.register_tokenizer("words", self.analysis.words)
        self._index.register_tokenizer("bigrams", self.analysis.bigrams)
        return self._index

    def _clear(self) -> None:
        import shutil

        shutil.rmtree(self.folder, ignore_errors=True)


def _writer_error(error: ValueError, folder: Path) -> Exception:
    if "No space" in str(error) or "os error 28" in str(error):
        return SetupError(f"no space left for {folder}: free some and run the same command again; nothing is lost")
    return SetupError(f"the index in {folder} cannot be written: {error}")
