"""Millions of short documents in files of a megabyte, and the same documents as files of their own where W needs them.

A file of them (a shard) reads like what `tail -n +1 *` prints: a line `==> path <==`, then the document. No stale text stands in one: what
changes or goes makes the rest of its shard move on to the newest, so that grep over the shards tells of what is there.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from .database import chunks
from .document import count_lines
from .store import disk_error

SHARD_BYTES = 1 << 20
"""A shard is closed when the next document would make it larger; a larger document has one to itself."""

SCHEMA = """
CREATE TABLE IF NOT EXISTS shards(
    key INTEGER PRIMARY KEY AUTOINCREMENT, revision INTEGER NOT NULL DEFAULT 0, grown INTEGER NOT NULL DEFAULT 1, thinned INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS packed(
    path TEXT PRIMARY KEY, shard INTEGER NOT NULL, start INTEGER NOT NULL, bytes INTEGER NOT NULL, line INTEGER NOT NULL, lines INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS packed_shard ON packed(shard, start);
"""
"""`grown` and `thinned` shards are those that the run at work has added to and taken from; `revision` is of the last one that did."""


class Shard(NamedTuple):
    """A file of the store, as an index of files sees it. `key` is never given twice."""

    key: int
    path: str
    bytes: int


class Place(NamedTuple):
    """Where a document stands: in the file `shard`, from line `line` on (1-based), `lines` of them, `bytes` from `start` on."""

    path: str
    shard: str
    start: int
    bytes: int
    line: int
    lines: int


class _Open(NamedTuple):
    """The shard that is being written."""

    key: int
    handle: int
    size: int
    lines: int


class PackedStore:
    """The shards under `root` (`my.corpus/packs`); which document stands where is in the manifest's database."""

    def __init__(self, root: Path, db: sqlite3.Connection) -> None:
        self.root = root
        self.db = db
        self._open: _Open | None = None

    def write(self, path: str, data: bytes) -> None:
        """Put `data` at `path`, in place of what was there."""
        self.remove(path)
        self._append(path, data)

    def remove(self, path: str) -> None:
        """Forget the document at `path`; its text goes when the store settles."""
        row = self.db.execute("SELECT shard FROM packed WHERE path = ?", (path,)).fetchone()
        if row:
            self.db.execute("DELETE FROM packed WHERE path = ?", (path,))
            self.db.execute("UPDATE shards SET thinned = 1 WHERE key = ?", row)

    def read(self, path: str, most: int = -1) -> bytes:
        for _, data in self._read([path], most):
            return data
        raise FileNotFoundError(2, "no such document", path)

    def materialize(self, paths: Iterable[str], into: Path) -> int:
        """Write these documents below `into`; returns how many are new there. One that left the store meanwhile is passed over."""
        new = 0
        made: set[str] = set()
        for place, data in self._read(list(paths)):
            target = f"{into}/{place.path}"
            folder = target.rpartition("/")[0]
            try:
                if folder not in made:
                    os.makedirs(folder, exist_ok=True)
                    made.add(folder)
                _write(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o444), data)
            except FileExistsError:
                continue
            except OSError as error:
                raise disk_error(error, into) from error
            new += 1
        return new

    @property
    def links(self) -> bool:
        """W's files are its own in any case: there is nothing to fall back from."""
        return True

    def copy_always(self) -> None:
        """It always does."""

    def settle(self, revision: int) -> Iterator[None]:
        """Rid the shards of text that is no document's any more; may be cut off after each `yield`, and gone on with."""
        for (key,) in self.db.execute("SELECT key FROM shards WHERE thinned").fetchall():
            if self._open and self._open.key == key:
                self.close()
            left = self._places("shard = ? ORDER BY start", (key,))
            with open(self._file(key), "rb") as shard:
                for place in left:
                    self._append(place.path, os.pread(shard.fileno(), place.bytes, place.start))
            self.db.execute("DELETE FROM shards WHERE key = ?", (key,))
            yield
        self.db.execute("UPDATE shards SET revision = ?, grown = 0 WHERE grown", (revision,))

    def sweep(self, known: Callable[[str], bool]) -> None:
        """Delete files that are no shard any more, or that a killed run left."""
        shards = {_name(key) for (key,) in self.db.execute("SELECT key FROM shards")}
        for folder in list(self.root.iterdir()):
            for file in list(folder.iterdir()):
                if f"{folder.name}/{file.name}" not in shards:
                    file.unlink()

    def places(self, paths: Sequence[str]) -> list[Place]:
        """Where these documents stand, in the order of shards and lines; those that exist."""
        found: list[Place] = []
        for part in chunks(paths):
            found += self._places(f"path IN ({','.join('?' * len(part))})", part)
        return sorted(found, key=lambda place: (place.shard, place.start))

    def documents_of(self, shard: str) -> list[Place]:
        """The documents in a shard, in their order."""
        key = _key(shard)
        return [] if key is None else self._places("shard = ? ORDER BY start", (key,))

    # What an index of files asks for, as it asks the manifest of a corpus whose documents are files.

    def __len__(self) -> int:
        return int(self.db.execute("SELECT count(*) FROM shards").fetchone()[0])

    def entries(self) -> Iterator[Shard]:
        """Every shard, in the order of its path."""
        return self._shards("SELECT key FROM shards ORDER BY key", ())

    def changed_since(self, revision: int, done: tuple[int, int] = (0, 0)) -> Iterator[Shard]:
        """As `Manifest.changed_since`."""
        return self._shards(f"SELECT key FROM shards WHERE {_CHANGED} ORDER BY key", (revision, *done))

    def count_changed_since(self, revision: int, done: tuple[int, int] = (0, 0)) -> int:
        row = self.db.execute(f"SELECT count(*) FROM shards WHERE {_CHANGED}", (revision, *done)).fetchone()
        return int(row[0])

    def paths_by_key(self, keys: Sequence[int]) -> list[str]:
        """Paths of those shards that exist, in no order."""
        found: list[str] = []
        for part in chunks(keys):
            marks = ",".join("?" * len(part))
            found += [_name(key) for (key,) in self.db.execute(f"SELECT key FROM shards WHERE key IN ({marks})", part)]
        return found

    def _shards(self, query: str, values: Sequence[int]) -> Iterator[Shard]:
        for (key,) in self.db.execute(query, values):
            yield Shard(key, _name(key), os.stat(self._file(key)).st_size)

    def _places(self, where: str, values: Sequence[object]) -> list[Place]:
        rows = self.db.execute(f"SELECT path, shard, start, bytes, line, lines FROM packed WHERE {where}", values)
        return [Place(path, _name(shard), *rest) for path, shard, *rest in rows]

    def _read(self, paths: Sequence[str], most: int = -1, again: bool = True) -> Iterator[tuple[Place, bytes]]:
        """Those that exist, each shard opened once. A shard that an update has just emptied is looked for where it went."""
        for shard, places in groupby(self.places(paths), key=lambda place: place.shard):
            inside = list(places)
            try:
                handle = os.open(f"{self.root}/{shard}", os.O_RDONLY)
            except FileNotFoundError:
                if again:
                    yield from self._read([place.path for place in inside], most, again=False)
                continue
            try:
                for place in inside:
                    size = place.bytes if most < 0 else min(most, place.bytes)
                    yield place, os.pread(handle, size, place.start)
            finally:
                os.close(handle)

    def _append(self, path: str, data: bytes) -> None:
        head = b"==> %s <==\n" % path.encode()
        tail = b"" if data.endswith(b"\n") or not data else b"\n"
        key, handle, size, lines = self._writable(len(head) + len(data) + 1)
        try:
            _write(handle, head + data + tail, close=False)
        except OSError as error:
            raise disk_error(error, self.root) from error
        own = count_lines(data)
        row = (path, key, size + len(head), len(data), lines + 2, own)
        self.db.execute("INSERT OR REPLACE INTO packed VALUES(?, ?, ?, ?, ?, ?)", row)
        self._open = _Open(key, handle, size + len(head) + len(data) + len(tail), lines + 1 + own)

    def _writable(self, more: int) -> _Open:
        """The shard that `more` bytes go into."""
        opened = self._open or self._newest()
        if opened is None or (opened.size and opened.size + more > SHARD_BYTES):
            self._open = opened
            self.close()
            key = self.db.execute("INSERT INTO shards DEFAULT VALUES").lastrowid
            assert key is not None
            os.makedirs(os.path.dirname(self._file(key)), exist_ok=True)
            handle = os.open(self._file(key), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
            opened = _Open(key, handle, 0, 0)
        self._open = opened
        return opened

    def _newest(self) -> _Open | None:
        """The last shard, ready to be gone on with; what a killed run wrote behind its end is cut off."""
        row = self.db.execute("SELECT key FROM shards WHERE NOT thinned ORDER BY key DESC LIMIT 1").fetchone()
        places = self._places("shard = ? ORDER BY start DESC LIMIT 1", row) if row else []
        if not places:
            return None
        (last,) = places
        self.db.execute("UPDATE shards SET grown = 1 WHERE key = ?", row)
        handle = os.open(self._file(row[0]), os.O_RDWR)
        end = last.start + last.bytes
        ended = not last.bytes or os.pread(handle, 1, end - 1) == b"\n"
        size = end + (not ended)
        os.ftruncate(handle, size)
        os.lseek(handle, size, os.SEEK_SET)
        return _Open(row[0], handle, size, last.line - 1 + last.lines)

    def close(self) -> None:
        """Let go of the shard that was being written."""
        if self._open:
            os.close(self._open.handle)
        self._open = None

    def _file(self, key: int) -> str:
        return f"{self.root}/{_name(key)}"


_CHANGED = "revision > ? AND NOT (key <= ? AND revision <= ?)"


def _name(key: int) -> str:
    return f"{key // 1000:03}/shard-{key:06}.txt"


def _key(name: str) -> int | None:
    digits = name.rpartition("shard-")[2].removesuffix(".txt")
    key = int(digits) if digits.isdecimal() and digits.isascii() and len(digits) < 19 else 0
    return key if _name(key) == name else None


def _write(handle: int, data: bytes, *, close: bool = True) -> None:
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(handle, view) :]
    finally:
        if close:
            os.close(handle)
