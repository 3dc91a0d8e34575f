"""Context policies at work in the loop: summaries are asked for, paid, recorded and replayed; the cached share is counted."""

from __future__ import annotations

import json
from typing import Any

from corpuscope.agent import POLICIES, StopReason
from corpuscope.agent.context import PLACEHOLDER, Kept, Pressure
from corpuscope.agent.context.levels import SUMMARY
from corpuscope.models import Backoff

from ..scripted import ANSWER, Step, call
from .conftest import RunAgent

SEARCH: Step = {"calls": [call("search", {"queries": ["cat"]})]}
LONG: Step = {"calls": [call("bash", {"command": "printf 'x%.0s' $(seq 3900)"})]}


def said(request: dict[str, Any]) -> str:
    return json.dumps(request["messages"])


def early(messages: Any, pressure: Pressure) -> Kept:
    """Level 4 that wants a summary once, as soon as there are three turns."""
    kept = POLICIES["level4"](messages, pressure)
    if len(messages) >= 7 and not pressure.upto and pressure.failures < 3:
        return Kept(kept.messages, wants_summary=5)
    return kept


def test_a_summary_replaces_the_older_history(run_agent: RunAgent) -> None:
    steps = [SEARCH, LONG, LONG, {"text": "The cat sits on the mat [cats.md:4]."}, ANSWER]
    trial = run_agent(steps, policy=early)
    asked, after = trial.requests[3], trial.requests[4]
    assert "tools" not in asked and "You summarise the work" in said(asked) and "[agent calls search]" in said(asked)
    assert SUMMARY.split(",")[0] in said(after) and "The cat sits on the mat" in said(after)
    assert len(after["messages"]) == 5, "system, question, summary, and the latest turn"
    (event,) = [event for event in trial.events if event["type"] == "summary"]
    assert (event["upto"], event["text"], event["error"]) == (5, "The cat sits on the mat [cats.md:4].", "")
    assert trial.result.spent.model_calls == 4, "a summary is no turn"
    assert trial.result.spent.input_tokens == 500, "and is paid like any other request"


def test_a_resumed_run_goes_on_from_its_summary(run_agent: RunAgent) -> None:
    steps = [SEARCH, LONG, LONG, {"text": "All is known."}, {"status": 400, "error": {"message": "gone"}}, ANSWER]
    backoff = Backoff(tries=1, first=0.01)
    first = run_agent(steps[:5], policy=early, backoff=backoff)
    assert first.result.stop_reason is StopReason.MODEL_ERROR
    second = run_agent([ANSWER], policy=early)
    assert second.result.stop_reason is StopReason.ANSWERED
    assert len(second.requests) == 1 and "All is known." in said(second.requests[0])


def test_three_summaries_that_fail_are_the_last(run_agent: RunAgent) -> None:
    failing: Step = {"status": 400, "error": {"message": "no"}}
    trial = run_agent([SEARCH, LONG, LONG, failing, failing, failing, ANSWER], policy=early)
    failed = [event for event in trial.events if event["type"] == "summary"]
    assert [bool(event["error"]) for event in failed] == [True] * 3
    assert trial.result.stop_reason is StopReason.ANSWERED and len(trial.requests) == 7


def test_an_overflow_that_a_policy_cannot_answer_ends_the_trajectory_at_once(run_agent: RunAgent) -> None:
    too_long: Step = {"status": 400, "error": {"message": "maximum context length", "code": "context_length_exceeded"}}
    trial = run_agent([SEARCH, too_long], policy=POLICIES["level0"])
    assert trial.result.stop_reason is StopReason.CONTEXT_OVERFLOW and len(trial.requests) == 2


def test_what_a_cache_could_have_had_is_counted(run_agent: RunAgent) -> None:
    trial = run_agent([SEARCH, LONG, LONG, LONG, ANSWER], policy=POLICIES["level0"])
    spent = trial.result.spent
    assert 0.5 < spent.prefix_characters / spent.sent_characters < 1, "each request repeats the one before"

    def blank(messages: Any, pressure: Pressure) -> Kept:
        """The worst: another placeholder in the first result at every turn."""
        from corpuscope.agent.context.policy import shortened

        return Kept([shortened(m, lambda text: f"{len(messages)} {PLACEHOLDER}") for m in messages])

    worst = run_agent([SEARCH, LONG, LONG, LONG, ANSWER], policy=blank, events="worst.jsonl").result.spent
    assert worst.prefix_characters < spent.prefix_characters / 2
