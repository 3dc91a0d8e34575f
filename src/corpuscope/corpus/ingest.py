"""Bring a corpus up to date with its source, in proportion to what changed.

The steps can be cut off anywhere: a document's file is in place before its row, and a unit's fingerprint
is written with the last of its rows, so that the next run reads again exactly what was not finished.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple, Protocol

from ..errors import SetupError, UsageError
from .document import Record, Skipped, Unit, count_lines
from .manifest import Manifest
from .paths import distinguished, path_key
from .sources import Source
from .store import FilesStore

COMMIT_SECONDS = 1.0
"""At most this much work is done again after a kill."""

_NAMED_IN_ERRORS = 20
_GO_ON = "free some space and run the same command again; nothing is lost"


@dataclass(slots=True)
class Changes:
    """What one run of `index` did, in documents; `bad` holds the rows that could not be read."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    renamed: int = 0
    unchanged: int = 0
    skipped: int = 0
    altered: int = 0
    bad: list[Skipped] = field(default_factory=list)

    @property
    def total(self) -> int:
        return self.added + self.changed + self.removed


class Follower(Protocol):
    """An index that reads along: told of each new or changed document, and of each commit of the manifest."""

    def document(self, key: int, title: str, data: bytes) -> None: ...

    def committed(self) -> None: ...


def ingest(
    source: Source,
    manifest: Manifest,
    store: FilesStore,
    *,
    settings_key: str,
    skip_bad: bool = False,
    progress: Callable[[int, int | None], None] = lambda done, total: None,
    follower: Follower | None = None,
) -> Changes:
    """Read what changed in `source` into `store` and `manifest`; returns what was done.

    `progress(done, total)` counts units, `total` None while they are still being listed.
    Raises `UsageError` that names the bad rows unless `skip_bad`; what was good is kept for the next run.
    """
    return _Ingest(source, manifest, store, progress, follower).run(settings_key, skip_bad)


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


class _Ingest:
    """One run. State lives in the manifest and in temporary tables, never in memory by the document."""

    def __init__(
        self,
        source: Source,
        manifest: Manifest,
        store: FilesStore,
        progress: Callable[[int, int | None], None],
        follower: Follower | None,
    ) -> None:
        self.source, self.manifest, self.store, self.progress = source, manifest, store, progress
        self.follower = follower
        self.db = manifest.db
        self.changes = Changes()
        self.revision = manifest.revision + 1
        self.last_commit = time.monotonic()
        self.resumed = manifest.get("unfinished") == "yes"
        # Numbers the reading of each unit; a document whose row has another number was not in it this time.
        self.visit = time.time_ns()

    def run(self, settings_key: str, skip_bad: bool) -> Changes:
        self._begin(settings_key)
        if self.resumed:
            self._sweep()
        try:
            total = self._list()
            self._forget_gone()
            self._read_pending(total)
            self._finish(skip_bad)
        except sqlite3.OperationalError as error:
            raise SetupError(f"cannot write {self.manifest.file} ({error}): {_GO_ON}") from error
        finally:
            self._keep()
        return self.changes

    def _keep(self) -> None:
        """Commit what is done, also when the run fails; what a full disk does not take is read again."""
        if self.db.in_transaction:
            try:
                self.db.execute("COMMIT")
            except sqlite3.OperationalError:
                if self.db.in_transaction:
                    self.db.execute("ROLLBACK")

    def _begin(self, settings_key: str) -> None:
        for table in ("listed(name TEXT PRIMARY KEY, fingerprint TEXT)", "gone(sha256 TEXT PRIMARY KEY, n INTEGER)"):
            self.db.execute(f"DROP TABLE IF EXISTS temp.{table.split('(')[0]}")
            self.db.execute(f"CREATE TEMP TABLE {table} WITHOUT ROWID")
        self.db.execute("BEGIN IMMEDIATE")
        if self.manifest.get("settings") != settings_key:
            self.db.execute("UPDATE units SET fingerprint = ''")
        self.manifest.put("settings", settings_key)
        self.manifest.put("unfinished", "yes")
        self._commit()

    def _sweep(self) -> None:
        """Files that a killed run wrote and never entered; a finished run leaves none."""
        known = "SELECT 1 FROM documents WHERE path = ?"
        for path in self.store.files():
            if not self.db.execute(known, (path,)).fetchone():
                self.store.remove(path)

    def _list(self) -> int:
        self.db.execute("DELETE FROM notes WHERE unit = ''")
        for count, found in enumerate(self.source.units()):
            if isinstance(found, Unit):
                name = _storable(found.name)
                self.db.execute("INSERT OR REPLACE INTO listed VALUES(?, ?)", (name, found.fingerprint))
            else:
                self._note("", found)
            if count % 1000 == 0:
                self.progress(count, None)
        return int(self.db.execute("SELECT count(*) FROM listed").fetchone()[0])

    def _forget_gone(self) -> None:
        gone = "SELECT name FROM units WHERE name NOT IN (SELECT name FROM listed)"
        for (name,) in self.db.execute(gone).fetchall():
            self.visit += 1
            self._remove_unvisited(name)
            self.db.execute("DELETE FROM units WHERE name = ?", (name,))
            self.db.execute("DELETE FROM notes WHERE unit = ?", (name,))

    def _read_pending(self, total: int) -> None:
        pending = (
            "SELECT l.name, l.fingerprint, u.name IS NULL FROM listed l LEFT JOIN units u ON u.name = l.name "
            "WHERE u.fingerprint IS NOT l.fingerprint ORDER BY l.name"
        )
        todo = self.db.execute(f"SELECT count(*) FROM ({pending})").fetchone()[0]
        self._count_unchanged()
        done = total - todo
        self.progress(done, total)
        for name, fingerprint, unknown in self._rows(pending):
            self._read_unit(Unit(_from_storable(name), fingerprint), name, known=self.resumed or not unknown)
            done += 1
            self.progress(done, total)

    def _rows(self, query: str) -> Iterator[tuple[str, str, int]]:
        """Rows of a query over tables that are written meanwhile, a thousand names at a time."""
        self.db.execute("DROP TABLE IF EXISTS temp.pending")
        self.db.execute(f"CREATE TEMP TABLE pending AS {query}")
        cursor = self.db.execute("SELECT * FROM pending ORDER BY rowid")
        while batch := list(islice(cursor, 1000)):
            yield from batch

    def _count_unchanged(self) -> None:
        row = self.db.execute(
            "SELECT count(*) FROM documents d JOIN listed l ON l.name = d.unit "
            "JOIN units u ON u.name = l.name AND u.fingerprint = l.fingerprint"
        ).fetchone()
        self.changes.unchanged = int(row[0])

    def _read_unit(self, unit: Unit, name: str, *, known: bool) -> None:
        """Read one unit. Only one that is `known` can have left notes or documents."""
        self.visit += 1
        if known:
            self.db.execute("DELETE FROM notes WHERE unit = ?", (name,))
        clean = True
        for found in self.source.read(unit):
            problem = found if isinstance(found, Skipped) else self._put(name, found)
            if problem:
                clean &= not problem.bad
                self._note(name, problem)
            self._commit_now_and_then()
        if known:
            self._remove_unvisited(name)
        # A unit with bad rows is read again next time: they may be repaired, or allowed with --skip-bad.
        self.db.execute("INSERT OR REPLACE INTO units VALUES(?, ?)", (name, unit.fingerprint if clean else ""))

    def _put(self, unit: str, record: Record) -> Skipped | None:
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

    def _remove_unvisited(self, unit: str) -> None:
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

    def _note(self, unit: str, problem: Skipped) -> None:
        self.changes.skipped += 1
        if problem.bad:
            self.changes.bad.append(problem)
        self._write_note(unit, problem.where, "bad" if problem.bad else "skipped", problem.reason)

    def _write_note(self, unit: str, place: str, kind: str, reason: str) -> None:
        self.db.execute("INSERT INTO notes VALUES(?, ?, ?, ?)", (unit, _storable(place), kind, reason))

    def _commit_now_and_then(self) -> None:
        if time.monotonic() - self.last_commit > COMMIT_SECONDS:
            self._commit()

    def _commit(self) -> None:
        if self.changes.total:
            # The revision moves with the first row of it, so that no index can take a half-way state for its own.
            self.manifest.put("revision", str(self.revision))
        self.db.execute("COMMIT")
        if self.follower:
            self.follower.committed()
        self.db.execute("BEGIN IMMEDIATE")
        self.last_commit = time.monotonic()

    def _finish(self, skip_bad: bool) -> None:
        if self.changes.bad and not skip_bad:
            self._commit()
            raise UsageError(_bad_rows(self.changes.bad))
        self.manifest.put("unfinished", "no")
        self._commit()


def _duplicate(record: Record, digest: str, *, first_place: str, first_digest: str) -> Skipped:
    if digest == first_digest:
        return Skipped(record.where, f"docid {record.docid!r} again, with the same text as {first_place}")
    return Skipped(record.where, f"docid {record.docid!r} already stands at {first_place} with another text", bad=True)


def _bad_rows(bad: list[Skipped]) -> str:
    named = "; ".join(f"{b.where}: {b.reason}" for b in bad[:_NAMED_IN_ERRORS])
    more = f"; and {len(bad) - _NAMED_IN_ERRORS} more" if len(bad) > _NAMED_IN_ERRORS else ""
    return f"{len(bad)} bad rows: {named}{more}. Repair them, or pass --skip-bad to index the others"


def _marks(n: int) -> str:
    return ", ".join("?" * n)


def _storable(name: str) -> str:
    """File names are bytes; SQLite holds Unicode. Undecodable bytes travel as private-use characters."""
    return "".join(chr(ord(c) + 0x1B00) if "\udc80" <= c <= "\udcff" else c for c in name)


def _from_storable(name: str) -> str:
    return "".join(chr(ord(c) - 0x1B00) if "\uf780" <= c <= "\uf7ff" else c for c in name)
