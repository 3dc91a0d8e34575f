"""The official client over HTTP: many at once, each with a workspace of its own, and nobody without the token."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from corpuscope.corpus import Corpus

from .conftest import FILES, PROGRAM, Served

Serve = Callable[..., Served]


@asynccontextmanager
async def client(served: Served, token: str = "") -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {token or served.token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(served.url, http_client=http)) as session,
    ):
        yield session


def wait_until(true: Callable[[], bool], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not true() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert true()


KILLED = """
import asyncio, sys
import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
async def main():
    async with httpx2.AsyncClient(headers={"Authorization": "Bearer " + sys.argv[2]}, timeout=60) as http:
        async with Client(streamable_http_client(sys.argv[1], http_client=http)) as session:
            await session.call_tool("search", {"queries": ["dog"]})
            print("ready", flush=True)
            await session.call_tool("bash", {"command": "echo killed > /tmp/mine; sleep 30"})
asyncio.run(main())
"""


@pytest.mark.slow
def test_twenty_clients_at_once_and_one_killed(
    corpus: Corpus, serve: Serve, workspaces: Callable[[], list[Path]]
) -> None:
    served = serve("--idle-seconds", "4")
    killed = subprocess.Popen([sys.executable, "-c", KILLED, served.url, served.token], stdout=subprocess.PIPE)
    assert killed.stdout and killed.stdout.readline() == b"ready\n"
    arrived = asyncio.Event()
    count = 0

    async def one(number: int) -> None:
        nonlocal count
        query = ("cat", "dog")[number % 2]
        async with client(served) as session:
            found = await session.call_tool("search", {"queries": [query]})
            assert found.structured_content["workspace"] == (2, 1)[number % 2]
            await session.call_tool("bash", {"command": f"echo {number} > /tmp/mine"})
            count += 1
            if count == 20:
                assert len(workspaces()) == 21
                killed.kill()
                arrived.set()
            await arrived.wait()
            seen = await session.call_tool("bash", {"command": "cat /tmp/mine; rg --files | sort; ls /tmp | wc -l"})
            files = (["a b/ü%.md", "cats.md"], ["dogs.md"])[number % 2]
            assert seen.content[0].text.split("\n") == [str(number), *files, "1"], "only its own"

    async def all_at_once() -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(20):
                group.create_task(one(number))

    asyncio.run(asyncio.wait_for(all_at_once(), 90))
    killed.wait()
    wait_until(lambda: len(workspaces()) <= 1)
    wait_until(lambda: not workspaces(), 60)  # the killed client's, once it is idle and its command ended
    assert {f: (corpus.root / "text" / f).read_text() for f in FILES} == FILES
    assert served.stop() in (0, -signal.SIGTERM)


@pytest.mark.parametrize(
    "header", [None, "Bearer wrong-token", "Basic secret-token", "bearer secret-token ", "Bearer "]
)
def test_nobody_without_the_token(serve: Serve, header: str | None, workspaces: Callable[[], list[Path]]) -> None:
    served = serve()
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
    for method, data in (("POST", json.dumps(message).encode()), ("GET", None), ("DELETE", None)):
        request = urllib.request.Request(served.url, data, {"Authorization": header} if header else {}, method=method)
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request)
        assert refused.value.code == 401 and "token" in refused.value.read().decode()
    assert not workspaces()


def test_a_session_belongs_to_who_has_its_id_and_there_are_so_many(serve: Serve) -> None:
    served = serve("--max-sessions", "2")

    async def talk() -> None:
        async with client(served) as first, client(served) as second:
            await first.call_tool("search", {"queries": ["cat"]})
            with pytest.raises(BaseException):  # noqa: B017 the SDK groups what its tasks raise
                async with client(served):
                    pass
            assert (await second.call_tool("bash", {"command": "ls"})).content[0].text == "[no output]"
        async with client(served) as third:
            assert (await third.list_tools()).tools

    asyncio.run(talk())


def test_a_browser_of_another_site_is_refused(serve: Serve) -> None:
    served = serve()
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
    headers = {"Authorization": f"Bearer {served.token}", "Host": "evil.example", "Content-Type": "application/json"}
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(urllib.request.Request(served.url, json.dumps(message).encode(), headers))
    assert refused.value.code in (403, 421)


def test_stopping_it_takes_all_workspaces(serve: Serve, workspaces: Callable[[], list[Path]]) -> None:
    served = serve()

    async def talk() -> None:
        async with client(served) as session:
            await session.call_tool("search", {"queries": ["cat"]})
            assert len(workspaces()) == 1
            served.process.send_signal(signal.SIGTERM)
            await asyncio.to_thread(served.process.wait, 20)

    try:
        asyncio.run(asyncio.wait_for(talk(), 40))
    except BaseException as error:
        assert not isinstance(error, AssertionError | TimeoutError), error
    assert served.process.poll() is not None and not workspaces()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--http", "127.0.0.1:0", "--sandbox", "off"], "refused over HTTP"),
        (["--http", "8800"], "HOST:PORT"),
        (["--http", "127.0.0.1:99999"], "HOST:PORT"),
        (["--http", "203.0.113.7:80"], "cannot listen on 203.0.113.7:80"),
        (["--http", "127.0.0.1:0", "--token", "short"], "eight or more"),
        (["--command-seconds", "0"], "above zero"),
        (["--system", "nope"], "no system 'nope'"),
    ],
)
def test_wrong_options_are_one_line(corpus: Corpus, options: list[str], words: str) -> None:
    done = subprocess.run([PROGRAM, "mcp", corpus.root, *options], capture_output=True, text=True, timeout=30, input="")
    assert done.returncode in (2, 3) and words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1 and not done.stdout


def test_a_new_token_is_told(corpus: Corpus) -> None:
    with subprocess.Popen(
        [PROGRAM, "mcp", corpus.root, "--http", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True
    ) as p:
        assert p.stderr
        url, token = p.stderr.readline(), p.stderr.readline()
        p.terminate()
    assert url.startswith("serving ") and len(token.split(": ")[1].strip()) >= 32
