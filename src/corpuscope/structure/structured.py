"""The structured counterparts of a corpus's documents, for whoever reads them."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from ..corpus import Corpus, Entry, FilesStore
from ..errors import UsageError
from .form import Toc, read_toc
from .records import Cost, Records


@dataclass(frozen=True, slots=True)
class Statistics:
    """What RISE reports of its pipeline (appendix B). Documents: of the corpus; with a structured file, with an entry
    in its table, by proposer, by the reason for an empty table. `added` is in bytes; the tables' own and inserted headings.
    """

    corpus: int
    documents: int
    with_entries: int
    entries: int
    proposers: dict[str, int]
    fallbacks: dict[str, int]
    proposed: int
    exact: int
    normalised: int
    lost: int
    malformed: int
    added: int
    costs: tuple[Cost, ...]

    @property
    def dollars(self) -> float:
        return sum(cost.dollars for cost in self.costs)


class Structured:
    """`structured/` of a corpus, read only. A document that changed since it was structured has no counterpart."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.store = FilesStore(corpus.root / "structured")
        self._records = Records(_file(corpus))

    @classmethod
    def open(cls, corpus: Corpus) -> Structured:
        """Raises `UsageError` for a corpus that was never structured."""
        if not _file(corpus).is_file():
            raise UsageError(f"{corpus.root} has no tables of contents; make them: corpuscope structure {corpus.root}")
        return cls(corpus)

    def close(self) -> None:
        self._records.close()

    @property
    def revision(self) -> int:
        """Rises with every change of `structured/`."""
        return int(self._records.get("revision", "0"))

    def digest(self) -> str:
        """Of which tables there are, over which texts: other than `revision`, the same in a copy made the same way."""
        told = hashlib.sha256()
        for row in self._records.documents():
            told.update(f"{row!r}\n".encode())
        return told.hexdigest()[:16]

    @property
    def behind(self) -> bool:
        """Whether the corpus has changed since all of it was structured."""
        return self._records.get("corpus", "") != str(self.corpus.revision)

    def current(self, entries: Collection[Entry]) -> dict[str, int]:
        """path -> lines of its structured file, for the documents that have one of their present text."""
        rows = self._records.current([entry.key for entry in entries])
        return {
            entry.path: row.lines
            for entry in entries
            if (row := rows.get(entry.key)) is not None and row.sha256 == entry.sha256
        }

    def missing(self) -> int:
        """Documents of the corpus without a structured file of their present text: a walk over the manifest."""
        entries, waiting = self.corpus.entries(), 0
        while chunk := list(islice(entries, 1000)):
            waiting += len(chunk) - len(self.current(chunk))
        return waiting

    def toc(self, path: str) -> Toc:
        """The table of a document. Raises `UsageError` for a path that is not in the corpus or has none."""
        entry = self.corpus.manifest.by_path(path)
        if entry is None:
            raise UsageError(f"no document {path} in {self.corpus.root}; paths are those that search prints")
        if not self.current([entry]):
            raise UsageError(
                f"{path} has no table of contents of its present text: corpuscope structure {self.corpus.root}"
            )
        return read_toc(self.store.root / path)

    def statistics(self) -> Statistics:
        """Of all runs so far."""
        return Statistics(
            corpus=len(self.corpus),
            proposers=self._records.counts("proposer"),
            fallbacks=self._records.counts("fallback"),
            costs=tuple(self._records.costs()),
            **self._records.totals(),
        )


def has_tables(corpus: Corpus) -> bool:
    """Whether `corpuscope structure` was ever run on it."""
    return _file(corpus).is_file()


def _file(corpus: Corpus) -> Path:
    return corpus.root / "structured.sqlite"
