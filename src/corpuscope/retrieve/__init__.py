"""Whatever can bound: the Retriever protocol and its engines."""

from collections.abc import Callable

from ..corpus import Corpus
from ..errors import UsageError
from .analysis import LANGUAGES, Analysis, searchable
from .bm25 import Bm25, follow_ingest
from .bm25s import Bm25s
from .fused import Fused
from .grep import NOTHING, Dialect, GrepIndex, Need, Unreadable, literals, need_of, need_of_literal, one_of
from .protocol import Hit, Index, Retriever
from .rerank import DEPTH, RERANKERS, Reranked, reranker
from .rm3 import Rm3
from .snippet import MAX_SCANNED, Snippet, snippet, snippet_of
from .vectors import Dense, Late

ENGINES: dict[str, Callable[[Corpus], Retriever]] = {
    "bm25": Bm25,
    "bm25s": Bm25s,
    "dense": Dense,
    "late": Late,
    "rm3": Rm3,
}
"""By the name that a system or `--retriever` gives. Each keeps its index in `index/NAME`."""

MODELLED = ("dense", "late")
"""Those that work with a model, which `index --retriever NAME=MODEL` chooses."""


def retriever(name: str, corpus: Corpus, *, rerank: str = "", depth: int = DEPTH) -> Retriever:
    """The engine of that name over a corpus, or several joined by `+`; its first `depth` documents reranked by `rerank` (KIND:MODEL).

    Raises `UsageError` for one there is not.
    """
    engines = [ENGINES[part](corpus) for part in parts_of(name)]
    found = engines[0] if len(engines) == 1 else Fused(engines)
    return Reranked(found, reranker(rerank), corpus, depth) if rerank else found


def parts_of(name: str) -> list[str]:
    """The engines that a retriever's name joins. Raises `UsageError` for one there is not."""
    parts = name.split("+")
    for part in parts:
        if part not in ENGINES:
            raise UsageError(f"there is no retriever {part!r}: there are {', '.join(ENGINES)}, and several joined by +")
    if len(set(parts)) < len(parts):
        raise UsageError(f"the retriever {name!r} names one engine twice")
    return parts


def engines_of(corpus: Corpus) -> list[str]:
    """Names of the engines whose index the corpus has."""
    return [name for name in ENGINES if (corpus.root / "index" / name).is_dir()]


__all__ = [
    "ENGINES", "LANGUAGES", "MAX_SCANNED", "MODELLED", "NOTHING", "RERANKERS", "Analysis", "Bm25", "Bm25s", "Dense", "Dialect", "GrepIndex", "Hit", "Index", "Late", "Need", "Reranked", "Retriever", "Rm3", "Snippet",
    "Unreadable", "engines_of", "follow_ingest", "literals", "need_of", "need_of_literal", "one_of", "parts_of", "reranker", "retriever", "searchable", "snippet", "snippet_of",
]  # fmt: skip
