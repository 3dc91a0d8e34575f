"""A corpus and the model of a scripted provider, through its own protocol."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pydantic_ai.models import Model

from corpuscope.models import open_model

from ..scripted import ScriptedServer

OpenModel = Callable[..., Model]


@pytest.fixture
def model_of(monkeypatch: pytest.MonkeyPatch) -> OpenModel:
    """`model_of(server, "openai:gpt-5.4-nano")`: the real client of that provider, talking to `server`."""

    def make(server: ScriptedServer, name: str = "openai:gpt-5.4-nano") -> Model:
        for key in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
            monkeypatch.setenv(key, "test")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.base_url.removesuffix("/v1"))
        return open_model(name)

    return make
