"""Vectors of passages in LanceDB: `dense`, one for each passage, and `late`, one for each of its tokens.

A document is cut into passages that overlap; its score is that of its best passage.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from ..corpus import Corpus, Entry, write_whole
from ..errors import SetupError, UsageError
from .analysis import searchable
from .catching_up import caught_up
from .protocol import Hit, Progress

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 1
PASSAGE = 1_000
"""Characters of a passage: some 250 tokens, which small models take."""

OVERLAP = 200
"""Of them that the next passage begins with."""

BATCH = 512
"""Passages between two writes; a killed update goes on from there."""

EXACT = 100_000
"""Passages up to which all are compared; above, an inverted file of product-quantised vectors finds those that are."""

EXACT_LATE = 1_000
"""The same for `late`, which compares each token of a query with each of theirs: seconds at 6,000 passages. Above, scalar-quantised vectors
order them, and their scores are of another scale."""

PROBES = 64
"""Of its lists looked at."""

REFINE = 3
"""Times as many candidates are compared exactly as are asked for."""

LEAST = 500
"""Passages asked for, however few documents are: `late` orders what is nearest to any of its tokens, and must see enough of that."""

KEPT = timedelta(hours=1)
"""For which a search that is under way can read what an update has replaced."""

_TABLE = "passages"


class Dense:
    """One vector a passage, by any embedding model; cosine similarity. The model is the corpus's: `index --retriever dense=MODEL`.

    Raises `UsageError` for a corpus without one, `SetupError` where the library or the model cannot be had.
    """

    name = "dense"

    def __init__(self, corpus: Corpus) -> None:
        try:
            import lancedb
        except ImportError as error:
            raise SetupError(f"the retriever {self.name} needs its library: pip install 'corpuscope[dense]'") from error
        self.model = corpus.models.get(self.name, "")
        if not self.model:
            raise UsageError(
                f"the retriever {self.name} needs a model: corpuscope index ... --retriever {self.name}=MODEL "
                f"({'openai:text-embedding-3-small, ' if self.name == 'dense' else ''}sentence-transformers:NAME)"
            )
        self.corpus = corpus
        self.folder = corpus.root / "index" / self.name
        self._lancedb = lancedb
        self._model: Any = None
        self._table: Any = None
        self._revision = -1
        self._approximate = False

    def meta(self) -> dict[str, Any]:
        """`revision` and `model` of the vectors on disk; a build that was cut off has `target` and `key`, as in the n-gram index."""
        try:
            meta: dict[str, Any] = json.loads((self.folder / "corpuscope.json").read_text())
        except (OSError, ValueError):
            return {}
        return meta if (meta.get("format"), meta.get("model")) == (FORMAT, self.model) else {}

    @property
    def fresh(self) -> bool:
        """Whether the index on disk stands at the corpus's revision."""
        return self.meta().get("revision") == self.corpus.revision

    def update(self, progress: Progress | None = None) -> int:
        return caught_up(self, self.corpus, lambda: self._catch_up(progress))

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        if self._revision != self.corpus.revision:
            self.update()
            self._table = self._open_table()
            self._approximate = bool(self.meta().get("approximate"))
            self._revision = self.corpus.revision
        asked = [query for query in queries if searchable(query)]
        if self._table is None or k < 1 or not asked:
            return [[] for _ in queries]
        vectors = dict(zip(asked, self.vectors_of_queries(asked), strict=True))
        return [self._rank(vectors[query], k) if query in vectors else [] for query in queries]

    # What `late` does in its own way.

    def open_model(self) -> Any:
        """The model, opened once."""
        from ..models import Embedding  # it takes a while to import

        self._model = self._model or Embedding(self.model)
        return self._model

    def vectors_of_queries(self, queries: Sequence[str]) -> list[Any]:
        return list(self.open_model()(queries, "query"))

    def column(self, passages: Sequence[str]) -> pa.Array:
        """The vectors of passages, as they stand in the table."""
        import numpy as np
        import pyarrow as pa

        vectors = np.array(self.open_model()(passages, "document"), dtype=np.float32)
        return pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])

    def similarity(self, distance: float, query: Any) -> float:
        """Of a distance as LanceDB tells it: the cosine."""
        return 1.0 - distance

    def exact_up_to(self) -> int:
        """Passages."""
        return EXACT

    def inverted_file(self) -> Any:
        """What finds them where there are more."""
        from lancedb.index import IvfPq

        return IvfPq(distance_type="cosine")

    def approximately(self, query: Any) -> Any:
        return query.nprobes(PROBES).refine_factor(REFINE)

    def _rank(self, vector: Any, k: int) -> list[Hit]:
        passages, rows = max(2 * k, LEAST), self._table.count_rows()
        while True:  # until the passages found are those of k documents
            best = self._best(vector, min(passages, rows))
            if len(best) >= k or passages >= rows:
                break
            passages *= 4
        docids = self.corpus.manifest.by_key(list(best))
        hits = [Hit(docids[key], self.similarity(distance, vector)) for key, distance in best.items() if key in docids]
        return hits[:k]

    def _best(self, vector: Any, passages: int) -> dict[int, float]:
        """key -> distance of its best passage, best first."""
        query = self._table.search(vector, vector_column_name="vector").distance_type("cosine")
        if self._approximate:
            query = self.approximately(query)
        found = query.select(["key", "_distance"]).limit(passages).to_arrow()
        best: dict[int, float] = {}
        for key, distance in zip(found["key"].to_pylist(), found["_distance"].to_pylist(), strict=True):
            best[key] = min(distance, best.get(key, distance))
        return dict(sorted(best.items(), key=lambda item: (item[1], item[0])))

    def _open_table(self) -> Any:
        folder = self.folder / "lance"
        there = (folder / f"{_TABLE}.lance").is_dir()
        return self._lancedb.connect(folder).open_table(_TABLE) if there else None

    def _catch_up(self, progress: Progress | None) -> int:
        meta = self.meta()
        self.open_model()  # one that cannot be had leaves no trace
        if not meta:  # none yet, or another model's
            shutil.rmtree(self.folder, ignore_errors=True)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            return self._write(meta, progress)
        except OSError as error:
            raise SetupError(
                f"cannot write the index in {self.folder} ({error}): free some space and run the same command again; "
                "nothing is lost"
            ) from error

    def _write(self, meta: dict[str, Any], progress: Progress | None) -> int:
        manifest, target = self.corpus.manifest, self.corpus.revision
        base, done = int(meta.get("revision", 0)), (int(meta.get("key", 0)), int(meta.get("target", 0)))
        total, count = manifest.count_changed_since(base, done), 0
        self._table = self._open_table()
        self._remove(list(manifest.removed_since(base)))
        if (
            self._table is not None and not base
        ):  # a first build that was cut off: what it wrote behind its note is written again
            self._table.delete(f"key > {done[0]}")
        self._note(revision=base, target=done[1], key=done[0])
        waiting: list[tuple[int, str]] = []
        begun: list[int] = []
        for count, entry in enumerate(manifest.changed_since(base, done), 1):
            if base or entry.key <= done[0]:
                begun.append(entry.key)
            for passage in passages_of(entry, self.corpus.store.read(entry.path).decode()):
                waiting.append((entry.key, passage))
                if len(waiting) == BATCH:
                    self._put(begun, waiting)
                    begun, waiting = [], []
                    # This document may have more to come: an update that is cut off reads it again.
                    self._note(revision=base, target=target, key=entry.key - 1)
            if progress:
                progress(count, total)
        self._put(begun, waiting)
        self._finish(target, changed=count)
        return count

    def _put(self, begun: list[int], waiting: list[tuple[int, str]]) -> None:
        """Write these passages; of documents that an older build may have, as far as they begin here, what it has goes."""
        import pyarrow as pa

        self._remove(begun)
        if waiting:
            vectors = self.column([passage for _, passage in waiting])
            rows = pa.table({"key": pa.array([key for key, _ in waiting], pa.int64()), "vector": vectors})
            if self._table is None:
                self._table = self._lancedb.connect(self.folder / "lance").create_table(_TABLE, schema=rows.schema)
            self._table.add(rows)

    def _remove(self, keys: list[int]) -> None:
        if self._table is not None and keys:
            self._table.delete(f"key IN ({','.join(map(str, keys))})")

    def _finish(self, target: int, *, changed: int) -> None:
        approximate = False
        if self._table is not None:
            self._table.optimize(cleanup_older_than=KEPT)
            approximate = self._table.count_rows() > self.exact_up_to()
            if approximate and (changed or not self._table.list_indices()):
                self._table.create_index("vector", config=self.inverted_file(), replace=True)
        self._note(revision=target, approximate=approximate)

    def _note(self, **values: int) -> None:
        write_whole(self.folder / "corpuscope.json", json.dumps({"format": FORMAT, "model": self.model, **values}))


class Late(Dense):
    """One vector a token; the sum over the query's tokens of the cosine with their nearest in the passage (ColBERT's MaxSim).

    The model is a late-interaction one of sentence-transformers, or any of which it can make one.
    """

    name = "late"

    def open_model(self) -> Any:
        from ..models import local_model

        name = self.model.removeprefix("sentence-transformers:")
        self._model = self._model or local_model(lambda library: library.MultiVectorEncoder, name)
        return self._model

    def vectors_of_queries(self, queries: Sequence[str]) -> list[Any]:
        return [_matrix(tokens) for tokens in self.open_model().encode_query(list(queries), show_progress_bar=False)]

    def column(self, passages: Sequence[str]) -> pa.Array:
        import numpy as np
        import pyarrow as pa

        documents = [_matrix(d) for d in self.open_model().encode_document(list(passages), show_progress_bar=False)]
        tokens = np.concatenate(documents)
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(tokens.ravel()), tokens.shape[1])
        ends = np.cumsum([0, *(len(d) for d in documents)]).astype(np.int32)
        return pa.ListArray.from_arrays(pa.array(ends), vectors)

    def similarity(self, distance: float, query: Any) -> float:
        """LanceDB sums 1 - cosine over the query's tokens."""
        return float(len(query)) - distance

    def exact_up_to(self) -> int:
        return EXACT_LATE

    def inverted_file(self) -> Any:
        from lancedb.index import IvfSq

        return IvfSq(distance_type="cosine")

    def approximately(self, query: Any) -> Any:
        return query.nprobes(PROBES)


def passages_of(entry: Entry, text: str) -> Iterator[str]:
    """A document in pieces of at most `PASSAGE` characters that end between words; each says the title first."""
    title = entry.title if entry.title and not text.lstrip("# \n").startswith(entry.title) else ""
    at = 0
    while at < len(text):
        end = min(len(text), at + PASSAGE)
        if end < len(text):
            end = max(text.rfind(" ", at + OVERLAP + 1, end), text.rfind("\n", at + OVERLAP + 1, end)) + 1 or end
        if piece := text[at:end].strip():
            yield f"{title}\n{piece}" if title else piece
        if end == len(text):
            return
        begin = text.find(" ", end - OVERLAP, end)
        at = begin + 1 if begin >= 0 else end - OVERLAP


def _matrix(tokens: Any) -> Any:
    """float32[tokens, dimensions] of what an encoder gives."""
    import numpy as np

    return np.asarray(tokens.cpu() if hasattr(tokens, "cpu") else tokens, dtype=np.float32)
