"""What the page asks for, by name. The same answers are served to a live page and laid down in an exported one."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...agent import Event, read_events
from ...bench import compare
from ...corpus import Corpus
from ...errors import CorpuscopeError, UsageError
from .documents import document
from .marks import gold_marks, removals
from .shelf import DAMAGED, Shown, found_runs
from .spaces import imported

Asked = Mapping[str, str]
"""Parameters as they stand in an address."""

PAGE = 500
"""Documents of one answer to `folder`."""


@dataclass(slots=True)
class Shelf:
    """All runs that are looked at, and the corpora that were opened for them."""

    runs: list[Shown]
    corpora: list[Corpus]
    problems: tuple[str, ...] = ()
    """Why runs that were found are not among them, one line each."""
    _marks: dict[tuple[int, str], tuple[int, Any]] = field(default_factory=dict)
    """The last ones worked out, by the size of the events they are of."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def open(cls, paths: Sequence[Path], *, corpus: Path | None = None, judge: str = "", canary: str = "") -> Shelf:
        """The runs in these folders, or below them. Raises `CorpuscopeError` where there is none that can be looked at."""
        corpora: dict[Path, Corpus] = {}
        runs: list[Shown] = []
        problems: list[CorpuscopeError] = []
        for folder in found_runs(paths):
            try:
                runs.append(Shown.open(folder, corpora, corpus=corpus, judge=judge, canary=canary))
            except CorpuscopeError as error:
                problems.append(error)
        if not runs:
            for opened in corpora.values():
                opened.close()
            raise problems[0]
        return cls(runs, list(corpora.values()), tuple(map(str, problems)))

    def run(self, asked: Asked, name: str = "run") -> Shown:
        number = number_of(asked, name)
        if number >= len(self.runs):
            raise UsageError(f"no run {number}")
        return self.runs[number]

    def close(self) -> None:
        for corpus in self.corpora:
            corpus.close()

    @property
    def version(self) -> int:
        return sum(shown.version for shown in self.runs)


def runs(shelf: Shelf, asked: Asked) -> Any:
    """Every run in one row."""
    for shown in shelf.runs:
        shown.refresh()
    return {"version": shelf.version, "runs": [shown.plain(shown.rows()) for shown in shelf.runs]}


def questions(shelf: Shelf, asked: Asked) -> Any:
    """Every question of a run in one row."""
    shown = shelf.run(asked)
    shown.refresh()
    version = shown.version
    rows = shown.rows()
    return {"version": version, "run": shown.plain(rows), "rows": rows}


def compared(shelf: Shelf, asked: Asked) -> Any:
    """What sets run `second` apart from `run`; `problem` is why they should not be compared, or ''."""
    first, second = shelf.run(asked), shelf.run(asked, "second")
    found = compare(first.rows(), second.rows())
    differences = {name: list(interval) for name, interval in found.pop("differences").items()}
    one, other = first.run.settings, second.run.settings
    same = (one.dataset_digest, one.corpus_digest) == (other.dataset_digest, other.corpus_digest)
    problem = "" if same else "these runs ask other questions, or another corpus"
    return {**found, "differences": differences, "problem": problem}


def marks(shelf: Shelf, asked: Asked) -> Any:
    """Gold documents and what the context policy removed, by the numbers of the calls."""
    shown, key = shelf.run(asked), asked.get("question", "")
    file = shown.events(key)
    size = file.stat().st_size if file.exists() else 0
    place = (number_of(asked, "run"), key)
    with shelf._lock:
        known = shelf._marks.get(place)
    if known and known[0] == size:
        return known[1]
    try:
        found = _marks(shown, key, list(read_events(file)))
    except DAMAGED as error:
        raise UsageError(f"{file} cannot be understood: {error}") from error
    with shelf._lock:
        shelf._marks.clear()
        shelf._marks[place] = (size, found)
    return found


def _marks(shown: Shown, key: str, events: list[Event]) -> Any:
    settings = shown.run.settings
    gold = gold_marks(shown.question(key), shown.corpus, events) if shown.corpus is not None else []
    return {"gold": gold, "removals": [r._asdict() for r in removals(settings.system, settings.task, events)]}


def paths(shelf: Shelf, asked: Asked) -> Any:
    """docid -> path, of the documents that were imported, where the two are not the same."""
    shown = shelf.run(asked)
    if shown.corpus is None:
        return {}
    found = shown.corpus.manifest.paths(imported(shown, asked.get("question", "")))
    return {docid: path for docid, path in found if docid != path}


def folder(shelf: Shelf, asked: Asked) -> Any:
    """Documents of the whole corpus in the order of their paths, those behind `after`."""
    corpus = shelf.run(asked).documents()
    found = corpus.manifest.page(asked.get("after", ""), PAGE)
    return {"total": len(corpus), "paths": [entry.path for entry in found]}


def a_document(shelf: Shelf, asked: Asked) -> Any:
    """A piece of a document."""
    return document(shelf.run(asked), asked.get("name", ""), asked.get("form", ""), number_of(asked, "block"))


ANSWERS: dict[str, Callable[[Shelf, Asked], Any]] = {
    "compare": compared, "document": a_document, "folder": folder, "marks": marks, "paths": paths, "questions": questions,
    "runs": runs,
}  # fmt: skip
"""JSON values. Each raises `UsageError` for what it does not have."""


def as_json(value: Any) -> bytes:
    """An answer as it is sent, and as it is laid down."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode()


def events_from(shown: Shown, key: str, start: int) -> tuple[bytes, int]:
    """The whole lines of a trajectory from the byte `start` on, and where the next begin."""
    file = shown.events(key)
    if not file.exists():
        return b"", 0
    with file.open("rb") as handle:
        handle.seek(start)
        data = handle.read()
    data = data[: data.rfind(b"\n") + 1]
    return data, start + len(data)


def number_of(asked: Asked, name: str) -> int:
    """A parameter that is a number, 0 without it. Raises `UsageError` for anything else."""
    text = asked.get(name, "0")
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise UsageError(f"{name}={text[:40]!r} is no number")
    return int(text)
