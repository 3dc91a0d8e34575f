"""`bash(command)`: one command line in the sandbox, in W."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from ...errors import ToolError
from ..execute import Outcome, execute
from ..output import Head, Tail, clean
from ..workspace import Workspace
from .shards import described
from .tool import Observation, Tool

MAX_OUTPUT = 4_000
"""Characters of output shown (RISE)."""

MAX_COMMAND = 100_000
"""Bytes; the kernel takes 128 KiB as one argument."""

DESCRIPTION = """Run a bash command in the workspace folder, which holds the files that search imported: rg, grep, \
sed, awk, find, head, sort, python3 where installed, pipes. Files there are read-only; /tmp is yours to write. No \
network. Output is cut at {output:,} characters and a command is stopped after {seconds:g} s, so narrow it: \
rg -n -i PATTERN, rg -l, rg -c, rg -o '.{{0,80}}PATTERN.{{0,80}}', sed -n '10,40p' FILE, | head."""


DCI_LINES = 2_000
"""Of output shown, at most (RISE, section 4, on its DCI baseline)."""

DCI_BYTES = 50 << 10
"""Of output shown, at most (RISE, section 4, on its DCI baseline)."""

DCI_DESCRIPTION = """Run a bash command in the corpus folder: rg, grep, sed, awk, find, head, sort, python3 where installed, \
pipes. Files there are read-only; /tmp is yours to write. No network. Of long output the last {lines:,} lines or \
{kilobytes} KB come back, and a command is stopped after {seconds:g} s."""


class BashArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")
    command: str = Field(description="A bash command line.", min_length=1, examples=["rg -n -i 'pattern' | head -40"])


def bash_tool(workspace: Workspace) -> Tool:
    """RISE's: the beginning of the output, 4,000 characters of it."""
    seconds = workspace.sandbox.limits.seconds
    description = DESCRIPTION.format(output=MAX_OUTPUT, seconds=seconds)
    return Tool("bash", description, BashArguments, _running(workspace, Head, _observation), _names_scratch)


def dci_bash_tool(workspace: Workspace) -> Tool:
    """DCI's: the end of the output, 2,000 lines or 50 KB of it."""
    seconds = workspace.sandbox.limits.seconds
    description = DCI_DESCRIPTION.format(lines=DCI_LINES, kilobytes=DCI_BYTES >> 10, seconds=seconds)
    return Tool(
        "bash",
        described(workspace, description),
        BashArguments,
        _running(workspace, Tail, _dci_observation),
        _names_scratch,
    )


def _names_scratch(data: Mapping[str, Any]) -> bool:
    return any(word in data["command"] for word in ("/tmp", "~", "HOME", "TMPDIR", "mktemp"))


def _running(
    workspace: Workspace, keep: type[Head], observe: Callable[[str, Outcome], Observation]
) -> Callable[[BashArguments], Awaitable[Observation]]:
    seconds = workspace.sandbox.limits.seconds

    async def run(arguments: BashArguments) -> Observation:
        if len(arguments.command.encode(errors="replace")) > MAX_COMMAND:
            raise ToolError(f"the command is longer than {MAX_COMMAND:,} bytes; split it")
        cancelled = threading.Event()
        work = asyncio.to_thread(execute, workspace.sandbox, arguments.command, seconds, cancelled, keep)
        try:
            return observe(arguments.command, await work)
        except ValueError as error:
            raise ToolError(f"{error}; type the command again without it") from error
        finally:
            cancelled.set()  # the thread outlives a cancelled call; its command must not

    return run


def _observation(command: str, outcome: Outcome) -> Observation:
    text = clean(outcome.output)
    shown = text[:MAX_OUTPUT]
    notes = []
    if len(shown) < len(text) or outcome.total_bytes > len(outcome.output):
        lines = outcome.total_lines - shown.count("\n")
        notes.append(
            f"cut: {len(shown):,} characters of {outcome.total_bytes:,} bytes shown, {lines:,} more lines left out; "
            "narrow the command (| head, rg -l, rg -c, rg -m 3, sed -n 'A,Bp', cut -c1-300)"
        )
    return _noted(command, outcome, shown.rstrip("\n"), notes)


def _dci_observation(command: str, outcome: Outcome) -> Observation:
    every = clean(outcome.output).rstrip("\n").split("\n")
    lines = every[-DCI_LINES:]
    size, first = 0, len(lines)
    while first and size + len(lines[first - 1].encode()) + 1 <= DCI_BYTES:
        first -= 1
        size += len(lines[first].encode()) + 1
    shown = "\n".join(lines[first:])
    if not shown and lines and lines[-1]:  # the end of one long line
        shown = lines[-1].encode()[-DCI_BYTES:].decode(errors="ignore")
    notes = []
    if first or len(lines) < len(every) or len(outcome.output) < outcome.total_bytes:
        count = shown.count("\n") + 1
        notes.append(
            f"cut: the last {count:,} of {outcome.total_lines:,} lines shown, {outcome.total_bytes:,} bytes in all"
        )
    return _noted(command, outcome, shown, notes)


def _noted(command: str, outcome: Outcome, shown: str, notes: list[str]) -> Observation:
    """What was shown, with what the model must know of the rest in brackets."""
    if outcome.stopped:
        notes.append(f"stopped: {outcome.stopped}")
    elif outcome.exit_code:
        notes.append(f"exit code {outcome.exit_code}" + ("" if shown.strip() else ", no output"))
    body = shown or ("" if notes else "[no output]")
    text = "\n".join([*([body] if body else []), *(f"[{note}]" for note in notes)])
    data = {
        "command": command,
        "exit_code": outcome.exit_code,
        "stopped": outcome.stopped,
        "seconds": round(outcome.seconds, 4),
        "bytes": outcome.total_bytes,
        "shown": len(shown),
    }
    return Observation(text, data)
