"""Whatever can bound: the Retriever protocol and its engines."""

from .analysis import LANGUAGES, Analysis, searchable
from .bm25 import Bm25, follow_ingest
from .protocol import Hit, Retriever
from .snippet import Snippet, snippet

__all__ = ["LANGUAGES", "Analysis", "Bm25", "Hit", "Retriever", "Snippet", "follow_ingest", "searchable", "snippet"]
