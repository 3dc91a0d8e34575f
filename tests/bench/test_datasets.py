"""Every format a benchmark may come in, and our own benchmark looked over line by line."""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from corpuscope.bench import KNOWN, Dataset, Evidence, Question, check, load_dataset
from corpuscope.corpus import Corpus
from corpuscope.errors import SetupError, UsageError

from ..conftest import MakeCorpus, write_files

CANARY = "a canary of ours"


def encrypted(text: str, canary: str = CANARY) -> str:
    """As BrowseComp-Plus does: XOR with the repeated SHA-256 of the canary, in base64."""
    key = hashlib.sha256(canary.encode()).digest()
    return base64.b64encode(bytes(a ^ b for a, b in zip(text.encode(), cycle(key), strict=False))).decode()


def browsecomp_rows() -> list[dict[str, Any]]:
    def docs(*ids: str) -> list[dict[str, str]]:
        return [{"docid": encrypted(id), "text": encrypted("t"), "url": encrypted("u")} for id in ids]

    return [
        {"query_id": str(n), "query": encrypted(f"Question {n}, with ünïcode?"), "answer": encrypted(f"answer {n}"),
         "gold_docs": docs(f"{n}"), "evidence_docs": docs(f"{n}", f"{n}0"), "negative_docs": docs("9")}
        for n in (769, 770)
    ]  # fmt: skip


def write_parquet(file: Path, rows: list[dict[str, Any]]) -> Path:
    parquet.write_table(pa.Table.from_pylist(rows), file)
    return file


def test_browsecomp_plus(tmp_path: Path) -> None:
    file = write_parquet(tmp_path / "test-00000.parquet", browsecomp_rows())
    for path in (file, tmp_path):
        dataset = load_dataset(str(path), canary=CANARY)
        assert dataset.secret and dataset.task == "answer"
        first = dataset.questions[0]
        assert (first.query_id, first.query, first.answers) == ("769", "Question 769, with ünïcode?", ("answer 769",))
        assert first.gold == ("769",) and first.supporting == ("769", "7690")


def test_browsecomp_plus_says_what_is_wrong(tmp_path: Path) -> None:
    file = write_parquet(tmp_path / "a.parquet", browsecomp_rows())
    with pytest.raises(UsageError, match="the canary does not fit"):
        load_dataset(str(file), canary="another")
    with pytest.raises(UsageError, match="--canary takes"):
        load_dataset(str(tmp_path))
    rows = [{k: v for k, v in row.items() if k != "gold_docs"} for row in browsecomp_rows()]
    file = write_parquet(tmp_path / "a.parquet", rows)
    with pytest.raises(UsageError, match="no column gold_docs"):
        load_dataset(str(file), canary=CANARY)


def test_a_known_one_is_fetched_from_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Hub's client and its cache are real; the repository is laid into the cache as it would download it."""
    import huggingface_hub

    asked: list[tuple[str, Any]] = []
    write_parquet_folder = tmp_path / "snapshot/data"
    write_parquet_folder.mkdir(parents=True)
    write_parquet(write_parquet_folder / "test-00000-of-00001.parquet", browsecomp_rows())

    def snapshot(repository: str, **options: Any) -> str:
        asked.append((repository, options["allow_patterns"]))
        return str(tmp_path / "snapshot")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    dataset = load_dataset("browsecomp-plus", canary=CANARY)
    assert asked == [("Tevatron/browsecomp-plus", ["data/*.parquet"])]
    assert dataset.name == "browsecomp-plus" and len(dataset.questions) == 2


def test_without_the_hub_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(SetupError, match="cannot get Tevatron/browsecomp-plus from the Hub"):
        load_dataset("browsecomp-plus", canary=CANARY)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"query_id": 1, "query": "q?", "answer": "a", "gold_doc_ids": ["d1", "d2"], "evidence": ["d1:3-4", "prose"]},
         Question(query_id="1", query="q?", answers=("a",), gold=("d1", "d2"), evidence=(Evidence(docid="d1", first=3, last=4),))),
        ({"id": "dev_0", "question": "q?", "golden_answers": ["a", "b"]}, Question(query_id="dev_0", query="q?", answers=("a", "b"))),
        ({"query_id": "x", "query": "q?", "gold_docs": ["biology/1.txt"]}, Question(query_id="x", query="q?", gold=("biology/1.txt",))),
    ],
)  # fmt: skip
def test_jsonl_under_the_names_of_many(tmp_path: Path, row: dict[str, Any], expected: Question) -> None:
    file = tmp_path / "set.jsonl"
    file.write_text(json.dumps(row) + "\n\n")
    dataset = load_dataset(str(file))
    assert list(dataset.questions) == [expected]
    assert dataset.task == ("answer" if expected.answers else "ranking")
    parquet_file = write_parquet(tmp_path / "set.parquet", [row])
    assert list(load_dataset(str(parquet_file)).questions) == [expected]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"query": "q"}\n', "no id in any of the fields"),
        ('{"query_id": 1}\n', "no question in any of the fields"),
        ('{"query_id": 1, "query": "q"}\n{"query_id": "1", "query": "r"}\n', "two questions have the id 1"),
        ("not json\n", "line 1, is not JSON"),
        ("[1]\n", "line 1, is not a JSON object"),
        ("", "there is no question in it"),
        ('{"query_id": 1, "query": " "}\n', "has no id or no words"),
        ('{"query_id": 1, "query": "q", "evidence": [{"docid": "d"}]}\n', "row 1: .*first"),
    ],
)
def test_bad_jsonl_is_one_line(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "x.jsonl").write_text(text)
    with pytest.raises(UsageError, match=words) as error:
        load_dataset(str(tmp_path / "x.jsonl"))
    assert "\n" not in str(error.value)


def test_a_beir_folder(tmp_path: Path) -> None:
    write_files(tmp_path / "scifact", {
        "queries.jsonl": '{"_id": "1", "text": "claim one"}\n{"_id": "2", "text": "not judged"}\n',
        "qrels/test.tsv": "query-id\tcorpus-id\tscore\n1\td1\t1\n1\td2\t0\n7\td3\t1\n",
    })  # fmt: skip
    dataset = load_dataset(str(tmp_path / "scifact"))
    (question,) = dataset.questions
    assert (question.query, question.gold, question.grades) == ("claim one", ("d1",), {"d1": 1, "d2": 0})
    assert dataset.task == "ranking" and "1 judged topics are not asked (7" in dataset.problems[0]


@pytest.mark.parametrize(
    "topics",
    ["301\tinternational crime\n302\tpolio\n",
     "<top>\n<num> Number: 301\n<title> international\ncrime\n<desc> x\n</top>\n<top><num>302</num><title>polio</title></top>"],
)  # fmt: skip
def test_trec_topics_in_both_forms(tmp_path: Path, topics: str) -> None:
    write_files(tmp_path, {"topics.txt": topics, "qrels.txt": "301 0 FT1 2\n301 0 FT2 0\n"})
    dataset = load_dataset(str(tmp_path / "topics.txt"), qrels=tmp_path / "qrels.txt")
    assert [(q.query_id, q.query, q.gold) for q in dataset.questions] == [
        ("301", "international crime", ("FT1",)), ("302", "polio", ()),
    ]  # fmt: skip
    assert dataset.questions[0].grades == {"FT1": 2, "FT2": 0}
    assert "1 topics have no judgement and are counted apart (302" in dataset.problems[0]  # case J4


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"t": "1\ta\n1\tb\n", "q": "1 0 d 1\n"}, "two topics have the id 1"),
        ({"t": "no tab\n", "q": "1 0 d 1\n"}, "t, line 1: not a topic"),
        ({"t": "1\ta\n", "q": "1 0 d one\n1 0\n"}, "q, line 2: not a judgement"),
    ],
)
def test_bad_topics_are_one_line(tmp_path: Path, files: dict[str, str], words: str) -> None:
    write_files(tmp_path, files)
    with pytest.raises(UsageError, match=words):
        load_dataset(str(tmp_path / "t"), qrels=tmp_path / "q")
    with pytest.raises(UsageError, match="--qrels FILE"):
        load_dataset(str(tmp_path / "t"))


@pytest.mark.parametrize("text", ['["770"]', '[{"query_id": 770}]', '{"query_id": "770"}\n', "770\n"])
def test_a_fixed_sample_of_questions(tmp_path: Path, text: str) -> None:
    file = write_parquet(tmp_path / "a.parquet", browsecomp_rows())
    (tmp_path / "ids").write_text(text)
    assert [q.query_id for q in load_dataset(str(file), canary=CANARY, ids=tmp_path / "ids").questions] == ["770"]
    (tmp_path / "ids").write_text("771")
    with pytest.raises(UsageError, match="has no question 771"):
        load_dataset(str(file), canary=CANARY, ids=tmp_path / "ids")


def test_what_is_nowhere_is_named() -> None:
    with pytest.raises(UsageError, match="there are django-hops, browsecomp-plus, nq"):
        load_dataset("nope")


def test_the_digest_is_of_all_that_is_known(tmp_path: Path) -> None:
    one = Dataset("x", [Question(query_id="1", query="q", answers=("a",))])
    other = Dataset("y", [Question(query_id="1", query="q", answers=("b",))])
    assert one.digest() != other.digest() and one.digest() == Dataset("z", one.questions).digest()


# --- our own benchmark


@pytest.fixture(scope="module")
def django(django_docs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Corpus]:
    corpus, _ = Corpus.build(django_docs, tmp_path_factory.mktemp("django") / "corpus")
    yield corpus
    corpus.close()


def test_django_hops_is_what_it_says(django: Corpus) -> None:
    dataset = load_dataset("django-hops")
    assert check(dataset, django) == []
    kinds = Counter(question.kind for question in dataset.questions)
    assert set(kinds) == {"bridge", "comparison", "conjunction", "temporal", "needle"} and min(kinds.values()) >= 8
    assert len(dataset.questions) >= 80
    assert all(question.hops >= 2 for question in dataset.questions if question.kind != "needle")
    assert all(question.answers and question.gold and question.evidence for question in dataset.questions)
    assert "django-hops" in KNOWN


FILES = {
    "a.md": "One\nThe cat is called Tom.\n",
    "b.md": "Two\nTom's food is fish.\n",
    "c.md": "The cat is called Tom, and Tom's food is fish.\n",
}
HOP = Question(
    query_id="1", query="What does the cat eat?", answers=("fish",), gold=("b.md",), supporting=("a.md", "b.md"),
    evidence=(Evidence(docid="a.md", first=2, last=2, keys=("cat is called Tom",)),
              Evidence(docid="b.md", first=1, last=2, keys=("Tom's  FOOD",))),
)  # fmt: skip


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({}, []),
        ({"gold": ("x.md",)}, ["1: no document x.md in the corpus", "1: the answer 'fish' stands in no evidence of a gold document"]),
        ({"answers": ("meat",)}, ["1: the answer 'meat' stands in no evidence of a gold document"]),
        ({"answers": ("meat",), "derived": True}, []),
        ({"answers": ("cat",)}, []),
        ({"evidence": (HOP.evidence[0], Evidence(docid="b.md", first=2, last=3, keys=("Tom",))), "derived": True}, ["1: b.md:2-3 is no range of its 2 lines"]),
        ({"evidence": (HOP.evidence[1], Evidence(docid="a.md", first=1, last=1, keys=("Tom",)))}, ["1: a.md:1-1 does not hold 'Tom'"]),
        ({"evidence": (HOP.evidence[1], Evidence(docid="a.md", first=2, last=2))}, ["1: the evidence of a hop has no keys"]),
    ],
)  # fmt: skip
def test_the_checker_finds_what_is_wrong(make_corpus: MakeCorpus, change: dict[str, Any], found: list[str]) -> None:
    corpus = make_corpus({name: text for name, text in FILES.items() if name != "c.md"})
    problems = check(Dataset("x", [HOP.model_copy(update=change)]), corpus)
    assert [p for p in problems if "alone tells" not in p] == found


def test_the_checker_finds_a_shortcut(make_corpus: MakeCorpus) -> None:
    assert check(Dataset("x", [HOP]), make_corpus(FILES)) == ["1: c.md alone tells all of its hops"]
