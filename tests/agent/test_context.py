"""Each context policy at, just under and just over its thresholds (DCI, section 3.3)."""

from __future__ import annotations

from itertools import pairwise

import pytest
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from corpuscope.agent.context import PLACEHOLDER, POLICIES, Kept, Pressure
from corpuscope.agent.context.frugal import FULL, LEFT
from corpuscope.agent.context.levels import KEPT_TURNS, RESERVE, SUMMARY
from corpuscope.agent.context.policy import tokens


def history(*sizes: int) -> list[ModelMessage]:
    messages: list[ModelMessage] = [ModelRequest([SystemPromptPart("system"), UserPromptPart("question")])]
    for i, size in enumerate(sizes):
        messages.append(ModelResponse([ToolCallPart("bash", {"command": "x"}, str(i))]))
        messages.append(ModelRequest([ToolReturnPart("bash", "x" * size, str(i))]))
    return messages


def apply(name: str, messages: list[ModelMessage], **pressure: object) -> Kept:
    return POLICIES[name](messages, Pressure(**pressure))  # type: ignore[arg-type]


def results(messages: list[ModelMessage]) -> list[str]:
    return [str(p.content) for m in messages for p in m.parts if isinstance(p, ToolReturnPart)]


def test_level_0_leaves_everything() -> None:
    messages = history(*[100_000] * 20)
    kept = apply("level0", messages)
    assert kept.messages == messages and (kept.blanked, kept.removed_characters, kept.wants_summary) == (0, 0, 0)


@pytest.mark.parametrize(
    ("name", "length"),
    [("level1", 50_000), ("level2", 20_000), ("level3", 20_000), ("level4", 20_000), ("frugal", 20_000)],
)
def test_a_result_is_cut_at_its_level_s_length(name: str, length: int) -> None:
    kept = apply(name, history(length - 1, length, length + 1), window=10_000_000)
    under, at, over = results(kept.messages)
    assert (under, at) == ("x" * (length - 1), "x" * length)
    assert over == "x" * length + "\n[cut: 1 characters left out]"


@pytest.mark.parametrize("name", ["level1", "level2"])
def test_the_lower_levels_blank_nothing(name: str) -> None:
    kept = apply(name, history(*[20_000] * 100))
    assert kept.blanked == 0 and kept.removed_characters == 0


@pytest.mark.parametrize("name", ["level3", "level4"])
def test_nothing_is_blanked_up_to_240_000_characters(name: str) -> None:
    assert apply(name, history(*[16_000] * 15)).blanked == 0


@pytest.mark.parametrize("name", ["level3", "level4"])
def test_one_character_more_blanks_all_but_the_latest_twelve_turns(name: str) -> None:
    messages = history(*[16_000] * 14, 16_001)
    kept = apply(name, messages)
    texts = results(kept.messages)
    assert kept.blanked == 3
    assert texts[:3] == [PLACEHOLDER] * 3 and all(len(t) >= 16_000 for t in texts[3:])
    assert len(kept.messages) == len(messages), "the structure of calls stays"
    assert results(messages)[0] == "x" * 16_000, "the history itself is not touched"


def test_a_turn_is_a_reply_with_all_of_its_results() -> None:
    messages = history(*[15_000] * 12)
    parallel = [ToolCallPart("bash", {"command": "x"}, f"p{i}") for i in range(5)]
    messages.insert(1, ModelResponse(list(parallel)))
    messages.insert(2, ModelRequest([ToolReturnPart("bash", "y" * 15_000, call.tool_call_id) for call in parallel]))
    kept = apply("level3", messages)
    assert kept.blanked == 1
    assert results(kept.messages)[:6] == [*[PLACEHOLDER] * 5, "x" * 15_000]


def test_j3_old_text_is_edited_rarely_and_in_big_steps() -> None:
    blanked = [apply("level3", history(*[16_000] * turns)).blanked for turns in range(1, 41)]
    changes = [after for before, after in pairwise(blanked) if after != before]
    assert changes == [4, 8, 12, 16, 20, 24, 28]
    assert blanked == sorted(blanked)


def test_twelve_huge_turns_are_never_blanked() -> None:
    assert apply("level3", history(*[20_000] * KEPT_TURNS)).blanked == 0


def test_each_overflow_halves_what_is_kept() -> None:
    messages = history(*[10_000] * 14)
    blanked = [apply("level3", messages, overflows=n).blanked for n in range(4)]
    assert blanked == [0, 14 - 6, 14 - 3, 14 - 1]
    assert max(map(len, results(apply("level3", messages, overflows=2).messages))) < 5_100


@pytest.mark.parametrize("name", ["level2", "level3", "frugal"])
def test_the_report_says_what_is_missing(name: str) -> None:
    kept = apply(name, history(25_000))
    assert kept.removed_characters == 25_000 - len(results(kept.messages)[0])


def test_level_4_wants_a_summary_above_the_window_s_reserve_and_not_at_it() -> None:
    messages = history(*[4_000] * 55)
    full = tokens(apply("level3", messages).messages)
    assert apply("level4", messages, window=full + RESERVE).wants_summary == 0
    kept = apply("level4", messages, window=full + RESERVE - 1)
    recent = messages[kept.wants_summary :]
    assert isinstance(recent[0], ModelResponse), "calls stay with their results"
    assert tokens(recent) <= 20_000 < tokens(messages[kept.wants_summary - 2 :])


def test_level_4_wants_a_summary_above_60_000_tokens_whatever_the_window() -> None:
    def wants(size: int) -> int:
        messages = history(*[4_000] * 55, size)
        return apply("level4", messages, window=1_000_000).wants_summary

    rest = 60_000 - tokens(history(*[4_000] * 55, 0))
    assert rest * 4 < 20_000, "one more result fits below the length at which it is cut"
    assert wants(rest * 4) == 0 and wants(rest * 4 + 4) > 0


def test_a_summary_stands_for_the_older_history() -> None:
    messages = history(*[4_000] * 30)
    kept = apply("level4", messages, window=1_000_000, summary="All is known.", upto=41)
    first = kept.messages[0]
    assert [str(part.content) for part in first.parts] == ["system", "question", f"{SUMMARY}All is known."]
    assert kept.messages[1:] == messages[41:] and kept.summarised == 41
    assert kept.removed_characters == 20 * 4_000


@pytest.mark.parametrize(("failures", "wants"), [(0, True), (2, True), (3, False), (4, False)])
def test_three_failures_in_a_row_end_summarising(failures: int, wants: bool) -> None:
    kept = apply("level4", history(*[4_000] * 55), window=RESERVE + 1_000, failures=failures)
    assert bool(kept.wants_summary) is wants


def test_what_is_summarised_already_is_not_asked_for_again() -> None:
    messages = history(*[4_000] * 55)
    upto = apply("level4", messages, window=RESERVE + 1_000).wants_summary
    assert apply("level4", messages, window=RESERVE + 1_000, summary="s", upto=upto).wants_summary == 0


def test_frugal_keeps_all_up_to_its_limit_and_then_makes_room_for_long() -> None:
    def held(kept: Kept) -> int:
        return sum(len(text) for text in results(kept.messages) if text != PLACEHOLDER)

    assert apply("frugal", history(*[4_000] * (FULL // 4_000))).blanked == 0
    kept = apply("frugal", history(*[4_000] * (FULL // 4_000 + 1)))
    assert held(kept) == LEFT and results(kept.messages)[-6:] == ["x" * 4_000] * 6
    large = apply("frugal", history(*[20_000] * 13))
    assert held(large) == 60_000 and results(large.messages)[-3:] == ["x" * 20_000] * 3


def test_frugal_edits_old_text_less_often_than_level_3() -> None:
    def edits(name: str) -> int:
        blanked = [apply(name, history(*[16_000] * turns)).blanked for turns in range(1, 101)]
        assert blanked == sorted(blanked)
        return sum(before != after for before, after in pairwise(blanked))

    assert edits("frugal") < edits("level3") / 2


def test_frugal_leaves_short_results() -> None:
    kept = apply("frugal", history(100, *[20_000] * 13))
    assert results(kept.messages)[0] == "x" * 100


@pytest.mark.parametrize("name", list(POLICIES))
def test_the_latest_turns_are_whole_whatever_came_before(name: str) -> None:
    kept = apply(name, history(*[19_000] * 60), window=10_000_000)
    assert results(kept.messages)[-3:] == ["x" * 19_000] * 3
