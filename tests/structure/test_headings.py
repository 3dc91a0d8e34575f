"""The headings of each kind of document, and what looks like one and is none."""

from __future__ import annotations

import textwrap
import time

import pytest

from corpuscope.structure.headings import propose_headings


def found(text: str, path: str = "a.txt") -> list[tuple[str, int, int]]:
    """(title, level, line) of the headings of a text that is written with indentation here."""
    return [(h.title, h.level, h.line) for h in propose_headings(textwrap.dedent(text).lstrip("\n"), path)]


def titles(text: str, path: str = "a.txt") -> list[str]:
    return [title for title, _, _ in found(text, path)]


def test_markdown() -> None:
    text = """
    ---
    title: front matter
    # not a heading
    ---
    # Top #
    text
    Setext one
    ==========
    Two *emphasised* and [linked](http://x)
    ---
    ###### Sixth ######
      ## Indented by two {#anchor}
    <h2 align="center">As a <b>tag</b></h2>
    """
    assert found(text, "a.md") == [
        ("Top", 1, 5), ("text Setext one", 1, 6), ("Two emphasised and linked", 2, 9), ("Sixth", 6, 11),
        ("Indented by two", 2, 12), ("As a tag", 2, 13),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "```\n# code\n```",
        "~~~~ python\n# code\n~~~\n# still code\n~~~~",
        "````\n```\n# code\n````",
        "- item\n\n  ```sh\n  # code\n  ```",
        "    # indented code",
        "\t# indented code",
        "<!--\n# comment\n-->",
        "<pre>\n# code\n</pre>",
        "<script>\n# code\n</script>",
        "a | b\n--- | ---\n1 | 2",
        "| a |\n|---|\n# x | y".replace("# x", "#x"),
        "#hashtag",
        "#!shebang",
        "####### seven",
        "- item\n---",
        "> quote\n---",
        "text\n\n---\n\ntext",
        "* a\n* b\n=====",
        "#",
        "+++\ntitle = 1\n# comment\n+++",
    ],
)
def test_no_heading_of_markdown(text: str) -> None:
    assert propose_headings(text, "a.md") == []


def test_what_follows_a_block_that_is_never_closed_is_code() -> None:
    assert titles("# One\n```\n# code\n", "a.md") == ["One"]


def test_restructuredtext_in_any_order_of_adornments() -> None:
    text = """
    .. _label:

    ~~~~~~~~
     Manual
    ~~~~~~~~

    Part ``one`` of :mod:`django.db`
    ********************************

    Deep
    ^^^^

    Again `a link <http://x>`_
    **************************
    """
    assert found(text, "a.rst") == [
        ("Manual", 1, 4), ("Part one of django.db", 2, 7), ("Deep", 3, 10), ("Again a link", 2, 13),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "para\n\n----------\n\npara",
        "=====  =====\nA      B\n=====  =====\n1      2\n-----\n3      4\n=====  =====",
        "+-----+\n| A   |\n+=====+\n| 1   |\n+-----+",
        "::\n\n    Title\n    =====\n",
        ".. note::\n\n    Title\n    =====\n",
        ".. comment\n   Title\n   =====\n",
        "- item\n------",
        ":field: value\n-------------",
        ">>> x\n-----",
        "first line\nsecond line\n-----------",
        "Title\n==",
        "=====\n=====\n=====",
        "    Title\n    =====",
    ],
)
def test_no_title_of_restructuredtext(text: str) -> None:
    assert propose_headings(text, "a.rst") == []


def test_asciidoc() -> None:
    text = """
    = Document
    Author

    == One

    ----
    == in a listing
    ----

    |===
    |== in a table
    |===

    ////
    == in a comment
    ////

    === Deep ===

    Old Style
    ---------
    """
    assert found(text, "a.adoc") == [("Document", 1, 1), ("One", 2, 4), ("Deep", 3, 18), ("Old Style", 2, 20)]


def test_mediawiki() -> None:
    assert found("'''Rome'''\n\n==History==\nOld.\n\n=== Kings ===\nSeven.\n", "rome.wiki") == [
        ("History", 2, 3),
        ("Kings", 3, 6),
    ]
    assert titles("Rome is old.\n\n== History ==\nOld.\n\n=== Kings ===\nSeven.\n") == ["History", "Kings"]


def test_latex() -> None:
    text = r"""
    \documentclass{article}
    \newcommand{\sect}[1]{\section{The #1}}
    % \section{commented}
    \begin{document}
    \section{Results of \textbf{2020} \& after\label{sec:r}}
    \begin{verbatim}
    \section{verbatim}
    \end{verbatim}
    \subsection*[short]{A long
      title}
    100\% \paragraph{Run in.} text
    \end{document}
    \section{after the end}
    """
    assert found(text, "a.tex") == [
        ("Results of 2020 & after", 3, 5), ("A long title", 4, 9), ("Run in.", 6, 11),
    ]  # fmt: skip
    assert titles(text) == titles(text, "a.tex")


def test_html_as_it_is_and_html_already_converted() -> None:
    text = """
    <!doctype html>
    <h1
      class="a">Caf&eacute; <em>life</em></h1>
    <!-- <h2>comment</h2> -->
    <script>"<h2>script</h2>"</script>
    <pre><h2>code</h2></pre>
    <h2>One</h2><h3>same line</h3>
    <H2>
      Two
    </H2>
    """
    assert found(text, "a.html") == [("Café life", 1, 3), ("One", 2, 7), ("Two", 2, 9)]
    assert titles(text) == ["Café life", "One", "Two"]
    assert titles("# Café\n\ntext\n\n## Life\n\n* a\n", "a.html") == ["Café", "Life"]


def test_manual_pages() -> None:
    assert found('.TH LS 1\n.SH NAME\nls \\- list\n.SS "Exit \\fIstatus\\fR"\n.SH\nSEE ALSO\n.\\" .SH NOT\n', "ls.1") == [
        ("NAME", 1, 2), ("Exit status", 2, 4), ("SEE ALSO", 1, 6),
    ]  # fmt: skip
    assert titles(".Dd May 1\n.Dt CAT 1\n.Sh NAME\n.Nm cat\n.Ss Deep\n", "cat.1") == ["NAME", "Deep"]
    rendered = """
    LS(1)                 User Commands                 LS(1)

    N\bNA\bAM\bME\bE
           ls - list

    DESCRIPTION
           List.

       Exit status:
           0

    GNU coreutils          May 2024                     LS(1)
    """
    assert found(rendered) == [("NAME", 1, 3), ("DESCRIPTION", 1, 6), ("Exit status:", 2, 9)]


def test_numbered_headings() -> None:
    text = """
    A report.

    Contents

    1. Introduction ........ 1
    2. Methods ............. 3

    1. Introduction

    It has been long. See
    2. Elsewhere is no heading here.

    2 Methods

    2.1 Sample

    Of 100.

    2.2 Measures

    They were:

    1. weight

    2. height

    3 Results

    Good.

    3.2 million people live there

    IV. not the next
    """
    assert found(text) == [
        ("1. Introduction", 1, 8), ("2 Methods", 1, 13), ("2.1 Sample", 2, 15), ("2.2 Measures", 2, 19),
        ("3 Results", 1, 27),
    ]  # fmt: skip
    chapters = "CHAPTER I\n\nCall me Ishmael.\n\nChapter II. The Carpet-Bag\n\nI stuffed a shirt.\n"
    assert titles(chapters) == ["CHAPTER I", "Chapter II. The Carpet-Bag"]


def test_upper_case_headings() -> None:
    text = "THE REPORT\n\nOnce upon a time.\n\n  RESULTS AND DISCUSSION\n\nGood. IT WAS GOOD.\n\nREFERENCES\nNone.\n"
    assert titles(text) == ["THE REPORT", "RESULTS AND DISCUSSION", "REFERENCES"]


@pytest.mark.parametrize(
    "text",
    [
        "1. buy milk\n\n2. buy bread\n\n3. go home\n",
        "1. Buy milk\n\n2. Buy bread\n\n3. Go home\n",
        "ALL OF THIS\n\nIS SHOUTED\n\nFROM START\n\nTO END\n",
        "WORD\n\nA single line in upper case proves nothing.\n\nThe end.\n",
        "TOTAL   100\n\nSUM     200\n\nx\n\ny\n\nz\n",
        "#define A\n\nINT_MAX = 3\n\nCALL(X)\n\nx\n\ny\n",
        "2. Second\n\ntext\n\n3. Third\n\ntext\n",
        "0. This licence applies to any program\nor other work.\n\n1. You may copy it as you\nlike.\n",
        "--OUTER\n\ntext\n\n--INNER\n\ntext\n",
        "tag\t\tchar\n----------------\nx\n\ntag\t\tnote\n----------------\ny\n",
        "# Download the modules.\ngo mod download\n\n# It should fail.\n! go build\n\n# Then this works\ngo run\n",
        "just prose, line after line,\nand nothing else.\n",
    ],
)
def test_no_heading_of_plain_text(text: str) -> None:
    assert propose_headings(text, "a.txt") == []


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("# comment\nx = 1\n", "a.py"), ("# comment\nkey: 1\n", "a.yaml"), ("#!/bin/sh\n# comment\nls\n", "run"),
        ("# one\n# two\n# three\nall: build\n", "Makefile"), ("A\n=\n", "a.json"), ("", "a.md"), ("\n\n", "a.rst"),
        ("a,b\n\nTITLE\n\nOTHER\n", "a.csv"),
    ],
)  # fmt: skip
def test_code_and_data_have_no_headings(text: str, path: str) -> None:
    assert propose_headings(text, path) == []


def test_a_text_of_no_known_kind_is_read_as_what_it_is() -> None:
    assert titles("# Title\n\n## Part\n\ntext\n", "README") == ["Title", "Part"]
    assert titles("Title\n~~~~~\n\nPart\n....\n\ntext\n", "NOTES") == ["Title", "Part"]
    assert titles("Uses ``x``\n= False`` in code\n\nTitle\n=====\n\nPart\n----\n", "a.txt") == ["Title", "Part"]


HOSTILE = {
    "tags": "<h1" * 60_000, "open tags": "<h1>" * 60_000, "comments": "<!--" * 60_000, "scripts": "<script>" * 30_000,
    "fences": "```\n~~~\n" * 30_000, "stars": "# " + "*a " * 90_000, "brackets": "# " + "[" * 200_000,
    "spaces": "# a" + " " * 200_000 + "b", "colons": ":" * 200_000, "section": "\\section" + " " * 200_000,
    "braces": "\\section{" * 30_000, "begins": "\\begin{verbatim}" * 20_000, "equals": "= =\n" * 60_000,
    "delimiters": "".join("-" * n + "\n" for n in range(4, 700)), "rules": "----\n\n" * 50_000,
    "macros": ".SH " + '"' * 200_000, "numbers": "1.1.1.1.1.1 A\n\n" * 20_000, "dots": ". " * 100_000,
    "backticks": "T" + "`" * 200_000 + "\n" + "=" * 200_001, "one line": "x" * 300_000,
}  # fmt: skip


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("path", ["a.md", "a.rst", "a.adoc", "a.tex", "a.html", "a.1", "a.txt"])
def test_no_text_takes_more_than_its_length(kind: str, path: str) -> None:
    """A pattern that tries again from every place would take minutes here, not a second."""
    started = time.process_time()
    propose_headings(HOSTILE[kind], path)
    assert time.process_time() - started < 5
