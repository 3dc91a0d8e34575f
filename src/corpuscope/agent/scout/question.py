"""What a question asks for: its terms, its parts, and the kind of thing that would answer it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...retrieve import Analysis

MAX_QUERIES = 6
MAX_TERMS = 16

_QUESTION_WORDS = frozenset(
    [
        "which",
        "what",
        "who",
        "whom",
        "whose",
        "when",
        "where",
        "why",
        "how",
        "many",
        "much",
        "does",
        "did",
        "do",
        "is",
        "are",
        "was",
        "were",
        "has",
        "have",
        "had",
        "can",
        "could",
        "should",
        "would",
        "will",
        "may",
        "might",
        "must",
        "one",
        "ones",
        "use",
        "used",
        "uses",
        "using",
        "name",
        "named",
        "call",
        "called",
        "give",
        "given",
        "same",
        "other",
        "another",
        "into",
        "from",
        "than",
        "then",
        "there",
        "here",
        "also",
        "only",
        "first",
        "before",
        "after",
        "that",
        "this",
        "these",
        "those",
        "with",
        "without",
        "by",
        "default",
    ]
)
_CLAUSE = re.compile(
    r"[,;:?!()]|\.\s|\s[-–—]\s|\b(?:which|who|whose|whom|that|where|when|and|but|in order to|so that)\b", re.IGNORECASE
)
_QUOTED = re.compile(r"[\"“”'‘’`]([^\"“”'‘’`]{2,60})[\"“”'‘’`]")
IDENTIFIER = re.compile(
    r"\b(?:[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[a-z]\w*(?:_\w+)+|\w+(?:\.\w+)+(?:\(\))?|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+)\b"
)
"""SETTING_NAMES, snake_case, dotted.names, CamelCase."""


@dataclass(frozen=True, slots=True)
class Question:
    """`terms` are word beginnings as `Analysis.stems` gives them, in the order of the question."""

    text: str
    terms: tuple[str, ...]
    identifiers: tuple[str, ...]
    queries: tuple[str, ...]


def understand(text: str, analysis: Analysis) -> Question:
    """Take a question apart. The first query is always the whole of it."""
    words = re.sub(r"\b(?:" + "|".join(_QUESTION_WORDS) + r")\b", " ", text, flags=re.IGNORECASE)
    terms = [term for term in analysis.stems(words) if len(term) > 1][:MAX_TERMS]
    identifiers = list(dict.fromkeys(IDENTIFIER.findall(text)))
    clauses = [part.strip() for part in _CLAUSE.split(text) if part]
    clauses = [clause for clause in clauses if len(analysis.query_words(_content(clause))) >= 2]
    queries = [text, *(match[1] for match in _QUOTED.finditer(text)), *clauses]
    if identifiers:
        queries.insert(1, " ".join(identifiers))
    unique = {" ".join(_content(query).lower().split()): query for query in reversed(queries)}
    chosen = [query for query in dict.fromkeys(queries) if query in unique.values()]
    return Question(
        text, tuple(terms or analysis.stems(text)[:MAX_TERMS]), tuple(identifiers), tuple(chosen[:MAX_QUERIES])
    )


def _content(text: str) -> str:
    return " ".join(word for word in re.findall(r"[\w.]+", text) if word.lower() not in _QUESTION_WORDS)
