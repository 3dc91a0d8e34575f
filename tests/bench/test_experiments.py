"""Corpora that grow by distractors, and systems in all combinations."""

from __future__ import annotations

from pathlib import Path

import pytest

from corpuscope.bench import grid, scaled, variations
from corpuscope.corpus import Corpus
from corpuscope.errors import UsageError
from corpuscope.systems import load_system

from ..conftest import MakeCorpus
from .conftest import N


@pytest.fixture
def others(make_corpus: MakeCorpus) -> Corpus:
    """Of the same names as the base's, in part."""
    return make_corpus({f"d{n:02}.md": f"Of no use: note {n}.\n" for n in range(4 * N)})


def contents(corpus: Corpus) -> dict[str, bytes]:
    return {entry.docid: corpus.store.read(entry.path) for entry in corpus.manifest.entries()}


def test_each_size_holds_the_smaller_ones(corpus: Corpus, others: Corpus, tmp_path: Path) -> None:
    """The base's documents keep docid, path and bytes, so that qrels and evidence still point at them."""
    sizes = [scaled(corpus, others, times, 7, tmp_path / "s") for times in (1, 2, 4)]
    assert [len(size) for size in sizes] == [N, 2 * N, 4 * N]
    held = [contents(size) for size in sizes]
    assert held[0] == contents(corpus)
    assert held[0].items() <= held[1].items() <= held[2].items()
    assert all(docid.startswith("distractor:") for docid in held[2].keys() - held[0].keys())
    paths = {entry.docid: entry.path for entry in corpus.manifest.entries()}
    assert {e.docid: e.path for e in sizes[2].manifest.entries() if e.docid in paths} == paths


def test_the_seed_decides(corpus: Corpus, others: Corpus, tmp_path: Path) -> None:
    def drawn(folder: str, seed: int) -> set[str]:
        return set(contents(scaled(corpus, others, 2, seed, tmp_path / folder)))

    assert drawn("a", 1) == drawn("b", 1) != drawn("c", 2)


def test_again_it_is_only_brought_up_to_date(corpus: Corpus, others: Corpus, tmp_path: Path) -> None:
    def made(seed: int) -> tuple[int, int, str]:
        size = scaled(corpus, others, 2, seed, tmp_path)
        return len(size), size.revision, size.manifest.digest()

    first = made(1)
    assert made(1) == first
    count, revision, digest = made(2)
    assert count == 2 * N and revision > first[1] and digest != first[2]


@pytest.mark.parametrize(("times", "words"), [(10, "48 documents, not 108"), (0.5, "at least 1")])
def test_a_size_that_cannot_be_is_one_line(
    corpus: Corpus, others: Corpus, tmp_path: Path, times: float, words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        scaled(corpus, others, times, 0, tmp_path)


def test_a_mixture_that_is_none_is_one_line(tmp_path: Path) -> None:
    from corpuscope.corpus import SourceSettings

    (tmp_path / "m.toml").write_text("base = 3\n")
    with pytest.raises(UsageError, match="is no mixture of corpora"):
        Corpus.build(tmp_path / "m.toml", tmp_path / "c", SourceSettings(format="mixture"))


def test_every_combination() -> None:
    told = variations(["k=10,100", "context=level0,level3", "retriever=bm25"])
    assert told == {"k": [10, 100], "context": ["level0", "level3"], "retriever": ["bm25"]}
    assert variations(["k=10", "k=100"]) == {"k": [10, 100]}
    systems = grid(load_system("rise-bm25"), told)
    assert list(systems) == [
        "k=10,context=level0,retriever=bm25", "k=10,context=level3,retriever=bm25",
        "k=100,context=level0,retriever=bm25", "k=100,context=level3,retriever=bm25",
    ]  # fmt: skip
    assert [(s.k, s.context) for s in systems.values()] == [
        (10, "level0"),
        (10, "level3"),
        (100, "level0"),
        (100, "level3"),
    ]


@pytest.mark.parametrize("text", ["k", "k=", "size=3", "name=x", "=3"])
def test_what_cannot_be_varied_is_one_line(text: str) -> None:
    with pytest.raises(UsageError, match="it is KEY=VALUE,VALUE with a KEY of"):
        variations([text])


@pytest.mark.parametrize("text", ["k=many", "context=L9", "k=0"])
def test_a_value_that_does_not_fit_is_one_line(text: str) -> None:
    with pytest.raises(UsageError):
        grid(load_system("rise-bm25"), variations([text]))
