"""Which model answers: a `provider:model` name, a server of one's own, or the scout."""

from __future__ import annotations

import os

from pydantic_ai.models import Model

from ..errors import UsageError
from ..models import open_model as open_language_model
from .ranker import RANKER, ranker_model
from .scout import SCOUT, scout_model

DEFAULTS = (
    ("OPENAI_API_KEY", "openai:gpt-5.4-mini"),
    ("ANTHROPIC_API_KEY", "anthropic:claude-sonnet-5-5"),
)
"""Environment variable -> the model used when it is set and none is named; the first is the RISE paper's."""


def default_model() -> str:
    """The model for the first key in the environment, else `scout`."""
    return next((model for key, model in DEFAULTS if os.environ.get(key)), SCOUT)


def open_model(name: str, base_url: str = "") -> Model:
    """`corpuscope.models.open_model`, with the fixed policies as more names."""
    if name == SCOUT and not base_url:
        return scout_model()
    if name == RANKER and not base_url:
        return ranker_model()
    if ":" not in name and not base_url:
        raise UsageError(f"--model {name}: write provider:model (openai:gpt-5.4-mini), scout, or add --base-url")
    return open_language_model(name, base_url)
