"""When an index is brought to the corpus's revision, and by whom."""

from __future__ import annotations

from collections.abc import Callable

from ..corpus import Corpus, one_at_a_time
from ..errors import UsageError
from .protocol import Index

LOCK_SECONDS = 30.0
"""How long to wait for another process that is bringing the same index up to date."""


def caught_up(index: Index, corpus: Corpus, catch_up: Callable[[], int]) -> int:
    """What `catch_up` returns, the documents read, where the index is behind; 0 where it is not, or no longer.

    Raises `UsageError` for a corpus that is unfinished.
    """
    if not corpus.finished:
        raise UsageError(
            f"{corpus.root} is unfinished (its last index run was cut off or met bad rows); run corpuscope index again"
        )
    if index.fresh:
        return 0
    with one_at_a_time(corpus.root, wait=LOCK_SECONDS):
        return 0 if index.fresh else catch_up()
