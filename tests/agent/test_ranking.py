"""The final reply of a ranking task: at most twenty documents of W, best first, each once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from corpuscope.agent import parse_ranking
from corpuscope.workspace import Workspace

from ..conftest import MakeCorpus

FILES = {f"d/{n}.md": f"Document {n}.\n" for n in range(30)} | {"a b (c).txt": "odd name\n", "outside.md": "x\n"}


@pytest.fixture
def workspace(make_corpus: MakeCorpus) -> Iterator[Workspace]:
    with Workspace(make_corpus(FILES)) as made:
        made.add(docid for docid in FILES if docid != "outside.md")
        yield made


@pytest.mark.parametrize(
    ("text", "ranked"),
    [
        ("Explanation: both.\nRelevant Documents:\n1. d/3.md\n2. d/1.md\n", ["d/3.md", "d/1.md"]),
        ("Relevant Documents (best first):\n- `d/3.md`\n- [d/1.md]\n* ./d/2.md", ["d/3.md", "d/1.md", "d/2.md"]),
        ("**Relevant Documents:**\n1) /w/d/3.md\n2) d/1.md: it says so\n3) d/2.md - maybe", ["d/3.md", "d/1.md", "d/2.md"]),
        ("I looked.\n\n1. d/3.md\n2. d/3.md\n3. d/4.md", ["d/3.md", "d/4.md"]),
        ("Relevant Documents:\n1. a b (c).txt\n2. d/0.md (the other)", ["a b (c).txt", "d/0.md"]),
        ("Relevant Documents:\n", []),
        ("Relevant Documents:\n1. d/3.md\n\nExplanation: because\n- d/1.md says no\nConfidence: 9%", ["d/3.md"]),
        ("1. d/9.md is not meant here\nRelevant Documents:\n1. d/8.md", ["d/8.md"]),
    ],
)  # fmt: skip
def test_rows_name_documents(workspace: Workspace, text: str, ranked: list[str]) -> None:
    answer = parse_ranking(text, workspace)
    assert [document.docid for document in answer.ranking] == ranked
    assert not answer.exact_answer and not answer.citations


def test_what_is_not_in_the_workspace_keeps_its_place_with_a_problem(workspace: Workspace) -> None:
    text = "Relevant Documents:\n1. outside.md\n2. d/1.md\n3. ../../etc/passwd\n4. nonsense"
    ranking = parse_ranking(text, workspace).ranking
    assert [(d.docid, bool(d.problem)) for d in ranking] == [
        (None, True),
        ("d/1.md", False),
        (None, True),
        (None, True),
    ]


def test_twenty_at_most(workspace: Workspace) -> None:
    text = "Relevant Documents:\n" + "\n".join(f"{n + 1}. d/{n}.md" for n in range(30))
    assert [d.docid for d in parse_ranking(text, workspace).ranking] == [f"d/{n}.md" for n in range(20)]


def test_what_stands_above_is_the_explanation(workspace: Workspace) -> None:
    answer = parse_ranking("Explanation: all of d.\n\nRelevant Documents:\n1. d/1.md\n", workspace)
    assert answer.explanation == "all of d."
