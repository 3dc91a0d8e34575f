"""Structured files into their store and rows into the records, and what is still to do."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from ..corpus import Corpus, Entry, FilesStore, count_lines
from .form import with_own_headings
from .headings import propose_headings
from .records import Current, Records, Row

COMMIT_SECONDS = 1.0
"""At most this much work is done again after a kill."""

HEADINGS = "headings"
"""The proposer of documents whose headings are their own."""

_CHUNK = 500


@dataclass(slots=True)
class Report:
    """What one run did, in documents. `left` could not be asked about: the provider failed, or the money was used up.

    `stopped` is "" or why the run ended before everything was done.
    """

    own: int = 0
    proposed: int = 0
    without: int = 0
    removed: int = 0
    left: int = 0
    replies: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    dollars: float = 0.0
    unpriced: int = 0
    stopped: str = ""


class Writing:
    """One run over one corpus, at most `limit` documents of each proposer."""

    def __init__(self, corpus: Corpus, records: Records, limit: int | None) -> None:
        self.corpus, self.records, self.limit = corpus, records, limit
        self.store = FilesStore(corpus.root / "structured")
        self.report = Report()
        self._rows: list[Row] = []
        self._committed = time.monotonic()

    def forget_removed(self) -> None:
        """Documents that left the corpus leave here too."""
        for rows in self.records.known():
            known = self.corpus.manifest.by_key([key for key, _ in rows])
            gone = [(key, path) for key, path in rows if key not in known]
            for _, path in gone:
                self.store.remove(path)
            if gone:
                self.records.forget([key for key, _ in gone])
                self.report.removed += len(gone)

    def pending(self, wants: Callable[[Entry, Current], bool]) -> Iterator[Entry]:
        """Documents without a structured file of their present text, or with one that `wants` another proposer."""
        entries = self.corpus.entries()
        found = self._unfinished(entries, wants)
        return islice(found, self.limit) if self.limit is not None else found

    def _unfinished(self, entries: Iterator[Entry], wants: Callable[[Entry, Current], bool]) -> Iterator[Entry]:
        while chunk := list(islice(entries, _CHUNK)):
            done = self.records.current([entry.key for entry in chunk])
            for entry in chunk:
                row = done.get(entry.key)
                if row is None or row.sha256 != entry.sha256 or wants(entry, row):
                    yield entry

    def read(self, entry: Entry) -> bytes | None:
        """The text that the manifest has; None for one that changed under our hands, which the next run takes up."""
        try:
            data = self.corpus.store.read(entry.path)
        except FileNotFoundError:
            data = b""
        if hashlib.sha256(data).hexdigest() != entry.sha256:
            self.report.left += 1
            return None
        return data

    def text(self, entry: Entry) -> str:
        return self.corpus.store.read(entry.path).decode(errors="replace")

    def write_own(self, entry: Entry, *, otherwise: str, why: str) -> None:
        """A document with the headings it has; without any, an empty table for the proposer `otherwise`, and `why`."""
        data = self.read(entry)
        if data is None:
            return
        headings = propose_headings(data.decode(), entry.path)
        self.report.own += bool(headings)
        self.report.without += not headings
        proposer, fallback = (HEADINGS, "") if headings else (otherwise, why)
        whole = with_own_headings(data, headings)
        self.write(entry, data, whole, proposer, entries=len(headings), fallback=fallback)

    def write(
        self, entry: Entry, data: bytes, whole: bytes, proposer: str, *, entries: int, fallback: str, **counts: int
    ) -> None:
        """A document is done: its file, then, with others, its row."""
        self.store.write(entry.path, whole)
        added = len(whole) - len(data)
        self._rows.append(
            Row(entry.key, entry.path, entry.sha256, count_lines(whole), added, proposer, entries, fallback=fallback, **counts)
        )  # fmt: skip
        if time.monotonic() - self._committed > COMMIT_SECONDS:
            self.commit()

    def commit(self) -> None:
        if self._rows or self.report.removed:
            self.records.write(self._rows)
            self.records.put("revision", str(int(self.records.get("revision", "0")) + 1))
        self._rows = []
        self._committed = time.monotonic()
