"""A killed trajectory goes on where it was: nothing lost, nothing paid twice."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from corpuscope.agent import Agent, Event, Result, Spent, StopReason, open_model, read_events
from corpuscope.corpus import Corpus
from corpuscope.errors import UsageError
from corpuscope.retrieve import Bm25
from corpuscope.workspace import Workspace, rise_tools

from ..scripted import ANSWER, ByHistory, Step, call

STEPS: list[Step] = [
    {"calls": [call("search", {"queries": ["cat"]})]},
    {
        "calls": [
            call("bash", {"command": "rg -n sat > /tmp/found; wc -l < /tmp/found"}),
            call("read", {"path": "cats.md"}),
        ]
    },
    {"calls": [call("search", {"queries": ["owl"]})]},
    {"calls": [call("bash", {"command": "cat /tmp/found; ls"})]},
    ANSWER,
]


def run(corpus: Corpus, events: Path, stop_after: int | None = None) -> Result:
    """One run; with `stop_after` it is cut off after so many events, as a kill would."""
    count = 0

    class Killed(BaseException):
        pass

    def watch(event: Event) -> None:
        nonlocal count
        count += 1
        if count == stop_after:
            raise Killed

    with ByHistory(STEPS) as server, Workspace(corpus) as workspace:
        agent = Agent(
            model=open_model("scripted", server.base_url),
            tools=rise_tools(workspace, Bm25(corpus)),
            workspace=workspace,
            system_prompt="prompt",
            events=events,
            on_event=watch,
        )
        try:
            return asyncio.run(agent.run("Where?"))
        except Killed:
            return Result("Where?", None, StopReason.INTERRUPTED, Spent())


def essence(events: Path) -> list[object]:
    """What must not depend on being cut off: replies, calls with their observations, the answer."""
    kept: list[object] = []
    for event in read_events(events):
        if event["type"] == "tool":
            kept.append((event["id"], event["arguments"], event["text"]))
        elif event["type"] == "answer":
            kept.append((event["text"], event["answer"]))
    return sorted(kept, key=str)


@pytest.mark.parametrize("cut_off_after", range(1, 14))
def test_cut_off_anywhere_the_result_is_that_of_an_undisturbed_run(
    corpus: Corpus, tmp_path: Path, cut_off_after: int
) -> None:
    whole, broken = tmp_path / "whole.jsonl", tmp_path / "broken.jsonl"
    undisturbed = run(corpus, whole)
    run(corpus, broken, stop_after=cut_off_after)
    result = run(corpus, broken)
    assert result.answer == undisturbed.answer
    assert essence(broken) == essence(whole)
    assert result.spent.model_calls == undisturbed.spent.model_calls == 5
    assert result.spent.input_tokens == undisturbed.spent.input_tokens == 500
    assert result.spent.tool_calls == undisturbed.spent.tool_calls == 5


@pytest.mark.parametrize("left", [1, 7, 60])
def test_a_line_that_was_being_written_is_dropped(corpus: Corpus, tmp_path: Path, left: int) -> None:
    file = tmp_path / "events.jsonl"
    run(corpus, file, stop_after=4)
    whole = file.read_bytes()
    file.write_bytes(whole + b'{"type":"tool","id":"x","text":"' + b"y" * left)
    assert run(corpus, file).answer is not None
    assert file.read_bytes().startswith(whole)
    assert all(json.loads(line) for line in file.read_bytes().splitlines())


def test_events_are_readable_while_they_are_written(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    file.write_bytes(b'{"type":"start"}\n{"type":"resp')
    assert [event["type"] for event in read_events(file)] == ["start"]


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    file.write_bytes(b'{"type":"start"}\nnonsense\n')
    with pytest.raises(UsageError, match="line 2"):
        list(read_events(file))


def test_an_interrupted_run_says_so_and_goes_on(corpus: Corpus, tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"

    async def interrupted() -> None:
        slow: list[Step] = [STEPS[0], {"calls": [call("bash", {"command": "sleep 30"})]}, ANSWER]
        with ByHistory(slow) as server, Workspace(corpus) as workspace:
            model = open_model("scripted", server.base_url)
            agent = Agent(model, rise_tools(workspace, Bm25(corpus)), workspace, "prompt", file)
            task = asyncio.create_task(agent.run("Where?"))
            await asyncio.sleep(1.0)  # the second call sleeps by now
            task.cancel()
            await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(asyncio.wait_for(interrupted(), 20))
    assert list(read_events(file))[-1]["reason"] == "interrupted"
