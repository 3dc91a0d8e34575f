"""An agent over a small corpus, its model a scripted server reached through the real client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from corpuscope.agent import Agent, Event, Result, open_model, read_events
from corpuscope.corpus import Corpus
from corpuscope.models import Backoff
from corpuscope.retrieve import Bm25
from corpuscope.workspace import Workspace, rise_tools

from ..conftest import MakeCorpus
from ..scripted import ScriptedServer, Step

FILES = {
    "cats.md": "# Cats\n\nA cat sat.\nIt sat on the mat.\n",
    "dogs.md": "# Dogs\n\nA dog barked at the cat.\n",
    "birds/owl.md": "# Owl\n\nAn owl flew.\n",
}


@dataclass
class Trial:
    """One trajectory and what the server saw of it."""

    result: Result
    events: list[Event]
    requests: list[dict[str, Any]]

    def observations(self) -> list[str]:
        return [event["text"] for event in self.events if event["type"] == "tool"]


RunAgent = Callable[..., Trial]


@pytest.fixture
def corpus(make_corpus: MakeCorpus) -> Corpus:
    return make_corpus(FILES)


@pytest.fixture
def run_agent(corpus: Corpus, tmp_path: Path) -> Iterator[RunAgent]:
    """`run_agent(steps, question="?", events=FILE, **agent_fields)`."""

    def run(steps: Sequence[Step], *, model: str = "scripted", events: str = "events.jsonl", **fields: Any) -> Trial:
        file = tmp_path / events
        with ScriptedServer(steps) as server, Workspace(corpus) as workspace:
            agent = Agent(
                model=open_model(model, server.base_url),
                tools=rise_tools(workspace, Bm25(corpus)),
                workspace=workspace,
                system_prompt="You are a scripted agent.",
                events=file,
                **{"backoff": Backoff(tries=4, first=0.01), **fields},
            )
            result = asyncio.run(agent.run("Where did the cat sit?"))
            return Trial(result, list(read_events(file)), server.requests)

    yield run
