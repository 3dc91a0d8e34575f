"""The loop: calls in, observations out, every ending named."""

from __future__ import annotations

import pytest

from corpuscope.agent import Budget, StopReason
from corpuscope.errors import CorpuscopeError, SetupError
from corpuscope.models import Backoff

from ..scripted import ANSWER, call
from .conftest import RunAgent

SEARCH = {"calls": [call("search", {"queries": ["cat"]})]}
BASH = {"calls": [call("bash", {"command": "rg -n sat"})]}
READ = {"calls": [call("read", {"path": "cats.md"})]}


def test_search_bash_read_answer(run_agent: RunAgent) -> None:
    trial = run_agent([SEARCH, BASH, READ, ANSWER])
    answer = trial.result.answer
    assert answer is not None and trial.result.stop_reason is StopReason.ANSWERED
    assert (answer.exact_answer, answer.confidence) == ("the mat", 80.0)
    assert [(str(c), c.docid, c.problem) for c in answer.citations] == [("cats.md:3-4", "cats.md", "")]
    assert [e["type"] for e in trial.events] == ["start", *["response", "tool"] * 3, "response", "answer", "stop"]
    assert trial.observations()[1] == "cats.md:3:A cat sat.\ncats.md:4:It sat on the mat."
    assert trial.result.spent.model_calls == 4 and trial.result.spent.tool_calls == 3


def test_the_model_is_shown_prompt_question_tools_and_results(run_agent: RunAgent) -> None:
    trial = run_agent([SEARCH, BASH, ANSWER])
    first, last = trial.requests[0], trial.requests[-1]
    assert [m["role"] for m in first["messages"]] == ["system", "user"]
    assert first["messages"][1]["content"] == "Where did the cat sit?"
    assert [tool["function"]["name"] for tool in first["tools"]] == ["search", "bash", "read"]
    assert [m["role"] for m in last["messages"]] == ["system", "user", "assistant", "tool", "assistant", "tool"]
    assert last["messages"][5]["content"] == "cats.md:3:A cat sat.\ncats.md:4:It sat on the mat."


def test_parallel_calls_are_answered_in_their_order(run_agent: RunAgent) -> None:
    slow_first = [call("bash", {"command": f"sleep {s}; echo {s}"}) for s in (0.4, 0.2, 0.0)]
    trial = run_agent([{"calls": slow_first}, ANSWER])
    sent = [m for m in trial.requests[1]["messages"] if m["role"] == "tool"]
    assert [m["content"] for m in sent] == ["0.4", "0.2", "0.0"]
    assert [m["tool_call_id"] for m in sent] == ["call_0_0", "call_0_1", "call_0_2"]
    assert trial.observations() == ["0.0", "0.2", "0.4"], "recorded as they end"
    assert trial.result.spent.seconds < 1.5


def test_reasoning_is_kept_and_goes_back(run_agent: RunAgent) -> None:
    trial = run_agent([{**SEARCH, "reasoning": "First I look for cats."}, ANSWER])
    parts = trial.events[1]["message"]["parts"]
    assert [part["content"] for part in parts if part["part_kind"] == "thinking"] == ["First I look for cats."]
    assert "First I look for cats." in str(trial.requests[1]["messages"])


def test_usage_and_money_are_counted_cached_tokens_apart(run_agent: RunAgent) -> None:
    usage = {"prompt_tokens": 1000, "completion_tokens": 100, "prompt_tokens_details": {"cached_tokens": 600}}
    trial = run_agent([{**SEARCH, "usage": usage}, {**ANSWER, "usage": usage}], model="gpt-4o-mini")
    spent = trial.result.spent
    assert (spent.input_tokens, spent.cached_tokens, spent.output_tokens, spent.unmeasured) == (2000, 1200, 200, 0)


def test_money_is_the_list_price(corpus_price: float) -> None:
    # gpt-4o-mini at $0.15 and $0.60 a million tokens, cached input at half price (OpenAI's list).
    assert corpus_price == pytest.approx((400 * 0.15 + 600 * 0.075 + 100 * 0.60) / 1e6)


@pytest.fixture
def corpus_price() -> float:
    from pydantic_ai.messages import ModelResponse, TextPart
    from pydantic_ai.usage import RequestUsage

    from corpuscope.models import price

    usage = RequestUsage(input_tokens=1000, cache_read_tokens=600, output_tokens=100)
    dollars = price(ModelResponse([TextPart("x")], usage=usage, model_name="gpt-4o-mini", provider_name="openai"))
    assert dollars is not None
    return dollars


def test_an_unknown_price_is_said_not_guessed(run_agent: RunAgent) -> None:
    assert run_agent([ANSWER]).result.spent.dollars is None


def test_a_money_limit_without_a_price_is_refused(run_agent: RunAgent) -> None:
    with pytest.raises(CorpuscopeError, match="no price is known"):
        run_agent([SEARCH, ANSWER], budget=Budget(dollars=1.0))


def test_j2_a_reply_without_usage_is_counted_as_unmeasured(run_agent: RunAgent) -> None:
    trial = run_agent([{**SEARCH, "usage": None}, ANSWER])
    assert trial.result.spent.unmeasured == 1
    assert (trial.result.spent.input_tokens, trial.result.spent.output_tokens) == (100, 10)


@pytest.mark.parametrize(
    "failure",
    [
        {"status": 429, "headers": {"Retry-After": "0"}},
        {"status": 500},
        {"status": 503},
        {"status": 529},
        {"cut": True},
    ],
    ids=["429", "500", "503", "529", "cut"],
)
def test_j2_passing_failures_are_retried_and_counted_once(run_agent: RunAgent, failure: dict[str, object]) -> None:
    trial = run_agent([SEARCH, failure, failure, ANSWER])
    assert trial.result.stop_reason is StopReason.ANSWERED
    assert [e["type"] for e in trial.events].count("retry") == 2
    assert trial.result.spent.model_calls == 2 and trial.result.spent.input_tokens == 200
    assert len(trial.requests) == 4
    assert trial.requests[1] == trial.requests[3], "the same request goes out again"


def test_j2_a_server_that_stays_broken_ends_with_its_own_reason(run_agent: RunAgent) -> None:
    trial = run_agent([SEARCH, {"status": 500}])
    assert trial.result.stop_reason is StopReason.MODEL_ERROR and trial.result.answer is None
    assert len(trial.requests) == 1 + 4


def test_what_the_provider_asks_to_wait_is_kept() -> None:
    backoff = Backoff(first=1.0, longest=60.0)
    assert backoff.wait(1, 30.0) >= 30.0
    assert [0.75 * 2**n <= backoff.wait(n + 1, None) <= 1.25 * 2**n for n in range(4)] == [True] * 4
    assert backoff.wait(20, None) <= 75.0


def test_a_wait_longer_than_what_is_left_ends_at_once(run_agent: RunAgent) -> None:
    trial = run_agent([{"status": 429, "headers": {"Retry-After": "90"}}], budget=Budget(seconds=20))
    assert trial.result.stop_reason is StopReason.MODEL_ERROR and trial.result.spent.seconds < 10


@pytest.mark.parametrize(("status", "what"), [(401, "API key"), (404, "does not know this model")])
def test_what_only_a_person_can_repair_is_one_clear_line(run_agent: RunAgent, status: int, what: str) -> None:
    with pytest.raises(SetupError, match=what):
        run_agent(
            [{"status": status, "error": {"message": "no", "code": "model_not_found" if status == 404 else None}}]
        )


OVERFLOW = {
    "status": 400,
    "error": {"message": "This model's maximum context length is 8192 tokens", "code": "context_length_exceeded"},
}


def test_j2_an_overflow_makes_the_policy_stricter(run_agent: RunAgent) -> None:
    long = {"calls": [call("bash", {"command": "seq 1 3000"})]}
    trial = run_agent([*[long] * 9, OVERFLOW, ANSWER])
    assert trial.result.stop_reason is StopReason.ANSWERED
    before, after = trial.requests[-2]["messages"], trial.requests[-1]["messages"]
    assert len(before) == len(after), "the structure of calls stays"
    assert len(str(after)) < len(str(before))
    assert [e["overflows"] for e in trial.events if e["type"] == "context"][-1] >= 1


def test_j2_an_overflow_that_stays_has_its_own_stop_reason(run_agent: RunAgent) -> None:
    trial = run_agent([SEARCH, OVERFLOW])
    assert trial.result.stop_reason is StopReason.CONTEXT_OVERFLOW


def test_the_model_call_budget(run_agent: RunAgent) -> None:
    trial = run_agent([SEARCH], budget=Budget(model_calls=3))
    assert trial.result.stop_reason is StopReason.MODEL_CALLS and len(trial.requests) == 3
    assert trial.result.answer is None, "no forced answer"


def test_the_wall_clock_covers_requests(run_agent: RunAgent) -> None:
    trial = run_agent([{**ANSWER, "slow": 5}], budget=Budget(seconds=0.5))
    assert trial.result.stop_reason is StopReason.WALL_CLOCK and trial.result.spent.seconds < 3


def test_the_wall_clock_covers_tools(run_agent: RunAgent) -> None:
    trial = run_agent([{"calls": [call("bash", {"command": "sleep 30"})]}, ANSWER], budget=Budget(seconds=1.0))
    assert trial.result.stop_reason is StopReason.WALL_CLOCK and trial.result.spent.seconds < 5


def test_the_money_budget(run_agent: RunAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corpuscope.agent.loop.price", lambda response: 0.4)
    trial = run_agent([SEARCH], budget=Budget(dollars=1.0))
    assert trial.result.stop_reason is StopReason.MONEY
    assert trial.result.spent.dollars == pytest.approx(1.2), "the call that passes the limit is paid"


def test_an_empty_reply_is_no_answer(run_agent: RunAgent) -> None:
    assert run_agent([{"text": "  "}]).result.stop_reason is StopReason.EMPTY_REPLY


MALFORMED = [
    (call("search", '{"queries": ["cat"'), "not JSON"),
    (call("search", {"queries": "cat"}), "valid list"),
    (call("read", {}), "field required"),
    (call("grep", {"pattern": "x"}), "there is no tool 'grep'; the tools are search, bash, read"),
]


@pytest.mark.parametrize(("wrong", "why"), MALFORMED)
def test_m2_a_malformed_call_is_answered_and_the_run_goes_on(
    run_agent: RunAgent, wrong: dict[str, str], why: str
) -> None:
    trial = run_agent([{"calls": [wrong]}, SEARCH, ANSWER])
    assert trial.result.stop_reason is StopReason.ANSWERED
    assert why in trial.observations()[0]
    assert [e["malformed"] for e in trial.events if e["type"] == "tool"] == [True, False]


def test_m2_five_malformed_turns_in_a_row_stop_it(run_agent: RunAgent) -> None:
    trial = run_agent([{"calls": [wrong for wrong, _ in MALFORMED]}])
    assert trial.result.stop_reason is StopReason.MALFORMED_CALLS
    assert len(trial.requests) == 5


def test_m2_one_good_call_starts_the_count_anew(run_agent: RunAgent) -> None:
    bad = {"calls": [MALFORMED[0][0]]}
    trial = run_agent(
        [bad, bad, bad, bad, {"calls": [MALFORMED[0][0], SEARCH["calls"][0]]}, bad, bad, bad, bad, ANSWER]
    )
    assert trial.result.stop_reason is StopReason.ANSWERED


def test_a_tool_error_is_not_a_malformed_call(run_agent: RunAgent) -> None:
    missing = {"calls": [call("read", {"path": "nothing.md"})]}
    trial = run_agent([*[missing] * 7, ANSWER])
    assert trial.result.stop_reason is StopReason.ANSWERED
    assert trial.events[2]["error"] and not trial.events[2]["malformed"]


def test_calls_and_text_in_one_reply_are_not_the_answer(run_agent: RunAgent) -> None:
    trial = run_agent([{**SEARCH, "text": "Let me look."}, ANSWER])
    assert trial.result.spent.model_calls == 2
