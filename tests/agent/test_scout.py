"""The scout finds what a question is about, and says what it is."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from corpuscope.agent import Agent, Result, StopReason, open_model
from corpuscope.agent.scout.evidence import Window, choose, holds, passages, weights, windows
from corpuscope.agent.scout.question import understand
from corpuscope.agent.scout.short import short_answer
from corpuscope.retrieve import Analysis, Bm25
from corpuscope.workspace import Workspace, rise_tools

from ..conftest import MakeCorpus

FILES = {
    "engine.md": "# Engines\n\nThe Turku engine was designed by Ada Virtanen for the lighthouse at Utö.\n",
    "utoe.md": "# Utö\n\nUtö lighthouse was first lit in 1753.\n\nIt is the oldest in the country.\n",
    "settings.md": "# Settings\n\nThe Turku engine reads TURKU_MAX_SPEED, which is 40 by default.\n",
} | {f"noise/{i}.md": f"# Noise {i}\n\nNothing about anything, part {i}. Engines in general.\n" for i in range(40)}


def ask(make_corpus: MakeCorpus, tmp_path: Path, question: str) -> Result:
    corpus = make_corpus(FILES)
    with Workspace(corpus) as workspace:
        tools = rise_tools(workspace, Bm25(corpus))
        agent = Agent(open_model("scout"), tools, workspace, "prompt", tmp_path / "e.jsonl")
        return asyncio.run(agent.run(question))


@pytest.mark.parametrize(
    ("question", "gold", "answer"),
    [
        (
            "When was the lighthouse for which the Turku engine was designed first lit?",
            {"engine.md", "utoe.md"},
            "1753",
        ),
        ("Which setting limits the Turku engine?", {"settings.md"}, "TURKU_MAX_SPEED"),
        ("Who designed the Turku engine?", {"engine.md"}, "Ada Virtanen"),
    ],
)
def test_it_cites_the_gold_documents(
    make_corpus: MakeCorpus, tmp_path: Path, question: str, gold: set[str], answer: str
) -> None:
    result = ask(make_corpus, tmp_path, question)
    assert result.answer is not None
    assert gold <= {c.path for c in result.answer.citations}
    assert all(not c.problem for c in result.answer.citations)
    assert result.answer.exact_answer == answer
    assert "not a language model" in result.answer.explanation
    assert (result.spent.dollars, result.spent.input_tokens) == (0.0, 0)


@pytest.mark.parametrize(
    "question", ["zzzzz qqqqq", "??", "the of and", "한국어 질문", "x" * 5000, "$(reboot) `id` ' \" \\ -rf"]
)
def test_whatever_is_asked_it_ends(make_corpus: MakeCorpus, tmp_path: Path, question: str) -> None:
    result = ask(make_corpus, tmp_path, question)
    assert result.stop_reason is StopReason.ANSWERED and result.answer is not None


def test_a_question_is_taken_apart() -> None:
    question = understand(
        "Which release first had the `Quux` option, and when did FOO_BAR change in 5.2?", Analysis("english")
    )
    assert question.queries[0] == question.text
    assert question.names == ("FOO_BAR", "5.2")
    assert "5.2" in question.terms and "which" not in question.terms


def test_rare_terms_weigh_more_and_absent_ones_nothing() -> None:
    weight = weights({"rare": 1, "common": 90, "absent": 0}, 100)
    assert weight["rare"] > weight["common"] > weight["absent"] == 0.0


def test_windows_hold_the_densest_matches_and_do_not_overlap() -> None:
    matches = [(1, "a"), (50, "a"), (52, "b"), (53, "c"), (90, "b")]
    best = windows("f", matches, {"a": 1.0, "b": 1.0, "c": 1.0}, 2)
    assert (best[0].first, best[0].last, best[0].terms) == (50, 53, {"a", "b", "c"})
    assert all(x.last < y.first or y.last < x.first for x in best for y in best if x is not y)


def test_chosen_windows_complete_each_other() -> None:
    one = Window("x", 1, 2, 2.0, frozenset("ab"))
    same = Window("y", 1, 2, 1.9, frozenset("ab"))
    other = Window("z", 1, 2, 1.2, frozenset("c"))
    assert choose([one, same, other], dict.fromkeys("abc", 1.0), 2) == [one, other]


def test_passages_are_the_numbered_paragraphs() -> None:
    found = passages("f", "    10\tone\n    11\ttwo\n    12\t\n    13\tthree\n[more follows]")
    assert [(p.first, p.last, p.text) for p in found] == [(10, 11, "one\ntwo"), (13, 13, "three")]


def test_a_term_is_a_beginning_of_a_word() -> None:
    assert holds("Configuring sessions_db", ["config", "db", "essions"]) == {"config", "db"}


def test_a_short_answer_is_of_the_kind_that_is_asked_for() -> None:
    passage = passages("f", "     1\tThe limit was raised from 100 to 250 by FOO_LIMIT in release 3.2.")[0]
    weight = {"limit": 1.0, "raised": 1.0}
    pairs = [(passage, 1.0)]
    assert short_answer("To how many was the limit raised?", pairs, weight) == "250"
    assert short_answer("Which setting raised the limit?", pairs, weight) == "FOO_LIMIT"
    assert short_answer("In which release was the limit raised?", pairs, weight) == "3.2"
    assert short_answer("Why was it raised?", pairs, weight) == ""
