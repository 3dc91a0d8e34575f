"""The n-gram index: no document that matches is ever missed, and it follows the corpus."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corpuscope.corpus import Corpus, SourceSettings
from corpuscope.errors import UsageError
from corpuscope.retrieve import GrepIndex, need_of, need_of_literal
from corpuscope.retrieve.grep import index as index_module
from corpuscope.retrieve.grep import part
from corpuscope.retrieve.grep.grams import BITS, fold, rows
from tests.conftest import MakeCorpus, write_files


def found(index: GrepIndex, pattern: str) -> set[str]:
    keys = index.candidates(need_of(pattern, "rust"))
    assert keys is not None
    return set(index.paths(keys))


def indexed(corpus: Corpus) -> GrepIndex:
    index = GrepIndex(corpus)
    index.update()
    return index


def saved(builder: part.PartBuilder, folder: Path) -> part.Part:
    return builder.save(folder / "part.bits")


@pytest.fixture
def small_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """Signatures of about one document, and parts of few of them."""
    monkeypatch.setattr(part, "UNIT_BYTES", 200)
    monkeypatch.setattr(part, "UNITS", 64)
    monkeypatch.setattr(index_module, "UNITS", 64)


def texts(count: int, size: int = 150, seed: int = 1) -> dict[str, str]:
    """Each holds its own number as a word, `mark00042`, somewhere among random ones."""
    chance = random.Random(seed)
    made = {}
    for number in range(count):
        words = ["".join(chance.choices("abcdefghij", k=5)) for _ in range(size // 6)]
        words.insert(chance.randrange(len(words)), f"mark{number:05d}")
        made[f"{number % 7}/{number:05d}.txt"] = " ".join(words)
    return made


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text("abcd\u00e4\u0416 ", max_size=400), min_size=1, max_size=12), st.data())
def test_every_substring_of_a_document_finds_it(tmp_path: Path, documents: list[str], data: st.DataObject) -> None:
    builder = part.PartBuilder()
    for key, text in enumerate(documents, 1):
        builder.add(key, text.encode())
    built = saved(builder, tmp_path)
    key = data.draw(st.integers(1, len(documents)))
    text = documents[key - 1]
    start, size = data.draw(st.integers(0, len(text))), data.draw(st.integers(3, 80))
    folded = fold(text[start : start + size])[:64]
    if len(folded) >= 3:
        units = built.holding(rows(folded))
        assert key in built.documents(units)


def test_a_literal_is_found_wherever_it_stands_in_a_long_document(tmp_path: Path) -> None:
    filler = "".join(chr(97 + n % 26) for n in range(part.UNIT_BYTES * 5))
    literal = "Needle\N{KELVIN SIGN}" * 9  # 64 bytes when folded, 81 before
    for at in range(part.UNIT_BYTES - 100, part.UNIT_BYTES * 2, 37):
        builder = part.PartBuilder()
        builder.add(1, (filler[:at] + literal + filler[at:]).encode())
        built = saved(builder, tmp_path)
        assert list(built.documents(built.holding(rows(fold(literal)[:64]))))


def test_signatures_take_a_tenth_of_the_text_and_tell_documents_apart(tmp_path: Path) -> None:
    chance = random.Random(3)
    words = ["".join(chance.choices("etaoinshrdlucmfw", k=chance.randint(2, 9))) for _ in range(20_000)]
    names = ["".join(chance.choices("bgjkpqvxyz", k=9)) for _ in range(300)]
    files = {f"{n}.txt": " ".join(chance.choices(words, k=3_000)) + f" {names[n]}" for n in range(300)}
    corpus, _ = Corpus.build(write_files(tmp_path / "source", files), tmp_path / "corpus", SourceSettings())
    with corpus:
        index = indexed(corpus)
        size = sum(file.stat().st_size for file in index.folder.iterdir())
        assert size < 0.12 * corpus.manifest.total_bytes()
        assert all(f"{n}.txt" in found(index, name.upper()) for n, name in enumerate(names))
        assert sum(len(found(index, name)) for name in names) < 6 * 300, "few documents beside the one"
        assert found(index, "qqqqzzzzxxxxjjjjvvvvkkkk") == set()


def test_follows_what_is_added_changed_removed_and_renamed(small_units: None, tmp_path: Path) -> None:
    source = write_files(tmp_path / "source", texts(300))
    settings_, into = SourceSettings(), tmp_path / "corpus"
    corpus, _ = Corpus.build(source, into, settings_)
    index = GrepIndex(corpus)
    assert index.update() == 300
    assert found(index, "mark00042") >= {"0/00042.txt"}
    (source / "0/00042.txt").write_text("now it says otherwise")
    (source / "1/00043.txt").unlink()
    (source / "2/00044.txt").rename(source / "new.txt")
    (source / "more.txt").write_text("mark99999")
    corpus.close()
    corpus, _ = Corpus.build(source, into, settings_)
    index = GrepIndex(corpus)
    assert index.candidates(need_of("mark00042", "rust")) is None, "behind the corpus: it must not answer"
    assert index.update() == 3, "work in proportion to what changed"
    assert "0/00042.txt" in found(index, "says otherwise")
    assert "1/00043.txt" not in found(index, "mark00043")
    assert "new.txt" in found(index, "mark00044")
    assert "more.txt" in found(index, "mark99999")
    assert index.update() == 0
    corpus.close()


def test_small_updates_are_joined_and_nothing_is_lost(small_units: None, tmp_path: Path) -> None:
    source, into = write_files(tmp_path / "source", texts(200)), tmp_path / "corpus"
    Corpus.build(source, into)[0].close()
    for number in range(25):
        write_files(source, {f"later/{number}.txt": f"later{number:04d} " * 20})
        corpus, _ = Corpus.build(source, into)
        with corpus:
            indexed(corpus)
    with Corpus.open(into) as corpus:
        index = GrepIndex(corpus)
        assert len(index.meta()["parts"]) <= 25 // 2
        assert len(list(index.folder.iterdir())) == 2 * len(index.meta()["parts"]) + 1
        assert all(f"later/{number}.txt" in found(index, f"later{number:04d}") for number in range(25))
        assert all(f"{number % 7}/{number:05d}.txt" in found(index, f"mark{number:05d}") for number in range(200))


def test_is_built_anew_once_most_of_it_is_of_documents_that_changed(tmp_path: Path) -> None:
    source, into = tmp_path / "source", tmp_path / "corpus"
    sizes = []
    for round_ in range(5):
        write_files(source, {f"{n}.txt": f"document {n} in round {round_}" for n in range(600)})
        corpus, _ = Corpus.build(source, into)
        with corpus:
            index = indexed(corpus)
            sizes.append(index.documents)
            assert found(index, f"document 77 in round {round_}") >= {"77.txt"}
    assert sizes == [600, 1200, 1800, 2400, 600]


class Killed(Exception):
    pass


def test_a_build_that_was_cut_off_goes_on(small_units: None, make_corpus: MakeCorpus) -> None:
    corpus = make_corpus(texts(400))

    def die(done: int, total: int) -> None:
        if done == 300:
            raise Killed

    with pytest.raises(Killed):
        GrepIndex(corpus).update(die)
    index = GrepIndex(corpus)
    assert not index.fresh
    assert index.candidates(need_of("mark00042", "rust")) is None
    assert 100 <= index.update() < 200, "at most a part is read again"
    assert all(f"{n % 7}/{n:05d}.txt" in found(index, f"mark{n:05d}") for n in range(400))


def test_an_unfinished_corpus_is_refused(tmp_path: Path) -> None:
    rows_ = tmp_path / "rows.jsonl"
    rows_.write_text('{"id": "a", "text": "good"}\nnot json\n')
    with pytest.raises(UsageError):
        Corpus.build(rows_, tmp_path / "corpus")
    with Corpus.open(tmp_path / "corpus") as corpus, pytest.raises(UsageError, match="unfinished"):
        GrepIndex(corpus).update()


def test_a_document_larger_than_a_part_is_one(small_units: None, make_corpus: MakeCorpus) -> None:
    lines = "".join(f"line {n} of it, {n * n}\n" for n in range(3_000))
    corpus = make_corpus({"large.txt": lines, "other.txt": "nothing of this kind"})
    index = indexed(corpus)
    for pattern in ("line 0 of", "line 1500 of", "line 2999 of it, 8994001"):
        assert found(index, pattern) == {"large.txt"}
    assert found(index, "line 17 of.*8994001") == {"large.txt"}, "pieces of one document answer together"


def test_rows_are_within_the_signature_and_the_same_for_both_cases() -> None:
    numbers = rows(fold("Some Text"))
    assert len(numbers) == (9 - 2) + (9 - 3)
    assert numbers.min() >= 0 and numbers.max() < BITS
    assert set(rows(fold("SOME TEXT"))) == set(numbers)
    assert len(rows(b"ab")) == 0
    assert need_of_literal("ab") == need_of("", "rust")
