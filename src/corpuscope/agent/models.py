"""Which model answers: a `provider:model` name, a server of one's own, or the scout."""

from __future__ import annotations

import os

from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model, infer_model

from ..errors import SetupError, UsageError
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
    """The model of that name. `base_url` is any OpenAI-compatible server; its key is OPENAI_API_KEY, if it wants one.

    Raises `UsageError` for a name no provider has, `SetupError` for a missing key or package.
    """
    if base_url:
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.providers.openai import OpenAIProvider

        if not base_url.startswith(("http://", "https://")):
            raise UsageError(f"--base-url {base_url} is no URL; it looks like http://127.0.0.1:8000/v1")
        provider = OpenAIProvider(base_url=base_url, api_key=os.environ.get("OPENAI_API_KEY") or "none")
        return OpenAIChatModel(name.removeprefix("openai:"), provider=provider)
    if name == SCOUT:
        return scout_model()
    if ":" not in name:
        raise UsageError(f"--model {name}: write provider:model (openai:gpt-5.4-mini), scout, or add --base-url")
    try:
        return infer_model(name)
    except UserError as error:
        raise SetupError(f"cannot use {name}: {' '.join(str(error).split())}") from error
    except ImportError as error:
        raise SetupError(f"{name} needs a package: pip install 'pydantic-ai-slim[{name.split(':')[0]}]'") from error
    except ValueError as error:
        raise UsageError(f"--model {name}: {error}") from error
