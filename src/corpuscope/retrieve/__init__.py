"""Whatever can bound: the Retriever protocol and its engines."""

from collections.abc import Callable

from ..corpus import Corpus
from .analysis import LANGUAGES, Analysis, searchable
from .bm25 import Bm25, follow_ingest
from .grep import NOTHING, Dialect, GrepIndex, Need, Unreadable, need_of, need_of_literal, one_of
from .protocol import Hit, Index, Retriever
from .snippet import Snippet, snippet, snippet_of

ENGINES: dict[str, Callable[[Corpus], Retriever]] = {"bm25": Bm25}
"""By the name a system gives."""

__all__ = [
    "ENGINES", "LANGUAGES", "NOTHING", "Analysis", "Bm25", "Dialect", "GrepIndex", "Hit", "Index", "Need", "Retriever", "Snippet",
    "Unreadable", "follow_ingest", "need_of", "need_of_literal", "one_of", "searchable", "snippet", "snippet_of",
]  # fmt: skip
