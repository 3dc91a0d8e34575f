"""What the proposals cost: estimated before, counted as replies come, and kept below a limit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import Model

from ..errors import UsageError
from ..models import estimate_price
from .proposal import PROMPT, WINDOW, windows

CHARACTERS_PER_TOKEN = 3.5
"""Of running text, on the careful side."""

OUTPUT_TOKENS = 1_200
"""Of one reply, with some reasoning: eight sections are about 500, and RISE reports $0.0014 a document in all."""


class CostCap(Exception):
    """The limit forbids another request."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What asking about `documents` will take; `dollars` is None where the model's price is not known."""

    documents: int
    requests: int
    input_tokens: int
    output_tokens: int
    dollars: float | None


def estimate(model: Model, sizes: Iterable[int], *, batch: bool) -> Estimate:
    """For documents of these `sizes` in bytes."""
    documents = requests = characters = 0
    for size in sizes:
        documents += 1
        parts = windows(size) if size > WINDOW else ()
        requests += len(parts) or 1
        characters += sum(part.end - part.start for part in parts) or size
    tokens_in = round((characters + requests * len(PROMPT)) / CHARACTERS_PER_TOKEN)
    tokens_out = requests * OUTPUT_TOKENS
    dollars = estimate_price(model, tokens_in, tokens_out, batch=batch)
    return Estimate(documents, requests, tokens_in, tokens_out, dollars)


@dataclass(slots=True)
class Purse:
    """Dollars of one run. Requests on their way are reserved at their estimate, so that many at once keep the limit."""

    model: Model
    limit: float | None = None
    batch: bool = False
    spent: float = 0.0
    reserved: float = 0.0
    replies: int = 0
    unpriced: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def expected(self, size: int) -> float:
        """Dollars for a request of `size` bytes; 0 where the price is not known."""
        return estimate_price(self.model, round(size / CHARACTERS_PER_TOKEN), OUTPUT_TOKENS, batch=self.batch) or 0.0

    def reserve(self, dollars: float) -> None:
        """Raises `CostCap` if that could pass the limit."""
        if self.limit is not None and self.spent + self.reserved + dollars > self.limit:
            raise CostCap
        self.reserved += dollars

    def release(self, dollars: float) -> None:
        self.reserved -= dollars

    @contextmanager
    def reserving(self, size: int) -> Iterator[None]:
        dollars = self.expected(size)
        self.reserve(dollars)
        try:
            yield
        finally:
            self.release(dollars)

    def pay(self, response: ModelResponse, dollars: float | None) -> None:
        """Count a reply and its price. Raises `UsageError` if there is a limit and the price is not known."""
        self.replies += 1
        self.input_tokens += response.usage.input_tokens
        self.output_tokens += response.usage.output_tokens
        self.spent += dollars or 0.0
        self.unpriced += dollars is None
        if dollars is None and self.limit is not None:
            raise UsageError(
                f"no price is known for {response.model_name}, so --max-cost cannot be kept: leave it out, or choose "
                "a model with public prices"
            )
