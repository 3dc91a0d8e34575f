"""What a question asks for: its terms, its parts, and the kind of thing that would answer it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...retrieve import Analysis

MAX_QUERIES = 6
MAX_TERMS = 16

_QUESTION_WORDS = frozenset(
    """which what who whom whose when where why how many much does did do is are was were has have had can could should
    would will may might must one ones use used uses using name named call called give gives given same other another
    into from than then there here also only first before after that this these those with without by default its it
    their his her our your get gets got both once at""".split()  # noqa: SIM905
)
_NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)+(?![\w.]*\d)|(?<![\w.])\d{2,}(?![\w.])")
"""Versions, years, amounts: as distinctive as a name, and split by the analysers."""

_CLAUSE = re.compile(
    r"[,;:?!()]|\.\s|\s[-–—]\s|\b(?:which|who|whose|whom|that|where|when|and|but|in order to|so that)\b", re.IGNORECASE
)
_QUOTED = re.compile(r"[\"“”'‘’`]([^\"“”'‘’`]{2,60})[\"“”'‘’`]")
IDENTIFIER = re.compile(
    r"\b(?:[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[A-Z]{2,}\d+|[a-z]\w*(?:_\w+)+|[A-Za-z]\w+(?:\.[A-Za-z_]\w*)+(?:\(\))?|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+)\b"
)
"""SETTING_NAMES, snake_case, dotted.names, CamelCase."""


@dataclass(frozen=True, slots=True)
class Question:
    """`terms` are word beginnings as `Analysis.stems` gives them; `names` its identifiers and numbers."""

    text: str
    terms: tuple[str, ...]
    names: tuple[str, ...]
    queries: tuple[str, ...]


def understand(text: str, analysis: Analysis) -> Question:
    """Take a question apart. The first query is always the whole of it."""
    words = re.sub(r"\b(?:" + "|".join(_QUESTION_WORDS) + r")\b", " ", text, flags=re.IGNORECASE)
    numbers = list(dict.fromkeys(_NUMBER.findall(text)))
    names = [name for name in dict.fromkeys(IDENTIFIER.findall(text)) if name not in numbers]
    terms = [*numbers, *(term for term in analysis.stems(words) if len(term) > 2 or not term.isascii())][:MAX_TERMS]
    clauses = [part.strip() for part in _CLAUSE.split(text) if part]
    clauses = [clause for clause in clauses if len(analysis.query_words(_content(clause))) >= 2]
    queries = [text, *(match[1] for match in _QUOTED.finditer(text)), *clauses]
    if names:
        queries.insert(1, " ".join(names))
    unique = {" ".join(_content(query).lower().split()): query for query in reversed(queries)}
    chosen = [query for query in dict.fromkeys(queries) if query in unique.values()]
    terms = terms or analysis.stems(text)[:MAX_TERMS]
    return Question(text, tuple(terms), (*names, *numbers), tuple(chosen[:MAX_QUERIES]))


def _content(text: str) -> str:
    return " ".join(word for word in re.findall(r"[\w.]+", text) if word.lower() not in _QUESTION_WORDS)
