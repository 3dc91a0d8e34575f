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


class Retriever(Protocol):
    """An engine over one corpus. Never stale: `search` answers for the corpus as it stands, or raises."""

    name: str

    def update(self, progress: Progress | None = None) -> int:
        """Bring the index to the corpus's revision, from nothing if there is none; returns documents read."""

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """One ranking a query, best first, at most `k` hits; empty for a query without a searchable word."""
