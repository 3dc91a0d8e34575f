"""Opening an SQLite file of a corpus, also on a medium that cannot be written."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..errors import UsageError

_CHUNK = 500
"""Values of one statement."""


def open_database(file: Path, schema: str, remedy: str) -> sqlite3.Connection:
    """The database in `file`, made with `schema` where it is new, without implicit transactions.

    Raises `UsageError`, with the `remedy` for a file that holds something else.
    """
    db = sqlite3.connect(file, timeout=30, isolation_level=None, check_same_thread=False)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.executescript(schema)
    except sqlite3.OperationalError as error:
        db.close()
        if "readonly" not in str(error) and "unable to open" not in str(error):
            raise UsageError(f"{file}: {error}") from error
        return _read_only(file)
    except sqlite3.DatabaseError as error:
        db.close()
        raise UsageError(f"{file} is no database of corpuscope ({error}); {remedy}") from error
    return db


def _read_only(file: Path) -> sqlite3.Connection:
    """Where SQLite's own read-only mode would want to make files."""
    log = file.with_name(file.name + "-wal")
    if not file.exists() or (log.exists() and log.stat().st_size):
        raise UsageError(f"{file} was not closed cleanly and cannot be written here: open it once where it can be")
    return sqlite3.connect(
        f"file:{quote(str(file))}?immutable=1", uri=True, isolation_level=None, check_same_thread=False
    )


def chunks(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """As many values at a time as one statement takes."""
    for start in range(0, len(values), _CHUNK):
        yield values[start : start + _CHUNK]
