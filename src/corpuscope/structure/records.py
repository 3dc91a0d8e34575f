"""What was done for each document, in `structured.sqlite`: what to do next, and the statistics, are read from here.

A document's row is written after its file. It holds the hash of the text that was structured, so that a document that
changed since is told from one that is done.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

from ..corpus import open_database
from ..errors import SetupError

FORMAT = "1"
"""Changes when the same text and proposal would give another file: every document is then done again."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS documents(
    key INTEGER PRIMARY KEY,
    path TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    lines INTEGER NOT NULL,
    added INTEGER NOT NULL,
    proposer TEXT NOT NULL,
    entries INTEGER NOT NULL,
    proposed INTEGER NOT NULL,
    exact INTEGER NOT NULL,
    normalised INTEGER NOT NULL,
    lost INTEGER NOT NULL,
    malformed INTEGER NOT NULL,
    fallback TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS replies(request TEXT PRIMARY KEY, text TEXT NOT NULL, key INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS replies_key ON replies(key);
CREATE TABLE IF NOT EXISTS batches(id TEXT PRIMARY KEY, handle TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS sent(request TEXT PRIMARY KEY, batch TEXT NOT NULL, key INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS spent(
    model TEXT PRIMARY KEY,
    requests INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    dollars REAL NOT NULL,
    unpriced INTEGER NOT NULL
) WITHOUT ROWID;
"""
_CHUNK = 500


@dataclass(frozen=True, slots=True)
class Row:
    """One document: `lines` of its structured file and the bytes `added` to the original.

    `proposer` is "headings", a model's name, or "" where nobody found a section; `fallback` says why it has none.
    `proposed` anchors are `exact` + `normalised` + `lost`; `malformed` counts a model's replies that could not be read.
    """

    key: int
    path: str
    sha256: str
    lines: int
    added: int
    proposer: str
    entries: int
    proposed: int = 0
    exact: int = 0
    normalised: int = 0
    lost: int = 0
    malformed: int = 0
    fallback: str = ""


class Current(NamedTuple):
    """What a reader needs of a row."""

    sha256: str
    lines: int
    proposer: str


class Cost(NamedTuple):
    """Of one model; `unpriced` replies are those whose price is not known."""

    model: str
    requests: int
    input_tokens: int
    output_tokens: int
    dollars: float
    unpriced: int


class Records:
    """Rows in, rows out. Raises `UsageError` for a file that is not ours."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.db = open_database(file, _SCHEMA, "delete it and run corpuscope structure again")
        self._begin_anew_for_another_format()

    def _begin_anew_for_another_format(self) -> None:
        made = self.get("format", "")
        if made not in ("", FORMAT):
            self.db.execute("DELETE FROM documents")
        if made != FORMAT:
            self.put("format", FORMAT)

    def close(self) -> None:
        self.db.close()

    def get(self, name: str, default: str) -> str:
        row = self.db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return str(row[0]) if row else default

    def put(self, name: str, value: str) -> None:
        self.db.execute("INSERT OR REPLACE INTO meta VALUES(?, ?)", (name, value))

    def current(self, keys: Sequence[int]) -> dict[int, Current]:
        """key -> what its structured file was made from, for those that have one."""
        found: dict[int, Current] = {}
        for part in _chunks(keys):
            query = f"SELECT key, sha256, lines, proposer FROM documents WHERE key IN ({','.join('?' * len(part))})"
            found.update((key, Current(*rest)) for key, *rest in self.db.execute(query, part))
        return found

    def write(self, rows: Iterable[Row]) -> None:
        """Enter documents that are done; what was kept for them meanwhile is dropped."""
        marks = ",".join("?" * len(fields(Row)))
        with self.transaction():
            for row in rows:
                self.db.execute(f"INSERT OR REPLACE INTO documents VALUES({marks})", astuple(row))
                self.db.execute("DELETE FROM replies WHERE key = ?", (row.key,))

    def known(self) -> Iterator[list[tuple[int, str]]]:
        """(key, path) of all rows, some hundred at a time."""
        last = -1
        query = "SELECT key, path FROM documents WHERE key > ? ORDER BY key LIMIT ?"
        while rows := self.db.execute(query, (last, _CHUNK)).fetchall():
            yield rows
            last = rows[-1][0]

    def forget(self, keys: Sequence[int]) -> None:
        self.db.executemany("DELETE FROM documents WHERE key = ?", [(key,) for key in keys])

    def reply(self, request: str) -> str | None:
        """What a model has answered to a request for a document that is not done yet."""
        row = self.db.execute("SELECT text FROM replies WHERE request = ?", (request,)).fetchone()
        return str(row[0]) if row else None

    def keep_reply(self, request: str, text: str, key: int) -> None:
        self.db.execute("INSERT OR REPLACE INTO replies VALUES(?, ?, ?)", (request, text, key))

    def count(self, model: str, input_tokens: int, output_tokens: int, dollars: float | None) -> None:
        """Add one reply to what `model` has cost."""
        self.db.execute(
            "INSERT INTO spent VALUES(?, 1, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET requests = requests + 1, "
            "input_tokens = input_tokens + excluded.input_tokens, output_tokens = output_tokens + excluded.output_tokens, "
            "dollars = dollars + excluded.dollars, unpriced = unpriced + excluded.unpriced",
            (model, input_tokens, output_tokens, dollars or 0.0, dollars is None),
        )

    def send_batch(self, batch: str, handle: Any, requests: Mapping[str, int]) -> None:
        """Remember a batch as soon as it is sent; `requests` are those in it, with the documents they are for."""
        with self.transaction():
            self.db.execute("INSERT OR REPLACE INTO batches VALUES(?, ?)", (batch, json.dumps(handle)))
            rows = [(request, batch, key) for request, key in requests.items()]
            self.db.executemany("INSERT OR REPLACE INTO sent VALUES(?, ?, ?)", rows)

    def batches(self) -> list[tuple[Any, dict[str, int]]]:
        """(handle, its requests with their documents) of the batches whose results were not read yet."""
        query = "SELECT request, key FROM sent WHERE batch = ?"
        rows = self.db.execute("SELECT id, handle FROM batches ORDER BY rowid").fetchall()
        return [(json.loads(handle), dict(self.db.execute(query, (batch,)).fetchall())) for batch, handle in rows]

    def end_batch(self, batch: str) -> None:
        with self.transaction():
            self.db.execute("DELETE FROM sent WHERE batch = ?", (batch,))
            self.db.execute("DELETE FROM batches WHERE id = ?", (batch,))

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """What is written inside counts as a whole or not at all. Raises `SetupError` where it cannot be written."""
        try:
            self.db.execute("BEGIN IMMEDIATE")
            with self.db:
                yield
        except sqlite3.OperationalError as error:
            raise SetupError(
                f"cannot write {self.file} ({error}): free some space and run the same command again; nothing is lost"
            ) from error

    def totals(self) -> dict[str, int]:
        """Sums over all rows; `with_entries` counts documents."""
        names = ("entries", "proposed", "exact", "normalised", "lost", "malformed", "added")
        sums = "".join(f", coalesce(sum({name}), 0)" for name in names)
        row = self.db.execute(f"SELECT count(*), coalesce(sum(entries > 0), 0){sums} FROM documents").fetchone()
        return dict(zip(("documents", "with_entries", *names), row, strict=True))

    def documents(self) -> Iterator[tuple[object, ...]]:
        """What is told of each structured file, in the order of their paths."""
        yield from self.db.execute("SELECT path, sha256, lines, added, proposer, entries FROM documents ORDER BY path")

    def counts(self, column: str) -> dict[str, int]:
        """How many rows have each value of `proposer` or `fallback`, the most frequent first."""
        query = f"SELECT {column}, count(*) AS n FROM documents WHERE {column} != '' GROUP BY {column} ORDER BY n DESC"
        return dict(self.db.execute(query).fetchall())

    def costs(self) -> list[Cost]:
        """What each model was asked and paid, over all runs."""
        return [Cost(*row) for row in self.db.execute("SELECT * FROM spent ORDER BY model")]


def _chunks(values: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(values), _CHUNK):
        yield values[start : start + _CHUNK]
