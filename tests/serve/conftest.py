"""The MCP server as clients find it, and what its workspaces leave on disk."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from corpuscope.corpus import Corpus

from ..conftest import MakeCorpus

PROGRAM = Path(sys.executable).parent / "corpuscope"
FILES = {
    "cats.md": "# Cats\n\nA cat sat.\n", "dogs.md": "# Dogs\n\nA dog ran.\n", "a b/ü%.md": "# Odd\n\nAn odd cat.\n",
}  # fmt: skip


@pytest.fixture
def corpus(make_corpus: MakeCorpus) -> Corpus:
    return make_corpus(FILES)


@pytest.fixture
def workspaces(corpus: Corpus) -> Callable[[], list[Path]]:
    return lambda: sorted((corpus.root / "workspaces").glob("*"))


class Served:
    """`corpuscope mcp CORPUS --http` as a process."""

    def __init__(self, corpus: Path, *options: str, token: str = "secret-token") -> None:
        self.token = token
        environment = os.environ | {"CORPUSCOPE_TOKEN": token}
        self.process = subprocess.Popen(
            [PROGRAM, "mcp", str(corpus), "--http", "127.0.0.1:0", *options], stderr=subprocess.PIPE, text=True,
            env=environment,
        )  # fmt: skip
        assert self.process.stderr
        self.said = ""
        while not (found := re.search(r"http://\S+", self.said)):
            line = self.process.stderr.readline()
            assert line, f"it ended: {self.said}"
            self.said += line
        self.url = found[0]
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(20)


@pytest.fixture
def serve(corpus: Corpus) -> Iterator[Callable[..., Served]]:
    started: list[Served] = []

    def start(*options: str, **more: str) -> Served:
        started.append(Served(corpus.root, *options, **more))
        return started[-1]

    yield start
    for served in started:
        if served.process.poll() is None:
            served.stop(signal.SIGKILL)
