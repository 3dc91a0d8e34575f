"""The file an agent reads: the table is right in the final file, and the original is in it byte for byte."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from corpuscope.corpus import count_lines
from corpuscope.structure import original_lines, parse_toc, read_toc, strip
from corpuscope.structure.anchors import locate
from corpuscope.structure.form import CONTINUES, Toc, with_inserted_headings, with_own_headings
from corpuscope.structure.headings import propose_headings
from corpuscope.structure.section import Heading, Located, Proposed

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
MARKED_TEXTS = st.lists(
    st.sampled_from(["# A", "B", "==", "----", "\n", "\r\n", "\n\n", "```", "## Table of Contents", "<!-- body -->",
                     "<!-- body with inserted headings -->", "- lines 1-2: A — b", "\r", " ", "1. One", "TWO",
                     "## A (the line goes on)", "\u2028", "é", "x" * 300])
).map("".join)  # fmt: skip


def lines_of(data: bytes) -> list[bytes]:
    """As `sed -n` numbers them, from index 1."""
    return [b"", *data.split(b"\n")]


def check_ranges(data: bytes) -> Toc:
    """Every range starts at its heading and ends in the file; siblings do not overlap, children lie in their parents."""
    toc = parse_toc(data)
    lines = lines_of(data)
    last_line = count_lines(data)
    open_at: dict[int, tuple[int, int]] = {}
    for entry in toc.entries:
        assert toc.body_line <= entry.first <= entry.last <= last_line
        if toc.inserted:
            assert lines[entry.first].rstrip(b"\r") in {f"## {entry.title}{end}".encode() for end in ("", CONTINUES)}
        before = open_at.get(entry.depth)
        assert before is None or before[1] < entry.first
        if entry.depth:
            first, last = open_at[entry.depth - 1]
            assert first < entry.first and entry.last <= last
        open_at[entry.depth] = (entry.first, entry.last)
        for deeper in [depth for depth in open_at if depth > entry.depth]:
            del open_at[deeper]
    return toc


@given(TEXTS | MARKED_TEXTS, st.sampled_from(["a.md", "a.rst", "a.txt", "a.adoc", "a.tex", "a.html", "a.1", "README"]))
def test_with_its_own_headings_a_document_is_its_table_and_then_itself(text: str, path: str) -> None:
    body = text.encode()
    headings = propose_headings(text, path)
    whole = with_own_headings(body, headings)
    assert strip(whole) == body and whole.endswith(body)
    toc = check_ranges(whole)
    lines, original = lines_of(whole), text.split("\n")
    assert [entry.first - toc.body_line + 1 for entry in toc.entries] == [heading.line for heading in headings]
    assert all(
        lines[entry.first].decode() == original[h.line - 1] for entry, h in zip(toc.entries, headings, strict=True)
    )


@given(TEXTS | MARKED_TEXTS, st.lists(st.tuples(TEXTS, TEXTS, st.integers(0, 400)), max_size=8))
@example("a\r\nb" * 3, [("t", "d", 5)])
@example("x" * 1000, [("first", "", 0), ("second", "", 150), ("third", "", 151)])
def test_inserted_headings_come_out_again(text: str, sections: list[tuple[str, str, int]]) -> None:
    offsets = sorted({offset for _, _, offset in sections if offset < len(text)})
    located = [Located(t, d, o) for (t, d, _), o in zip(sections, offsets, strict=False)]
    whole = with_inserted_headings(text, located)
    assert strip(whole) == text.encode()
    toc = check_ranges(whole)
    assert len(toc.entries) == len(located)


@given(TEXTS | MARKED_TEXTS, st.data())
def test_any_anchor_that_a_model_copies_is_found_and_gets_its_heading(text: str, data: st.DataObject) -> None:
    starts = data.draw(st.lists(st.integers(0, max(0, len(text) - 1)), max_size=5).map(sorted))
    proposed = [Proposed(f"S{n}", "about", text[start : start + 40]) for n, start in enumerate(starts)]
    anchored = locate(text, proposed)
    assert len(anchored.sections) + anchored.lost == len(proposed)
    offsets = [section.offset for section in anchored.sections]
    assert offsets == sorted(set(offsets))
    for section in anchored.sections:
        anchor = proposed[int(section.title[1:])].anchor
        assert text[section.offset :].split()[: len(anchor.split()) - 1] == anchor.split()[:-1]
    assert strip(with_inserted_headings(text, anchored.sections)) == text.encode()


@given(MARKED_TEXTS, st.lists(st.integers(0, 400), max_size=6))
def test_a_line_of_the_structured_file_is_known_in_the_original(text: str, offsets: list[int]) -> None:
    located = [Located("T", "", offset) for offset in sorted({o for o in offsets if o < len(text)})]
    whole = with_inserted_headings(text, located)
    original = original_lines(whole)
    there, here = text.encode().split(b"\n"), whole.split(b"\n")
    toc = parse_toc(whole)
    headings = {entry.first for entry in toc.entries}
    for number, line in enumerate(here, 1):
        at = original(number)
        assert (at is None) == (number < toc.body_line)
        if at is not None and number not in headings:
            assert line.rstrip(b"\r") in there[at - 1]  # a piece of it where the line was broken


def test_the_form_of_the_paper() -> None:
    text = "Founded in 1852.\nIt grew.\n\nIn 1894 it moved.\n"
    located = [
        Located("Founding", "1852, first years.", 0),
        Located("Move", "New site in 1894.", text.index("In 1894")),
    ]
    assert with_inserted_headings(text, located).decode() == (
        "## Table of Contents\n"
        "\n"
        "- lines 7-10: Founding — 1852, first years.\n"
        "- lines 11-12: Move — New site in 1894.\n"
        "\n"
        "<!-- body with inserted headings -->\n"
        "## Founding\n"
        "Founded in 1852.\n"
        "It grew.\n"
        "\n"
        "## Move\n"
        "In 1894 it moved.\n"
    )


def test_sed_and_rg_agree_with_the_table(tmp_path: Path) -> None:
    text = "intro\n\n# One\nfirst\n## Deep\ninside\n# Two\nlast"
    file = tmp_path / "a.md"
    file.write_bytes(with_own_headings(text.encode(), propose_headings(text, "a.md")))
    one, deep, two = read_toc(file).entries
    assert [(e.title, e.depth) for e in (one, deep, two)] == [("One", 0), ("Deep", 1), ("Two", 0)]
    shown = [
        subprocess.run(["sed", "-n", f"{e.first},{e.last}p", file], capture_output=True, text=True, check=True).stdout
        for e in (one, deep, two)
    ]
    assert shown == ["# One\nfirst\n## Deep\ninside\n", "## Deep\ninside\n", "# Two\nlast"]


def test_an_empty_table_says_so() -> None:
    assert (
        with_own_headings(b"just text\n", ()) == b"## Table of Contents\n\n(no sections)\n\n<!-- body -->\njust text\n"
    )
    assert with_own_headings(b"", ()) == b"## Table of Contents\n\n(no sections)\n\n<!-- body -->\n"


def test_a_document_that_has_a_table_of_its_own() -> None:
    text = "## Table of Contents\n\n- lines 1-2: x\n\n<!-- body -->\n## Real\ntext\n"
    whole = with_own_headings(text.encode(), propose_headings(text, "a.md"))
    toc = check_ranges(whole)
    assert [entry.title for entry in toc.entries] == ["Table of Contents", "Real"]
    assert strip(whole) == text.encode()
    again = with_own_headings(whole, propose_headings(whole.decode(), "a.md"))
    assert strip(strip(again)) == text.encode()


def test_crlf_stays_crlf_and_a_missing_final_newline_stays_missing() -> None:
    text = "# One\r\ntext\r\n# Two\r\nend"
    whole = with_own_headings(text.encode(), propose_headings(text, "a.md"))
    assert b"\n" not in whole.replace(b"\r\n", b"") and whole.endswith(b"# Two\r\nend")
    marked = with_inserted_headings(text, [Located("T", "", text.index("text"))])
    assert b"\n" not in marked.replace(b"\r\n", b"") and strip(marked) == text.encode()


def test_a_line_of_100_000_characters_is_broken_where_its_sections_begin() -> None:
    words = " ".join(f"word{number}" for number in range(13_000))[:100_000]
    starts = [words.index(f"word{number} ") for number in (0, 3000, 9000)]
    whole = with_inserted_headings(words, [Located(f"Part {n}", "", start) for n, start in enumerate(starts)])
    toc = check_ranges(whole)
    lines = lines_of(whole)
    assert [lines[entry.first + 1].split()[0] for entry in toc.entries] == [b"word0", b"word3000", b"word9000"]
    assert [entry.last - entry.first for entry in toc.entries] == [1, 1, 1]
    assert strip(whole) == words.encode()


def test_an_anchor_near_the_start_of_its_line_does_not_break_it() -> None:
    text = "Then, in 1920, it closed. It opened again.\nMore."
    whole = with_inserted_headings(
        text, [Located("A", "", text.index("in 1920")), Located("B", "", text.index("It opened"))]
    )
    assert whole.decode().split("\n")[6:] == [
        "## A", "Then, in 1920, it closed. ", "## B (the line goes on)", "It opened again.", "More.",
    ]  # fmt: skip


def test_5_000_headings() -> None:
    text = "".join(f"{'#' * (1 + n % 3)} Heading {n}\ntext {n}\n" for n in range(5_000))
    whole = with_own_headings(text.encode(), propose_headings(text, "a.md"))
    toc = check_ranges(whole)
    assert len(toc.entries) == 5_000 and toc.body_line == 5_005
    lines = lines_of(whole)
    assert all(lines[entry.first].lstrip(b"# ").decode() == entry.title for entry in toc.entries)
    assert strip(whole) == text.encode()


@pytest.mark.parametrize(
    "data", [b"", b"plain text\n", b"## Table of Contents\n", b"## Table of Contents\n\nnot a row\n"]
)
def test_another_file_is_not_taken_for_a_structured_one(data: bytes) -> None:
    with pytest.raises(ValueError, match="not a structured document"):
        strip(data)


def test_what_a_title_holds_cannot_pass_for_more_than_a_title() -> None:
    text = "one\ntwo\nthree\n"
    title = "A — B\n<!-- body -->\x1b[31m\u202e (the line goes on)"
    whole = with_inserted_headings(text, [Located(title, "d\ne — f", 4)])
    (entry,) = check_ranges(whole).entries
    assert entry.title == "A - B <!-- body --> [31m" and entry.description == "d e — f"
    assert strip(whole) == text.encode()


def test_levels_that_are_skipped_nest_all_the_same() -> None:
    headings = [Heading("a", 3, 1), Heading("b", 1, 2), Heading("c", 4, 3), Heading("d", 2, 4)]
    toc = parse_toc(with_own_headings(b"a\nb\nc\nd\n", headings))
    assert [(e.title, e.depth, e.last - e.first) for e in toc.entries] == [
        ("a", 0, 0),
        ("b", 0, 2),
        ("c", 1, 0),
        ("d", 1, 0),
    ]
    assert toc.section_at(toc.body_line + 2).title == "c"  # type: ignore[union-attr]
