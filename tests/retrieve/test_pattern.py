"""What a pattern's matches must hold: never more than they do."""

from __future__ import annotations

import re
import subprocess
import sys
import time
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpuscope.retrieve import NOTHING, Dialect, Need, Unreadable, need_of, need_of_literal
from corpuscope.retrieve.grep.grams import fold
from corpuscope.retrieve.grep.pattern import Every, Holds, Some
from corpuscope.workspace import ripgrep


def fulfils(folded: bytes, need: Need) -> bool:
    """By looking for the literals themselves, not through the index."""
    if isinstance(need, Holds):
        return need.literal in folded
    found = [fulfils(folded, inner) for inner in need.needs]
    return any(found) if isinstance(need, Some) else all(found)


def said(need: Need) -> object:
    """A need as plain words: "a", ["all", ...], ["any", ...]."""
    if isinstance(need, Holds):
        return need.literal.decode()
    inner = [said(one) for one in need.needs]
    return ["any", *sorted(inner, key=str)] if isinstance(need, Some) else ["all", *inner]


@pytest.mark.parametrize(
    ("pattern", "dialect", "needs"),
    [
        ("session", "rust", "session"),
        ("Session_Backend", "rust", "session_backend"),
        ("a", "rust", ["all"]),
        ("needle.*thread", "rust", ["all", "needle", "thread"]),
        ("colou?r", "rust", ["any", "color", "colour"]),
        ("(cat|dog)fish", "rust", ["any", "catfish", "dogfish"]),
        ("cat|dog", "rust", ["any", "cat", "dog"]),
        ("cat|.", "rust", ["all"]),
        (r"\bNBA\b", "rust", "nba"),
        (r"^\s*def main", "rust", "def main"),
        ("[Tt]orvalds", "rust", "torvalds"),
        ("199[0-3]", "rust", ["any", "1990", "1991", "1992", "1993"]),
        ("[a-z]+ing", "rust", "ing"),
        ("(abc)+def", "rust", ["all", "abc", "abcdef"]),
        ("(abc)*def", "rust", "def"),
        ("abc{2}", "rust", "abcc"),
        ("ab{3,}c", "rust", ["all", "abbb", "bbb"]),
        ("xab+cd", "rust", ["all", "xab", "bcd"]),
        (r"foo\.bar", "rust", "foo.bar"),
        (r"\x41bcd", "rust", "abcd"),
        ("(?i)STRASSE", "rust", "strasse"),
        ("(?P<name>word)s", "rust", "words"),
        ("stra\u00dfe", "rust", "strasse"),
        ("(?<=the )queen(?!s)", "pcre", "queen"),
        (r"(abc)\1def", "pcre", ["all", "abc", "def"]),
        (r"foo\Kbar", "pcre", "foobar"),
        ("foo+", "basic", "foo+"),
        (r"foo\+", "basic", "foo"),
        (r"cat\|dog", "basic", ["any", "cat", "dog"]),
        ("cat|dog", "basic", "cat|dog"),
        (r"\(cat\)fish", "basic", "catfish"),
        ("(cat)fish", "basic", "(cat)fish"),
        (r"x\{3\}yz", "basic", "xxxyz"),
        ("foo+", "extended", "foo"),
        ("[[:digit:]]abc", "extended", "abc"),
        ("[]x]abc", "extended", ["any", "]abc", "xabc"]),
    ],
)  # fmt: skip
def test_needs_as_derived_by_hand(pattern: str, dialect: Dialect, needs: object) -> None:
    assert said(need_of(pattern, dialect)) == needs


@pytest.mark.parametrize(
    ("pattern", "dialect"),
    [
        ("(unclosed", "rust"), ("a)", "rust"), ("[z", "rust"), ("*a", "rust"), ("(?x) a b", "rust"), ("a{", "rust"), ("[a&&b]cde", "rust"),
        (r"\Qabc\E", "pcre"), ("(?R)abc", "pcre"), ("(?1)abc", "pcre"), ("(*FAIL)abc", "pcre"), (r"a\cBcde", "pcre"), ("abc\\", "rust"),
        ("a{2", "extended"), (r"a\{2", "basic"), ("*abc", "basic"), ("(" * 200 + "a" + ")" * 200, "rust"), ("[" * 200 + "a" + "]" * 200, "rust"), ("a" * 5000, "rust"),
    ],
)  # fmt: skip
def test_what_is_not_understood_is_left_to_the_program(pattern: str, dialect: Dialect) -> None:
    with pytest.raises(Unreadable):
        need_of(pattern, dialect)


def test_a_literal_longer_than_a_piece_overlaps_is_asked_for_in_stretches() -> None:
    text = " ".join(map(str, range(1000, 1060)))
    need = need_of_literal(text)
    assert isinstance(need, Every)
    assert all(isinstance(one, Holds) and len(one.literal) <= 64 and one.literal.decode() in text for one in need.needs)
    assert fulfils(text.encode(), need)
    assert not fulfils(text[:200].encode() + b"." + text[201:].encode(), need)


def test_the_work_on_an_expression_is_bounded() -> None:
    nested = "a"
    for _ in range(20):
        nested = f"(?:{nested}|bcd){{16}}"
    started = time.process_time()
    assert need_of(nested, "rust") and need_of("(a|b|c|d)" * 400, "rust") and need_of("(abc|[def]){16}" * 200, "rust")
    assert time.process_time() - started < 5  # by the power of sixteen it would be years


letters = st.sampled_from("abcABCKks .-\u00e4\u00df\u03c3\u0131\u0438")
atoms = st.one_of(
    letters.map(re.escape),
    st.text("abcK\u03c3\u0438", min_size=1, max_size=5).map(re.escape),
    st.sampled_from(
        [".", r"\w", r"\d", r"\b", "[abc]", "[^a]", "[a-cx]", r"[\w-]", "[K\u03c3]", r"\.", "(?:)", "^", "$"]
    ),
)


def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.lists(inner, min_size=1, max_size=4).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"({'|'.join(parts)})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "*?", "{2}", "{1,3}", "{2,}"])).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        ),
        inner.map(lambda part: f"(?i:{part})"),
    )


patterns = st.recursive(atoms, grown, max_leaves=12)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_every_match_of_a_pattern_fulfils_what_was_derived_from_it(data: st.DataObject) -> None:
    pattern = data.draw(patterns)
    text = data.draw(st.from_regex(pattern))  # Python reads these patterns as Rust and PCRE do
    for dialect in ("rust", "pcre"):
        assert fulfils(fold(text), need_of(pattern, dialect)), pattern  # type: ignore[arg-type]


def test_a_pattern_for_everything_needs_nothing() -> None:
    assert [need_of(pattern, "rust") for pattern in ("", ".", ".*", r"\w+", "a|b", "ab")] == [NOTHING] * 6


@pytest.mark.slow
def test_every_letter_folds_as_ripgrep_and_grep_match_it(tmp_path: Path) -> None:
    cased = [
        chr(code)
        for code in range(0x80, sys.maxunicode + 1)
        if not 0xD800 <= code < 0xE000
        and (unicodedata.category(chr(code)) in ("Lu", "Ll", "Lt") or chr(code).swapcase() != chr(code))
    ]
    every = [*map(chr, range(0x21, 0x7F)), *cased]
    file = tmp_path / "letters"
    file.write_text("".join(f"{char}\n" for char in every))
    unsound = []
    for program in ([ripgrep(), "-iF", "--no-filename"], ["grep", "-iF"]):
        for char in cased:
            found = subprocess.run(
                [*program, "-e", char, str(file)],
                capture_output=True,
                text=True,
                env={"LC_ALL": "C.UTF-8"},
                check=False,
            )
            try:
                need = need_of_literal(f"{char}{char}{char}")
            except Unreadable:
                continue
            twins = found.stdout.split()
            unsound += [(program[0], char, twin) for twin in twins if not fulfils(fold(twin * 3), need)]
    assert unsound == []
