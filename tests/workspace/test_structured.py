"""W with tables of contents: search, read and citations speak of the lines of the files that stand there."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from corpuscope.agent import parse_answer
from corpuscope.corpus import Corpus
from corpuscope.retrieve import Bm25
from corpuscope.structure import Structured, strip, structure
from corpuscope.structure.form import with_inserted_headings
from corpuscope.structure.section import Located
from corpuscope.workspace import Observation, Tool, Workspace, execute, rise_tools

from ..conftest import MakeCorpus, write_files

GUIDE = "# Guide\n\nIntro.\n\n## Cats\n\nA cat sat on the mat.\n\n## Dogs\n\nA dog barked.\n"
FILES = {"guide.md": GUIDE, "plain.txt": "a cat and no headings\n"}


class Desk:
    """A structured workspace with its tools."""

    def __init__(self, corpus: Corpus) -> None:
        self.workspace = Workspace(corpus, structured=Structured(corpus))
        self.tools: dict[str, Tool] = rise_tools(self.workspace, Bm25(corpus))

    def __call__(self, name: str, **arguments: object) -> Observation:
        return asyncio.run(self.tools[name].call(arguments))


@pytest.fixture
def desk(make_corpus: MakeCorpus) -> Iterator[Desk]:
    corpus = make_corpus(FILES)
    structure(corpus)
    made = Desk(corpus)
    made("search", queries=["cat dog"])
    yield made
    made.workspace.close()


def test_w_holds_hard_links_to_the_structured_files(desk: Desk) -> None:
    inside = desk.workspace.path / "guide.md"
    assert os.stat(inside).st_ino == os.stat(desk.workspace.corpus.root / "structured/guide.md").st_ino
    assert inside.read_text().startswith("## Table of Contents\n\n- lines 8-18: Guide\n  - lines 12-15: Cats\n")
    assert (desk.workspace.path / "plain.txt").read_text().endswith("<!-- body -->\na cat and no headings\n")


def test_a_preview_names_the_section_its_snippet_stands_in(desk: Desk) -> None:
    seen = desk("search", queries=["barked", "mat"]).text
    assert "guide.md (18 lines): Guide" in seen
    assert "    18 [Dogs, lines 16-18]: A dog barked." in seen
    assert "    14 [Cats, lines 12-15]: A cat sat on the mat." in seen
    assert "lines 8-18: Guide" not in seen, "the table itself is no snippet"


def test_search_ranks_on_the_original_text(desk: Desk) -> None:
    assert desk("search", queries=["contents"]).data["queries"][0]["found"] == 0


def test_reading_a_row_of_the_table_gives_its_section(desk: Desk) -> None:
    row = desk("bash", command="rg -n '^ *- lines .*Cats' guide.md").text
    first, last = map(int, re.search(r"lines (\d+)-(\d+)", row).groups())  # type: ignore[union-attr]
    seen = desk("read", path="guide.md", offset=first, limit=last - first + 1)
    assert [line.split("\t", 1)[1] for line in seen.text.split("\n")[:4]] == [
        "## Cats",
        "",
        "A cat sat on the mat.",
        "",
    ]
    assert seen.data["lines"] == 18 and "of 18" in seen.text


def test_citations_are_checked_against_w_and_known_in_the_original(desk: Desk) -> None:
    answer = parse_answer(
        "It sat [guide.md:14]. Dogs [guide.md:16-18]. Not there [guide.md:19]. [guide.md:2]", desk.workspace
    )
    first, second, third, table = answer.citations
    assert (first.original_first, first.original_last, first.problem) == (7, 7, "")
    assert (second.original_first, second.original_last) == (9, 11)
    assert third.problem == "the document has 18 lines"
    assert (table.original_first, table.problem) == (None, "these lines are its table of contents, not the document")
    lines = GUIDE.split("\n")
    assert lines[6] == "A cat sat on the mat." and lines[8] == "## Dogs"


def test_a_document_that_changed_since_stands_in_w_as_it_is(tmp_path: Path) -> None:
    source = write_files(tmp_path / "source", FILES)
    corpus, _ = Corpus.build(source, tmp_path / "corpus")
    structure(corpus)
    (source / "guide.md").write_text("# Guide\n\nA new cat.\n")
    corpus, _ = Corpus.build(source, tmp_path / "corpus")
    with closing(Desk(corpus).workspace) as workspace:
        workspace.add(["guide.md", "plain.txt"])
        assert (workspace.path / "guide.md").read_text() == "# Guide\n\nA new cat.\n"
        assert workspace.toc("guide.md") is None and workspace.toc("plain.txt") is not None
        (citation,) = parse_answer("[guide.md:3]", workspace).citations
        assert citation.problem == "" and citation.original_first is None


def test_a_document_that_only_looks_structured_is_read_as_it_is(make_corpus: MakeCorpus) -> None:
    fake = with_inserted_headings("a cat\nsat\n", [Located("Cats", "", 0)]).decode()
    corpus = make_corpus({"fake.txt": fake})
    with Workspace(corpus) as workspace:
        workspace.add(["fake.txt"])
        assert workspace.toc("fake.txt") is None
        (citation,) = parse_answer("[fake.txt:3]", workspace).citations
        assert citation.original_first is None and citation.problem == ""
    structure(corpus)
    assert strip((corpus.root / "structured/fake.txt").read_bytes()).decode() == fake


def test_a_command_cannot_change_a_structured_file(desk: Desk) -> None:
    before = (desk.workspace.corpus.root / "structured/guide.md").read_bytes()
    for command in (
        "echo x >> guide.md",
        "rm -f guide.md",
        "chmod u+w guide.md; echo x > guide.md",
        "sed -i s/cat/x/ guide.md",
    ):
        execute(desk.workspace.sandbox, command, 10)
    assert (desk.workspace.corpus.root / "structured/guide.md").read_bytes() == before
    root = desk.workspace.corpus.root
    assert execute(desk.workspace.sandbox, f"cat {root}/structured/guide.md", 10).exit_code != 0


def test_without_a_sandbox_documents_are_copied(make_corpus: MakeCorpus) -> None:
    corpus = make_corpus(FILES)
    structure(corpus)
    with Workspace(corpus, structured=Structured(corpus), sandboxed=False) as workspace:
        workspace.add(["guide.md"])
        assert os.stat(workspace.path / "guide.md").st_ino != os.stat(corpus.root / "structured/guide.md").st_ino
        execute(workspace.sandbox, "chmod u+w guide.md; echo spoilt > guide.md", 10)
        assert workspace.toc("guide.md") is None
        assert parse_answer("[guide.md:1]", workspace).citations[0].problem == ""
