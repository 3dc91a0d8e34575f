"""The best of a ranking put into a better order by a model that reads them: a cross-encoder, or a language model."""

from __future__ import annotations

from collections.abc import Callable

from ...errors import UsageError
from .cross_encoder import cross_encoder
from .judges import Listwise, Pointwise, Setwise
from .reranked import DEPTH, Order, Reranked

RERANKERS: dict[str, Callable[[str], Order]] = {
    "cross-encoder": cross_encoder, "pointwise": Pointwise, "setwise": Setwise, "listwise": Listwise,
}  # fmt: skip
"""By the name that stands before the model's: `listwise:openai:gpt-5.4-mini`."""


def reranker(name: str) -> Order:
    """The reranker KIND:MODEL. Raises `UsageError` for a kind there is not, `SetupError` for a model that cannot be had."""
    kind, _, model = name.partition(":")
    if kind not in RERANKERS or not model:
        raise UsageError(f"the reranker {name!r} is none: write KIND:MODEL with one of {', '.join(RERANKERS)}")
    return RERANKERS[kind](model)


__all__ = ["DEPTH", "RERANKERS", "Listwise", "Order", "Pointwise", "Reranked", "Setwise", "reranker"]
