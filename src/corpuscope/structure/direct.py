"""Proposals by requests sent now, some at a time."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable

from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings

from ..models import Backoff, price, request
from .proposal import Request
from .purse import Purse
from .records import Records

CONCURRENCY = 16
"""Requests on their way at once; a provider that takes fewer says so, and is asked again later."""

SETTINGS = ModelSettings(thinking="low", max_tokens=8_000)
"""Low reasoning effort (RISE, 3.2); a reply that goes on for ever ends."""


class DirectAsk:
    """Sends each request at once. Replies are kept until their document is done: a killed run pays none twice."""

    def __init__(
        self, model: Model, records: Records, purse: Purse, backoff: Backoff, on_retry: Callable[[str, float], None]
    ) -> None:
        self.model, self.records, self.purse, self.backoff = model, records, purse, backoff
        self.on_retry = on_retry
        self._turn = asyncio.Semaphore(CONCURRENCY)

    async def __call__(self, question: Request) -> str:
        if (kept := self.records.reply(question.id)) is not None:
            return kept
        async with self._turn:
            with self.purse.reserving(question.size):
                response = await request(
                    self.model,
                    question.messages(),
                    ModelSettings(max_retries=0, **SETTINGS),
                    ModelRequestParameters(),
                    backoff=self.backoff,
                    seconds_left=lambda: math.inf,
                    on_retry=self.on_retry,
                )
        return take(question.id, question.key, response, self.records, self.purse)


def take(request_id: str, key: int, response: ModelResponse, records: Records, purse: Purse) -> str:
    """Keep a reply and its price, both or neither; returns its text."""
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    dollars = price(response)
    with records.transaction():
        records.keep_reply(request_id, text, key)
        records.count(purse.model.model_name, response.usage.input_tokens, response.usage.output_tokens, dollars)
    purse.pay(response, dollars)
    return text
