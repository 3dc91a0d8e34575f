"""What the policy removed, beside what a real server was really sent; where gold came to the surface, by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from corpuscope.agent import PLACEHOLDER, POLICIES, Agent, Event, open_model, read_events
from corpuscope.bench import Evidence, Question
from corpuscope.corpus import Corpus
from corpuscope.models import Backoff
from corpuscope.retrieve import Bm25
from corpuscope.serve.viewer.marks import Removal, gold_marks, removals
from corpuscope.systems import load_system
from corpuscope.workspace import Workspace, rise_tools

from ...conftest import MakeCorpus
from ...scripted import ScriptedServer, Step, call
from .trajectories import observed, trajectory

OVERFLOW: Step = {"status": 400, "error": {"message": "maximum context length", "code": "context_length_exceeded"}}


@pytest.fixture
def long_corpus(make_corpus: MakeCorpus) -> Corpus:
    """One document of 60,000 characters and one of a few."""
    return make_corpus({"long.md": "a line of a long document\n" * 2400, "short.md": "a line of a short document\n"})


def asked(corpus: Corpus, steps: Sequence[Step], context: str, file: Path) -> tuple[list[Event], list[dict[str, Any]]]:
    """(events, requests) of a real agent under a context policy."""
    with ScriptedServer(steps) as server, Workspace(corpus) as workspace:
        agent = Agent(
            model=open_model("scripted", server.base_url), tools=rise_tools(workspace, Bm25(corpus)), workspace=workspace,
            system_prompt="You are a scripted agent.", events=file, policy=POLICIES[context], backoff=Backoff(first=0.01),
        )  # fmt: skip
        asyncio.run(agent.run("?"))
        return list(read_events(file)), [request for request in server.requests if request.get("tools")]


def reads(count: int, path: str = "long.md", **more: Any) -> list[Step]:
    return [{"calls": [call("read", {"path": path})], **more}] * count


SEARCH: Step = {"calls": [call("search", {"queries": ["document"]})]}
DONE: Step = {"text": "Exact Answer: done"}

TRIALS: dict[str, tuple[str, list[Step]]] = {
    "nothing": ("level0", [SEARCH, *reads(3), DONE]),
    "cut": ("level2", [SEARCH, *reads(2), *reads(1, "short.md"), DONE]),
    "blanked": ("level3", [SEARCH, *reads(16), *reads(3, "short.md"), DONE]),
    "frugal": ("frugal", [SEARCH, *reads(14), *reads(3, "short.md"), DONE]),
    "several calls a turn": ("level3", [SEARCH, *([{"calls": [call("read", {"path": "long.md"}), call("read", {"path": "short.md"})]}] * 15), DONE]),
    "ids used again": ("level3", [SEARCH, *([{"calls": [call("read", {"path": "long.md"}, id="same")]}] * 15), DONE]),
    "overflow": ("level3", [SEARCH, *reads(4), OVERFLOW, *reads(2), DONE]),
    "summary": ("level4", [SEARCH, *reads(12, text="thinking aloud " * 2000), {"text": "What was found."}, *reads(2, "short.md"), DONE]),
}  # fmt: skip


@pytest.mark.parametrize("trial", TRIALS)
def test_removals_are_what_was_not_sent(long_corpus: Corpus, tmp_path: Path, trial: str) -> None:
    context, steps = TRIALS[trial]
    events, requests = asked(long_corpus, steps, context, tmp_path / "events.jsonl")
    system = load_system("rise-bm25").changed(context=context)
    found = removals(system, "answer", events)
    texts = [event["text"] for event in events if event["type"] == "tool"]
    answered = [request for request in requests if not _refused(request, requests)]
    turns = sum(event["type"] == "response" for event in events)
    assert len(answered) == turns > 4
    made = 0
    for turn, request in enumerate(answered, 1):
        state = {change.call: change for change in found if change.turn <= turn}
        sent = [message["content"] for message in request["messages"] if message["role"] == "tool"]
        expected = [_left(texts[number - 1], state.get(number)) for number in range(1, made + 1)]
        # calls of one turn end in any order
        assert sorted(map(_start, sent)) == sorted(_start(text) for text in expected if text is not None)
        made += sum(event["type"] == "tool" for event in _of_turn(events, turn))
    kinds = {change.how for change in found}
    assert kinds == {"nothing": set(), "cut": {"cut"}, "summary": {"cut", "summarised"}}.get(trial, {"cut", "blanked"})


def _refused(request: dict[str, Any], requests: list[dict[str, Any]]) -> bool:
    """Whether the server said that it was too long: the loop then asked again with as many replies in the history."""
    place = next(i for i, other in enumerate(requests) if other is request)
    return place + 1 < len(requests) and _replies(requests[place + 1]) == _replies(request)


def _replies(request: dict[str, Any]) -> int:
    return sum(message["role"] == "assistant" for message in request["messages"]) + (
        100 * ("Summary of the work so far" in str(request["messages"][:3]))
    )


def _of_turn(events: Sequence[Event], turn: int) -> list[Event]:
    found: list[Event] = []
    number = 0
    for event in events:
        number += event["type"] == "response"
        if number == turn:
            found.append(event)
    return found


def _left(text: str, change: Removal | None) -> str | None:
    """An observation as the model should have it; None for one that is in no request."""
    if change is None or change.how == "back":
        return text
    if change.how == "summarised":
        return None
    return PLACEHOLDER if change.how == "blanked" else text[: change.kept] + "\n[cut"


def _start(text: str) -> str:
    """All of a text up to the note of how much was cut."""
    return text.partition("\n[cut: ")[0].partition("\n[cut")[0]


def test_where_gold_was_seen_first(make_corpus: MakeCorpus) -> None:
    lines = [f"line {n} of the document about owls" for n in range(1, 100)]
    corpus = make_corpus({"owl.md": "\n".join(lines), "cat.md": "nothing\n"})
    question = Question(
        query_id="q", query="?", gold=("owl.md",), supporting=("owl.md", "cat.md"),
        evidence=(Evidence(docid="owl.md", first=40, last=41),),
    )  # fmt: skip
    turns = [
        ("bash", {"command": "ls"}, "cat.md\nowl.md", {"command": "ls"}),
        ("bash", {"command": "rg owls"}, "owl.md:3:line 3 of the document about owls", {"command": "rg owls"}),
        ("bash", {"command": "rg 'line 40'"}, f"owl.md:40:{lines[39]}", {"command": "rg 'line 40'"}),
        ("bash", {"command": "false"}, f"owl.md:41:{lines[40]}", {"command": "false"}),
    ]
    events = list(trajectory("?", turns))
    events[-2] = observed("bash", {"command": "false"}, "c4", events[-2]["text"], events[-2]["data"], error=True)
    owl, cat = gold_marks(question, corpus, events)
    assert (owl["docid"], owl["answers"], owl["surfaced"], owl["localised"]) == ("owl.md", True, 1, 2)
    assert owl["narrowest"] == [2, len(lines[2])] and owl["evidence_calls"] == [3], "what failed showed nothing"
    assert owl["evidence"] == [[40, 41]] and owl["lines"] == lines[39:41]
    assert (cat["answers"], cat["surfaced"], cat["localised"], cat["narrowest"]) == (False, 1, None, None)
