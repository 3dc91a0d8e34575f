"""The scout: a fixed policy in the place of a language model, for machines without a key or a server.

It makes the calls an agent would (sub-queries, grep, read, a second hop with what the first one found) in
the same loop through the same tools, and returns the passages that hold most of the question.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic_ai.models import Model

__all__ = ["SCOUT", "scout_model"]

SCOUT = "scout"


def scout_model() -> Model:
    """The policy as a pydantic-ai model. It keeps no state: each call is decided from the history alone."""
    from pydantic_ai.models.function import FunctionModel

    from .policy import scout

    return FunctionModel(scout, model_name=SCOUT)
