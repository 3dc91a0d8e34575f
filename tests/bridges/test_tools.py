"""Our tools in other people's loops: the real pydantic-ai agent, the real LangChain tools, plain schemas."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Mapping

import pytest

from corpuscope.bridges import anthropic_tools, call_tool, langchain_tools, openai_tools, pydantic_ai_tools
from corpuscope.systems import open_tools
from corpuscope.workspace import Tool

from ..conftest import MakeCorpus
from ..scripted import ScriptedServer, call

FILES = {"cats.md": "# Cats\n\nA cat sat.\n", "dogs.md": "# Dogs\n\nA dog ran.\n"}
SAT = "cats.md:3:A cat sat."


@pytest.fixture
def tools(make_corpus: MakeCorpus) -> Iterator[Mapping[str, Tool]]:
    with open_tools(make_corpus(FILES)) as opened:
        yield opened


def test_schemas_of_both_providers(tools: Mapping[str, Tool]) -> None:
    openai, anthropic = openai_tools(tools), anthropic_tools(tools)
    assert [t["function"]["name"] for t in openai] == [t["name"] for t in anthropic] == ["search", "bash", "read"]
    assert all(t["type"] == "function" and t["function"]["description"] for t in openai)
    read = anthropic[2]["input_schema"]
    assert read == openai[2]["function"]["parameters"]
    assert (
        read["type"] == "object"
        and read["required"] == ["path"]
        and set(read["properties"]) == {"path", "offset", "limit"}
    )


def test_a_call_as_a_model_makes_it(tools: Mapping[str, Tool]) -> None:
    async def calls() -> None:
        found, failed = await call_tool(tools, "search", '{"queries": ["cat"]}')
        assert not failed and found.data["workspace"] == 1
        shown, failed = await call_tool(tools, "bash", {"command": "rg -n sat"})
        assert (shown.text, failed) == (SAT, False)
        for name, arguments, words in (
            ("read", {"path": "../x"}, "outside the workspace"),
            ("bash", "not JSON", "are not JSON"),
            ("write", {}, "there is no tool 'write'; the tools are search, bash, read"),
        ):
            wrong, failed = await call_tool(tools, name, arguments)  # type: ignore[arg-type]
            assert failed and wrong.text.startswith("Error: ") and words in wrong.text

    asyncio.run(calls())


def test_an_agent_of_pydantic_ai_answers_with_them(tools: Mapping[str, Tool]) -> None:
    from pydantic_ai import Agent
    from pydantic_ai.messages import ToolReturnPart

    from corpuscope.models import open_model

    steps = [
        {"calls": [call("search", {"queries": ["cat"]})]},
        {"calls": [call("bash", {"command": "rg -n sat"}), call("read", {"path": "nope"})]},
        {"text": "It sat."},
    ]
    with ScriptedServer(steps) as server:
        agent = Agent(open_model("scripted", server.base_url), tools=pydantic_ai_tools(tools))
        result = agent.run_sync("What did the cat do?")
    assert result.output == "It sat."
    offered = server.requests[0]["tools"]
    assert [t["function"]["name"] for t in offered] == ["search", "bash", "read"]
    assert offered[1]["function"]["parameters"]["properties"]["command"]["type"] == "string"
    returns = [p for m in result.all_messages() for p in m.parts if isinstance(p, ToolReturnPart)]
    assert [SAT in str(p.content) for p in returns] == [False, True, False]
    assert returns[0].metadata["imported"] == ["cats.md"] and "no file nope" in str(returns[2].content)


def test_tools_of_langchain_with_and_without_a_loop(tools: Mapping[str, Tool]) -> None:
    offered = {tool.name: tool for tool in langchain_tools(tools)}
    assert set(offered) == {"search", "bash", "read"} and "command" in offered["bash"].args
    message = offered["search"].invoke({"type": "tool_call", "name": "search", "id": "1", "args": {"queries": ["cat"]}})
    assert "cats.md" in message.content and message.artifact["imported"] == ["cats.md"]
    assert asyncio.run(offered["bash"].ainvoke({"command": "rg -n sat"})) == SAT

    async def inside_a_loop() -> str:
        return str(offered["bash"].invoke({"command": "rg -n sat"}))

    assert asyncio.run(inside_a_loop()) == SAT
    assert "no file nope" in offered["read"].invoke({"path": "nope"})


def test_langchain_tools_called_side_by_side(tools: Mapping[str, Tool]) -> None:
    search = next(tool for tool in langchain_tools(tools) if tool.name == "search")
    found: list[int] = []
    threads = [
        threading.Thread(
            target=lambda: found.append(
                len(search.invoke({"type": "tool_call", "name": "search", "id": "1", "args": {"queries": ["cat", "dog"]}})
                    .artifact["imported"])
            )
        )
        for _ in range(8)
    ]  # fmt: skip
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [0] * 7 + [2], "one of them brought the files"


def test_langchain_and_its_graph_run_them(tools: Mapping[str, Tool]) -> None:
    """The messages of LangChain through the tools, as LangGraph's tool node passes them."""
    from langchain_core.messages import AIMessage, ToolMessage

    asked = AIMessage("", tool_calls=[{"name": "search", "args": {"queries": ["dog"]}, "id": "a", "type": "tool_call"}])
    offered = {tool.name: tool for tool in langchain_tools(tools)}
    answers = [offered[c["name"]].invoke(c) for c in asked.tool_calls]
    assert isinstance(answers[0], ToolMessage) and answers[0].tool_call_id == "a" and "dogs.md" in answers[0].content


def test_the_workspace_goes_with_the_tools(make_corpus: MakeCorpus) -> None:
    corpus = make_corpus(FILES)
    with open_tools(corpus.root, "dci-lite") as tools:
        assert list(tools) == ["bash", "read"]
        assert len(list((corpus.root / "workspaces").iterdir())) == 1
        assert asyncio.run(tools["bash"].call({"command": "ls"})).text == "cats.md\ndogs.md"
    assert not list((corpus.root / "workspaces").iterdir())
