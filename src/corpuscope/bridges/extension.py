"""Pi speaks no MCP: an extension of its own starts the server, or finds it on a socket, and offers its tools."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import resources


def pi_extension(command: Sequence[str], prefix: str = "") -> str:
    """The extension's source. Without a `command` the tools are on the socket that CORPUSCOPE_SOCKET names; `prefix` goes
    before their names."""
    source = (resources.files(__package__) / "pi_extension.ts").read_text()
    source = source.replace("const COMMAND: string[] = [];", f"const COMMAND: string[] = {json.dumps(list(command))};")
    return source.replace('const PREFIX = "";', f"const PREFIX = {json.dumps(prefix)};")
