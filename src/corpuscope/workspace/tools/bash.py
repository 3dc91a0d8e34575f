"""`bash(command)`: one command line in the sandbox, in W."""

from __future__ import annotations

import asyncio
import threading

from pydantic import BaseModel, ConfigDict, Field

from ...errors import ToolError
from ..execute import Outcome, execute
from ..output import clean
from ..workspace import Workspace
from .tool import Observation, Tool

MAX_OUTPUT = 4_000
"""Characters of output shown (RISE)."""

MAX_COMMAND = 100_000
"""Bytes; the kernel takes 128 KiB as one argument."""

DESCRIPTION = """Run a bash command in the workspace folder, which holds the files that search imported: rg, grep, \
sed, awk, find, head, sort, python3 where installed, pipes. Files there are read-only; /tmp is yours to write. No \
network. Output is cut at {output:,} characters and a command is stopped after {seconds:g} s, so narrow it: \
rg -n -i PATTERN, rg -l, rg -c, rg -o '.{{0,80}}PATTERN.{{0,80}}', sed -n '10,40p' FILE, | head."""


class BashArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")
    command: str = Field(description="A bash command line.", min_length=1, examples=["rg -n -i 'pattern' | head -40"])


def bash_tool(workspace: Workspace) -> Tool:
    """The tool over one workspace."""
    seconds = workspace.sandbox.limits.seconds

    async def run(arguments: BashArguments) -> Observation:
        if len(arguments.command.encode(errors="replace")) > MAX_COMMAND:
            raise ToolError(f"the command is longer than {MAX_COMMAND:,} bytes; split it")
        cancelled = threading.Event()
        work = asyncio.to_thread(execute, workspace.sandbox, arguments.command, seconds, cancelled)
        try:
            return _observation(arguments.command, await work)
        except ValueError as error:
            raise ToolError(f"{error}; type the command again without it") from error
        finally:
            cancelled.set()  # the thread outlives a cancelled call; its command must not

    return Tool("bash", DESCRIPTION.format(output=MAX_OUTPUT, seconds=seconds), BashArguments, run)


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
    if outcome.stopped:
        notes.append(f"stopped: {outcome.stopped}")
    elif outcome.exit_code:
        notes.append(f"exit code {outcome.exit_code}" + ("" if shown.strip() else ", no output"))
    body = shown.rstrip("\n") or ("" if notes else "[no output]")
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
