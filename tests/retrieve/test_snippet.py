"""The preview shows the passage that matched, and its line."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from corpuscope.retrieve import Analysis, snippet

ENGLISH = Analysis("english")


def test_the_window_with_most_terms_is_shown_with_its_line() -> None:
    text = "intro about sessions\n" + "filler line\n" * 50 + "the session cache alias setting\n" + "filler\n" * 50
    found = snippet(text.encode(), ENGLISH.stems("sessions' cache aliases"))
    assert found.line == 52
    assert "session cache alias" in found.text


def test_endings_do_not_hide_a_match() -> None:
    found = snippet(b"x\n" * 99 + b"many queries ran\n", ENGLISH.stems("query running"))
    assert found.line == 100


def test_a_match_inside_a_word_does_not_count() -> None:
    found = snippet(b"concatenate\n" * 3 + b"a cat\n", ENGLISH.stems("cat"))
    assert found.line == 4


def test_without_a_match_the_beginning_is_shown() -> None:
    assert snippet(b"first\nsecond", ENGLISH.stems("zzz")) == (1, "first second")


def test_korean_bigrams_are_found() -> None:
    assert snippet("무관\n영화제에서\n".encode(), ENGLISH.stems("국제영화제")).line == 2


def test_a_huge_line_costs_no_more_than_a_page() -> None:
    found = snippet(b"lorem " * 40_000 + b"needle", ENGLISH.stems("needle"))
    assert len(found.text) <= 260


@given(st.text(max_size=300), st.text(max_size=40))
def test_any_text_and_query_give_a_line_that_exists(text: str, query: str) -> None:
    found = snippet(text.encode(), ENGLISH.stems(query))
    assert 1 <= found.line <= text.count("\n") + 1
    assert "\n" not in found.text
