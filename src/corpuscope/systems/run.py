"""A run on disk: what decided the result, and one folder of events and answer for each question."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import tomllib
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import tomli_w
from pydantic import BaseModel, ConfigDict

from ..agent import Answer, Result, Spent, StopReason, read_events
from ..corpus import Corpus, write_whole
from ..errors import SetupError, UsageError
from ..structure import Structured
from .system import System, Task


class RunSettings(BaseModel):
    """`run.toml`: everything that decides a result. `version` is corpuscope's; `structured` is the revision of the tables
    of contents, 0 for a system that does without. A benchmark adds its `dataset` and digests of what is asked and searched."""

    model_config = ConfigDict(extra="forbid")

    corpus: str
    revision: int
    structured: int = 0
    task: Task = "answer"
    model: str
    base_url: str = ""
    sandboxed: bool = True
    version: str
    dataset: str = ""
    qrels: str = ""
    ids: str = ""
    dataset_digest: str = ""
    corpus_digest: str = ""
    structured_digest: str = ""
    system: System


@dataclass(frozen=True, slots=True)
class Run:
    """The folder of a run and its settings."""

    folder: Path
    settings: RunSettings

    @classmethod
    def create(
        cls,
        folder: Path,
        corpus: Corpus,
        system: System,
        task: Task,
        model: str,
        base_url: str,
        sandboxed: bool,
        **more: str,
    ) -> Run:
        """Start a run in a new folder. Raises `UsageError` where one is already."""
        if (folder / "run.toml").exists():
            raise UsageError(f"{folder} already holds a run: go on with --resume, or choose another folder")
        settings = RunSettings(
            corpus=str(corpus.root),
            revision=corpus.revision,
            structured=structured_revision(corpus) if system.documents == "structured" else 0,
            task=task,
            model=model,
            base_url=base_url,
            sandboxed=sandboxed,
            version=importlib.metadata.version("corpuscope"),
            system=system,
            **more,
        )
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write_whole(
                folder / "run.toml", tomli_w.dumps(settings.model_dump(exclude_none=True), multiline_strings=True)
            )
        except OSError as error:
            raise SetupError(f"cannot write to {folder} ({error.strerror}): choose another --run folder") from error
        return cls(folder, settings)

    @classmethod
    def open(cls, folder: Path) -> Run:
        """A run that exists, with the settings it was started with."""
        file = folder / "run.toml"
        if not file.is_file():
            raise UsageError(f"no run in {folder} to resume; leave out --resume to start one")
        try:
            return cls(folder, RunSettings.model_validate(tomllib.loads(file.read_text())))
        except ValueError as error:
            raise UsageError(f"{file} cannot be read: {' '.join(str(error).split())[:300]}") from error

    def events(self, query_id: str) -> Path:
        return self.folder / "queries" / folder_name(query_id) / "events.jsonl"

    def spent(self, query_id: str) -> float:
        """US dollars that a question has cost so far, by its last event that says so; 0 where no price is known."""
        spent = [event["spent"]["dollars"] for event in read_events(self.events(query_id)) if "spent" in event]
        return float(spent[-1] or 0.0) if spent else 0.0

    def question(self) -> str:
        """The one question of a run that `ask` started."""
        for file in sorted(self.folder.glob("queries/*/events.jsonl")):
            for event in read_events(file):
                return str(event["question"])
        raise UsageError(f"the run in {self.folder} was cut off before its question was written: ask it again")

    def write_answer(self, query_id: str, result: Result) -> None:
        """`answer.json` beside the events."""
        file = self.events(query_id).with_name("answer.json")
        write_whole(file, json.dumps(result_json(result), ensure_ascii=False, indent=2) + "\n")

    def result(self, query_id: str) -> Result | None:
        """The recorded result, also of a question that can be taken up again."""
        file = self.events(query_id).with_name("answer.json")
        return _result(json.loads(file.read_text())) if file.is_file() else None

    def finished(self, query_id: str) -> Result | None:
        """The recorded result, unless going on may change it."""
        result = self.result(query_id)
        return result if result and not result.stop_reason.resumable else None


def structured_revision(corpus: Corpus) -> int:
    """Raises `UsageError` for a corpus that was never structured."""
    with closing(Structured.open(corpus)) as structured:
        return structured.revision


def folder_name(query_id: str) -> str:
    """A name that any id may have as a folder: benchmarks number, and some put slashes in."""
    name = quote(query_id, safe="").replace(".", "%2E")
    return name if len(name) <= 100 else name[:80] + "-" + hashlib.sha256(query_id.encode()).hexdigest()[:16]


def query_id(question: str) -> str:
    """A stable id for a question that comes without one."""
    return "q-" + hashlib.sha256(question.encode(errors="replace")).hexdigest()[:12]


def result_json(result: Result) -> dict[str, Any]:
    """A result as plain JSON values: `answer.json` and `ask --json`."""
    return {
        "question": result.question,
        "stop_reason": result.stop_reason.value,
        "detail": result.detail,
        "answer": result.answer.model_dump(mode="json") if result.answer else None,
        "spent": result.spent.model_dump(mode="json"),
    }


def _result(values: dict[str, Any]) -> Result:
    return Result(
        question=values["question"],
        answer=Answer.model_validate(values["answer"]) if values["answer"] else None,
        stop_reason=StopReason(values["stop_reason"]),
        spent=Spent.model_validate(values["spent"]),
        detail=values["detail"],
    )
