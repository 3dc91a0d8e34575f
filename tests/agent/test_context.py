"""Level 3 at, under and over its thresholds."""

from __future__ import annotations

from itertools import pairwise

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart, UserPromptPart

from corpuscope.agent.context import KEPT_TURNS, MAX_RESULT, PLACEHOLDER, level3


def history(*sizes: int) -> list[ModelMessage]:
    messages: list[ModelMessage] = [ModelRequest([UserPromptPart("question")])]
    for i, size in enumerate(sizes):
        messages.append(ModelResponse([ToolCallPart("bash", {"command": "x"}, str(i))]))
        messages.append(ModelRequest([ToolReturnPart("bash", "x" * size, str(i))]))
    return messages


def results(messages: list[ModelMessage]) -> list[str]:
    return [str(p.content) for m in messages for p in m.parts if isinstance(p, ToolReturnPart)]


def test_a_result_is_cut_at_20_000_characters() -> None:
    kept = level3(history(MAX_RESULT, MAX_RESULT + 1))
    whole, cut = results(kept.messages)
    assert whole == "x" * 20_000
    assert cut.startswith("x" * 20_000 + "\n[cut: 1 characters")


def test_nothing_is_blanked_up_to_240_000_characters() -> None:
    assert level3(history(*[16_000] * 15)).blanked == 0


def test_one_character_more_blanks_all_but_the_latest_twelve_turns() -> None:
    messages = history(*[16_000] * 14, 16_001)
    kept = level3(messages)
    texts = results(kept.messages)
    assert kept.blanked == 3
    assert texts[:3] == [PLACEHOLDER] * 3 and all(len(t) >= 16_000 for t in texts[3:])
    assert len(kept.messages) == len(messages), "the structure of calls stays"
    assert results(messages)[0] == "x" * 16_000, "the history itself is not touched"


def test_j3_old_text_is_edited_rarely_and_in_big_steps() -> None:
    blanked = [level3(history(*[16_000] * turns)).blanked for turns in range(1, 41)]
    changes = [after for before, after in pairwise(blanked) if after != before]
    assert changes == [4, 8, 12, 16, 20, 24, 28]
    assert blanked == sorted(blanked)


def test_twelve_huge_turns_are_never_blanked() -> None:
    assert level3(history(*[20_000] * KEPT_TURNS)).blanked == 0


def test_each_overflow_halves_what_is_kept() -> None:
    messages = history(*[10_000] * 14)
    assert [level3(messages, overflows).blanked for overflows in range(4)] == [0, 14 - 6, 14 - 3, 14 - 1]
    assert max(map(len, results(level3(messages, 2).messages))) < 5_100


def test_the_report_says_what_is_missing() -> None:
    kept = level3(history(25_000))
    assert kept.removed_characters == 25_000 - len(results(kept.messages)[0])
