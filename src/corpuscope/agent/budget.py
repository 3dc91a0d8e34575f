"""What one question may use, and the ways in which it can end."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field


class StopReason(StrEnum):
    """Why a trajectory ended. Only ANSWERED and FORCED have an answer; FORCED is one that a system asked for when a limit
    was reached (`detail` says which)."""

    ANSWERED = "answered"
    FORCED = "forced"
    MODEL_CALLS = "model_calls"
    WALL_CLOCK = "wall_clock"
    MONEY = "money"
    CONTEXT_OVERFLOW = "context_overflow"
    MALFORMED_CALLS = "malformed_calls"
    EMPTY_REPLY = "empty_reply"
    MODEL_ERROR = "model_error"
    INTERRUPTED = "interrupted"

    @property
    def has_answer(self) -> bool:
        return self in (StopReason.ANSWERED, StopReason.FORCED)

    @property
    def resumable(self) -> bool:
        """Whether going on may end otherwise: the cause lay outside the trajectory."""
        return self in (StopReason.MODEL_ERROR, StopReason.INTERRUPTED)


class Budget(BaseModel):
    """RISE, section 4: 100 model calls and one hour for each question. `dollars` None is no limit."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model_calls: int = Field(default=100, ge=1)
    seconds: float = Field(default=3600.0, gt=0)
    dollars: float | None = Field(default=None, gt=0)


class Spent(BaseModel):
    """What a trajectory has used. Tokens read from the provider's cache are part of `input_tokens`.

    `dollars` is None when the model's price is not known; replies without usage are counted in `unmeasured`. Of the
    `sent_characters` of all requests, `prefix_characters` stood at the same place in the request before: what a provider's
    cache could have had.
    """

    model_calls: int = 0
    tool_calls: int = 0
    seconds: float = 0.0
    input_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    unmeasured: int = 0
    sent_characters: int = 0
    prefix_characters: int = 0
    dollars: float | None = 0.0

    def pay(self, dollars: float | None) -> None:
        """Add what something cost; None, what nobody knows the price of, makes the sum unknown."""
        self.dollars = None if dollars is None or self.dollars is None else self.dollars + dollars

    def exceeds(self, budget: Budget) -> StopReason | None:
        """The limit that forbids another model call."""
        if self.model_calls >= budget.model_calls:
            return StopReason.MODEL_CALLS
        if self.seconds >= budget.seconds:
            return StopReason.WALL_CLOCK
        if budget.dollars is not None and self.dollars is not None and self.dollars >= budget.dollars:
            return StopReason.MONEY
        return None
