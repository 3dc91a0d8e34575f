"""Final replies, as models really write them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corpuscope.agent import parse_answer
from corpuscope.corpus import Corpus
from corpuscope.workspace import Workspace

from ..conftest import MakeCorpus


@pytest.fixture
def workspace(make_corpus: MakeCorpus) -> Iterator[Workspace]:
    corpus: Corpus = make_corpus(
        {"a/b.md": "1\n2\n3\n", "Who [live].txt": "x\n", "out.md": "not in W\n", "c.md": "y\n"}
    )
    with Workspace(corpus) as made:
        made.add(["a/b.md", "Who [live].txt", "c.md"])
        yield made


def citations(text: str, workspace: Workspace) -> list[tuple[str, str]]:
    return [(str(c), c.problem) for c in parse_answer(text, workspace).citations]


@pytest.mark.parametrize(
    "text",
    [
        "Explanation: because.\nExact Answer: 42\nConfidence: 85%",
        "**Explanation:** because.\n\n**Exact Answer:** 42\n\n**Confidence:** 85%",
        "- Explanation: because.\n- Exact Answer: **42**\n- Confidence: 85",
        "### Explanation: because.\n### Exact answer: 42\n### Confidence: 0.85",
        "explanation: because.\nanswer: 42\nconfidence: 85 %",
    ],
)
def test_the_three_fields(workspace: Workspace, text: str) -> None:
    answer = parse_answer(text, workspace)
    assert (answer.explanation, answer.exact_answer, answer.confidence) == ("because.", "42", 85.0)


def test_a_reply_without_fields_is_all_explanation(workspace: Workspace) -> None:
    answer = parse_answer("It is 42 [a/b.md:2].", workspace)
    assert (answer.explanation, answer.exact_answer, answer.confidence) == ("It is 42 [a/b.md:2].", "", None)
    assert [str(c) for c in answer.citations] == ["a/b.md:2"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[a/b.md:1-3]", [("a/b.md:1-3", "")]),
        ("[a/b.md:2]", [("a/b.md:2", "")]),
        ("[a/b.md]", [("a/b.md", "")]),
        ("[./a/b.md:L1-L2] [/w/c.md:1]", [("a/b.md:1-2", ""), ("c.md:1", "")]),
        ("[a/b.md:1-2; c.md:1]", [("a/b.md:1-2", ""), ("c.md:1", "")]),
        ("[a/b.md, lines 1-2]", [("a/b.md:1-2", "")]),
        ("[Who [live].txt:1]", [("Who [live].txt:1", "")]),
        ("twice [c.md:1] and [c.md:1]", [("c.md:1", "")]),
        ("[out.md:1]", [("out.md:1", "not in the workspace")]),
        ("[a/made-up.md:7-9]", [("a/made-up.md:7-9", "not in the workspace")]),
        ("[a/b.md:2-4]", [("a/b.md:2-4", "the document has 3 lines")]),
        ("[a/b.md:3-2]", [("a/b.md:3-2", "lines 3 to 2 are not a range")]),
        ("[../../etc/passwd:1]", [("../../etc/passwd:1", "not in the workspace")]),
        ("[../lock:1]", [("../lock:1", "not in the workspace")]),
        ("[/etc/hostname:1]", [("/etc/hostname:1", "not in the workspace")]),
        ("see [1] and [the docs](http://x.org/a.md)", []),
    ],
)
def test_citations_are_checked_against_w(workspace: Workspace, text: str, found: list[tuple[str, str]]) -> None:
    assert citations(text, workspace) == found


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.characters(codec=None), max_size=120))
def test_no_reply_breaks_it(workspace: Workspace, text: str) -> None:
    answer = parse_answer(text, workspace)
    assert all(c.problem or c.docid in workspace for c in answer.citations)
