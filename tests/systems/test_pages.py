"""Pi-Serini's tools against the contract of the peer, and the systems without a language model."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from corpuscope.agent import StopReason, read_events
from corpuscope.errors import UsageError
from corpuscope.retrieve import Bm25
from corpuscope.systems import ask, load_system, query_id

from ..conftest import MakeCorpus
from ..scripted import ByHistory, ScriptedServer, call

FILES = {f"{n:02}.md": f"# Title {n}\n\n" + "cat " * (30 - n) + "dog\n" for n in range(17)} | {
    "long.md": "".join(f"line {n}\n" for n in range(1, 451))
}


def search(query: str) -> dict[str, object]:
    return call("search", {"reason": "to find cats", "query": query})


def observations(server: ScriptedServer) -> list[str]:
    return [m["content"] for m in server.requests[-1]["messages"] if m["role"] == "tool"]


STEPS = [
    {"calls": [search("cat")]},
    {
        "calls": [
            call("read_search_results", {"reason": "on", "search_id": "s1"}),
            call("read_search_results", {"reason": "on", "search_id": "s1", "offset": 16, "limit": 5}),
            call("read_search_results", {"reason": "on", "search_id": "s1", "offset": 18}),
            call("read_search_results", {"reason": "on", "search_id": "s7"}),
        ]
    },
    {
        "calls": [
            call("read_document", {"reason": "verify", "docid": "long.md"}),
            call("read_document", {"reason": "verify", "docid": "long.md", "offset": 401}),
            call("read_document", {"reason": "verify", "docid": "nope"}),
            call("search", {"query": "cat"}),
        ]
    },
    {"text": "Explanation: it says so [long.md].\nExact Answer: 4\nConfidence: 70%"},
]


def test_a_trajectory_of_pi_serini(make_corpus: MakeCorpus, tmp_path: Path) -> None:
    """Pages of five, then ten; 200 lines: `SEARCH_FIRST_PAGE_LIMIT`, `SEARCH_RESULTS_DEFAULT_LIMIT` and the handlers of
    src/pi-search/tool_handlers.ts."""
    corpus = make_corpus(FILES)
    (ranking,) = Bm25(corpus).search(["cat"], 1000)
    with ScriptedServer(STEPS) as server:
        result = ask(corpus, "?", system="pi-serini", base_url=server.base_url, run=tmp_path / "run")
        seen = observations(server)
    offered = {tool["function"]["name"]: tool["function"]["parameters"] for tool in server.requests[0]["tools"]}
    assert list(offered) == ["search", "read_search_results", "read_document"]
    assert all(
        next(iter(schema["properties"])) == "reason" and "reason" in schema["required"] for schema in offered.values()
    )

    first = seen[0].splitlines()
    assert first[:2] == ["Showing ranks 1-5 of 17 cached hits for search_id=s1", 'Plain query: "cat"']
    hits = re.findall(r"^(\d+)\. docid=(\S+) score=([\d.]+)$", seen[0], re.MULTILINE)
    assert hits == [(str(i), hit.docid, f"{hit.score:.4f}") for i, hit in enumerate(ranking[:5], 1)]
    assert "   Title: Title 0" in first and re.search(r"^   Excerpt: .*cat cat", seen[0], re.MULTILINE)
    excerpts = re.findall(r"^   Excerpt: (.*)$", seen[0], re.MULTILINE)
    assert len(excerpts) == 5 and all(len(excerpt) <= 220 for excerpt in excerpts)
    assert '{"search_id": "s1", "offset": 6, "limit": 5}' in first[-1]

    second = re.findall(r"^(\d+)\. docid=(\S+)", seen[1], re.MULTILINE)
    assert second == [(str(i), hit.docid) for i, hit in enumerate(ranking[5:15], 6)]
    assert '{"search_id": "s1", "offset": 16, "limit": 10}' in seen[1]
    assert seen[2].startswith("Showing ranks 16-17 of 17") and "More of this ranking" not in seen[2]
    assert seen[3].startswith("No cached hits remain for search_id=s1.")
    assert "no ranking 's7'; there are s1" in seen[4]

    assert seen[5].splitlines()[0] == "[docid=long.md lines 1-200 of 450]"
    assert seen[5].splitlines()[2:202] == [f"line {n}" for n in range(1, 201)]
    assert '{"docid": "long.md", "offset": 201, "limit": 200}' in seen[5]
    assert seen[6].splitlines()[0] == "[docid=long.md lines 401-450 of 450]" and "goes on" not in seen[6]
    assert "no document 'nope'" in seen[7] and "reason: field required" in seen[8]
    assert result.answer is not None
    assert [(c.docid, c.problem) for c in result.answer.citations] == [("long.md", "")]


def test_the_reminder_comes_at_seventy_percent_of_the_time() -> None:
    system = load_system("pi-serini")
    assert (system.submit_at, system.k, system.budget.seconds) == (0.7, 1000, 900.0)


def test_32_rankings_are_kept(make_corpus: MakeCorpus, tmp_path: Path) -> None:
    corpus = make_corpus(FILES)
    steps = [
        *({"calls": [search(f"cat {n}")]} for n in range(33)),
        {"calls": [call("read_search_results", {"reason": "", "search_id": id}) for id in ("s1", "s2", "s33")]},
        STEPS[-1],
    ]
    with ScriptedServer(steps) as server:
        ask(corpus, "?", system="pi-serini", base_url=server.base_url, run=tmp_path / "run")
        gone, oldest, newest = observations(server)[-3:]
    assert "no ranking 's1'" in gone
    assert 'Plain query: "cat 1"' in oldest and 'Plain query: "cat 32"' in newest


def test_rankings_survive_a_killed_run(make_corpus: MakeCorpus, tmp_path: Path) -> None:
    corpus = make_corpus(FILES)
    with ByHistory(STEPS) as server:
        whole = ask(corpus, "?", system="pi-serini", base_url=server.base_url, run=tmp_path / "run")
        events = tmp_path / "run/queries" / query_id("?") / "events.jsonl"
        recorded = list(read_events(events))
        lines = events.read_bytes().splitlines(keepends=True)
        cut = next(i for i, event in enumerate(recorded) if event["type"] == "tool") + 1
        events.write_bytes(b"".join(lines[:cut]))
        events.with_name("answer.json").unlink()
        again = ask(corpus, system="pi-serini", run=tmp_path / "run", resume=True)
    assert again.answer == whole.answer
    texts = [
        sorted(e["text"] for e in events if e["type"] == "tool") for events in (recorded, list(read_events(events)))
    ]
    assert texts[0] == texts[1]


def test_bm25_is_the_ranking_of_the_question(make_corpus: MakeCorpus, tmp_path: Path) -> None:
    corpus = make_corpus({f"{n:02}.md": "cat " * (n + 1) + "dog " * (40 - n) for n in range(40)})
    result = ask(corpus, "cat", system="bm25", run=tmp_path / "run")
    (ranking,) = Bm25(corpus).search(["cat"], 20)
    assert result.answer is not None and result.stop_reason is StopReason.ANSWERED
    assert [document.docid for document in result.answer.ranking] == [hit.docid for hit in ranking]
    assert len(ranking) == 20 and result.spent.dollars == 0 and result.spent.tool_calls == 1
    stored = json.loads((tmp_path / "run/queries" / query_id("cat") / "answer.json").read_text())
    assert [document["docid"] for document in stored["answer"]["ranking"]] == [hit.docid for hit in ranking]


def test_systems_say_what_they_cannot_do(make_corpus: MakeCorpus, tmp_path: Path) -> None:
    corpus = make_corpus(FILES)
    with pytest.raises(UsageError, match="system bm25 does ranking"):
        ask(corpus, "cat", system="bm25", task="answer", run=tmp_path / "run")
    for options in ({"model": "openai:gpt-5.4-mini"}, {"base_url": "http://127.0.0.1:9/v1"}):
        with pytest.raises(UsageError, match="asks no language model"):
            ask(corpus, "cat", system="scout", run=tmp_path / "run", **options)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("system", ["rise-bm25", "scout"])
def test_the_scout_ranks_too(make_corpus: MakeCorpus, tmp_path: Path, system: str) -> None:
    corpus = make_corpus({"cat.md": "A cat sat on the mat.\n", "dog.md": "A dog.\n", "mat.md": "A mat.\n"})
    result = ask(corpus, "Where did the cat sit?", system=system, model="scout", task="ranking", run=tmp_path / "run")
    assert result.answer is not None and result.answer.ranking[0].docid == "cat.md"
    assert not any(document.problem for document in result.answer.ranking)


def test_a_ranking_task_asks_for_a_ranking_with_the_same_tools(make_corpus: MakeCorpus, tmp_path: Path) -> None:
    corpus = make_corpus(FILES)
    steps = [
        {"calls": [call("search", {"queries": ["cat"]})]},
        {"text": "Explanation: cats.\nRelevant Documents:\n1. 03.md\n2. 01.md\n3. nope.md"},
    ]
    with ScriptedServer(steps) as server:
        result = ask(corpus, "?", system="rise-bm25", task="ranking", base_url=server.base_url, run=tmp_path / "run")
    prompt = server.requests[0]["messages"][0]["content"]
    assert "Relevant Documents:" in prompt and "at most 20" in prompt and "Exact Answer" not in prompt
    assert [tool["function"]["name"] for tool in server.requests[0]["tools"]] == ["search", "bash", "read"]
    assert result.answer is not None
    assert [(d.docid, d.problem) for d in result.answer.ranking] == [
        ("03.md", ""), ("01.md", ""), (None, "not in the workspace"),
    ]  # fmt: skip
