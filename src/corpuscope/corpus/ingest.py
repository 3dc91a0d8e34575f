"""Bring a corpus up to date with its source, in proportion to what changed.

The steps can be cut off anywhere: a document's file is in place before its row, and a unit's fingerprint
is written with the last of its rows, so that the next run reads again exactly what was not finished.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from itertools import islice

from ..errors import SetupError, UsageError
from .document import Skipped, Unit
from .entering import Changes, Entering, Follower, storable
from .manifest import Manifest
from .sources import Source
from .store import Store

COMMIT_SECONDS = 1.0
"""At most this much work is done again after a kill."""

_GO_ON = "free some space and run the same command again; nothing is lost"


def ingest(
    source: Source,
    manifest: Manifest,
    store: Store,
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


class _Ingest:
    """One run. State lives in the manifest and in temporary tables, never in memory by the document."""

    def __init__(
        self,
        source: Source,
        manifest: Manifest,
        store: Store,
        progress: Callable[[int, int | None], None],
        follower: Follower | None,
    ) -> None:
        self.source, self.manifest, self.store, self.progress = source, manifest, store, progress
        self.follower = follower
        self.db = manifest.db
        self.entering = Entering(manifest, store, follower)
        self.changes = self.entering.changes
        self.last_commit = time.monotonic()
        self.resumed = manifest.get("unfinished") == "yes"

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
                self._move_revision()
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
        self.store.sweep(lambda path: self.db.execute(known, (path,)).fetchone() is not None)

    def _list(self) -> int:
        self.db.execute("DELETE FROM notes WHERE unit = ''")
        for count, found in enumerate(self.source.units()):
            if isinstance(found, Unit):
                name = storable(found.name)
                self.db.execute("INSERT OR REPLACE INTO listed VALUES(?, ?)", (name, found.fingerprint))
            else:
                self.entering.note("", found)
            if count % 1000 == 0:
                self.progress(count, None)
        return int(self.db.execute("SELECT count(*) FROM listed").fetchone()[0])

    def _forget_gone(self) -> None:
        gone = "SELECT name FROM units WHERE name NOT IN (SELECT name FROM listed)"
        for (name,) in self.db.execute(gone).fetchall():
            self.entering.visit += 1
            self.entering.remove_unvisited(name)
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
        self.entering.visit += 1
        if known:
            self.db.execute("DELETE FROM notes WHERE unit = ?", (name,))
        clean = True
        for found in self.source.read(unit):
            problem = found if isinstance(found, Skipped) else self.entering.put(name, found)
            if problem:
                clean &= not problem.bad
                self.entering.note(name, problem)
            self._commit_now_and_then()
        if known:
            self.entering.remove_unvisited(name)
        # A unit with bad rows is read again next time: they may be repaired, or allowed with --skip-bad.
        self.db.execute("INSERT OR REPLACE INTO units VALUES(?, ?)", (name, unit.fingerprint if clean else ""))

    def _commit_now_and_then(self) -> None:
        if time.monotonic() - self.last_commit > COMMIT_SECONDS:
            self._commit()

    def _commit(self) -> None:
        self._move_revision()
        self.db.execute("COMMIT")
        if self.follower:
            self.follower.committed()
        self.db.execute("BEGIN IMMEDIATE")
        self.last_commit = time.monotonic()

    def _move_revision(self) -> None:
        """With the first row of it, so that no index can take a half-way state for its own."""
        if self.changes.total:
            self.manifest.put("revision", str(self.entering.revision))

    def _finish(self, skip_bad: bool) -> None:
        moved = False
        for _ in self.store.settle(self.entering.revision):
            self._commit_now_and_then()
            moved = True
        if moved:
            self._commit()
            self._sweep()
        if self.changes.bad and not skip_bad:
            self._commit()
            raise UsageError(_bad_rows(self.changes))
        self.manifest.put("unfinished", "no")
        self._commit()


def _bad_rows(changes: Changes) -> str:
    named = "; ".join(f"{bad.where}: {bad.reason}" for bad in changes.bad)
    more = f"; and {changes.bad_rows - len(changes.bad)} more" if changes.bad_rows > len(changes.bad) else ""
    return f"{changes.bad_rows} bad rows: {named}{more}. Repair them, or pass --skip-bad to index the others"


def _from_storable(name: str) -> str:
    return "".join(chr(ord(c) - 0x1B00) if "\uf780" <= c <= "\uf7ff" else c for c in name)
