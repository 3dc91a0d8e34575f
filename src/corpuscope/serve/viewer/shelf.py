"""The runs that are looked at: what they were about, and a row for each of their questions, as far as it is known by now."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from ...agent import Result, read_events
from ...bench import (
    EXACT,
    Dataset,
    Question,
    Row,
    add_ranking_measures,
    dataset_of,
    judge_exactly,
    judges,
    nowhere,
    only_judge,
    outcomes,
    read_judgements,
    summary,
    surfacing,
    usage,
)
from ...corpus import Corpus
from ...errors import CorpuscopeError, SetupError, UsageError
from ...systems import Run, folder_name
from .glance import Glance, glance

DAMAGED = (CorpuscopeError, OSError, ValueError, KeyError, TypeError, AttributeError)
"""What reading events can raise that are not such as we write."""


class _Stamp(NamedTuple):
    """By which a file is known to have changed."""

    size: int
    time: int
    live: bool


@dataclass(slots=True)
class Shown:
    """A run that is looked at. `corpus` is None where it is not to be had, and `notes` say what is odd, one line each.

    Questions have a `key`, the name of their folder. Safe to use from several threads.
    """

    run: Run
    corpus: Corpus | None
    dataset: Dataset
    judge: str
    notes: list[str]
    version: int = 0
    """Rises with whatever a reader could see."""
    _asks: bool = False
    """Whether nothing but its folders tells of its questions."""
    _keyed: dict[str, Question] = field(default_factory=dict)
    """The questions by their keys, made again when there are more."""
    _glances: dict[str, Glance | None] = field(default_factory=dict)
    _stamps: dict[str, _Stamp] = field(default_factory=dict)
    _surfacing: dict[str, Row] = field(default_factory=dict)
    _due: dict[str, None] = field(default_factory=dict)
    _broken: dict[str, str] = field(default_factory=dict)
    _rows: tuple[int, list[Row]] | None = None
    """The last ones, and the version they are of."""
    _judged: int = 0
    """When judgements were last written."""
    _lock: threading.RLock = field(default_factory=threading.RLock)

    @classmethod
    def open(cls, folder: Path, corpora: dict[Path, Corpus], *, corpus: Path | None, judge: str, canary: str) -> Shown:
        """Raises `UsageError` for a folder without a run, and for a judge who has not judged it."""
        run = Run.open(folder)
        notes: list[str] = []
        opened = _corpus_of(run, corpora, corpus, notes)
        dataset, asks = Dataset(run.settings.dataset or "ask", [], run.settings.task), True
        if run.settings.dataset:
            try:
                dataset, asks = dataset_of(run, canary), False
            except CorpuscopeError as error:
                notes.append(f"what is right is not known here: {error}")
        notes += dataset.problems
        if opened is not None and not asks:
            notes += nowhere(dataset, opened)
        if judge not in ("", EXACT, *judges(run)):
            raise UsageError(f"{judge} has not judged {folder}: {', '.join([EXACT, *judges(run)])} have")
        shown = cls(run, opened, dataset, judge or only_judge(run), notes, _asks=asks)
        shown.refresh()
        return shown

    @property
    def measured(self) -> int:
        """Questions whose events have been read."""
        return len(self._surfacing)

    @property
    def is_live(self) -> bool:
        return any(told.live for told in list(self._glances.values()) if told)

    def events(self, key: str) -> Path:
        """Raises `UsageError` for a question that the run does not have."""
        if key not in self._questions():
            raise UsageError(f"no question {key[:100]!r} in {self.run.folder}")
        return self.run.folder / "queries" / key / "events.jsonl"

    def question(self, key: str) -> Question:
        self.events(key)
        return self._questions()[key]

    @property
    def question_keys(self) -> list[str]:
        return list(self._questions())

    def documents(self) -> Corpus:
        """Raises `UsageError` where the corpus is not to be had."""
        if self.corpus is None:
            raise UsageError("the documents of this run cannot be opened here; tell where they are with --corpus")
        return self.corpus

    def _questions(self) -> dict[str, Question]:
        if len(self._keyed) != len(self.dataset.questions):
            self._keyed = {_key(question): question for question in self.dataset.questions}
        return self._keyed

    def refresh(self) -> None:
        """Look again at what has changed since the last time."""
        with self._lock:
            if self._asks:
                self._list()
            for key in self._questions():
                self._look(key)
            file = self.run.folder / "judgements.jsonl"
            judged = file.stat().st_mtime_ns if file.exists() else 0
            self.version += judged != self._judged
            self._judged = judged

    def _list(self) -> None:
        known = self._questions()
        folders = sorted(file.parent.name for file in self.run.folder.glob("queries/*/events.jsonl"))
        new = [Question(query_id=unquote(folder), query="") for folder in folders if folder not in known]
        new = [question for question in new if _key(question) in folders]
        if new:
            self.dataset = replace(self.dataset, questions=[*self.dataset.questions, *new])

    def _look(self, key: str) -> None:
        file = self.run.folder / "queries" / key / "events.jsonl"
        try:
            status = file.stat()
        except OSError:
            return
        before = self._stamps.get(key)
        live = before is not None and before.live
        if before == _Stamp(status.st_size, status.st_mtime_ns, live) and not live:
            return
        self._broken.pop(key, None)
        try:
            told = glance(file)
        except DAMAGED as error:
            told, self._broken[key] = None, str(error)
        stamp = _Stamp(status.st_size, status.st_mtime_ns, told.live if told else False)
        if stamp != before:
            self._stamps[key], self._glances[key] = stamp, told
            self._due[key] = None
            self.version += 1

    def measure_next(self) -> bool:
        """Read the events of one question that has changed; False where none has."""
        with self._lock:
            if not self._due:
                return False
            key = next(iter(self._due))
            del self._due[key]
            question = self._questions()[key]
        row: Row = {}
        if self.corpus is not None and (question.gold or question.supporting):
            try:
                row = surfacing(self.run, question, self.corpus, list(read_events(self.events(key))))
            except DAMAGED as error:
                self._broken[key] = str(error)
        with self._lock:
            self._surfacing[key] = row
            self.version += 1
        return True

    def rows(self) -> list[Row]:
        """A row for each question: that of `bench.evaluate` and what a table shows besides."""
        with self._lock:
            if self._rows is None or self._rows[0] != self.version:
                self._rows = self.version, self._all_rows()
            return self._rows[1]

    def _all_rows(self) -> list[Row]:
        results = {
            question.query_id: told.result
            for key, question in self._questions().items()
            if (told := self._glances.get(key)) and told.result
        }
        rows = outcomes(self.run, self.dataset, results, self._judgements(results))
        try:
            add_ranking_measures(self.run, self.dataset, results, rows)
        except SetupError as error:  # all else can be looked at without
            if str(error) not in self.notes:
                self.notes.append(str(error))
        for question, row in zip(self.dataset.questions, rows, strict=True):
            row |= self._more(_key(question), question, results.get(question.query_id))
        return rows

    def _judgements(self, results: dict[str, Result]) -> dict[str, Any]:
        return judge_exactly(self.dataset, results) if self.judge == EXACT else read_judgements(self.run, self.judge)

    def _more(self, key: str, question: Question, result: Result | None) -> Row:
        told = self._glances.get(key)
        answer = result.answer if result else None
        state = "ended" if result else "not begun" if told is None else "running" if told.live else "cut off"
        row: Row = {
            "key": key, "question": question.query or (told.question if told else ""), "state": state,
            "answer": str(answer)[:500] if answer else "", "reference": list(question.answers),
            "broken": self._broken.get(key, ""), "measured": key in self._surfacing,
        }  # fmt: skip
        if told and not result:
            row |= usage(told.spent)
        return row | self._surfacing.get(key, {})

    def plain(self, rows: Sequence[Row]) -> dict[str, Any]:
        """The run in one row, as JSON values."""
        settings = self.run.settings
        return {
            "name": self.run.folder.name, "system": settings.system.name, "model": settings.model, "task": settings.task,
            "dataset": self.dataset.name if settings.dataset else "", "judge": self.judge if settings.dataset else "", "live": self.is_live,
            "notes": self.notes, "measured": self.measured, "begun": sum(row["state"] != "not begun" for row in rows),
            "secret": self.dataset.secret, "boundary": settings.system.boundary, "documents": settings.system.documents,
            "has_corpus": self.corpus is not None, "settings": settings.model_dump(mode="json", exclude_none=True),
            "summary": summary(rows),
        }  # fmt: skip


def _key(question: Question) -> str:
    return folder_name(question.query_id)


def _corpus_of(run: Run, corpora: dict[Path, Corpus], chosen: Path | None, notes: list[str]) -> Corpus | None:
    """Each corpus is opened once. A run that `ask` put below its corpus is found there also when both were moved."""
    places = [chosen] if chosen else [Path(run.settings.corpus), run.folder.parent.parent]
    problem: CorpuscopeError | None = None
    for place in dict.fromkeys(path.resolve() for path in places):
        if place not in corpora:
            try:
                corpora[place] = Corpus.open(place)
            except CorpuscopeError as error:
                if chosen:
                    raise
                problem = problem or error
                continue
        if corpora[place].revision != run.settings.revision:
            notes.append("the corpus has changed since this run: documents may not read as the agent saw them")
        return corpora[place]
    notes.append(f"its documents cannot be opened ({problem}); tell where they are with --corpus")
    return None


_DEPTHS = ("*/run.toml", "*/*/run.toml", "*/*/*/run.toml")
"""Where runs lie below a folder: `bench run`, a corpus's own `runs`, `bench scale`."""


def found_runs(paths: Iterable[Path]) -> list[Path]:
    """The folders of runs that are meant: each path, or all runs below it. Raises `UsageError` where there is none."""
    found: dict[Path, None] = {}
    for path in paths:
        if (path / "run.toml").is_file():
            found[path.resolve()] = None
            continue
        path = path / "runs" if (path / "corpuscope.toml").is_file() else path
        below = sorted(file.parent for depth in _DEPTHS for file in path.glob(depth))
        if not below:
            raise UsageError(f"no run in {path}: give the folder of a run, or one that has some in it")
        found.update((folder.resolve(), None) for folder in below)
    return list(found)
