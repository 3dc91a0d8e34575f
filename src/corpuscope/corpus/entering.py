"""One record into store and manifest, or out of them, and what that changes."""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from .document import Record, Skipped, count_lines
from .manifest import Manifest
from .paths import distinguished, path_key
from .store import Store

KEPT_BAD = 20
"""Bad rows that an error names; the manifest's notes have all of them."""


@dataclass(slots=True)
class Changes:
    """What one run of `index` did, in documents; `bad` holds the first of the `bad_rows` that could not be read."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    renamed: int = 0
    unchanged: int = 0
    skipped: int = 0
    altered: int = 0
    bad_rows: int = 0
    bad: list[Skipped] = field(default_factory=list)

    @property
    def total(self) -> int:
        return self.added + self.changed + self.removed


class Follower(Protocol):
    """An index that reads along: told of each new or changed document, and of each commit of the manifest."""

    def document(self, key: int, title: str, data: bytes) -> None: ...

    def committed(self) -> None: ...


_VALUES = "title, sha256, bytes, lines, metadata, unit, place, revision, visit"


class _Held(NamedTuple):
    """What the manifest has of a docid already."""

    key: int
    path: str
    sha256: str
    title: str
    metadata: str
    unit: str
    place: str
    visit: int


class Entering:
    """What one run of `index` enters and removes. The tables `listed` and `gone` are the run's own."""

    def __init__(self, manifest: Manifest, store: Store, follower: Follower | None) -> None:
        self.manifest, self.store, self.follower = manifest, store, follower
        self.db = manifest.db
        self.changes = Changes()
        self.revision = manifest.revision + 1
        # Numbers the reading of each unit; a document whose row has another number was not in it this time.
        self.visit = time.time_ns()

    def put(self, unit: str, record: Record) -> Skipped | None:
        digest = hashlib.sha256(record.data).hexdigest()
        old = self._held(record.docid)
        if old and (old.visit == self.visit or (old.unit != unit and self._owned_elsewhere(old.unit))):
            return _duplicate(record, digest, first_place=old.place, first_digest=old.sha256)
        for note in record.notes:
            self.changes.altered += 1
            self._write_note(unit, record.where, "altered", note)
        metadata = json.dumps(record.metadata, ensure_ascii=False, default=str)
        if old and (old.sha256, old.title, old.metadata) == (digest, record.title, metadata):
            self.db.execute(
                "UPDATE documents SET unit = ?, place = ?, visit = ? WHERE key = ?",
                (unit, record.where, self.visit, old.key),
            )
            self.changes.unchanged += 1
            return None
        path = old.path if old else self._free_path(record)
        self.store.write(path, record.data)
        values = (record.title, digest, len(record.data), count_lines(record.data), metadata, unit, record.where,
                  self.revision, self.visit)  # fmt: skip
        key = self._change(old.key, values) if old else self._add(record.docid, path, values)
        if self.follower:
            self.follower.document(key, record.title, record.data)
        return None

    def _held(self, docid: str) -> _Held | None:
        columns = ", ".join(_Held._fields)
        row = self.db.execute(f"SELECT {columns} FROM documents WHERE docid = ?", (docid,)).fetchone()
        return _Held(*row) if row else None

    def _change(self, key: int, values: tuple[object, ...]) -> int:
        self.db.execute(f"UPDATE documents SET ({_VALUES}) = ({_marks(9)}) WHERE key = ?", (*values, key))
        self.changes.changed += 1
        return key

    def _add(self, docid: str, path: str, values: tuple[object, ...]) -> int:
        columns = f"docid, path, path_key, {_VALUES}"
        row = (docid, path, path_key(path), *values)
        key = self.db.execute(f"INSERT INTO documents({columns}) VALUES({_marks(12)})", row).lastrowid
        self.changes.added += 1
        self._match_rename(str(values[1]))
        assert key is not None
        return key

    def _owned_elsewhere(self, unit: str) -> bool:
        """Whether another unit that is up to date holds the docid; one still to be read may have lost it."""
        fresh = "SELECT 1 FROM units u JOIN listed l USING(name) WHERE name = ? AND u.fingerprint = l.fingerprint"
        return self.db.execute(fresh, (unit,)).fetchone() is not None

    def _free_path(self, record: Record) -> str:
        path = record.name
        if self.manifest.path_is_taken(path, record.docid):
            path = distinguished(path, record.docid)
        return path

    def remove_unvisited(self, unit: str) -> None:
        unvisited = "SELECT key, path, sha256 FROM documents WHERE unit = ? AND visit != ?"
        for key, path, digest in self.db.execute(unvisited, (unit, self.visit)).fetchall():
            self.store.remove(path)
            self.db.execute("DELETE FROM documents WHERE key = ?", (key,))
            self.db.execute("INSERT OR REPLACE INTO removed VALUES(?, ?)", (key, self.revision))
            self.db.execute("INSERT INTO gone VALUES(?, 1) ON CONFLICT DO UPDATE SET n = n + 1", (digest,))
            self.changes.removed += 1

    def _match_rename(self, digest: str) -> None:
        if (
            self.changes.removed
            and self.db.execute("UPDATE gone SET n = n - 1 WHERE sha256 = ? AND n > 0", (digest,)).rowcount
        ):
            self.changes.renamed += 1

    def note(self, unit: str, problem: Skipped) -> None:
        self.changes.skipped += 1
        if problem.bad:
            self.changes.bad_rows += 1
            self.changes.bad += [problem] if len(self.changes.bad) < KEPT_BAD else []
        self._write_note(unit, problem.where, "bad" if problem.bad else "skipped", problem.reason)

    def _write_note(self, unit: str, place: str, kind: str, reason: str) -> None:
        self.db.execute("INSERT INTO notes VALUES(?, ?, ?, ?)", (unit, storable(place), kind, reason))


def _duplicate(record: Record, digest: str, *, first_place: str, first_digest: str) -> Skipped:
    if digest == first_digest:
        return Skipped(record.where, f"docid {record.docid!r} again, with the same text as {first_place}")
    return Skipped(record.where, f"docid {record.docid!r} already stands at {first_place} with another text", bad=True)


def _marks(n: int) -> str:
    return ", ".join("?" * n)


def storable(name: str) -> str:
    """File names are bytes; SQLite holds Unicode. Undecodable bytes travel as private-use characters."""
    return "".join(chr(ord(c) + 0x1B00) if "\udc80" <= c <= "\udcff" else c for c in name)
