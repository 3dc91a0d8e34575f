"""What every engine that can bound a workspace offers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

Progress = Callable[[int, int], None]
"""`progress(done, total)` in documents."""


class Hit(NamedTuple):
    """A ranked document. Scores compare within one ranking only."""

    docid: str
    score: float


class Index(Protocol):
    """What is built from a corpus and follows it."""

    name: str

    @property
    def fresh(self) -> bool:
        """Whether it stands at the corpus's revision."""

    def update(self, progress: Progress | None = None) -> int:
        """Bring the index to the corpus's revision, from nothing if there is none; returns documents read."""


class Retriever(Index, Protocol):
    """An engine over one corpus. Never stale: `search` answers for the corpus as it stands, or raises."""

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """One ranking a query, best first, at most `k` hits; empty for a query without a searchable word."""
