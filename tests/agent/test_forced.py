"""What happens when the means run out: the reminder to submit, and the last reply."""

from __future__ import annotations

from pathlib import Path

from corpuscope.agent import Budget, StopReason, read_events

from ..scripted import ANSWER, call
from .conftest import RunAgent, Trial

BASH = {"calls": [call("bash", {"command": "rg -n sat"})]}
SLOW = {"calls": [call("bash", {"command": "sleep 1.2"})]}


def kinds(trial: Trial) -> list[str]:
    return [event["type"] for event in trial.events]


def test_nothing_forces_an_answer_unless_it_is_wanted(run_agent: RunAgent) -> None:
    trial = run_agent([BASH, BASH, ANSWER], budget=Budget(model_calls=2))
    assert trial.result.stop_reason is StopReason.MODEL_CALLS and trial.result.answer is None
    assert len(trial.requests) == 2


def test_at_the_limit_one_last_reply_is_asked_for_without_tools(run_agent: RunAgent) -> None:
    trial = run_agent([BASH, BASH, ANSWER], budget=Budget(model_calls=2), force_answer=True)
    result = trial.result
    assert (result.stop_reason, result.detail) == (StopReason.FORCED, "model_calls")
    assert result.answer is not None and result.answer.exact_answer == "the mat"
    assert len(trial.requests) == 3 and result.spent.model_calls == 3
    assert trial.requests[2]["messages"][-1]["role"] == "user" and trial.requests[2]["tool_choice"] == "none"
    assert "tool_choice" not in trial.requests[1] or trial.requests[1]["tool_choice"] == "auto"
    assert kinds(trial)[-4:] == ["steer", "response", "answer", "stop"]
    assert trial.events[-4]["forced"] == "model_calls"


def test_a_last_reply_without_words_is_no_answer(run_agent: RunAgent) -> None:
    trial = run_agent([BASH], budget=Budget(model_calls=2), force_answer=True)
    assert trial.result.stop_reason is StopReason.MODEL_CALLS and trial.result.answer is None
    assert "empty" in trial.result.detail and len(trial.requests) == 3
    assert trial.result.spent.tool_calls == 2, "a call in the last reply is not made"


def test_an_empty_reply_and_used_up_time_can_be_forced_too(run_agent: RunAgent) -> None:
    empty = run_agent([BASH, {"text": ""}, ANSWER], force_answer=True, events="empty.jsonl")
    assert (empty.result.stop_reason, empty.result.detail) == (StopReason.FORCED, "empty_reply")
    late = run_agent([SLOW, ANSWER], budget=Budget(seconds=1.0), force_answer=True, events="late.jsonl")
    assert (late.result.stop_reason, late.result.detail) == (StopReason.FORCED, "wall_clock")


def test_a_model_that_is_too_slow_for_its_time_gets_a_little_more_for_the_last_reply(run_agent: RunAgent) -> None:
    trial = run_agent([{**BASH, "slow": 2.0}, ANSWER], budget=Budget(seconds=0.5), force_answer=True)
    assert (trial.result.stop_reason, trial.result.detail) == (StopReason.FORCED, "wall_clock")


def test_a_run_killed_before_its_last_reply_asks_for_it_again_and_only_then(
    run_agent: RunAgent, tmp_path: Path
) -> None:
    options = {"budget": Budget(model_calls=2), "force_answer": True}
    whole = run_agent([BASH, BASH, ANSWER], **options)
    file = tmp_path / "events.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    place = kinds(whole).index("steer")
    for kept, asked in ((place + 1, 1), (place + 2, 0)):
        file.write_bytes(b"".join(lines[:kept]))
        again = run_agent([ANSWER], **options)
        assert (again.result.stop_reason, again.result.answer) == (StopReason.FORCED, whole.result.answer)
        assert len(again.requests) == asked
        assert again.result.spent.model_calls == 3
        assert [e["type"] for e in read_events(file)].count("steer") == 1


def test_told_to_submit_its_tools_are_closed(run_agent: RunAgent) -> None:
    trial = run_agent([BASH, SLOW, BASH, ANSWER], budget=Budget(seconds=60.0), submit_at=0.02)
    sent = trial.requests[2]["messages"]
    assert [m["role"] for m in sent] == ["system", "user", "assistant", "tool", "assistant", "tool", "user"]
    assert "submit" in sent[-1]["content"]
    assert "the tools are closed" not in trial.observations()[1] and "the tools are closed" in trial.observations()[2]
    assert trial.result.stop_reason is StopReason.ANSWERED
    assert kinds(trial).count("steer") == 1


def test_a_last_reply_that_the_server_fails_is_asked_for_again(run_agent: RunAgent) -> None:
    options = {"budget": Budget(model_calls=2), "force_answer": True}
    failed = run_agent([BASH, BASH, {"status": 500}], **options)
    assert failed.result.stop_reason is StopReason.MODEL_ERROR
    again = run_agent([ANSWER], **options)
    assert (again.result.stop_reason, again.result.detail) == (StopReason.FORCED, "model_calls")
    assert len(again.requests) == 1
