"""Query and passage read together by a small model: a local one, or one behind the `rerank` call that servers share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import SetupError
from .reranked import Order


def cross_encoder(name: str) -> Order:
    """`NAME_OR_FOLDER` in this process (sentence-transformers), or `NAME@URL` (llama.cpp, vLLM, Jina, Cohere: POST URL/rerank)."""
    from ...models import at_server, local_model

    model, url = at_server(name)
    if url:
        return lambda query, passages: _best_first(_served(model, url, query, passages))
    opened: Any = local_model(lambda library: library.CrossEncoder, name.removeprefix("sentence-transformers:"))
    return lambda query, passages: _best_first(
        opened.predict([(query, p) for p in passages], show_progress_bar=False).tolist()
    )


def _best_first(scores: Sequence[float]) -> list[int]:
    """Places by falling score; of equals the first stays first."""
    return sorted(range(len(scores)), key=lambda place: -scores[place])


def _served(model: str, url: str, query: str, passages: Sequence[str]) -> list[float]:
    from ...models import asked_over_http

    reply = asked_over_http(f"{url.rstrip('/')}/rerank", {"model": model, "query": query, "documents": list(passages)})
    scores = [float("-inf")] * len(passages)
    try:
        for result in reply["results"]:
            scores[result["index"]] = float(result["relevance_score"])
    except (LookupError, TypeError, ValueError) as error:
        raise SetupError(f"{url} does not answer as a rerank server does ({error!r}); check the address") from error
    return scores
