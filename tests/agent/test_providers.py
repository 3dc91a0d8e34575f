"""The same trajectory through each provider's own protocol: calls, reasoning, cached tokens, prices."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from corpuscope.agent import Agent, StopReason, open_model, read_events
from corpuscope.corpus import Corpus
from corpuscope.retrieve import Bm25
from corpuscope.workspace import Workspace, rise_tools

from ..scripted import ANSWER, ScriptedServer, call

STEPS = [
    {"calls": [call("search", {"queries": ["cat"]})], "reasoning": "Cats first."},
    {"calls": [call("bash", {"command": "rg -c sat"}), call("read", {"path": "cats.md"})]},
    ANSWER,
]


@pytest.mark.parametrize(
    ("model", "variable", "suffix"),
    [
        ("openai:gpt-5.4-mini", "OPENAI_BASE_URL", "/v1"),
        ("openai-chat:gpt-5.4-mini", "OPENAI_BASE_URL", "/v1"),
        ("anthropic:claude-sonnet-5-5", "ANTHROPIC_BASE_URL", ""),
    ],
)
def test_a_trajectory_through_each_protocol(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, variable: str, suffix: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test")
    with ScriptedServer(STEPS) as server, Workspace(corpus) as workspace:
        monkeypatch.setenv(variable, server.base_url.removesuffix("/v1") + suffix)
        agent = Agent(
            open_model(model), rise_tools(workspace, Bm25(corpus)), workspace, "prompt", tmp_path / "e.jsonl",
            settings={"cache": True},
        )  # fmt: skip
        result = asyncio.run(agent.run("Where did the cat sit?"))
    assert result.stop_reason is StopReason.ANSWERED and str(result.answer) == "the mat"
    assert (result.spent.model_calls, result.spent.tool_calls) == (3, 3)
    if not model.startswith("openai-chat"):
        assert (result.spent.input_tokens, result.spent.cached_tokens) == (300, 150)
    assert result.spent.dollars is not None and result.spent.dollars > 0
    events = list(read_events(tmp_path / "e.jsonl"))
    texts = [event["text"] for event in events if event["type"] == "tool"]
    assert "cats.md:2" in texts and any("A cat sat." in text for text in texts)
    thoughts = [
        p["content"]
        for e in events
        if e["type"] == "response"
        for p in e["message"]["parts"]
        if p["part_kind"] == "thinking"
    ]
    assert thoughts == ["Cats first."]
    assert "Cats first." in str(server.requests[1]), "reasoning goes back to the provider"
