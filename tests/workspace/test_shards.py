"""A packed corpus as an agent sees it: shards to grep for DCI, files of their own for RISE, the same gold for the measures."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from corpuscope.bench import Evidence, Question
from corpuscope.bench.gold import gold_documents, surfaced
from corpuscope.corpus import Corpus
from corpuscope.corpus import packs as packs_module
from corpuscope.errors import ToolError
from corpuscope.retrieve import GrepIndex
from corpuscope.retrieve.grep import part
from corpuscope.systems import load_system, open_workspace
from corpuscope.workspace import Observation, Workspace, dci_tools

from ..conftest import MakeCorpus

FILES = {f"wiki/p{n:03}.txt": f"Passage {n}\nIt tells of number w{n} and of the sea.\n" for n in range(60)} | {
    "wiki/horse.txt": "Rocinante is a horse.\nRocinante again.\n", "notes/two.md": "Here Rocinante rests.\n", "Rocinante.txt": "Nothing of it.\n",
}  # fmt: skip

Call = Callable[..., Observation]


@pytest.fixture
def corpus(make_corpus: MakeCorpus, monkeypatch: pytest.MonkeyPatch) -> Corpus:
    monkeypatch.setattr(packs_module, "SHARD_BYTES", 600)
    monkeypatch.setattr(part, "UNIT_BYTES", 100)  # a signature of hardly more than one document
    made = make_corpus(FILES, packed=True)
    GrepIndex(made).update()
    return made


@pytest.fixture
def whole(corpus: Corpus) -> Iterator[Workspace]:
    with Workspace(corpus, whole=True) as workspace:
        yield workspace


@pytest.fixture
def dci(whole: Workspace) -> Call:
    tools = dci_tools(whole)
    return lambda name, **arguments: asyncio.run(tools[name].call(arguments))


def shard_of(corpus: Corpus, path: str) -> tuple[str, int]:
    assert corpus.packs is not None
    (place,) = corpus.packs.places([path])
    return place.shard, place.line


def test_rg_narrows_to_shards_and_finds_what_the_documents_say(corpus: Corpus, whole: Workspace, dci: Call) -> None:
    shard, line = shard_of(corpus, "wiki/p041.txt")
    assert (
        dci("bash", command="rg -n 'number w41 '").text == f"{shard}:{line + 1}:It tells of number w41 and of the sea."
    )
    assert whole.narrowing and whole.narrowing.narrowed == 1
    assert len(list(corpus.files.entries())) > 5
    assert (
        dci("bash", command="rg -l Rocinante | wc -l").text
        == dci("bash", command="cat */* | rg -c '.' >/dev/null; grep -l Rocinante */* | wc -l").text
    )


def test_tools_say_what_shards_are_and_read_takes_either_name(corpus: Corpus, whole: Workspace, dci: Call) -> None:
    for tool in dci_tools(whole).values():
        assert "==> PATH <==" in tool.description
    assert dci("read", path="wiki/horse.txt").text == "     1\tRocinante is a horse.\n     2\tRocinante again."
    assert dci("read", path="wiki/horse.txt").data["docid"] == "wiki/horse.txt"
    shard, line = shard_of(corpus, "wiki/p041.txt")
    seen = dci("read", path=shard, offset=line - 1, limit=2)
    total = (corpus.store.root / shard).read_bytes().count(b"\n")
    assert seen.text.split("\n") == [
        f"{line - 1:>6}\t==> wiki/p041.txt <==", f"{line:>6}\tPassage 41",
        f"[more follows: lines {line - 1}-{line} of {total}; go on with offset={line + 1}]",
    ]  # fmt: skip
    with pytest.raises(ToolError, match="no file nope"):
        dci("read", path="nope.txt")


def test_rise_gets_documents_as_files(corpus: Corpus) -> None:
    with open_workspace(corpus, load_system("rise-bm25")) as (workspace, tools):
        assert "==> PATH <==" not in tools["bash"].description
        asyncio.run(tools["search"].call({"queries": ["rocinante horse"]}))
        assert (workspace.path / "wiki/horse.txt").read_text() == FILES["wiki/horse.txt"]
        assert (
            asyncio.run(tools["bash"].call({"command": "rg -c Rocinante | sort"})).text
            == "notes/two.md:1\nwiki/horse.txt:2"
        )


def test_grep_imports_documents_and_not_shards(corpus: Corpus) -> None:
    with open_workspace(corpus, load_system("rise-grep")) as (workspace, tools):

        def grep(**arguments: Any) -> Observation:
            return asyncio.run(tools["grep"].call(arguments))

        seen = grep(pattern="rocinante")
        # A name above a document is not its text.
        assert seen.text.startswith("rocinante: 2 documents match") and seen.data["queries"][0]["top"] == [
            "wiki/horse.txt",
            "notes/two.md",
        ]
        assert "1. wiki/horse.txt (2 lines, 2 matches)" in seen.text and "1:Rocinante is a horse." in seen.text
        assert sorted(str(file.relative_to(workspace.path)) for file in workspace.path.rglob("*.*")) == [
            "notes/two.md",
            "wiki/horse.txt",
        ]
        assert grep(pattern="rocinante", glob="*.md").data["queries"][0]["top"] == ["notes/two.md"]
        assert grep(pattern="rocinante", glob="!*.md").data["queries"][0]["top"] == ["wiki/horse.txt"]
        assert grep(pattern=r"number w\d+ ").data["queries"][0]["found"] == 60
        assert "no document matches" in grep(pattern="zebra").text
        with pytest.raises(ToolError, match=r"unclosed group.*repair the pattern"):
            grep(pattern="(")
        assert list((workspace.root.parent).glob("*/scratch/grep-*")) == []


def test_gold_is_seen_in_its_shard(corpus: Corpus, dci: Call) -> None:
    question = Question(
        query_id="q", query="?", gold=("wiki/p041.txt",), evidence=(Evidence(docid="wiki/p041.txt", first=2, last=2),)
    )
    gold = gold_documents(question, corpus)
    shard, line = shard_of(corpus, "wiki/p041.txt")
    text = FILES["wiki/p041.txt"].split("\n")[1]

    def found(name: str, **arguments: object) -> list[tuple[int, int | None]]:
        seen = dci(name, **arguments)
        event: Any = {"type": "tool", "error": False, "name": name, "text": seen.text, "data": seen.data}
        return [(s.call, s.characters) for s in surfaced([event], gold)]

    assert found("bash", command="rg -n 'of the sea'") == [(1, len(text))]
    assert found("bash", command=f"rg 'number w41 ' {shard} -H") == [(1, len(text))]
    assert found("bash", command=f"sed -n '{line},{line + 1}p' {shard}") == [(1, len(text) + 1)]
    assert found("bash", command=f"head -1 {shard}") == [], "another document of the shard is not this one"
    assert found("read", path=shard, offset=line, limit=2)[0][1]
    assert found("read", path=shard, offset=line + 3, limit=2) == []
    assert found("read", path="wiki/p041.txt")[0][1]
