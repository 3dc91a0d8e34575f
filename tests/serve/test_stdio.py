"""The official client over standard input and output."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError

from corpuscope.corpus import Corpus

from .conftest import PROGRAM


def client(corpus: Corpus, *options: str, mode: str = "auto") -> Client:
    command = StdioServerParameters(command=str(PROGRAM), args=["mcp", str(corpus.root), *options])
    return Client(stdio_client(command), mode=mode)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_tools_results_progress_and_resources(corpus: Corpus, workspaces: Callable[[], list[Path]], mode: str) -> None:
    """In the handshake era of the protocol and in the one after it."""
    noted: list[tuple[float, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        noted.append((progress, message))

    async def talk() -> None:
        async with client(corpus, mode=mode) as session:
            tools = {tool.name: tool for tool in (await session.list_tools()).tools}
            assert list(tools) == ["search", "bash", "read"]
            assert tools["bash"].input_schema["required"] == ["command"]
            assert tools["bash"].annotations is not None and tools["bash"].annotations.read_only_hint
            assert "You have a workspace folder" in (session.instructions or "")

            found = await session.call_tool("search", {"queries": ["cat"]})
            assert "cats.md" in found.content[0].text and not found.is_error
            assert found.structured_content["workspace"] == 2 and found.structured_content["imported"] == 2
            assert found.structured_content["text"] == found.content[0].text
            assert found.structured_content["queries"][0]["paths"][0] in ("cats.md", "a b/ü%.md")

            shown = await session.call_tool("bash", {"command": "sleep 1.2; rg -n sat"}, progress_callback=note)
            assert shown.content[0].text == "cats.md:3:A cat sat." and shown.structured_content["exit_code"] == 0
            assert [progress for progress, _ in noted] == sorted(progress for progress, _ in noted) and len(noted) >= 3
            assert len(workspaces()) == 1

            for name, arguments, words in (
                ("read", {"path": "dogs.md"}, "no file dogs.md in the workspace"),
                ("read", {"path": "/etc/passwd"}, "outside the workspace"),
                ("search", {"query": "x"}, "queries: field required"),
                ("write", {}, "there is no tool 'write'"),
            ):
                wrong = await session.call_tool(name, arguments)
                assert wrong.is_error and words in wrong.content[0].text

            resources = (await session.list_resources()).resources
            assert [r.name for r in resources] == ["a b/ü%.md", "cats.md", "dogs.md"]
            assert resources[0].uri == "corpus:///a%20b/%C3%BC%25.md"
            for resource in resources:
                text = (await session.read_resource(resource.uri)).contents[0].text
                assert text == (corpus.root / "text" / resource.name).read_text()
            for uri in (
                "corpus:///../manifest.sqlite",
                "file:///etc/passwd",
                "corpus:////etc/passwd",
                "corpus:///nope",
            ):
                with pytest.raises(MCPError, match="no document"):
                    await session.read_resource(uri)
            templates = (await session.list_resource_templates()).resource_templates
            assert [template.uri_template for template in templates] == ["corpus:///{+path}"]

    asyncio.run(talk())
    assert not workspaces(), "it goes with the client"


def test_resources_come_in_pages(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    from corpuscope.bridges import Session, mcp
    from corpuscope.bridges.mcp import mcp_server

    monkeypatch.setattr(mcp, "PAGE", 2)

    async def only(context: object) -> Session:
        return Session(corpus, {})

    async def talk() -> None:
        async with Client(mcp_server("x", "", only)) as session:
            first = await session.list_resources()
            second = await session.list_resources(cursor=first.next_cursor)
            assert [r.name for r in first.resources] == ["a b/ü%.md", "cats.md"]
            assert [r.name for r in second.resources] == ["dogs.md"] and second.next_cursor is None

    asyncio.run(talk())


def test_what_a_person_must_repair_is_told_to_the_client() -> None:
    from corpuscope.bridges import Session, mcp_server
    from corpuscope.errors import SetupError

    async def full(context: object) -> Session:
        raise SetupError("the disk is full: free some space")

    async def talk() -> None:
        async with Client(mcp_server("x", "", full)) as session:
            failed = await session.call_tool("bash", {"command": "ls"})
            assert failed.is_error and failed.content[0].text == "Error: the disk is full: free some space"

    asyncio.run(talk())


def test_other_systems_and_limits(corpus: Corpus) -> None:
    async def talk() -> None:
        async with client(corpus, "--system", "dci-lite", "--command-seconds", "1") as session:
            assert [tool.name for tool in (await session.list_tools()).tools] == ["bash", "read"]
            listed = await session.call_tool("bash", {"command": "ls | wc -l; sleep 5"})
            assert "3" in listed.content[0].text and "stopped" in listed.content[0].text
        async with client(corpus, "-k", "1") as session:
            found = await session.call_tool("search", {"queries": ["cat"]})
            assert found.structured_content["workspace"] == 1

    asyncio.run(talk())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_takes_the_workspace_with_it(
    corpus: Corpus, workspaces: Callable[[], list[Path]], number: signal.Signals
) -> None:
    with subprocess.Popen([PROGRAM, "mcp", corpus.root], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        deadline = time.monotonic() + 20
        while not workspaces() and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.5)
        process.send_signal(number)
        assert process.wait(10) == 128 + number
    assert not workspaces()


def test_nothing_but_the_protocol_is_on_standard_output(corpus: Corpus) -> None:
    done = subprocess.run(
        [PROGRAM, "mcp", corpus.root], input="not JSON\n\n", capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 0
    assert all(line.startswith("{") for line in done.stdout.splitlines()) and "Traceback" not in done.stderr


def test_what_a_killed_server_left_goes_with_the_next(corpus: Corpus, workspaces: Callable[[], list[Path]]) -> None:
    process = subprocess.Popen([PROGRAM, "mcp", corpus.root], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    deadline = time.monotonic() + 20
    while not workspaces() and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    (left,) = workspaces()
    subprocess.run([PROGRAM, "mcp", corpus.root], input=b"", check=True, timeout=30)
    assert left not in workspaces() and not workspaces()
