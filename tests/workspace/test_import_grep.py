"""grep as the boundary: what matches becomes W, best first."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from corpuscope.corpus import Corpus
from corpuscope.errors import ToolError
from corpuscope.retrieve import GrepIndex
from corpuscope.structure import structure
from corpuscope.systems import load_system, open_workspace
from corpuscope.workspace import MalformedCall, Observation, Tool, Workspace

from ..conftest import MakeCorpus

FILES = {
    "one.md": "# One\n\nThe horse is called Rocinante.\n" + "Nothing else here.\n" * 40,
    "many.md": "# Many\n\nRocinante, Rocinante and again\nROCINANTE rides.\n",
    "long.md": "# Long\n\nRocinante once.\n" + "Other words fill it, line by line.\n" * 400,
    "none.md": "# None\n\nA horse without a name.\n",
    "data/dots.txt": "version 1.2.3 and 1x2y3\n",
    "data/(round).txt": "in a folder, with (round) brackets: f(x)\n",
}


class Desk:
    """The tools of rise-grep, called without an event loop."""

    def __init__(self, workspace: Workspace, tools: dict[str, Tool]) -> None:
        self.workspace, self.tools = workspace, tools

    def __call__(self, **arguments: Any) -> Observation:
        return asyncio.run(self.tools["grep"].call(arguments))

    @property
    def files(self) -> list[str]:
        return sorted(str(file.relative_to(self.workspace.path)) for file in self.workspace.path.rglob("*.*"))


@pytest.fixture(params=["with an index", "without"])
def corpus(make_corpus: MakeCorpus, request: pytest.FixtureRequest) -> Corpus:
    made = make_corpus(FILES)
    if request.param == "with an index":
        GrepIndex(made).update()
    return made


@pytest.fixture
def desk(corpus: Corpus) -> Iterator[Desk]:
    with open_workspace(corpus, load_system("rise-grep")) as (workspace, tools):
        yield Desk(workspace, tools)


def test_every_document_that_matches_is_imported_best_first(desk: Desk) -> None:
    seen = desk(pattern="rocinante")
    assert desk.files == ["long.md", "many.md", "one.md"]
    (asked,) = seen.data["queries"]
    assert asked["found"] == 3 and asked["paths"] == ["many.md", "one.md", "long.md"], "more matches in less text first"
    assert seen.data["imported"] == asked["top"] and seen.data["workspace"] == 3
    assert (
        " 1. many.md (4 lines, 3 matches): Many\n    3:Rocinante, Rocinante and again\n    4:ROCINANTE rides.\n"
        in seen.text
    )
    assert seen.text.endswith("Workspace: 3 files (3 new).")


def test_w_only_grows(desk: Desk) -> None:
    desk(pattern="Rocinante", ignore_case=False)
    again = desk(pattern="horse")
    assert again.data["imported"] == ["none.md"] and desk.files == ["long.md", "many.md", "none.md", "one.md"]
    assert desk(pattern="horse").data["imported"] == []


def test_case_literal_and_glob_choose(desk: Desk) -> None:
    assert desk(pattern="ROCINANTE", ignore_case=False).data["queries"][0]["paths"] == ["many.md"]
    assert desk(pattern="f(x)", literal=True).data["queries"][0]["paths"] == ["data/(round).txt"]
    assert desk(pattern="1.2.3").data["queries"][0]["characters"] == [len("1:version 1.2.3 and 1x2y3")]
    assert desk(pattern="o", glob="*.txt").data["queries"][0]["found"] == 2
    assert desk(pattern="horse|name", glob="!one.md").data["queries"][0]["paths"] == ["none.md"]


def test_nothing_found_says_so(desk: Desk) -> None:
    seen = desk(pattern="no such thing anywhere")
    assert "no document matches" in seen.text and seen.data["imported"] == [] and desk.files == []


def test_more_than_k_documents_are_cut_to_the_best(make_corpus: MakeCorpus) -> None:
    corpus = make_corpus({f"{n:02}.md": "needle " * (n + 1) + "straw " * 40 for n in range(20)})
    with open_workspace(corpus, load_system("rise-grep").changed(k=5)) as (workspace, tools):
        seen = Desk(workspace, tools)(pattern="needle")
        assert "20 documents match, the best 5 are imported" in seen.text
        assert set(seen.data["imported"]) == {f"{n:02}.md" for n in range(15, 20)}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pattern": "(unclosed"}, "unclosed group; repair the pattern, or set literal to true"),
        ({"pattern": "a", "glob": "[z"}, "repair the pattern"),
        ({"pattern": "nul\0"}, "NUL"),
        ({"pattern": "(?=x)"}, "look-around"),
    ],
)
def test_a_wrong_pattern_comes_back_in_words_that_help(desk: Desk, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ToolError, match=message):
        desk(**arguments)


@pytest.mark.parametrize(
    "pattern", ["'; cat /etc/passwd; '", "$(id)", "`id`", "--pre=id", "-f/etc/passwd", "a\nb", "\\"]
)
def test_no_pattern_is_more_than_a_pattern(desk: Desk, pattern: str) -> None:
    try:
        text = desk(pattern=pattern).text
    except ToolError as error:
        text = str(error)
    assert "root:" not in text and "uid=" not in text


@pytest.mark.parametrize(
    "arguments", [{}, {"pattern": ""}, {"pattern": ["a"]}, {"patern": "a"}, {"pattern": "x" * 5000}]
)
def test_a_malformed_call_is_told_so(desk: Desk, arguments: dict[str, Any]) -> None:
    with pytest.raises(MalformedCall, match="call it again like this"):
        desk(**arguments)


def test_structured_documents_come_with_their_tables_and_the_lines_they_have_there(make_corpus: MakeCorpus) -> None:
    corpus = make_corpus({"doc.md": "# Horses\n\n## Names\n\nRocinante is one.\n\n## Colours\n\nBrown.\n"})
    GrepIndex(corpus).update()
    structure(corpus)
    with open_workspace(corpus, load_system("rise-grep").changed(documents="structured")) as (workspace, tools):
        seen = Desk(workspace, tools)(pattern="Rocinante")
        number = int(seen.text.split("    ")[1].split(":")[0])
        text = (workspace.path / "doc.md").read_text()
        assert "Table of Contents" in text and text.splitlines()[number - 1] == "Rocinante is one."


def test_a_document_that_has_just_gone_is_not_the_patterns_fault(make_corpus: MakeCorpus) -> None:
    corpus = make_corpus(FILES)
    GrepIndex(corpus).update()
    (corpus.store.root / "one.md").unlink()
    with open_workspace(corpus, load_system("rise-grep")) as (workspace, tools):
        assert Desk(workspace, tools)(pattern="Rocinante").data["queries"][0]["paths"] == ["many.md", "long.md"]


def test_parallel_calls_agree_on_who_brought_a_file(desk: Desk) -> None:
    async def both() -> list[Observation]:
        return await asyncio.gather(*(desk.tools["grep"].call({"pattern": "Rocinante"}) for _ in range(4)))

    seen = asyncio.run(both())
    assert sorted(docid for one in seen for docid in one.data["imported"]) == ["long.md", "many.md", "one.md"]


def test_nothing_is_ranked_where_grep_alone_bounds(make_corpus: MakeCorpus) -> None:
    corpus = make_corpus(FILES)
    with open_workspace(corpus, load_system("rise-grep")):
        assert not (corpus.root / "index").exists()
    with open_workspace(corpus, load_system("rise-bm25").changed(tools=("search", "grep", "bash", "read"))) as (
        _,
        tools,
    ):
        assert list(tools) == ["search", "grep", "bash", "read"]
