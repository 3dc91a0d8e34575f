"""search, bash and read as an agent meets them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corpuscope.corpus import Corpus
from corpuscope.errors import ToolError
from corpuscope.retrieve import Bm25
from corpuscope.workspace import MalformedCall, Observation, Tool, Workspace, execute, rise_tools
from corpuscope.workspace.tools.read import MAX_LINE, MAX_OUTPUT

from ..conftest import MakeCorpus

FILES = {f"bulk/{i:03}.md": f"# Bulk {i}\n\ncommon words {i}\n" for i in range(30)} | {
    "cats.md": "# Cats\n\nA cat sat.\nThe cat ran.\n",
    "dogs.md": "# Dogs\n\nA dog barked at the cat.\n",
    "deep/er/birds.md": "# Birds\n\nA bird sang.\n",
}


class Desk:
    """A workspace with its tools, called without an event loop."""

    def __init__(self, corpus: Corpus, k: int = 1000) -> None:
        self.workspace = Workspace(corpus)
        self.tools: dict[str, Tool] = rise_tools(self.workspace, Bm25(corpus), k)

    def __call__(self, name: str, arguments: Any = None, **named: Any) -> Observation:
        return asyncio.run(self.tools[name].call(arguments if arguments is not None else named))


@pytest.fixture
def desk(make_corpus: MakeCorpus) -> Iterator[Desk]:
    made = Desk(make_corpus(FILES))
    yield made
    made.workspace.close()


def test_search_imports_the_union_and_previews_the_best_ten(desk: Desk) -> None:
    seen = desk("search", queries=["cat", "common"])
    assert seen.data["workspace"] == 32 and len(seen.data["imported"]) == 32
    first, second = seen.data["queries"]
    assert set(first["paths"]) == {"cats.md", "dogs.md"} and first["found"] == 2
    assert second["found"] == 30 and len(second["paths"]) == 10
    assert "cats.md (4 lines): Cats" in seen.text and "Workspace: 32 files (32 new)." in seen.text
    assert sorted(p.name for p in desk.workspace.path.iterdir()) == ["bulk", "cats.md", "dogs.md"]


def test_which_sub_query_brought_how_many(desk: Desk) -> None:
    """`imported` holds the files of the first sub-query, then those that the second was the first to rank, and so on."""
    data = desk("search", queries=["cat", "common", "cat dog", "nosuchword"]).data
    assert [query["new"] for query in data["queries"]] == [2, 30, 0, 0]
    assert set(data["imported"][:2]) == {"cats.md", "dogs.md"}
    again = desk("search", queries=["common", "bird"]).data
    assert [query["new"] for query in again["queries"]] == [0, 1] and len(again["imported"]) == 1


def test_the_same_search_imports_nothing_new(desk: Desk) -> None:
    desk("search", queries=["cat"])
    again = desk("search", queries=["cat"])
    assert again.data["imported"] == [] and "(0 new)" in again.text


def test_files_in_w_are_hard_links_to_the_store(desk: Desk) -> None:
    desk("search", queries=["bird"])
    linked = desk.workspace.path / "deep/er/birds.md"
    assert linked.samefile(desk.workspace.corpus.root / "text/deep/er/birds.md")


def test_k_bounds_each_sub_query(make_corpus: MakeCorpus) -> None:
    desk = Desk(make_corpus(FILES), k=3)
    assert desk("search", queries=["common", "cat"]).data["workspace"] == 5
    desk.workspace.close()


def test_m1_an_empty_sub_query_is_told_so_and_brings_nothing(desk: Desk) -> None:
    seen = desk("search", queries=["", ">>>", "cat"])
    assert seen.text.count("empty, there is no word in it") == 2
    assert seen.data["workspace"] == 2
    with pytest.raises(ToolError, match="empty queries"):
        desk("search", queries=["", "  "])


def test_parallel_searches_agree_on_what_is_new(desk: Desk) -> None:
    async def both() -> list[Observation]:
        calls = (desk.tools["search"].call({"queries": ["cat"]}) for _ in range(4))
        return await asyncio.gather(*calls)

    imported = [seen.data["imported"] for seen in asyncio.run(both())]
    assert sorted(docid for new in imported for docid in new) == ["cats.md", "dogs.md"]


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    queries=st.lists(
        st.lists(st.sampled_from(["cat", "dog", "bird", "common", "zzz", "A"]), min_size=1, max_size=6), max_size=4
    )
)
def test_w_only_grows(make_corpus: MakeCorpus, queries: list[list[str]]) -> None:
    desk = Desk(make_corpus(FILES), k=4)
    before: set[str] = set()
    for call in queries:
        desk("search", queries=call)
        now = {str(f.relative_to(desk.workspace.path)) for f in desk.workspace.path.rglob("*") if f.is_file()}
        assert before <= now and len(now) == len(desk.workspace)
        before = now
    desk.workspace.close()


def test_bash_shows_output_and_exit_code(desk: Desk) -> None:
    desk("search", queries=["cat"])
    assert desk("bash", command="rg -n 'cat' cats.md").text == "3:A cat sat.\n4:The cat ran."
    assert desk("bash", command="rg zebra").text == "[exit code 1, no output]"
    assert desk("bash", command="true").text == "[no output]"


def test_bash_cuts_at_4000_characters_and_says_how_to_narrow(desk: Desk) -> None:
    seen = desk("bash", command="seq 1 5000")
    body, note = seen.text.rsplit("\n", 1)
    assert len(body) <= 4000 and body.startswith("1\n2\n3\n")
    assert "4,000 characters of 23,893 bytes" in note and "| head" in note
    assert seen.data["bytes"] == 23893


def test_m4_what_programs_print_is_plain_text(desk: Desk) -> None:
    command = r"printf 'a\033[31mred\033[0m\033]0;title\007\033]8;;http://x\033\\link\033P1;2q\033\\ \xff\xfe \x9b31m ok\r\nnext\rlast'"
    assert desk("bash", command=command).text == "aredlink \ufffd\ufffd \ufffd31m ok\nnext\nlast"


def test_m4_a_two_megabyte_line_is_cut(desk: Desk) -> None:
    seen = desk("bash", command="head -c 2000000 /dev/zero | tr '\\0' x")
    assert len(seen.text) < 4400 and "2,000,000 bytes" in seen.text


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_m4_no_control_character_ever_comes_through(data: bytes) -> None:
    from corpuscope.workspace import clean

    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", clean(data))


@pytest.mark.parametrize("spelling", ["cats.md", "./cats.md", "/w/cats.md", "bulk/../cats.md", " cats.md "])
def test_read_numbers_lines(desk: Desk, spelling: str) -> None:
    desk("search", queries=["cat"])
    seen = desk("read", path=spelling, offset=3, limit=1)
    assert seen.text == "     3\tA cat sat.\n[more follows: lines 3-3 of 4; go on with offset=4]"
    assert seen.data == {"path": "cats.md", "first": 3, "last": 3, "lines": 4, "docid": "cats.md"}


@pytest.mark.parametrize(
    "path",
    [
        "../../manifest.sqlite",
        "/etc/passwd",
        "..",
        "/",
        "a/../../x",
        "../scratch/x",
        "birds\0.md",
        "x" * 5000,
        "\ud800",
    ],
)
def test_read_never_leaves_w(desk: Desk, path: str) -> None:
    with pytest.raises(ToolError):
        desk("read", path=path)


def test_read_does_not_follow_what_is_not_in_w(desk: Desk) -> None:
    desk("search", queries=["cat"])
    with pytest.raises(ToolError, match=r"no file deep/er/birds\.md"):
        desk("read", path="deep/er/birds.md")


def test_a_miss_names_what_was_probably_meant(desk: Desk) -> None:
    desk("search", queries=["cat", "bird"])
    with pytest.raises(ToolError, match=r"Did you mean deep/er/birds\.md\?"):
        desk("read", path="birds.md")
    with pytest.raises(ToolError, match=r"Did you mean cats\.md"):
        desk("read", path="cat.md")
    with pytest.raises(ToolError, match="is a folder"):
        desk("read", path="deep")


def test_an_offset_behind_the_end_says_where_the_end_is(desk: Desk) -> None:
    desk("search", queries=["cat"])
    with pytest.raises(ToolError, match="has 4 lines"):
        desk("read", path="cats.md", offset=5)


def test_c6_one_huge_line_and_one_huge_file_stay_bounded(make_corpus: MakeCorpus) -> None:
    line = '{"k":"' + "lorem ipsum " * 200_000 + 'MARKER-C6"}'
    log = "".join(f"log line {n}\n" for n in range(300_000))
    desk = Desk(make_corpus({"line.json": line, "server.log": log}))
    seen = desk("search", queries=["MARKER-C6 lorem", "log line"])
    assert len(seen.text) < 3000
    seen = desk("read", path="line.json")
    assert len(seen.text) < MAX_LINE + 300 and f"line cut: {len(line):,} bytes" in seen.text
    seen = desk("read", path="server.log", offset=100_000, limit=1_000_000)
    assert len(seen.text) < MAX_OUTPUT + 300
    assert seen.text.startswith("100000\tlog line 99999\n") and "cut at 50,000 characters" in seen.text
    seen = desk("bash", command="rg -C2 MARKER-C6")
    assert len(seen.text) < 4500 and "cut" in seen.text
    desk.workspace.close()


ODD_PIECES = ("a", "b ", "\t", "\n", "\r", "\r\n", "\v", "\f", "\x1c", "\x85", "\u2028", "\u2029", "é", "字", "\x1b[1m")
ODD_TEXT = st.lists(st.sampled_from(ODD_PIECES), min_size=1, max_size=40).map("".join).filter(str.strip)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=ODD_TEXT)
def test_line_numbers_of_read_rg_and_sed_agree(make_corpus: MakeCorpus, text: str) -> None:
    corpus = make_corpus({"a.txt": text})
    with Workspace(corpus) as workspace:
        workspace.add(["a.txt"])
        tools = rise_tools(workspace, Bm25(corpus))
        rows = asyncio.run(tools["read"].call({"path": "a.txt"})).text.split("\n")
        by_read = [int(row.split("\t")[0]) for row in rows]
        by_rg = execute(
            workspace.sandbox, "rg -n '' a.txt | wc -l; rg -n '' a.txt | grep -oaE '^[0-9]+'", 10
        ).output.split()
        by_sed = execute(workspace.sandbox, "sed -n '$=' a.txt", 10).output.split()
        entry = corpus.manifest.by_path("a.txt")
        assert entry is not None
        assert by_read == list(map(int, by_rg[1:])) == list(range(1, entry.lines + 1))
        assert int(by_sed[0]) == int(by_rg[0]) == entry.lines


M2 = [
    ("search", '{"queries": ["a"', "not JSON"),
    ("search", "[1, 2]", "must be a JSON object"),
    ("search", {}, "queries: field required"),
    ("search", {"queries": "one string"}, "queries: input should be a valid list"),
    ("search", {"queries": []}, "at least 1 item"),
    ("search", {"query": ["a"]}, "queries: field required"),
    ("bash", {"cmd": "ls"}, "command: field required"),
    ("bash", {"command": ["ls"]}, "command: input should be a valid string"),
    ("read", {"path": "a", "offset": 0}, "greater than or equal to 1"),
    ("read", {"path": "a", "offset": "two"}, "offset"),
    ("read", None, "path: field required"),
]


@pytest.mark.parametrize(("name", "arguments", "why"), M2)
def test_m2_a_wrong_call_is_answered_with_how_to_repair_it(desk: Desk, name: str, arguments: Any, why: str) -> None:
    with pytest.raises(MalformedCall, match=re.escape(why)) as caught:
        asyncio.run(desk.tools[name].call(arguments))
    assert "call it again like this: {" in str(caught.value)


def test_a_command_no_program_can_be_given_is_refused_in_words(desk: Desk) -> None:
    with pytest.raises(ToolError, match="NUL"):
        desk("bash", command="echo \0")
    with pytest.raises(ToolError, match="longer than"):
        desk("bash", command="#" + "x" * 200_000)


def test_a_title_that_drives_a_terminal_is_shown_as_text(make_corpus: MakeCorpus) -> None:
    desk = Desk(make_corpus({"a.md": "# Evil \x1b]0;owned\x07 title\n\ncat\n"}))
    assert "\x1b" not in desk("search", queries=["cat \x1b[31m"]).text
    desk.workspace.close()


def test_schemas_are_what_providers_take(desk: Desk) -> None:
    schema = desk.tools["read"].schema
    assert schema["required"] == ["path"] and schema["additionalProperties"] is False
    assert set(schema["properties"]) == {"path", "offset", "limit"}
    assert schema["properties"]["offset"]["default"] == 1 and schema["properties"]["limit"]["default"] == 2000
