"""The SQLite manifest: which documents there are, where each came from, and at which revision it changed.

A revision is one run of `index` that changed something. An index remembers the revision it was built
from, so that it can ask for what changed since.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from .database import chunks, open_database
from .document import Entry
from .packs import SCHEMA as PACKS
from .paths import path_key

_SCHEMA = (
    """
CREATE TABLE IF NOT EXISTS meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS units(name TEXT PRIMARY KEY, fingerprint TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS notes(unit TEXT NOT NULL, place TEXT NOT NULL, kind TEXT NOT NULL, reason TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS notes_unit ON notes(unit);
CREATE TABLE IF NOT EXISTS documents(
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    docid TEXT NOT NULL UNIQUE,
    path TEXT NOT NULL UNIQUE,
    path_key TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    lines INTEGER NOT NULL,
    metadata TEXT NOT NULL,
    unit TEXT NOT NULL,
    place TEXT NOT NULL,
    revision INTEGER NOT NULL,
    visit INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS documents_unit ON documents(unit);
CREATE INDEX IF NOT EXISTS documents_revision ON documents(revision);
CREATE TABLE IF NOT EXISTS removed(key INTEGER PRIMARY KEY, revision INTEGER NOT NULL);
"""
    + PACKS
)
_ENTRY = "key, docid, path, title, sha256, bytes, lines, place"
_CHANGED = "revision > ? AND NOT (key <= ? AND revision <= ?)"


class Manifest:
    """Rows in, rows out; the rules of ingest live in `ingest.py`."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.db = open_database(file, _SCHEMA, "index into a new folder")

    def close(self) -> None:
        self.db.close()

    def get(self, name: str, default: str = "") -> str:
        row = self.db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return str(row[0]) if row else default

    def put(self, name: str, value: str) -> None:
        self.db.execute("INSERT OR REPLACE INTO meta VALUES(?, ?)", (name, value))

    @property
    def revision(self) -> int:
        return int(self.get("revision", "0"))

    def __len__(self) -> int:
        return int(self.db.execute("SELECT count(*) FROM documents").fetchone()[0])

    def total_bytes(self) -> int:
        return int(self.db.execute("SELECT coalesce(sum(bytes), 0) FROM documents").fetchone()[0])

    def digest(self) -> str:
        """Of which documents there are and what stands in them."""
        told = hashlib.sha256()
        for docid, sha256 in self.db.execute("SELECT docid, sha256 FROM documents ORDER BY docid"):
            told.update(f"{docid}\0{sha256}\n".encode(errors="surrogatepass"))
        return told.hexdigest()[:16]

    def entries(self) -> Iterator[Entry]:
        """Every document, in the order of its path."""
        yield from self._many(f"SELECT {_ENTRY} FROM documents ORDER BY path", ())

    def page(self, after: str, most: int) -> list[Entry]:
        """The next documents behind the path `after`, in the order of their paths."""
        query = f"SELECT {_ENTRY} FROM documents WHERE path > ? ORDER BY path LIMIT ?"
        return list(self._many(query, (after, most)))

    def find(self, docids: Iterable[str]) -> dict[str, Entry]:
        """docid -> entry, for those that exist."""
        return {entry.docid: entry for entry in self._where("docid", list(docids))}

    def by_key(self, keys: Sequence[int]) -> dict[int, str]:
        """key -> docid, for those that exist: what an index needs to name its hits."""
        found: dict[int, str] = {}
        for part in chunks(keys):
            marks = ",".join("?" * len(part))
            found.update(self.db.execute(f"SELECT key, docid FROM documents WHERE key IN ({marks})", part))
        return found

    def paths(self, docids: Sequence[str]) -> list[tuple[str, str]]:
        """(docid, path) of those that exist: what linking them needs."""
        found: list[tuple[str, str]] = []
        for part in chunks(docids):
            marks = ",".join("?" * len(part))
            found += self.db.execute(f"SELECT docid, path FROM documents WHERE docid IN ({marks})", part).fetchall()
        return found

    def paths_by_key(self, keys: Sequence[int]) -> list[str]:
        """Paths of those that exist, in no order."""
        found: list[str] = []
        for part in chunks(keys):
            marks = ",".join("?" * len(part))
            rows = self.db.execute(f"SELECT path FROM documents WHERE key IN ({marks})", part)
            found += [path for (path,) in rows]
        return found

    def by_path(self, path: str) -> Entry | None:
        return next(self._where("path", [path]), None)

    def by_paths(self, paths: Sequence[str]) -> dict[str, Entry]:
        """path -> entry, for those that exist."""
        return {entry.path: entry for entry in self._where("path", paths)}

    def metadata(self, docid: str) -> dict[str, Any]:
        row = self.db.execute("SELECT metadata FROM documents WHERE docid = ?", (docid,)).fetchone()
        return json.loads(row[0]) if row else {}

    def changed_since(self, revision: int, done: tuple[int, int] = (0, 0)) -> Iterator[Entry]:
        """Documents added or changed after `revision`, in the order of their keys.

        Those up to the key `done[0]` that have not changed after revision `done[1]` are left out.
        """
        yield from self._many(f"SELECT {_ENTRY} FROM documents WHERE {_CHANGED} ORDER BY key", (revision, *done))

    def count_changed_since(self, revision: int, done: tuple[int, int] = (0, 0)) -> int:
        row = self.db.execute(f"SELECT count(*) FROM documents WHERE {_CHANGED}", (revision, *done)).fetchone()
        return int(row[0])

    def removed_since(self, revision: int) -> Iterator[int]:
        """Keys of documents removed after `revision`."""
        for row in self.db.execute("SELECT key FROM removed WHERE revision > ?", (revision,)):
            yield int(row[0])

    def notes(self) -> Iterator[tuple[str, str, str]]:
        """(place, 'skipped' | 'bad' | 'altered', reason) of everything that did not go in as it was."""
        yield from self.db.execute("SELECT place, kind, reason FROM notes ORDER BY rowid")

    def notes_by_reason(self, most: int) -> list[tuple[str, str, int, str]]:
        """(kind, reason, how many, the first place) of the most frequent kinds of notes."""
        grouped = (
            "SELECT kind, reason, count(*) AS n, min(place) FROM notes GROUP BY kind, reason ORDER BY n DESC LIMIT ?"
        )
        return self.db.execute(grouped, (most,)).fetchall()

    def path_is_taken(self, path: str, docid: str) -> bool:
        """Whether another document's path equals this one, lies below it or above it, case folded."""
        key = path_key(path)
        above = [key[:i] for i, char in enumerate(key) if char == "/"]
        marks = ",".join("?" * (len(above) + 1))
        # "0" is the character after "/": every path below `key` sorts between the two.
        taken = (
            f"SELECT 1 FROM documents WHERE (path_key IN ({marks}) OR (path_key > ? AND path_key < ?)) "
            "AND docid != ? LIMIT 1"
        )
        return self.db.execute(taken, (*above, key, key + "/", key + "0", docid)).fetchone() is not None

    def _where(self, column: str, values: Sequence[str]) -> Iterator[Entry]:
        for part in chunks(values):
            marks = ",".join("?" * len(part))
            yield from self._many(f"SELECT {_ENTRY} FROM documents WHERE {column} IN ({marks})", part)

    def _many(self, query: str, values: Sequence[Any]) -> Iterator[Entry]:
        for row in self.db.execute(query, values):
            yield Entry(*row)
