"""The plain values that travel through the structure room."""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_TITLE = 200
"""Characters of a title in a table; longer ones are cut there, never in the document."""

MAX_HEADING = 1_000
"""Characters: a longer line is no heading. Patterns are tried on shorter ones alone, for documents may be hostile."""

MAX_DESCRIPTION = 200
"""Characters of a description; the prompt asks for far fewer."""

_UNSHOWN = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]+")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading that a document has already: `line` is 1-based in the original, `level` 1 is the outermost."""

    title: str
    level: int
    line: int


@dataclass(frozen=True, slots=True)
class Proposed:
    """A section a model proposes: `anchor` is copied from the text, where the section begins."""

    title: str
    description: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Located:
    """A proposed section whose anchor was found: `offset` is in characters of the original text."""

    title: str
    description: str
    offset: int


def one_line(text: str, most: int) -> str:
    """`text` on one line without control characters or marks that turn the writing, at most `most` characters."""
    flat = " ".join(_UNSHOWN.sub(" ", text).split())
    return flat if len(flat) <= most else flat[: most - 1].rstrip() + "…"
