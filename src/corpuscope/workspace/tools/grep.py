"""`grep(pattern, ...)`: ripgrep without a shell, for agents that get no bash (DCI's ablation of read and grep alone)."""

from __future__ import annotations

import asyncio
import shlex
import threading

from pydantic import BaseModel, ConfigDict, Field

from ...errors import ToolError
from ..execute import execute
from ..output import clean
from ..workspace import Workspace
from .shards import described
from .tool import Observation, Tool

LIMIT = 100
"""Lines of one call unless it asks for another number, as the grep of the Pi harness has it."""

MAX_LINE = 500
"""Characters shown of one line."""

MAX_OUTPUT = 50 << 10
"""Characters of one call."""

DESCRIPTION = """Search the files for a pattern (ripgrep, regular expressions). Comes back as path:line:text, at most \
{limit} lines; long lines are cut at {line} characters."""


class GrepArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")
    pattern: str = Field(description="A regular expression, or plain text with literal.", min_length=1)
    path: str = Field(default=".", description="A file or folder to search.", examples=["."])
    glob: str = Field(default="", description="Only files whose path matches, such as *.md.", examples=["*.md"])
    ignore_case: bool = Field(default=False, description="Capital and small letters are the same.")
    literal: bool = Field(default=False, description="The pattern is plain text.")
    context: int = Field(default=0, ge=0, le=50, description="Lines shown before and after each match.")
    limit: int = Field(default=LIMIT, ge=1, le=2_000, description="How many lines come back.")


def grep_tool(workspace: Workspace) -> Tool:
    """The tool over one workspace."""
    seconds = workspace.sandbox.limits.seconds

    async def run(arguments: GrepArguments) -> Observation:
        path = workspace.resolve(arguments.path)
        if not (workspace.has(path) or workspace.has_folder(path)):
            raise ToolError(
                f"no file or folder {clean(path.encode(errors='replace'))[:200]} here; leave path out to search all"
            )
        cancelled = threading.Event()
        work = asyncio.to_thread(execute, workspace.sandbox, _command(workspace, arguments), seconds, cancelled)
        try:
            outcome = await work
        except ValueError as error:
            raise ToolError(f"{error}; type the pattern again without it") from error
        finally:
            cancelled.set()
        text = clean(outcome.output)
        if outcome.stopped:
            raise ToolError(f"stopped: {outcome.stopped}; search a narrower path or glob")
        if outcome.exit_code == 2 and text.startswith("rg: regex parse error"):
            raise ToolError(f"{' '.join(text.split())}; repair the pattern, or set literal to true")
        return _observation(arguments, text)

    description = DESCRIPTION.format(limit=LIMIT, line=MAX_LINE)
    return Tool("grep", described(workspace, description), GrepArguments, run)


def _command(workspace: Workspace, arguments: GrepArguments) -> str:
    """No word of the model's is more than an argument of rg."""
    words = ["rg", "--line-number", "--with-filename", "--no-heading", "--color=never", "--sort=path"]
    words += ["--ignore-case"] if arguments.ignore_case else []
    words += ["--fixed-strings"] if arguments.literal else []
    words += [f"--context={arguments.context}"] if arguments.context else []
    words += [f"--glob={arguments.glob}"] if arguments.glob else []
    words += ["-e", arguments.pattern, "--", workspace.resolve(arguments.path)]
    command = " ".join(map(shlex.quote, words))
    # One line more than is shown says that there are more; pipefail keeps the exit code of rg.
    return f"set -o pipefail; {command} 2>&1 | cut -c1-{2 * MAX_LINE} | head -n {arguments.limit + 1}"


def _observation(arguments: GrepArguments, text: str) -> Observation:
    lines = [line.removeprefix("./") for line in text.rstrip("\n").split("\n")] if text.strip() else []
    shown: list[str] = []
    size = 0
    for line in lines[: arguments.limit]:
        line = line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]} [line cut]"
        if size + len(line) > MAX_OUTPUT:
            break
        shown.append(line)
        size += len(line) + 1
    notes = ["[more matches follow: narrow the pattern, the path or the glob]"] if len(shown) < len(lines) else []
    body = "\n".join([*(shown or ["[no matches]"]), *notes])
    return Observation(body, {"pattern": arguments.pattern, "path": arguments.path, "lines": len(shown)})
