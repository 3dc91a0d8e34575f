"""Documents as the agent had them, and W made again as it was after any call."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from pathlib import Path

import pytest

from corpuscope.bench import Dataset, load_dataset
from corpuscope.corpus import Corpus
from corpuscope.errors import UsageError
from corpuscope.serve import Shelf
from corpuscope.serve.viewer.documents import BLOCK, MAX_LINE
from corpuscope.serve.viewer.spaces import MOST, Spaces, imported
from corpuscope.structure import Structured, strip, structure
from corpuscope.systems import load_system
from corpuscope.workspace import Observation

from ...conftest import MakeCorpus, write_files
from .conftest import Ask, OpenShelf
from .trajectories import new_run, trajectory, write

BOOK = "# Birds\n\nAbout birds.\n\n## Owls\n\nOwls hoot.\n\n## Ducks\n\nDucks quack.\n"


@pytest.fixture
def questions(tmp_path: Path) -> Dataset:
    (tmp_path / "q.jsonl").write_text('{"query_id": "q", "query": "Who hoots?", "answer": "owls", "gold_doc_ids": ["book.md"], "evidence": ["book.md:7"]}\n')  # fmt: skip
    return load_dataset(str(tmp_path / "q.jsonl"))


def search(query: str, docids: list[str], count: int) -> tuple[str, object, str, dict[str, object]]:
    data = {"queries": [{"query": query, "found": len(docids), "new": len(docids), "top": docids, "paths": docids}], "imported": docids, "workspace": count}  # fmt: skip
    return "search", {"queries": [query]}, "", data


def test_with_its_table_of_contents(make_corpus: MakeCorpus, tmp_path: Path, questions: Dataset, shelf_of: OpenShelf, ask: Ask) -> None:  # fmt: skip
    corpus = make_corpus({"book.md": BOOK, "plain.txt": "no heading\n"})
    structure(corpus)
    made = new_run(tmp_path / "r", questions, corpus, load_system("rise"))
    write(made, "q", trajectory("Who hoots?", [search("owls", ["book.md"], 1)], "owls"))
    shelf = shelf_of(made.folder)
    told = ask(shelf, "document?run=0&name=book.md&block=0")
    with closing(Structured.open(corpus)) as structured:
        data = structured.store.read("book.md")
    assert told["form"] == "structured" and told["lines"] == data.decode().removesuffix("\n").split("\n")
    assert [told["lines"][entry["first"] - 1] for entry in told["toc"]] == ["# Birds", "## Owls", "## Ducks"]
    original = strip(data).decode().split("\n")
    for line, (text, number) in enumerate(zip(told["lines"], told["originals"], strict=True), 1):
        assert (number is None) == (line < told["body"])
        assert number is None or original[number - 1] == text
    plain = ask(shelf, "document?run=0&name=book.md&block=0&form=original")
    assert "\n".join(plain["lines"]) + "\n" == BOOK and plain["toc"] == [] and plain["originals"] is None
    assert plain["forms"] == ["structured", "original"]
    grepped = ask(shelf, "grep?run=0&question=q&call=1&pattern=hoot")
    line = next(n for n, text in enumerate(told["lines"], 1) if text == "Owls hoot.")
    assert grepped["text"] == f"book.md:{line}:Owls hoot.", "W holds the structured form"


def test_long_documents_come_in_pieces(make_corpus: MakeCorpus, tmp_path: Path, questions: Dataset, shelf_of: OpenShelf, ask: Ask) -> None:  # fmt: skip
    lines = [f"line {n}" for n in range(1, 2 * BLOCK + 2)]
    corpus = make_corpus(
        {"long.md": "\n".join(lines), "wide.md": "x" * 1_000_000, "crlf.md": "a\r\nb\r\n", "empty.md": ""}
    )
    made = new_run(tmp_path / "r", questions, corpus, load_system("rise-bm25"))
    shelf = shelf_of(made.folder)
    found: list[str] = []
    for block in range(3):
        piece = ask(shelf, f"document?run=0&name=long.md&block={block}")
        assert (piece["first"], piece["total"]) == (block * BLOCK + 1, 2 * BLOCK + 1)
        found += piece["lines"]
    assert found == lines
    assert "error" in ask(shelf, "document?run=0&name=long.md&block=3")
    (wide,) = ask(shelf, "document?run=0&name=wide.md&block=0")["lines"]
    assert wide == "x" * MAX_LINE + " [line cut: 1,000,000 characters]"
    assert ask(shelf, "document?run=0&name=crlf.md&block=0")["lines"] == ["a", "b"]


@pytest.fixture
def grown(make_corpus: MakeCorpus, tmp_path: Path, questions: Dataset, shelf_of: OpenShelf) -> Shelf:
    """W grows by a file with each of three calls."""
    corpus = make_corpus({name: f"a word of {name}\n" for name in ("a.md", "b.md", "c.md", "never.md")})
    made = new_run(tmp_path / "r", questions, corpus, load_system("rise-bm25"))
    turns = [search("a", ["a.md"], 1), ("bash", {"command": "ls"}, "a.md", {}), search("b", ["b.md", "a.md"], 2), search("c", ["c.md"], 3)]  # fmt: skip
    write(made, "q", trajectory("?", turns))
    return shelf_of(made.folder)


async def grepped(spaces: Spaces, shelf: Shelf, call: int) -> list[str]:
    found: Observation = await spaces.grep(0, shelf.runs[0], "q", call, {"pattern": "word"})
    return [line.partition(":")[0] for line in found.text.split("\n")]


def test_w_as_it_was_after_any_call(grown: Shelf) -> None:
    assert [imported(grown.runs[0], "q", call) for call in range(5)] == [
        [], ["a.md"], ["a.md"], ["a.md", "b.md"], ["a.md", "b.md", "c.md"],
    ]  # fmt: skip
    with closing(Spaces()) as spaces:

        async def all_ways() -> list[list[str]]:
            return [await grepped(spaces, grown, call) for call in (3, 4, 1, 0, 4, 99)]

        found = asyncio.run(all_ways())
    everything = ["a.md", "b.md", "c.md"]
    assert found == [["a.md", "b.md"], everything, ["a.md"], ["[no matches]"], everything, everything]


def test_few_workspaces_are_kept_and_none_is_left(grown: Shelf) -> None:
    assert grown.runs[0].corpus
    folder = grown.runs[0].corpus.root / "workspaces"
    spaces = Spaces()

    async def many() -> None:
        for number in range(MOST + 3):
            await spaces.grep(number, grown.runs[0], "q", 1, {"pattern": "x"})

    asyncio.run(many())
    assert len(list(folder.iterdir())) == MOST
    spaces.close()
    assert list(folder.iterdir()) == []


def test_a_pattern_cannot_reach_out(grown: Shelf, ask: Ask) -> None:
    """What a reader types is an argument of grep and nothing else."""
    for pattern in ("$(touch /tmp/owned)", "';touch /tmp/owned;'", "-f/etc/passwd", "`id`", "--pre=sh"):
        answer = ask(grown, f"grep?run=0&question=q&call=3&pattern={pattern}", whole=True).json()
        assert "root:" not in json.dumps(answer) and not Path("/tmp/owned").exists()
    assert ask(grown, "grep?run=0&question=q&call=3&pattern=A%20WORD&ignore_case=1")["lines"] == 2
    assert ask(grown, "grep?run=0&question=q&call=3&pattern=a.word&literal=1")["lines"] == 0
    assert ask(grown, "grep?run=0&question=q&call=3&pattern=word&glob=b*")["lines"] == 1


def test_the_whole_corpus_as_w(make_corpus: MakeCorpus, tmp_path: Path, questions: Dataset, shelf_of: OpenShelf, ask: Ask) -> None:  # fmt: skip
    corpus = make_corpus({f"{n:03}.md": f"word {n}\n" for n in range(600)})
    made = new_run(tmp_path / "r", questions, corpus, load_system("dci-lite"))
    write(made, "q", trajectory("?", [("bash", {"command": "rg word"}, "001.md:1:word 1", {"command": "rg word"})]))
    shelf = shelf_of(made.folder)
    first = ask(shelf, "folder?run=0")
    assert first["total"] == 600 and first["paths"][0] == "000.md" and len(first["paths"]) == 500
    assert ask(shelf, "folder?run=0&after=499.md")["paths"] == [f"{n}.md" for n in range(500, 600)]
    assert ask(shelf, "grep?run=0&question=q&call=0&pattern=word%205$")["text"] == "005.md:1:word 5"


def test_paths_of_documents_named_otherwise(tmp_path: Path, questions: Dataset, shelf_of: OpenShelf, ask: Ask) -> None:
    write_files(tmp_path, {"rows.jsonl": '{"id": "7", "text": "owls"}\n{"id": "../8", "text": "ducks"}\n'})
    corpus, _ = Corpus.build(tmp_path / "rows.jsonl", tmp_path / "c")
    made = new_run(tmp_path / "r", questions, corpus, load_system("rise-bm25"))
    write(made, "q", trajectory("?", [search("a", ["7", "../8"], 2)]))
    told = ask(shelf_of(made.folder), "paths?run=0&question=q")
    corpus.close()
    assert told.keys() == {"7", "../8"} and all(".." not in path.split("/") for path in told.values())
    assert ask(shelf_of(made.folder), "document?run=0&block=0&name=7")["lines"] == ["owls"]


def test_no_documents_no_workspace(grown: Shelf) -> None:
    grown.runs[0].corpus = None
    with closing(Spaces()) as spaces, pytest.raises(UsageError, match="--corpus"):
        asyncio.run(grepped(spaces, grown, 1))
