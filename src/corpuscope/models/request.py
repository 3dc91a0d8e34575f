"""One request to a model: retried with back-off, its usage and money counted (case J2)."""

from __future__ import annotations

import asyncio
import logging
import random
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from genai_prices import Usage, calc_price
from genai_prices.types import PriceCalculation
from pydantic_ai import direct, exceptions
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings

from ..errors import CorpuscopeError, SetupError

Reply = TypeVar("Reply")

_OVERFLOW = re.compile(
    r"context.{0,20}(length|window|size)|prompt is too long|too many (input )?tokens|maximum.{0,40}token", re.I
)


@dataclass(frozen=True, slots=True)
class Backoff:
    """Waits of `first`, 2 x `first`, 4 x `first` ... seconds, at most `longest`, some of it by chance."""

    tries: int = 7
    first: float = 1.0
    longest: float = 60.0

    def wait(self, failed: int, asked: float | None) -> float:
        """Seconds before the next try after `failed` failures; what the provider asks for is the least."""
        own = min(self.longest, self.first * 2.0 ** (failed - 1)) * random.uniform(0.75, 1.25)
        return max(own, asked or 0.0)


class ContextOverflow(Exception):
    """The model's context window is full: the caller must send less."""


class ModelFailed(Exception):
    """The provider fails, and trying again did not help."""


async def request(
    model: Model,
    messages: Sequence[ModelMessage],
    settings: ModelSettings,
    parameters: ModelRequestParameters,
    *,
    backoff: Backoff,
    seconds_left: Callable[[], float],
    on_retry: Callable[[str, float], None],
) -> ModelResponse:
    """The model's reply. `on_retry(error, wait)` is told of each failure.

    Raises `ContextOverflow`, `ModelFailed`, `TimeoutError` when the time is used up, and `SetupError` for
    what only a person can repair: a refused key, an unknown model, no credit.
    """
    return await retried(
        lambda: direct.model_request(
            model, messages, model_settings=settings, model_request_parameters=parameters, instrument=False
        ),
        backoff=backoff, seconds_left=seconds_left, on_retry=on_retry,
    )  # fmt: skip


async def retried(
    call: Callable[[], Awaitable[Reply]],
    *,
    backoff: Backoff,
    seconds_left: Callable[[], float],
    on_retry: Callable[[str, float], None],
) -> Reply:
    """What `call` returns, tried again with back-off while its failures may pass; raises as `request`."""
    failed = 0
    while True:
        try:
            async with asyncio.timeout(max(0.0, seconds_left())):
                return await call()
        except (exceptions.ModelAPIError, exceptions.UnexpectedModelBehavior) as error:
            failed += 1
            if final := final_error(error):
                raise final from error
            if failed >= backoff.tries:
                raise ModelFailed(one_line(error)) from error
            wait = backoff.wait(failed, getattr(error, "retry_after", None))
            if wait >= seconds_left():
                raise ModelFailed(f"{one_line(error)} (asked to wait {wait:.0f} s, more than is left)") from error
            on_retry(one_line(error), wait)
            await asyncio.sleep(wait)


def say_again(error: str, wait: float) -> None:
    """Tell of a failure where nobody else listens: in the log, which goes to standard error unless a program wants it elsewhere."""
    logging.getLogger("corpuscope").warning("the model fails (%s); trying again in %.0f s", error, wait)


def price(response: ModelResponse) -> float | None:
    """US dollars for one reply by public list prices, None where they or its usage are not known."""
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError, AssertionError):
        return None


def estimate_price(model: Model, input_tokens: int, output_tokens: int, *, batch: bool = False) -> float | None:
    """US dollars that so many tokens cost by public list prices, None where they are not known."""
    usage = Usage(input_tokens=input_tokens, output_tokens=output_tokens)
    listed = _listed(model, usage, {"processing": "batch"} if batch else None)
    return float(listed.total_price) if listed else None


def context_window(model: Model) -> int | None:
    """Tokens that the model takes at most, None where that is not known."""
    listed = _listed(model, Usage())
    return listed.model.context_window if listed else None


def _listed(model: Model, usage: Usage, context: Mapping[str, str] | None = None) -> PriceCalculation | None:
    """By the address that the model is reached at, else by its provider's name."""
    name = model.model_name
    try:
        return calc_price(usage, name, provider_api_url=model.base_url, price_context=context)
    except (LookupError, AttributeError):
        pass
    try:
        return calc_price(usage, name, provider_id=model.system, price_context=context)
    except LookupError:
        return None


def final_error(error: Exception) -> Exception | None:
    """What a provider's error means where asking again cannot help: `ContextOverflow`, `SetupError`, `ModelFailed`."""
    if _overflowed(error):
        return ContextOverflow(str(error))
    if person := _for_a_person(error):
        return person
    return None if _passing(error) else ModelFailed(one_line(error))


def _overflowed(error: Exception) -> bool:
    return isinstance(error, exceptions.ModelContextWindowExceededError) or (
        isinstance(error, exceptions.ModelHTTPError)
        and error.status_code in (400, 413)
        and bool(_OVERFLOW.search(str(error)))
    )


def _for_a_person(error: Exception) -> CorpuscopeError | None:
    if isinstance(error, exceptions.ModelAuthenticationError):
        return SetupError(f"the provider refuses the API key: check it ({one_line(error)})")
    if isinstance(error, exceptions.ModelNotFoundError):
        return SetupError(f"the provider does not know this model: check --model ({one_line(error)})")
    if isinstance(error, exceptions.ModelQuotaExceededError):
        return SetupError(f"no credit left at the provider: add some, then --resume ({one_line(error)})")
    return None


def _passing(error: Exception) -> bool:
    """Whether the same request may succeed later."""
    if isinstance(error, exceptions.ModelHTTPError):
        return error.status_code in (408, 409, 425, 429) or error.status_code >= 500
    return not isinstance(error, exceptions.ContentFilterError)


def one_line(error: Exception) -> str:
    """What a provider said, short."""
    return " ".join(str(error).split())[:300]
