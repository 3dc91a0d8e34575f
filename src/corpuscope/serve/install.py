"""How other agents learn of the MCP server: the file each keeps its servers in, and what goes into it."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from ..bridges import pi_extension
from ..corpus import write_whole
from ..errors import SetupError, UsageError


@dataclass(frozen=True, slots=True)
class Change:
    """A file as it should become. `added` is what is new in it; '' when it says so already."""

    file: Path
    text: str
    added: str


@dataclass(frozen=True, slots=True)
class _Client:
    file: Callable[[], Path]
    keys: tuple[str, ...] = ()
    """Where in a JSON file the servers stand."""
    entry: Callable[[str, Sequence[str]], dict[str, Any]] = lambda program, arguments: {
        "command": program,
        "args": list(arguments),
    }


def _home(variable: str, folder: str) -> Path:
    return Path(os.environ.get(variable) or Path.home() / folder)


CLIENTS: dict[str, _Client] = {
    "claude-code": _Client(lambda: Path(".mcp.json"), ("mcpServers",)),
    "codex": _Client(lambda: _home("CODEX_HOME", ".codex") / "config.toml"),
    "cursor": _Client(lambda: Path(".cursor/mcp.json"), ("mcpServers",)),
    "gemini": _Client(lambda: Path(".gemini/settings.json"), ("mcpServers",)),
    "opencode": _Client(
        lambda: Path("opencode.json"),
        ("mcp",),
        lambda program, arguments: {"type": "local", "command": [program, *arguments]},
    ),
    "pi": _Client(lambda: _home("PI_CODING_AGENT_DIR", ".pi/agent") / "extensions"),
    "vscode": _Client(
        lambda: Path(".vscode/mcp.json"),
        ("servers",),
        lambda program, arguments: {"type": "stdio", "command": program, "args": list(arguments)},
    ),
}
"""By the name that `--install` takes. Relative files are a project's own, in the current folder."""


def planned(client: str, name: str, program: str, arguments: Sequence[str]) -> Change:
    """What would be written so that `client` starts `program arguments` as the server `name`.

    Raises `UsageError` for a client nobody knows, a name that is taken, or a file that cannot be understood.
    """
    if client not in CLIENTS:
        raise UsageError(f"--install {client}: there are {', '.join(CLIENTS)}")
    known = CLIENTS[client]
    if client == "pi":
        return _extension(known.file() / f"corpuscope-{name}.ts", name, [program, *arguments])
    text = _read(known.file())
    plan = _toml if client == "codex" else _json
    return plan(known, text, name, known.entry(program, arguments))


def write(change: Change) -> None:
    """Put it in place whole. Raises `SetupError` where that cannot be written."""
    try:
        change.file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(change.file, change.text)
    except OSError as error:
        raise SetupError(f"cannot write {change.file} ({error.strerror})") from error


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {file} ({error}); add the server by hand") from error


def _json(client: _Client, text: str, name: str, entry: dict[str, Any]) -> Change:
    file = client.file()
    try:
        whole = json.loads(text or "{}")
        servers = whole
        for key in client.keys:
            servers = servers.setdefault(key, {})
        there = servers.get(name)
    except (ValueError, AttributeError) as error:
        raise UsageError(f"{file} is not the JSON it should be ({error}); add the server by hand") from error
    if there == entry:
        return Change(file, text, "")
    _refuse_taken(file, name, there)
    servers[name] = entry
    added = json.dumps({name: entry}, indent=2)
    return Change(file, json.dumps(whole, indent=2, ensure_ascii=False) + "\n", added)


def _toml(client: _Client, text: str, name: str, entry: dict[str, Any]) -> Change:
    """A table at the end of the file: what stands in it, comments too, stays as it is."""
    file = client.file()
    try:
        there = tomllib.loads(text).get("mcp_servers", {}).get(name)
    except (tomllib.TOMLDecodeError, AttributeError) as error:
        raise UsageError(f"{file} is not the TOML it should be ({error}); add the server by hand") from error
    if there == entry:
        return Change(file, text, "")
    _refuse_taken(file, name, there)
    added = tomli_w.dumps({"mcp_servers": {name: entry}}).removeprefix("[mcp_servers]\n").lstrip()
    whole = f"{text.rstrip()}\n\n{added}".lstrip()
    try:
        tomllib.loads(whole)
    except tomllib.TOMLDecodeError as error:  # its servers stand in one line, which no table can add to
        raise UsageError(f"{file} cannot be added to at its end ({error}); add the server by hand") from error
    return Change(file, whole, added.rstrip())


def _extension(file: Path, name: str, command: Sequence[str]) -> Change:
    prefix = re.sub(r"\W", "_", name) + "_"
    text, there = pi_extension(command, prefix), _read(file)
    return Change(
        file, text, "" if there == text else f"an extension, tools {prefix}..., that starts: {' '.join(command)}"
    )


def _refuse_taken(file: Path, name: str, there: object) -> None:
    if there is not None:
        raise UsageError(f"{file} has another server {name!r} already; choose another --name, or remove it there")
