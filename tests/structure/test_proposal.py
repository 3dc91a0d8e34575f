"""Replies, windows and anchors."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelRequest

from corpuscope.structure.anchors import locate
from corpuscope.structure.proposal import Malformed, Request, parse_reply, windows
from corpuscope.structure.section import Proposed

GOOD = '{"sections": [{"title": "A", "description": "d", "anchor": "a b"}, {"title": "B", "anchor": "c"}]}'


@pytest.mark.parametrize(
    "reply",
    [
        GOOD,
        f"```json\n{GOOD}\n```",
        f"Here are the sections [as asked]: {GOOD} Done.",
        '[{"title": "A", "description": "d", "anchor": "a b"}, {"title": "B", "anchor": "c"}]',
        GOOD.replace('"anchor": "c"}', '"anchor": "c"}, {"title": "no anchor"}, 7'),
        GOOD.removesuffix("]}"),
        GOOD.removesuffix("]}") + ', {"title": "C", "anchor": "cut off in the mid',
    ],
)
def test_a_reply_is_read_for_what_it_holds(reply: str) -> None:
    assert parse_reply(reply) == [Proposed("A", "d", "a b"), Proposed("B", "", "c")]


def test_a_document_may_have_no_sections() -> None:
    assert parse_reply('{"sections": []}') == []


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("", "not JSON"), ("I cannot do that.", "not JSON"), ('{"toc": 1}', 'no list "sections"'),
        ('{"sections": [{"title": "A"}]}', "title and an anchor"), ("[[[[[", "no list|not JSON|title and an anchor"),
        ('{"sections": "none"}', 'no list "sections"'),
    ],
)  # fmt: skip
def test_a_reply_without_a_proposal_says_what_is_wrong(reply: str, problem: str) -> None:
    with pytest.raises(Malformed, match=problem):
        parse_reply(reply)


def anchors(text: str, *wanted: str) -> tuple[list[int], list[bool], int]:
    found = locate(text, [Proposed(f"{n}", "", anchor) for n, anchor in enumerate(wanted)])
    return [section.offset for section in found.sections], list(found.to_the_letter), found.lost


def test_anchors_to_the_letter_and_by_their_words() -> None:
    text = "One day in\n  May it rained. Then\u00a0it stopped."
    assert anchors(text, "One day in May", "Then it stopped") == ([0, 28], [False, False], 0)
    assert anchors(text, "  May it", "rained.") == ([13, 20], [True, True], 0)


def test_a_repeated_anchor_is_taken_where_its_neighbours_leave_it_room() -> None:
    text = "Summary. a. Middle b. Summary. c. End. Summary."
    assert anchors(text, "Summary.", "Middle", "Summary.", "End")[0] == [0, 12, 22, 34]
    assert anchors(text, "Middle", "Summary.", "Summary.")[0] == [12, 22, 39]


def test_anchors_that_are_nowhere_or_out_of_order_are_lost() -> None:
    text = "alpha beta gamma delta"
    assert anchors(text, "alpha", "omega", "gamma", " ") == ([0, 11], [True, True], 2)
    assert anchors(text, "delta", "alpha", "beta", "gamma") == ([0, 6, 11], [True, True, True], 1)


def test_an_anchor_is_no_part_of_a_word_where_it_stands_alone_elsewhere() -> None:
    assert anchors("Partly, the Art began.", "Art")[0] == [12]
    assert anchors("東京都は日本の首都。", "日本")[0] == [4]


def test_a_request_is_known_by_its_words_its_prompt_and_its_model() -> None:
    def of(model: str, text: str, prompt: str = "p") -> str:
        return Request.of(1, model, lambda: [ModelRequest.user_text_prompt(text, instructions=prompt)]).id

    assert of("a", "x") == of("a", "x")
    assert len({of("a", "x"), of("b", "x"), of("a", "y"), of("a", "x", "q")}) == 4


@given(st.integers(0, 5_000), st.integers(4, 900))
def test_windows_cover_everything_once_and_overlap(length: int, size: int) -> None:
    overlap = size // 4
    parts = windows(length, size, overlap)
    assert parts[0].first == 0 and parts[-1].last == length and parts[-1].end == length
    for before, after in pairwise(parts):
        assert before.last == after.first and after.start < before.end
    for part in parts:
        assert part.start <= part.first <= part.last <= part.end <= part.start + size
