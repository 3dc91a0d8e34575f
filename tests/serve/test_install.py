"""`mcp --install`: the files of other agents, added to and otherwise left as they are."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import tomllib
from pathlib import Path

import pytest

from corpuscope.corpus import Corpus

from .conftest import PROGRAM


def install(
    corpus: Corpus, folder: Path, client: str, *options: str, yes: bool = True
) -> subprocess.CompletedProcess[str]:
    homes = {
        "HOME": str(folder / "home"),
        "CODEX_HOME": str(folder / "codex"),
        "PI_CODING_AGENT_DIR": str(folder / "pi"),
    }
    return subprocess.run(
        [PROGRAM, "mcp", corpus.root, "--install", client, "--name", "docs", *(["--yes"] if yes else []), *options],
        cwd=folder, env=os.environ | homes, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip


def arguments(corpus: Corpus) -> list[str]:
    return ["mcp", str(corpus.root)]


@pytest.mark.parametrize(
    ("client", "file", "keys"),
    [
        ("claude-code", ".mcp.json", ["mcpServers"]),
        ("cursor", ".cursor/mcp.json", ["mcpServers"]),
        ("gemini", ".gemini/settings.json", ["mcpServers"]),
        ("vscode", ".vscode/mcp.json", ["servers"]),
        ("opencode", "opencode.json", ["mcp"]),
    ],
)
def test_json_files_keep_what_they_have(
    corpus: Corpus, tmp_path: Path, client: str, file: str, keys: list[str]
) -> None:
    there = tmp_path / file
    there.parent.mkdir(parents=True, exist_ok=True)
    there.write_text(json.dumps({"theme": "ü", keys[0]: {"other": {"command": "x"}}}))
    done = install(corpus, tmp_path, client)
    assert done.returncode == 0 and file in done.stdout, done.stderr
    whole = json.loads(there.read_text())
    assert whole["theme"] == "ü" and whole[keys[0]]["other"] == {"command": "x"}
    entry = whole[keys[0]]["docs"]
    command = entry["command"] if client == "opencode" else [entry["command"], *entry["args"]]
    assert command == [str(PROGRAM), *arguments(corpus)]
    before = there.read_bytes()
    assert "has it already" in install(corpus, tmp_path, client).stdout and there.read_bytes() == before
    taken = install(corpus, tmp_path, client, "--system", "dci-lite")
    assert taken.returncode == 2 and "choose another --name" in taken.stderr and there.read_bytes() == before


def test_codex_keeps_its_comments(corpus: Corpus, tmp_path: Path) -> None:
    there = tmp_path / "codex/config.toml"
    there.parent.mkdir()
    there.write_text('# mine\nmodel = "x"  # the best\n\n[mcp_servers.other]\ncommand = "y"\n')
    assert install(corpus, tmp_path, "codex", "--system", "rise-bm25").returncode == 0
    assert there.read_text().startswith('# mine\nmodel = "x"  # the best\n\n[mcp_servers.other]\ncommand = "y"\n')
    servers = tomllib.loads(there.read_text())["mcp_servers"]
    assert servers["docs"] == {"command": str(PROGRAM), "args": [*arguments(corpus), "--system", "rise-bm25"]}
    assert servers["other"] == {"command": "y"}
    assert "has it already" in install(corpus, tmp_path, "codex", "--system", "rise-bm25").stdout


@pytest.mark.parametrize(
    ("client", "file", "text"),
    [
        ("claude-code", ".mcp.json", "{ // a comment\n}"),
        ("claude-code", ".mcp.json", "[]"),
        ("claude-code", ".mcp.json", '{"mcpServers": []}'),
        ("codex", "codex/config.toml", "= nonsense"),
        ("codex", "codex/config.toml", 'mcp_servers = { a = { command = "x" } }\n'),
        ("codex", "codex/config.toml", "mcp_servers = 3\n"),
    ],
)
def test_a_file_that_cannot_be_understood_is_left_alone(
    corpus: Corpus, tmp_path: Path, client: str, file: str, text: str
) -> None:
    there = tmp_path / file
    there.parent.mkdir(parents=True, exist_ok=True)
    there.write_text(text)
    done = install(corpus, tmp_path, client)
    assert done.returncode == 2 and "by hand" in done.stderr and "Traceback" not in done.stderr
    assert there.read_text() == text


def test_it_asks_first(corpus: Corpus, tmp_path: Path) -> None:
    silent = install(corpus, tmp_path, "claude-code", yes=False)
    assert silent.returncode == 2 and "add --yes" in silent.stderr and '"docs"' in silent.stdout
    for answer, written in (("n", False), ("y", True)):
        controller, terminal = pty.openpty()
        os.write(controller, f"{answer}\n".encode())
        done = subprocess.run(
            [PROGRAM, "mcp", corpus.root, "--install", "claude-code"], cwd=tmp_path, stdin=terminal, capture_output=True,
            text=True, check=False,
        )  # fmt: skip
        assert "Write it? [y/N]" in done.stdout
        assert (tmp_path / ".mcp.json").exists() is written, done.stderr
        os.close(terminal)
        os.close(controller)


def test_wrong_names_are_one_line(corpus: Corpus, tmp_path: Path) -> None:
    for options, words in (
        (["--install", "emacs"], "there are claude-code, codex, cursor"),
        (["--install", "pi", "--name", "a b"], "letters, digits"),
        (["--install", "pi", "--system", "nope"], "no system 'nope'"),
    ):
        done = subprocess.run(
            [PROGRAM, "mcp", corpus.root, *options], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 2 and words in done.stderr and len(done.stderr.splitlines()) == 1


def test_pi_gets_an_extension_that_leaves_its_own_tools_alone(corpus: Corpus, tmp_path: Path) -> None:
    assert install(corpus, tmp_path, "pi").returncode == 0
    source = (tmp_path / "pi/extensions/corpuscope-docs.ts").read_text()
    assert json.dumps([str(PROGRAM), *arguments(corpus)]) in source and 'PREFIX = "docs_"' in source
    assert "has it already" in install(corpus, tmp_path, "pi").stdout
