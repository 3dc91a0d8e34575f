"""A system is data: what bounds, which tools, which prompt, which policy, which budget. Never a new loop."""

from __future__ import annotations

import tomllib
from importlib import resources
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from ..agent import ANSWER_FORM, RANKING_FORM, Budget
from ..corpus import Corpus
from ..errors import UsageError
from ..retrieve import RERANKERS, parts_of
from ..structure import has_tables

Task = Literal["answer", "ranking"]
"""A question to be answered, or documents to be ranked for it."""

TOOLS = {
    "search": ("search", "grep", "bash", "read"),
    "corpus": ("bash", "read", "grep"),
    "snippets": ("search", "get_document"),
    "pages": ("search", "read_search_results", "read_document"),
    "passages": ("search", "access"),
}
"""What each boundary offers."""


class System(BaseModel):
    """One composition. Unknown keys are errors: a misspelt choice must not pass for the default."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    description: str = ""
    prompt: str
    """How to work; the form of the final reply comes below it."""
    answer_form: str = ANSWER_FORM
    ranking_form: str = RANKING_FORM
    tasks: tuple[Task, ...] = ("answer", "ranking")
    """What it can be asked for; the first unless one chooses."""
    model: Literal["", "scout", "ranker"] = ""
    """A fixed policy that this system is; '' leaves the choice to whoever asks."""
    boundary: Literal["search", "corpus", "snippets", "pages", "passages"] = "search"
    """What an agent can look at: the files that `search` or `grep` import (RISE), the whole corpus with DCI's tools, snippets of a ranking
    and documents by their docid (the retrieval agents of both papers), pages of a cached ranking (Pi-Serini), or passages (the trained
    agents)."""
    retriever: str = "bm25"
    """What ranks: `bm25` (tantivy's), `bm25s` (the RISE paper's), `dense`, `late`, or several joined by `+` (reciprocal rank fusion)."""
    rerank: str = ""
    """KIND:MODEL that puts the best of a ranking into another order: `cross-encoder`, `pointwise`, `setwise` or `listwise`."""
    rerank_depth: int = Field(default=100, ge=2)
    """Documents of each ranking that it reads (DCI's baselines: 100)."""
    documents: Literal["original", "structured"] = "original"
    """What stands in W: the documents as they are, or with tables of contents (RISE, 3.2)."""
    k: int = Field(default=1000, ge=1)
    """Documents imported for each sub-query (RISE, section 4), or shown, or cached, as the boundary has it."""
    tools: tuple[
        Literal["search", "bash", "read", "grep", "get_document", "read_search_results", "read_document", "access"], ...
    ] = ("search", "bash", "read")
    harness: Literal["", "claude-code", "pi"] = ""
    """Whose loop asks the model and calls the tools; '' is our own."""
    speech: Literal["", "search-r1", "r1-searcher", "zerosearch", "verltool", "asearcher", "grepseek"] = ""
    """The tags that the model was trained to speak in; '' is tool calls. The `prompt` has its question at `{question}`."""
    context: Literal["level0", "level1", "level2", "level3", "level4", "frugal", "own"] = "level3"
    """What of the history goes back to the model; "own" is the harness's own way."""
    budget: Budget = Budget()
    submit_at: float | None = Field(default=None, gt=0, lt=1)
    """The share of its time after which an agent is told to submit and its tools are closed (Pi-Serini: 0.7)."""
    force_answer: bool = False
    """Whether one last reply is asked for when a limit is reached; neither paper does."""
    settings: dict[str, Any] = {}
    """pydantic-ai model settings, such as `thinking` or `max_tokens`."""

    def system_prompt(self, task: Task) -> str:
        if self.speech:
            return self.prompt  # as the model was trained on it, to the last line end
        form = self.answer_form if task == "answer" else self.ranking_form
        return "\n\n".join(part.strip() for part in (self.prompt, form) if part.strip()) + "\n"

    def changed(self, **choices: Any) -> Self:
        """With other choices on top. Raises `UsageError` where they do not fit."""
        try:
            return self.model_validate(self.model_dump() | choices)
        except ValidationError as error:
            raise UsageError(f"system {self.name}: {_wrong(error)}") from error

    def task(self, chosen: Task | None) -> Task:
        """The chosen task, else its first. Raises `UsageError` for one it cannot do."""
        if chosen is not None and chosen not in self.tasks:
            raise UsageError(f"system {self.name} does {' and '.join(self.tasks)}; choose another for --task {chosen}")
        return chosen or self.tasks[0]

    @field_validator("retriever")
    @classmethod
    def _is_there(cls, name: str) -> str:
        try:
            parts_of(name)
        except UsageError as error:
            raise ValueError(str(error)) from error
        return name

    @field_validator("rerank")
    @classmethod
    def _has_a_kind(cls, name: str) -> str:
        kind, _, model = name.partition(":")
        if name and (kind not in RERANKERS or not model):
            raise ValueError(f"{name!r} is not KIND:MODEL with one of {', '.join(RERANKERS)}")
        return name

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        strange = [tool for tool in self.tools if tool not in TOOLS[self.boundary]]
        if strange:
            raise ValueError(
                f'tools: boundary = "{self.boundary}" has no {", ".join(strange)}, it has {", ".join(TOOLS[self.boundary])}'
            )
        if (self.context == "own") != bool(self.harness):
            raise ValueError('context: it is "own" where a harness is chosen, and only there')
        if self.harness and (self.force_answer or self.submit_at is not None or self.model):
            raise ValueError(
                f"harness: {self.harness} has a loop of its own: no force_answer, submit_at or model with it"
            )
        if self.speech and (self.harness or self.model or self.answer_form or self.tasks != ("answer",)):
            raise ValueError(
                f'speech: {self.speech} answers in tags: tasks = ["answer"], answer_form = "", no harness or model'
            )
        if self.speech not in ("", "grepseek") and "{question}" not in self.prompt:
            raise ValueError("prompt: it needs {question} where the question goes")
        if self.boundary != "search" and self.documents == "structured":
            raise ValueError(f'documents: with boundary = "{self.boundary}" they stand as they are')
        return self


def default_system(corpus: Corpus) -> str:
    """RISE whole where the corpus has tables of contents, else without them."""
    return "rise" if has_tables(corpus) else "rise-bm25"


def load_system(name: str) -> System:
    """The preset of that name, or the system in a `.toml` file. Raises `UsageError` for one that does not exist."""
    if name.endswith(".toml"):
        return _parse(Path(name))
    if name not in presets():
        raise UsageError(f"no system {name!r}; there are {', '.join(presets())}, or give the path of a .toml file")
    return _parse_text(_preset_text(name), f"preset {name}")


def _preset_text(name: str) -> str:
    """The TOML of a preset. Raises `UsageError` for one that does not exist."""
    if name not in presets():
        raise UsageError(f"no system {name!r}; there are {', '.join(presets())}")
    return (resources.files(__package__) / "presets" / f"{name}.toml").read_text()


def _extended(values: dict[str, Any]) -> dict[str, Any]:
    """A system that `extends` a preset is that preset with its own choices on top; tables are laid over one another."""
    base = values.pop("extends", "")
    if not base:
        return values
    whole = _extended(tomllib.loads(_preset_text(str(base))))
    for name, value in values.items():
        whole[name] = {**whole.get(name, {}), **value} if isinstance(value, dict) else value
    return whole


def presets() -> list[str]:
    """Names of the systems that come with the package."""
    files = (resources.files(__package__) / "presets").iterdir()
    return sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml"))


def _parse(file: Path) -> System:
    try:
        return _parse_text(file.read_text(), str(file))
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not TOML: {error}") from error


def _parse_text(text: str, where: str) -> System:
    try:
        return System.model_validate(_extended(tomllib.loads(text)))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{where} is not TOML: {error}") from error
    except ValidationError as error:
        raise UsageError(f"{where} is no system ({_wrong(error)})") from error


def _wrong(error: ValidationError) -> str:
    return "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg'].lower()}".lstrip(": ") for e in error.errors())
