"""`corpuscope view` as a person runs it."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .conftest import PROGRAM, Cli, clean_environment


@pytest.fixture
def run(cli: Cli, tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/owl.md").write_text("# Owls\n\nAn owl is white.\n")
    cli("index", "docs", "--into", "docs.corpus")
    cli("ask", "docs.corpus", "What colour is an owl?", "--model", "scout", "--run", "runs/one")
    return tmp_path / "runs/one"


@contextmanager
def viewing(*arguments: object, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process and the address it printed."""
    process = subprocess.Popen(
        [PROGRAM, "view", *map(str, arguments)], stderr=subprocess.PIPE, text=True, env=clean_environment(**environment)
    )
    assert process.stderr
    try:
        line = process.stderr.readline()
        found = re.match(r"(http://\S+)  \(Ctrl-C ends it\)", line)
        assert found, line
        yield process, found[1]
    finally:
        process.kill()
        process.wait()


def status(url: str) -> int:
    try:
        with urllib.request.urlopen(url) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_served_until_a_signal(run: Path, number: int) -> None:
    with viewing(run, "--http", "127.0.0.1:0") as (process, url):
        with urllib.request.urlopen(url) as response:
            assert b"<title>corpuscope</title>" in response.read()
        assert status(f"{url}api/questions?run=0") == 200
        key = next((run / "queries").iterdir()).name
        assert status(f"{url}api/grep?run=0&question={key}&call=99&pattern=owl") == 200
        workspaces = run.parents[1] / "docs.corpus/workspaces"
        assert len(list(workspaces.iterdir())) == 1
        process.send_signal(number)
        assert process.wait(20) == (0 if number == signal.SIGINT else -number)
        assert list(workspaces.iterdir()) == [], "the workspaces go with it"
        assert process.stderr and process.stderr.read() == ""


def test_a_usual_place_and_another_when_it_is_taken(run: Path) -> None:
    with viewing(run) as (_, first), viewing(run) as (_, second):
        assert first != second and status(first) == status(second) == 200


def test_beyond_this_machine_with_a_token(run: Path) -> None:
    with viewing(run, "--http", "0.0.0.0:0") as (_, url):
        found = re.fullmatch(r"http://0\.0\.0\.0:(\d+)/\?token=([\w-]{20,})", url)
        assert found
        here = f"http://127.0.0.1:{found[1]}/"
        assert status(here) == status(f"{here}api/runs") == 401
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        assert b"corpuscope" in opener.open(f"{here}?token={found[2]}").read()
        assert opener.open(f"{here}api/runs").status == 200
    with viewing(run, "--http", "127.0.0.1:0", "--token", "chosen-by-me") as (_, url):
        assert url.endswith("/?token=chosen-by-me") and status(url.partition("?")[0]) == 401


def test_one_file(cli: Cli, run: Path, tmp_path: Path) -> None:
    done = cli("view", "runs", "--export", "all.html")
    assert re.fullmatch(r"all\.html: 0\.\d MB\n", done.stdout) and done.stderr == ""
    assert (tmp_path / "all.html").read_text().startswith("<!doctype html>")
    refused = cli("view", "runs", "--export", "nowhere/all.html", check=False)
    assert refused.returncode == 3 and refused.stderr == "corpuscope: cannot write nowhere/all.html (No such file or directory)\n"  # fmt: skip


def test_the_options_of_the_docs_are_the_ones_there_are(cli: Cli) -> None:
    docs = (Path(__file__).parents[2] / "docs/viewer.md").read_text()
    help = cli("view", "--help", COLUMNS="200").stdout
    there = set(re.findall(r"--[a-z-]+", help)) - {"--help", "--browser"}
    assert set(re.findall(r"`(--[a-z-]+)", docs[docs.index("## Options") :])) == there


def test_what_cannot_be_shown(cli: Cli, run: Path, tmp_path: Path) -> None:
    def refused(*arguments: object) -> tuple[int, str]:
        done = cli("view", *arguments, check=False)
        assert done.stderr.count("\n") == 1
        return done.returncode, done.stderr

    assert refused("docs") == (2, "corpuscope: no run in docs: give the folder of a run, or one that has some in it\n")
    assert "eight or more visible" in refused(run, "--token", "short")[1]
    assert "docs is not a corpus" in refused(run, "--corpus", "docs")[1]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, told = refused(run, "--http", f"127.0.0.1:{taken.getsockname()[1]}")
        assert code == 3 and "choose another --http" in told
    cli("ask", "docs.corpus", "And?", "--model", "scout", "--run", "runs/two")
    (run / "run.toml").write_text("nonsense = ")
    done = cli("view", "runs", "--export", "two.html")
    assert done.stderr.startswith(f"left out: {run}/run.toml cannot be read") and (tmp_path / "two.html").exists()
    code, told = refused(run)
    assert code == 2 and "run.toml cannot be read" in told
