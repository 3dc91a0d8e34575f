"""The engine ranks as BM25 does, survives any query, and is never stale."""

from __future__ import annotations

import json
import math
import re
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corpuscope.corpus import Corpus, one_at_a_time
from corpuscope.errors import UsageError
from corpuscope.retrieve import Analysis, Bm25, follow_ingest, searchable

from ..conftest import MakeCorpus, write_files

TEXTS = {
    "cats.md": "cat cat cat sat on the mat",
    "dogs.md": "the dog sat on the log and the dog ran",
    "both.md": "a cat and a dog met",
    "long.md": "dog " + "filler words that say nothing " * 5,
    "other.md": "nothing to see here",
}


def ranking(corpus: Corpus, query: str, k: int = 10) -> list[str]:
    return [hit.docid for hit in Bm25(corpus).search([query], k)[0]]


def bm25_by_hand(texts: dict[str, str], query: str, k1: float = 1.2, b: float = 0.75) -> dict[str, float]:
    """Robertson and Zaragoza (2009), with Lucene's idf = ln(1 + (N - n + 0.5) / (n + 0.5))."""
    words = {name: re.findall(r"\w+", text) for name, text in texts.items()}
    average = sum(map(len, words.values())) / len(words)
    scores: dict[str, float] = {}
    for term in query.split():
        n = sum(term in w for w in words.values())
        idf = math.log(1 + (len(words) - n + 0.5) / (n + 0.5))
        for name, w in words.items():
            if tf := Counter(w)[term]:
                score = idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * len(w) / average))
                scores[name] = scores.get(name, 0.0) + score
    return scores


@pytest.mark.parametrize("query", ["cat", "dog", "cat dog", "dog sat mat"])
def test_scores_are_those_of_the_formula(make_corpus: MakeCorpus, query: str) -> None:
    corpus = make_corpus(TEXTS, language="none")
    # The title is part of the indexed text: here it is the file's name without its extension.
    by_hand = bm25_by_hand({name: f"{name[:-3]} {text}" for name, text in TEXTS.items()}, query)
    hits = Bm25(corpus).search([query], 10)[0]
    assert {hit.docid for hit in hits} == set(by_hand)
    for hit in hits:
        assert hit.score == pytest.approx(by_hand[hit.docid], rel=1e-5)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


M1 = ['C++ "unbalanced', "GO:0006275", "y+(y+25)", ">>>", "AND OR NOT", "-flag", "", "the of and", "word " * 5000,
      " ".join(f"w{i}" for i in range(5000)), "한국어 문서", "中文文件", "field:value^2 ~3", "/re.*gex/", "[a TO b]", "\\", "'", "*",
      "a" * 100_000, "\ud800 lone", "\0"]  # fmt: skip


@pytest.mark.parametrize("query", M1)
def test_m1_whatever_a_model_types_is_ranked_or_finds_nothing(make_corpus: MakeCorpus, query: str) -> None:
    corpus = make_corpus(TEXTS)
    hits = Bm25(corpus).search([query], 10)[0]
    assert len(hits) <= len(TEXTS)
    if not searchable(query):
        assert hits == []


def test_m1_stop_words_alone_still_find_documents(make_corpus: MakeCorpus) -> None:
    assert "dogs.md" in ranking(make_corpus(TEXTS), "on the")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=st.text(st.characters(codec=None), max_size=60))
def test_m1_no_query_raises(make_corpus: MakeCorpus, query: str) -> None:
    corpus = make_corpus(TEXTS)
    assert len(Bm25(corpus).search([query], 3)[0]) <= 3


def test_english_folds_endings_and_accents(make_corpus: MakeCorpus) -> None:
    corpus = make_corpus({"a.md": "The committee was connecting cafés", "b.md": "unrelated"})
    assert ranking(corpus, "connected cafe committees") == ["a.md"]


def test_another_language_folds_its_own_endings(make_corpus: MakeCorpus) -> None:
    corpus = make_corpus({"a.md": "Die Häuser stehen am Fluss", "b.md": "Ein Baum"}, language="german")
    assert ranking(corpus, "Haus") == ["a.md"]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("서울특별시에서 열린 국제영화제를 다녀왔다", "영화제"),
        ("東京都庁舎は新宿区にある", "新宿"),
        ("人工智能研究所发表了报告", "智能研究"),
        ("データベースの設計", "ベース"),
        ("กรุงเทพมหานครเป็นเมืองหลวง", "เมืองหลวง"),
        ("水", "水"),
    ],
)
def test_words_in_scripts_without_spaces_are_found(make_corpus: MakeCorpus, text: str, query: str) -> None:
    corpus = make_corpus({"a.md": text, "b.md": "無関係 무관한 문서 ไม่เกี่ยว"})
    assert ranking(corpus, query)[0] == "a.md"


def test_full_width_letters_and_ligatures_are_the_same_words(make_corpus: MakeCorpus) -> None:
    assert ranking(make_corpus({"a.md": "the ofﬁce of ＮＡＳＡ"}), "office nasa") == ["a.md"]


def test_the_title_is_searched_too(make_corpus: MakeCorpus) -> None:
    assert ranking(make_corpus({"zebra.md": "stripes", "b.md": "spots"}), "zebra") == ["zebra.md"]


def test_a_long_document_is_searched_to_its_end(make_corpus: MakeCorpus) -> None:
    assert ranking(make_corpus({"a.md": "filler " * 400_000 + "needle", "b.md": "x"}), "needle") == ["a.md"]


def test_k_limits_the_ranking(make_corpus: MakeCorpus) -> None:
    assert len(ranking(make_corpus({f"{i}.md": "same word" for i in range(30)}), "word", k=7)) == 7


def test_an_index_behind_the_manifest_is_caught_up(tmp_path: Path) -> None:
    source = write_files(tmp_path / "s", TEXTS)
    corpus, _ = Corpus.build(source, tmp_path / "c")
    engine = Bm25(corpus)
    assert ranking(corpus, "cat") and engine.fresh
    (source / "cats.md").write_text("now about birds")
    Corpus.build(source, tmp_path / "c")[0].close()
    assert not engine.fresh
    assert [hit.docid for hit in engine.search(["birds"], 10)[0]] == ["cats.md"]
    assert engine.fresh


def test_updating_step_by_step_equals_building_at_once(tmp_path: Path) -> None:
    source = write_files(tmp_path / "s", {f"{i}.md": f"number {i} of the things" for i in range(40)})
    for i in range(0, 40, 7):
        (source / f"{i}.md").write_text(f"changed thing {i}")
        corpus, _ = Corpus.build(source, tmp_path / "c")
        Bm25(corpus).update()
    at_once, _ = Corpus.build(source, tmp_path / "d")
    queries = ["thing", "changed", "number 5", "35"]
    step_by_step = [{hit.docid for hit in r} for r in Bm25(corpus).search(queries, 100)]
    assert step_by_step == [{hit.docid for hit in r} for r in Bm25(at_once).search(queries, 100)]


def test_another_language_builds_the_index_anew(make_corpus: MakeCorpus) -> None:
    corpus = make_corpus({"a.md": "connecting things"})
    assert ranking(corpus, "connected") == ["a.md"]
    corpus.config["language"] = "none"
    assert ranking(corpus, "connected") == [] and ranking(corpus, "connecting") == ["a.md"]


def test_a_damaged_index_is_built_anew(make_corpus: MakeCorpus) -> None:
    corpus = make_corpus(TEXTS)
    assert ranking(corpus, "cat")
    folder = corpus.root / "index/bm25"
    (folder / "corpuscope.json").write_text("{")
    assert ranking(corpus, "cat") == ["cats.md", "both.md"]
    shutil.rmtree(folder)
    assert ranking(corpus, "cat") == ["cats.md", "both.md"]


def test_a_killed_build_goes_on_from_its_last_commit(make_corpus: MakeCorpus, monkeypatch: pytest.MonkeyPatch) -> None:
    from corpuscope.retrieve import bm25_index

    corpus = make_corpus({f"{i:02}.md": f"word{i} same" for i in range(20)})
    monkeypatch.setattr(bm25_index, "COMMIT_SECONDS", 0.0)

    def stop_half_way(done: int, total: int) -> None:
        if done == 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Bm25(corpus).update(stop_half_way)
    meta = json.loads((corpus.root / "index/bm25/corpuscope.json").read_text())
    assert meta["key"] == 10 and meta["revision"] == 0
    assert len(ranking(corpus, "same", 100)) == 20


def test_an_unknown_language_is_named() -> None:
    with pytest.raises(ValueError, match="klingon"):
        Analysis("klingon")


def test_a_writer_elsewhere_is_waited_for_and_then_named(
    make_corpus: MakeCorpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    from corpuscope.retrieve import catching_up

    corpus = make_corpus(TEXTS)
    monkeypatch.setattr(catching_up, "LOCK_SECONDS", 0.1)
    with one_at_a_time(corpus.root), pytest.raises(UsageError, match="another corpuscope index is at work"):
        Bm25(corpus).update()
    assert Bm25(corpus).update() == len(TEXTS)


def followed(source: Path, into: Path, **options: Any) -> Corpus:
    return Corpus.build(source, into, following=follow_ingest, **options)[0]


def test_an_index_that_reads_along_equals_one_built_afterwards(tmp_path: Path) -> None:
    source = write_files(tmp_path / "s", {f"{i}.md": f"number {i} of the things" for i in range(30)})
    followed(source, tmp_path / "c").close()
    (source / "3.md").write_text("changed thing")
    (source / "4.md").unlink()
    (source / "new.md").write_text("brand new thing")
    corpus = followed(source, tmp_path / "c")
    assert Bm25(corpus).fresh, "nothing is left for update to do"
    afterwards, _ = Corpus.build(source, tmp_path / "d")
    queries = ["thing", "changed", "brand", "number", "4", "29"]
    along = [{hit.docid for hit in r} for r in Bm25(corpus).search(queries, 100)]
    assert along == [{hit.docid for hit in r} for r in Bm25(afterwards).search(queries, 100)]
    assert along[1] == {"3.md"} and along[2] == {"new.md"} and along[4] == set()


def test_an_ingest_that_fails_leaves_an_index_that_catches_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from corpuscope.corpus.ingest import ingest
    from corpuscope.retrieve import bm25_index

    monkeypatch.setattr(bm25_index, "COMMIT_SECONDS", 0.0)
    monkeypatch.setattr(sys.modules[ingest.__module__], "COMMIT_SECONDS", 0.0)
    source = write_files(tmp_path / "s", {f"{i:02}.md": f"word{i} same" for i in range(20)})

    def killed(done: int, total: int | None) -> None:
        if done == 11:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        followed(source, tmp_path / "c", progress=killed)
    (source / "03.md").write_text("edited meanwhile")
    corpus = followed(source, tmp_path / "c")
    engine = Bm25(corpus)
    assert engine.update() < 20, "what was committed is not read again"
    assert len(engine.search(["same"], 100)[0]) == 19
    assert [hit.docid for hit in engine.search(["edited"], 100)[0]] == ["03.md"]
