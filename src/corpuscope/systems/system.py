"""A system is data: what bounds, which tools, which prompt, which policy, which budget. Never a new loop."""

from __future__ import annotations

import tomllib
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..agent import Budget
from ..corpus import Corpus
from ..errors import UsageError
from ..structure import has_tables


class System(BaseModel):
    """One composition. Unknown keys are errors: a misspelt choice must not pass for the default."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    description: str = ""
    prompt: str
    retriever: Literal["bm25"] = "bm25"
    documents: Literal["original", "structured"] = "original"
    """What stands in W: the documents as they are, or with tables of contents (RISE, 3.2)."""
    k: int = Field(default=1000, ge=1)
    """Documents imported for each sub-query (RISE, section 4)."""
    tools: tuple[Literal["search", "bash", "read"], ...] = ("search", "bash", "read")
    context: Literal["level0", "level1", "level2", "level3", "level4", "frugal"] = "level3"
    budget: Budget = Budget()
    settings: dict[str, Any] = {}
    """pydantic-ai model settings, such as `thinking` or `max_tokens`."""


def default_system(corpus: Corpus) -> str:
    """RISE whole where the corpus has tables of contents, else without them."""
    return "rise" if has_tables(corpus) else "rise-bm25"


def load_system(name: str) -> System:
    """The preset of that name, or the system in a `.toml` file. Raises `UsageError` for one that does not exist."""
    if name.endswith(".toml"):
        return _parse(Path(name))
    if name not in presets():
        raise UsageError(f"no system {name!r}; there are {', '.join(presets())}, or give the path of a .toml file")
    with resources.as_file(resources.files(__package__) / "presets" / f"{name}.toml") as file:
        return _parse(file)


def presets() -> list[str]:
    """Names of the systems that come with the package."""
    files = (resources.files(__package__) / "presets").iterdir()
    return sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml"))


def _parse(file: Path) -> System:
    try:
        return System.model_validate(tomllib.loads(file.read_text()))
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} is not TOML: {error}") from error
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg'].lower()}" for e in error.errors())
        raise UsageError(f"{file} is no system ({wrong})") from error
