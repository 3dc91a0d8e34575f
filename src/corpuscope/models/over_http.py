"""One JSON request to a model server whose protocol no library speaks, with the retries of all others."""

from __future__ import annotations

import os
from typing import Any

from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError

from ..errors import SetupError
from .background import awaited
from .request import Backoff, ContextOverflow, ModelFailed, retried, say_again

SECONDS = 600.0
"""For one request, with all its tries."""


def asked_over_http(url: str, body: dict[str, Any], backoff: Backoff | None = None) -> Any:
    """The JSON reply; the key is OPENAI_API_KEY, if the server wants one. Raises `SetupError` for one that keeps failing."""
    call = retried(
        lambda: _post(url, body),
        backoff=backoff or Backoff(), seconds_left=lambda: SECONDS, on_retry=say_again,
    )  # fmt: skip
    try:
        return awaited(call)
    except (ContextOverflow, ModelFailed, TimeoutError) as error:
        raise SetupError(f"the model server at {url} fails: {error or 'no answer in time'}") from error


async def _post(url: str, body: dict[str, Any]) -> Any:
    import httpx

    key = os.environ.get("OPENAI_API_KEY")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    model = str(body.get("model", ""))
    try:
        async with httpx.AsyncClient(timeout=SECONDS) as client:
            reply = await client.post(url, json=body, headers=headers)
        if reply.status_code >= 400:
            raise ModelHTTPError(reply.status_code, model, reply.text[:500])
        return reply.json()
    except (httpx.HTTPError, ValueError) as error:
        raise ModelAPIError(model, str(error) or type(error).__name__) from error
