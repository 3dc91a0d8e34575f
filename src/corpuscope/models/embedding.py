"""A model that turns texts into vectors: any provider's, one that a server of one's own offers, or a local one."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from ..errors import SetupError, UsageError
from .background import awaited
from .open import at_server, inferred, openai_provider
from .request import Backoff, ContextOverflow, ModelFailed, retried, say_again

if TYPE_CHECKING:
    from pydantic_ai.embeddings import EmbeddingModel

Role = Literal["query", "document"]

TEXTS = 64
"""Of one request."""

AT_ONCE = 8
"""Requests on their way; a local model gets one at a time and uses all processors for it."""

KEY = "EMBEDDING_API_KEY"
"""Has the key of a server at a URL. Not OPENAI_API_KEY: the URL stands in the corpus, which may be somebody else's."""

SECONDS = 3600.0
"""For one batch, with all its tries."""


class Embedding:
    """The model named `provider:model`, `sentence-transformers:NAME_OR_FOLDER`, or `NAME@URL` at an OpenAI-compatible server.

    May be called from any thread. Raises `UsageError` for a name no provider has, `SetupError` for a missing key or package.
    """

    def __init__(self, name: str, backoff: Backoff | None = None) -> None:
        self.name = name
        self.backoff = backoff or Backoff()
        self.tokens = 0
        """Of all texts so far, where the provider counts them."""
        self._model = _opened(name)
        self._free = asyncio.Semaphore(1 if self._model.system == "sentence-transformers" else AT_ONCE)

    def __call__(self, texts: Sequence[str], role: Role) -> list[Sequence[float]]:
        """One vector a text. Raises `SetupError` for what only a person can repair, or a provider that keeps failing."""
        return awaited(self._embed(texts, role))

    async def _embed(self, texts: Sequence[str], role: Role) -> list[Sequence[float]]:
        parts = [texts[first : first + TEXTS] for first in range(0, len(texts), TEXTS)]
        found = await asyncio.gather(*(self._request(part, role) for part in parts))
        return [vector for part in found for vector in part]

    async def _request(self, texts: Sequence[str], role: Role) -> list[Sequence[float]]:
        async with self._free:
            try:
                result = await retried(
                    lambda: self._model.embed(texts, input_type=role, settings={"truncate": True}),
                    backoff=self.backoff, seconds_left=lambda: SECONDS, on_retry=say_again,
                )  # fmt: skip
            except ContextOverflow:
                result = None
            except (ModelFailed, TimeoutError) as error:
                raise SetupError(
                    f"the embedding model {self.name} fails ({error}); run the same command again, what is done is kept"
                ) from error
        if result is None:
            return await self._shorter(texts, role)
        if len(result.embeddings) != len(texts):
            raise SetupError(
                f"the embedding model {self.name} gave {len(result.embeddings)} vectors for {len(texts)} texts"
            )
        if not all(math.isfinite(sum(vector)) for vector in result.embeddings):
            raise SetupError(f"the embedding model {self.name} gave a vector that holds no numbers; check the server")
        self.tokens += result.usage.input_tokens
        return list(result.embeddings)

    async def _shorter(self, texts: Sequence[str], role: Role) -> list[Sequence[float]]:
        """The same one by one, of a text that is still too long for the model its first half."""
        if len(texts) == 1:
            texts = [texts[0][: len(texts[0]) // 2]]
            if not texts[0]:
                raise SetupError(f"the embedding model {self.name} refuses even the shortest text as too long")
            return await self._request(texts, role)
        found = await asyncio.gather(*(self._request([text], role) for text in texts))
        return [vector for part in found for vector in part]


def _opened(name: str) -> EmbeddingModel:
    model, url = at_server(name)
    if url:
        from pydantic_ai.embeddings.openai import OpenAIEmbeddingModel

        return OpenAIEmbeddingModel(model.removeprefix("openai:"), provider=openai_provider(url, KEY))
    if ":" not in name:
        raise UsageError(
            f"embedding model {name!r}: write provider:model (openai:text-embedding-3-small), "
            "sentence-transformers:NAME, or NAME@URL for a server of your own"
        )
    if name.startswith("sentence-transformers:"):
        from .local import local_library

        local_library()
        from pydantic_ai.embeddings.sentence_transformers import SentenceTransformerEmbeddingModel

        return SentenceTransformerEmbeddingModel(name.partition(":")[2])
    from pydantic_ai.embeddings import infer_embedding_model

    return inferred(name, infer_embedding_model)
