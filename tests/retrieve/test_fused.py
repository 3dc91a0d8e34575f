"""Reciprocal rank fusion, by hand and in a corpus."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from corpuscope.errors import UsageError
from corpuscope.retrieve import Bm25, Bm25s, Hit, engines_of, retriever
from corpuscope.retrieve.fused import Fused
from corpuscope.systems import load_system, open_workspace

from ..conftest import MakeCorpus

FILES = {
    "a.md": "cats cats cats and dogs",
    "b.md": "a cat and a dog, and another dog",
    "c.md": "dogs, dogs, dogs and one cat",
    "d.md": "birds",
}


class Fixed:
    """A ranking that is always the same."""

    fresh = True

    def __init__(self, name: str, *docids: str) -> None:
        self.name, self.docids = name, docids

    def update(self, progress: object = None) -> int:
        return len(self.docids)

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        return [[Hit(docid, 9.0 - place) for place, docid in enumerate(self.docids)][:k] for _ in queries]


def test_scores_are_sums_of_reciprocal_ranks() -> None:
    fused = Fused([Fixed("one", "a", "b", "c"), Fixed("two", "b", "d")])
    assert fused.name == "one+two" and fused.fresh and fused.update() == 5
    (hits,) = fused.search(["q"], 10)
    assert [hit.docid for hit in hits] == ["b", "a", "d", "c"]
    assert [hit.score for hit in hits] == pytest.approx([1 / 62 + 1 / 61, 1 / 61, 1 / 62, 1 / 63])
    assert [[hit.docid for hit in ranking] for ranking in fused.search(["q", "r"], 1)] == [["b"], ["b"]]


def test_places_below_those_asked_for_count() -> None:
    fused = Fused([Fixed("one", "a", "x"), Fixed("two", "b", "x")])
    assert fused.search(["q"], 1)[0][0].docid == "x", "second in both is better than first in one"


def test_of_equals_the_docid_decides() -> None:
    assert [hit.docid for hit in Fused([Fixed("one", "b"), Fixed("two", "a")]).search(["q"], 5)[0]] == ["a", "b"]


def test_names_join_engines_over_a_corpus(make_corpus: MakeCorpus) -> None:
    corpus = make_corpus(FILES)
    both = retriever("bm25+bm25s", corpus)
    assert both.name == "bm25+bm25s" and not both.fresh and both.update() == 8 and both.fresh
    assert engines_of(corpus) == ["bm25", "bm25s"]
    singly = [engine.search(["cat dogs"], 10)[0] for engine in (Bm25(corpus), Bm25s(corpus))]
    expected: dict[str, float] = {}
    for ranking in singly:
        for place, hit in enumerate(ranking, 1):
            expected[hit.docid] = expected.get(hit.docid, 0) + 1 / (60 + place)
    assert {hit.docid: hit.score for hit in both.search(["cat dogs"], 10)[0]} == pytest.approx(expected)
    assert both.search([""], 10) == [[]]


@pytest.mark.parametrize("name", ["", "bm25+", "bm25+nope", "bm25+bm25"])
def test_a_name_that_joins_nothing_is_refused(make_corpus: MakeCorpus, name: str) -> None:
    with pytest.raises(UsageError):
        retriever(name, make_corpus({"a": "x"}))


def test_a_fused_ranking_bounds_a_workspace(make_corpus: MakeCorpus) -> None:
    corpus = make_corpus(FILES)
    with open_workspace(corpus, load_system("rise-bm25").changed(retriever="bm25+bm25s")) as (_, tools):
        assert "search" in tools
    with pytest.raises(UsageError, match="there is no retriever 'nope'"):
        load_system("rise-bm25").changed(retriever="bm25+nope")
