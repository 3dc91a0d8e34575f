"""The RISE paper's ranking: what the library itself says, document by document, also after changes."""

from __future__ import annotations

import math
import random
from pathlib import Path

import bm25s
import pytest

from corpuscope.corpus import Corpus
from corpuscope.errors import UsageError
from corpuscope.retrieve import Bm25s, engines_of, retriever

from ..conftest import MakeCorpus, write_files


def texts(count: int, seed: int) -> dict[str, str]:
    chance = random.Random(seed)
    words = [f"word{n}" for n in range(300)]
    return {f"{n:04}.txt": " ".join(chance.choices(words, k=chance.randint(1, 80))) for n in range(count)}


def library(files: dict[str, str], query: str, k: int) -> dict[str, float]:
    """By the library alone, from nothing."""
    names = sorted(files)
    engine = bm25s.BM25()
    engine.index(bm25s.tokenize([files[name] for name in names], show_progress=False), show_progress=False)
    tokens = bm25s.tokenize([query], return_ids=False, show_progress=False)
    found = engine.retrieve(tokens, k=min(k, len(names)), show_progress=False)
    scored = zip(found.documents[0].tolist(), found.scores[0].tolist(), strict=True)
    return {names[number]: score for number, score in scored if score > 0}


def ranked(engine: Bm25s, query: str, k: int) -> dict[str, float]:
    (hits,) = engine.search([query], k)
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    return {hit.docid: hit.score for hit in hits}


def test_ranks_as_the_library_does(make_corpus: MakeCorpus) -> None:
    files = texts(400, seed=1)
    engine = Bm25s(make_corpus(files))
    assert engine.update() == 400 and engine.update() == 0
    for number in range(0, 300, 15):
        query = f"word{number} word{(number * 7) % 300}"
        assert ranked(engine, query, 1000) == pytest.approx(library(files, query, 1000))
    assert list(ranked(engine, "word1 word2", 5).values()) == pytest.approx(
        list(library(files, "word1 word2", 5).values())
    )


def test_scores_are_those_of_the_formula(make_corpus: MakeCorpus) -> None:
    """Lucene's variant with k1 = 1.5 and b = 0.75, by hand."""
    engine = Bm25s(make_corpus({"a": "cats cats dogs", "b": "cats birds", "c": "fish fish fish fish"}))
    idf = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    mean = 9 / 3
    a = idf * 2 / (2 + 1.5 * (0.25 + 0.75 * 3 / mean))
    b = idf * 1 / (1 + 1.5 * (0.25 + 0.75 * 2 / mean))
    assert ranked(engine, "the cats", 10) == pytest.approx({"a": a, "b": b}, rel=1e-5)


def test_follows_changes_reading_only_what_changed(tmp_path: Path) -> None:
    files = texts(200, seed=2)
    source, into = write_files(tmp_path / "source", files), tmp_path / "corpus"
    with Corpus.build(source, into)[0] as corpus:
        assert Bm25s(corpus).update() == 200
    changed = {"0007.txt": "word1 word1 fresh", "new.txt": "fresh word2"}
    write_files(source, changed)
    (source / "0009.txt").unlink()
    files = {name: text for name, text in (files | changed).items() if name != "0009.txt"}
    with Corpus.build(source, into)[0] as corpus:
        engine = Bm25s(corpus)
        assert not engine.fresh
        assert ranked(engine, "fresh word1", 1000) == pytest.approx(library(files, "fresh word1", 1000)), "never stale"
        assert len(list(engine.folder.glob("scores-*"))) == 1
    with Corpus.open(into) as corpus:
        assert Bm25s(corpus).update() == 0
        assert ranked(Bm25s(corpus), "word9", 1000) == pytest.approx(library(files, "word9", 1000))


class Killed(Exception):
    pass


def test_an_update_that_was_cut_off_goes_on(make_corpus: MakeCorpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corpuscope.retrieve.bm25s.COMMIT_EVERY", 50)
    files = texts(200, seed=3)
    corpus = make_corpus(files)

    def die(done: int, total: int) -> None:
        if done == 170:
            raise Killed

    with pytest.raises(Killed):
        Bm25s(corpus).update(die)
    engine = Bm25s(corpus)
    assert engine.update() == 50, "three times fifty were kept"
    assert ranked(engine, "word3 word4", 1000) == pytest.approx(library(files, "word3 word4", 1000))


@pytest.mark.parametrize("query", ["", "the", ">>>", 'C++ "unbalanced', "AND OR NOT", "x", "\ud800", "w " * 5000])
def test_no_query_raises(make_corpus: MakeCorpus, query: str) -> None:
    engine = Bm25s(make_corpus({"a": "words here", "b": "other words"}))
    assert engine.search([query], 10) == [[]]


def test_documents_without_words_are_no_hits(make_corpus: MakeCorpus) -> None:
    assert Bm25s(make_corpus({"a": "!", "b": "? ."})).search(["anything"], 5) == [[]]
    assert list(ranked(Bm25s(make_corpus({"a": "!", "b": "cats"})), "cats", 5)) == ["b"]


def test_another_language_has_its_own_stop_words(make_corpus: MakeCorpus) -> None:
    engine = Bm25s(make_corpus({"a": "der Hund", "b": "the dog"}, language="german"))
    assert list(ranked(engine, "der", 5)) == [] and list(ranked(engine, "the", 5)) == ["b"]


def test_engines_are_named(make_corpus: MakeCorpus) -> None:
    corpus = make_corpus({"a": "cats"})
    retriever("bm25s", corpus).update()
    assert engines_of(corpus) == ["bm25s"]
    with pytest.raises(UsageError, match="there are bm25, bm25s"):
        retriever("nope", corpus)
