"""What a benchmark asks, and what it knows to be right."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import BaseModel, ConfigDict

from ..errors import UsageError

Task = Literal["answer", "ranking"]


class Evidence(BaseModel):
    """Lines `first` to `last` (1-based, inclusive) of a document. `keys` are what these lines tell: each stands in them, white
    space aside, and no other document has those of all evidence of a question."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    docid: str
    first: int
    last: int
    keys: tuple[str, ...] = ()


class Question(BaseModel):
    """One question or topic. Any of `answers` is right. `gold` are the documents that hold the answer (for a ranking task those
    that are relevant), `supporting` all that the way to it needs, `grades` judgements beyond yes and no."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    query_id: str
    query: str
    answers: tuple[str, ...] = ()
    gold: tuple[str, ...] = ()
    supporting: tuple[str, ...] = ()
    grades: dict[str, int] = {}
    evidence: tuple[Evidence, ...] = ()
    kind: str = ""
    derived: bool = False
    """Whether the answer is worked out from the evidence, so that no line of it spells it."""

    @property
    def hops(self) -> int:
        """Documents that the evidence stands in."""
        return len({evidence.docid for evidence in self.evidence})


@dataclass(frozen=True, slots=True)
class Dataset:
    """Questions with unique ids. `secret` data must not be written in plain text; `problems` name what is odd about it, one
    line each. `source`, `qrels` and `ids` say where it came from, for `run.toml`."""

    name: str
    questions: Sequence[Question]
    task: Task = "answer"
    secret: bool = False
    problems: tuple[str, ...] = ()
    source: str = ""
    qrels: str = ""
    ids: str = ""

    def digest(self) -> str:
        """Of all that is asked and known: what `run.toml` remembers a dataset by."""
        told = "\n".join(question.model_dump_json() for question in self.questions)
        return hashlib.sha256(told.encode()).hexdigest()[:16]

    def only(self, ids: Iterable[str]) -> Dataset:
        """The questions with these ids, in the order of the ids. Raises `UsageError` for one that is not there."""
        known = {question.query_id: question for question in self.questions}
        wanted = list(dict.fromkeys(ids))
        if missing := [id for id in wanted if id not in known]:
            raise UsageError(
                f"{self.name} has no question {', '.join(missing[:5])}{' ...' if len(missing) > 5 else ''}"
            )
        return replace(self, questions=[known[id] for id in wanted])


def made(name: str, questions: Iterable[Question], task: Task, *, secret: bool = False,
         problems: Sequence[str] = ()) -> Dataset:  # fmt: skip
    """A dataset, looked over. Raises `UsageError` for one that is empty, or has an id twice or a question without words."""
    found = list(questions)
    if not found:
        raise UsageError(f"{name}: there is no question in it")
    seen: set[str] = set()
    for question in found:
        if not question.query_id or not question.query.strip():
            raise UsageError(f"{name}: question {question.query_id or len(seen) + 1} has no id or no words")
        if question.query_id in seen:
            raise UsageError(f"{name}: two questions have the id {question.query_id}")
        seen.add(question.query_id)
    return Dataset(name, found, task, secret, tuple(problems))
