"""A model by its `provider:model` name, or one that a server of one's own offers."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar
from urllib.request import urlopen

from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model, infer_model

from ..errors import SetupError, UsageError

if TYPE_CHECKING:
    from pydantic_ai.providers.openai import OpenAIProvider

Opened = TypeVar("Opened")


def open_model(name: str, base_url: str = "") -> Model:
    """The model of that name. `base_url` is any OpenAI-compatible server; its key is OPENAI_API_KEY, if it wants one.

    Raises `UsageError` for a name no provider has, `SetupError` for a missing key or package.
    """
    if base_url:
        from pydantic_ai.models.openai import OpenAIChatModel

        return OpenAIChatModel(name.removeprefix("openai:"), provider=openai_provider(base_url))
    if ":" not in name:
        raise UsageError(f"model {name}: write provider:model (openai:gpt-5.4-mini), or add --base-url")
    return inferred(name, infer_model)


def inferred(name: str, infer: Callable[[str], Opened]) -> Opened:
    """`infer(name)`. Raises `UsageError` for a name no provider has, `SetupError` for a missing key or package."""
    try:
        return infer(name)
    except UserError as error:
        raise SetupError(f"cannot use {name}: {' '.join(str(error).split())}") from error
    except ImportError as error:
        raise SetupError(f"{name} needs a package: pip install 'pydantic-ai-slim[{name.split(':')[0]}]'") from error
    except ValueError as error:
        raise UsageError(f"model {name}: {error}") from error


def at_server(name: str) -> tuple[str, str]:
    """(model, URL) of NAME@URL, a model of a server of one's own; the URL of any other is empty."""
    model, _, url = name.rpartition("@")
    return (model, url) if url.startswith(("http://", "https://")) and model else (name, "")


def openai_provider(base_url: str, key: str = "OPENAI_API_KEY") -> OpenAIProvider:
    """Any OpenAI-compatible server; `key` is the variable that has its key, if it wants one."""
    from pydantic_ai.providers.openai import OpenAIProvider

    return OpenAIProvider(base_url=_url(base_url), api_key=os.environ.get(key) or "none")


def served_model(base_url: str) -> str:
    """The first model that the server at `base_url` offers, for people who serve one."""
    try:
        with urlopen(_url(base_url).rstrip("/") + "/models", timeout=10) as reply:
            return str(json.load(reply)["data"][0]["id"])
    except (OSError, ValueError, LookupError) as error:
        raise UsageError(f"{base_url} does not list its models ({error}); name one with --model") from error


def _url(base_url: str) -> str:
    if not base_url.startswith(("http://", "https://")):
        raise UsageError(f"--base-url {base_url} is no URL; it looks like http://127.0.0.1:8000/v1")
    return base_url
