"""DCI: the whole corpus as W, read-only, with the tools of its agent."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from corpuscope.corpus import Corpus
from corpuscope.errors import ToolError, UsageError
from corpuscope.workspace import Observation, Workspace, dci_tools, execute

from ..conftest import MakeCorpus

FILES = {"cats.md": "# Cats\n\nA cat sat.\nThe Cat ran (fast).\n", "deep/dogs.md": "# Dogs\n\nA dog barked at the cat.\n",
         ".hidden/x.log": "a cat hides\n", ".gitignore": "*.log\n"}  # fmt: skip


class Desk:
    def __init__(self, corpus: Corpus) -> None:
        self.workspace = Workspace(corpus, whole=True)
        self.tools = dci_tools(self.workspace)

    def __call__(self, name: str, **arguments: object) -> Observation:
        return asyncio.run(self.tools[name].call(arguments))


@pytest.fixture
def desk(make_corpus: MakeCorpus) -> Iterator[Desk]:
    made = Desk(make_corpus(FILES))
    yield made
    made.workspace.close()


def test_all_documents_are_there_from_the_start(desk: Desk) -> None:
    assert len(desk.workspace) == 4 and "cats.md" in desk.workspace and "nope" not in desk.workspace
    assert desk("bash", command="rg -l cat | sort").text == ".hidden/x.log\ncats.md\ndeep/dogs.md"
    assert desk("read", path="deep/dogs.md", offset=3).text == "     3\tA dog barked at the cat."
    assert desk.workspace.add(["cats.md"]) == []


def test_nothing_can_be_changed_and_nothing_else_is_seen(desk: Desk) -> None:
    store = desk.workspace.corpus.store
    before = {path: store.read(path) for path in store.files()}
    for command in (
        "echo x >> cats.md",
        "rm -rf .",
        "touch new.md",
        "chmod -R u+w . && echo x > cats.md",
        "mv cats.md y",
    ):
        assert execute(desk.workspace.sandbox, command, 10).exit_code != 0, command
    assert {path: store.read(path) for path in store.files()} == before
    root = desk.workspace.corpus.root
    seen = execute(desk.workspace.sandbox, f"ls {root} {root}/text; cat {root}/corpuscope.toml ../corpuscope.toml", 10)
    assert b"format" not in seen.output and b"manifest" not in seen.output


def test_closing_leaves_the_corpus(make_corpus: MakeCorpus) -> None:
    corpus = make_corpus(FILES)
    with Workspace(corpus, whole=True) as workspace:
        execute(workspace.sandbox, "echo scratch > /tmp/x", 10)
    assert sorted(corpus.store.files()) == sorted(FILES) and list((corpus.root / "workspaces").iterdir()) == []


def test_it_is_refused_without_a_sandbox(make_corpus: MakeCorpus) -> None:
    with pytest.raises(UsageError, match="needs the sandbox"):
        Workspace(make_corpus(FILES), whole=True, sandboxed=False)


def test_bash_shows_the_last_2_000_lines_of_long_output(desk: Desk) -> None:
    assert desk("bash", command="seq 2000").text == "\n".join(map(str, range(1, 2001)))
    text = desk("bash", command="seq 2001").text.split("\n")
    assert (text[0], text[1999]) == ("2", "2001")
    assert text[2000] == "[cut: the last 2,000 of 2,001 lines shown, 8,898 bytes in all]"


def test_bash_shows_the_last_50_kilobytes_of_wide_output(desk: Desk) -> None:
    row = "x" * 1023  # with its line end one KB
    exact = desk("bash", command=f"yes {row} | head -50").text
    assert exact.count("\n") == 49 and "cut" not in exact
    more = desk("bash", command=f"yes {row} | head -51").text.split("\n")
    assert more[:50] == [row] * 50 and more[50].startswith("[cut: the last 50 of 51 lines")
    line = desk("bash", command="head -c 200000 /dev/zero | tr '\\0' y").text.split("\n")
    assert line[0] == "y" * 51_200 and line[1].startswith("[cut: the last 1 of ")


def test_the_end_of_a_flood_is_kept(desk: Desk) -> None:
    assert desk("bash", command="seq 1000000").text.split("\n")[-2] == "1000000"


def test_grep_finds_lines(desk: Desk) -> None:
    seen = desk("grep", pattern="cat")
    assert seen.text == ".hidden/x.log:1:a cat hides\ncats.md:3:A cat sat.\ndeep/dogs.md:3:A dog barked at the cat."
    assert desk("grep", pattern="cat", ignore_case=True, path="cats.md").data["lines"] == 3
    assert desk("grep", pattern="(fast)", literal=True).text == "cats.md:4:The Cat ran (fast)."
    assert desk("grep", pattern="cat", glob="*.log").data["lines"] == 1
    assert desk("grep", pattern="barked", context=1).text == "deep/dogs.md-2-\ndeep/dogs.md:3:A dog barked at the cat."
    assert desk("grep", pattern="nowhere").text == "[no matches]"
    assert desk("grep", pattern="cat", limit=1).text.split("\n")[1].startswith("[more matches follow")


@pytest.mark.parametrize(
    "pattern", ["$(touch /tmp/pwned)", "`id`", "'; cat /etc/passwd; '", "-f/etc/passwd", "--pre=sh"]
)
def test_grep_takes_a_pattern_for_a_pattern(desk: Desk, pattern: str) -> None:
    seen = desk("grep", pattern=pattern, literal=True)
    assert seen.text == "[no matches]" and execute(desk.workspace.sandbox, "ls /tmp", 10).output == b""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pattern": "("}, "repair the pattern"),
        ({"pattern": "x", "path": "../manifest.sqlite"}, "outside the workspace"),
        ({"pattern": "x", "path": "/etc/passwd"}, "outside the workspace"),
        ({"pattern": "x", "path": "nope"}, "no file or folder nope"),
        ({"pattern": ""}, "call it again like this"),
    ],
)
def test_grep_says_how_to_repair_a_call(desk: Desk, arguments: dict[str, str], message: str) -> None:
    with pytest.raises(ToolError, match=message):
        desk("grep", **arguments)
