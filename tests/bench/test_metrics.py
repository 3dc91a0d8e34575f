"""Each measure against values worked out by hand from its formula, rankings against trec_eval too."""

from __future__ import annotations

import math
from typing import Any

import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from corpuscope.bench import Evidence, Question
from corpuscope.bench.gold import Surfaced, gold_documents, surfaced
from corpuscope.bench.metrics import (
    calibration_error,
    citation_scores,
    coverage,
    exact_match,
    localization,
    normalized,
    psi,
    ranking_scores,
    segments,
    token_f1,
)

from ..conftest import MakeCorpus


@pytest.mark.parametrize(
    ("found", "gold", "any_mean_all"),
    [
        ([], ["a", "b"], (0, 0, 0)),
        (["a", "x", "a"], ["a", "b"], (1, 0.5, 0)),
        (["b", "a"], ["a", "b"], (1, 1, 1)),
        (["a"], ["a", "b", "c", "d"], (1, 0.25, 0)),
    ],
)
def test_coverage(found: list[str], gold: list[str], any_mean_all: tuple[float, ...]) -> None:
    assert tuple(coverage(found, gold).values()) == any_mean_all
    assert coverage(found, []) == {}


def test_segments_and_psi() -> None:
    assert [segments(n, 500) for n in (0, 1, 500, 501, 1000, 1001)] == [1, 1, 1, 2, 2, 3]
    assert psi(1, 16) == 1.0 and psi(16, 16) == 0.0 and psi(32, 16) == 0.0
    assert psi(2, 16) == pytest.approx(0.75)  # 1 - log 2 / log 16 = 1 - 1/4
    assert psi(4, 16) == pytest.approx(0.5)
    assert psi(1, 1) == psi(3, 1) == 1.0, "a document of one segment has no narrower piece"


def test_localization() -> None:
    lengths = {"a": 8_000, "b": 8_000, "c": 100, "never": 9_000}  # 16, 16, 1 segments of 500
    found = [
        Surfaced("a", 1, None), Surfaced("a", 2, 2_000), Surfaced("a", 3, 900),  # the best: 2 of 16 segments, 0.75
        Surfaced("b", 1, None),  # only named: 16 of 16, 0
        Surfaced("other", 1, 10),
    ]  # fmt: skip
    assert localization(found, lengths) == pytest.approx((0.75 + 0.0) / 2)
    assert localization([*found, Surfaced("c", 4, None)], lengths) == pytest.approx((0.75 + 0 + 1) / 3)
    assert localization([], lengths) is None
    assert localization([Surfaced("a", 1, 900)], lengths, c_seg=1_000) == 1.0  # 1 of 8 segments


@pytest.mark.parametrize(
    ("cited", "relevant", "scores"),
    [
        (["1", "2"], ["2", "3", "4"], (0.5, 1 / 3)),
        ([], ["2"], (0, 0)),
        (["2", "2"], ["2"], (1, 1)),
        (["9"], ["2"], (0, 0)),
    ],
)
def test_citations(cited: list[str], relevant: list[str], scores: tuple[float, ...]) -> None:
    assert tuple(citation_scores(cited, relevant).values()) == pytest.approx(scores)
    assert citation_scores(cited, []) == {}


def test_calibration_as_browsecomp_plus_computes_it() -> None:
    # 200 answers: the hundred least confident say 40% and 60 are right, the others say 80% and all are right.
    confidences = [80.0] * 100 + [40.0] * 100
    correct = [True] * 100 + [i < 60 for i in range(100)]
    # sqrt(100/200 * (0.4 - 0.6)^2), the last bin left out as in their code
    assert calibration_error(confidences, correct) == pytest.approx(100 * math.sqrt(0.5 * 0.04))
    # and with it: + 100/200 * (0.8 - 1)^2
    assert calibration_error(confidences, correct, whole=True) == pytest.approx(20.0)
    assert calibration_error(confidences[:99], correct[:99]) is None
    # 250: bins of 100 and of 150, of which the first counts
    assert calibration_error([50.0] * 250, [i < 75 for i in range(250)]) == pytest.approx(
        100 * math.sqrt(100 / 250 * (0.5 - 0.75) ** 2)
    )


@pytest.mark.parametrize(
    ("given", "answers", "match", "f1"),
    [
        ("The Eiffel Tower.", ["Eiffel tower"], True, 1.0),
        ("Eiffel", ["Eiffel Tower"], False, 2 / 3),  # precision 1, recall 1/2
        ("in Paris, France", ["Paris", "Paris France"], False, 0.8),  # 2 of 3 and 2 of 2
        ("5.0", ["5.0"], True, 1.0),
        ("", ["x"], False, 0.0),
        ("no idea", ["x"], False, 0.0),
        ("x", [], False, 0.0),
    ],
)
def test_exact_match_and_f1(given: str, answers: list[str], match: bool, f1: float) -> None:
    assert exact_match(given, answers) is match
    assert token_f1(given, answers) == pytest.approx(f1)
    assert normalized("  A  Cat,\nAn ape & THE dog! ") == "cat ape dog"


def test_ranking_measures() -> None:
    grades = {"1": {"a": 1, "b": 1, "c": 0}, "2": {"x": 1}, "3": {"y": 0}, "4": {"z": 1}, "arg": {"arg": 1, "w": 1}}
    rankings = {"1": ["n", "a", "b"], "2": ["p", "q"], "arg": ["arg", "w"]}
    scores = ranking_scores(rankings, grades)
    assert set(scores) == {"1", "2", "4", "arg"}, "a query without a relevant document has no value"
    ideal = 1 + 1 / math.log2(3)
    assert scores["1"]["nDCG@10"] == pytest.approx((1 / math.log2(3) + 1 / math.log2(4)) / ideal)
    assert scores["1"]["R@20"] == 1.0
    assert scores["2"] == scores["4"] == {"nDCG@10": 0.0, "R@20": 0.0}
    assert scores["arg"]["R@20"] == 0.5, "its own document is left out"


@given(
    st.dictionaries(st.sampled_from("qrst"), st.dictionaries(st.sampled_from("abcdefghijklmn"), st.integers(-1, 3)), min_size=1),
    st.dictionaries(st.sampled_from("qrst"), st.lists(st.sampled_from("abcdefghijklmno"), unique=True)),
)  # fmt: skip
def test_ranking_measures_are_those_of_trec_eval(
    grades: dict[str, dict[str, int]], rankings: dict[str, list[str]]
) -> None:
    run = {query: {doc: 100.0 - place for place, doc in enumerate(docs)} for query, docs in rankings.items() if docs}
    peer = pytrec_eval.RelevanceEvaluator(grades, {"ndcg_cut.10", "recall.20"}).evaluate(run)
    for query, scores in ranking_scores(rankings, grades).items():
        theirs = peer.get(query, {"ndcg_cut_10": 0.0, "recall_20": 0.0})
        assert scores["nDCG@10"] == pytest.approx(theirs["ndcg_cut_10"])
        assert scores["R@20"] == pytest.approx(theirs["recall_20"])


TEXT = "Head\n" + "".join(f"Line {n} tells of {n}.\n" for n in range(2, 41))
DOC = {"d/gold.md": TEXT, "other.md": "Line 7 tells of 7.\n"}
QUESTION = Question(
    query_id="1", query="?", gold=("d/gold.md",), supporting=("d/gold.md", "missing.md"),
    evidence=(Evidence(docid="d/gold.md", first=7, last=8),),
)  # fmt: skip


def tool(name: str, text: str, error: bool = False, **data: Any) -> dict[str, Any]:
    return {"type": "tool", "name": name, "text": text, "data": data, "error": error}


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (tool("bash", "d/gold.md:7:Line 7 tells of 7.\nother.md:1:Line 7 tells of 7.", command="rg -n '7'"), [18]),
        (tool("bash", "d/gold.md:Line 7 tells of 7.\nd/gold.md-Line 8 tells of 8.", command="rg -A1 7"), [18, 18]),
        (tool("bash", "7:Line 7 tells of 7.", command="rg -n 'of 7' d/gold.md"), [18]),
        (tool("bash", "d/gold.md\nother.md", command="rg -l 7"), [None]),
        (tool("bash", "1", command="rg -c 7 d/gold.md"), [None]),
        (tool("bash", "Line 7 tells of 7.\nLine 8 tells of 8.", command="sed -n 7,8p d/gold.md"), [38]),
        (tool("bash", "Line 30 tells of 30.", command="sed -n 30p d/gold.md"), [None]),
        (tool("bash", "Line 7 tells of 7.", command="rg 7 other.md"), []),
        (tool("bash", "d/gold.md:7:Line 7 tells of 7.", error=True, command="rg"), []),
        (tool("grep", "d/gold.md:7:Line 7 tells of 7."), [18]),
        (tool("read", "     7\tLine 7 tells of 7.\n     8\tLine 8 tells of 8.", path="d/gold.md", docid="d/gold.md"), [len("     7\tLine 7 tells of 7.\n     8\tLine 8 tells of 8.")]),
        (tool("read", "    20\tLine 20 tells of 20.", path="d/gold.md", docid="d/gold.md"), [None]),
        (tool("search", "...", queries=[{"top": ["x", "d/gold.md"], "paths": [], "characters": [9, 120]}, {"top": []}]), [120]),
        (tool("search", "...", queries=[{"top": ["d/gold.md"], "characters": [0]}]), [None]),
        (tool("get_document", TEXT, path="d/gold.md", docid="d/gold.md"), [len(TEXT)]),
    ],
)  # fmt: skip
def test_what_surfaced(make_corpus: MakeCorpus, event: dict[str, Any], expected: list[int | None]) -> None:
    gold = gold_documents(QUESTION, make_corpus(DOC))
    assert [(document.docid, document.evidence) for document in gold] == [
        ("d/gold.md", ("Line 7 tells of 7.", "Line 8 tells of 8."))
    ]
    events = [{"type": "start"}, tool("bash", "nothing", command="ls"), event, {"type": "stop"}]
    assert list(surfaced(events, gold)) == [Surfaced("d/gold.md", 2, length) for length in expected]
