"""The plain values that travel through the corpus room."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a corpus.

    `docid` is stable and comes from the source. `path` is POSIX, relative to the workspace, unique even
    when case is folded. `sha256` is the hex digest of `text` in UTF-8.
    """

    docid: str
    path: str
    title: str
    text: str
    metadata: Mapping[str, Any]
    sha256: str


@dataclass(frozen=True, slots=True)
class Entry:
    """What the manifest knows of a document without opening it. `key` is its number in the indexes."""

    key: int
    docid: str
    path: str
    title: str
    sha256: str
    bytes: int
    lines: int
    where: str


@dataclass(frozen=True, slots=True)
class Record:
    """One document as a source gives it, before it has a path and a place in the store.

    `name` is the path the source suggests; `where` is what a person looks up ("rows.jsonl:3"); `notes`
    say what was altered on the way in.
    """

    docid: str
    name: str
    title: str
    data: bytes
    where: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something in the source that does not become a document. A bad one is an error unless `--skip-bad`."""

    where: str
    reason: str
    bad: bool = False


@dataclass(frozen=True, slots=True)
class Unit:
    """The smallest piece of a source that is read as a whole: one file. `fingerprint` changes when it does."""

    name: str
    fingerprint: str


def count_lines(data: bytes) -> int:
    """Lines as `rg -n`, `sed -n` and `read` count them: separated by LF and by nothing else."""
    return data.count(b"\n") + (not data.endswith(b"\n") if data else 0)
