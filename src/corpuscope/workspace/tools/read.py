"""`read(path, offset, limit)`: numbered lines of one file of W."""

from __future__ import annotations

import asyncio
import difflib
import os
from collections.abc import Iterator
from typing import IO

from pydantic import BaseModel, ConfigDict, Field

from ...errors import ToolError
from ..output import clean, clean_line
from ..workspace import Workspace
from .shards import described
from .tool import Observation, Tool

LIMIT = 2_000
"""Lines of one call unless it asks for fewer (RISE)."""

MAX_OUTPUT = 50_000
"""Characters of one call; the context policy may cut further."""

MAX_LINE = 2_000
"""Characters shown of one line."""

_CHUNK = 1 << 16

DESCRIPTION = """Read a file of the workspace as numbered lines, `limit` lines from line `offset` on. Line numbers are \
those of rg -n and sed -n. At most {output:,} characters come back."""


class ReadArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")
    path: str = Field(description="As search and rg print it.", min_length=1, examples=["folder/file.txt"])
    offset: int = Field(default=1, ge=1, description="The first line, counted from 1.")
    limit: int = Field(default=LIMIT, ge=1, description="How many lines.")


def read_tool(workspace: Workspace) -> Tool:
    """The tool over one workspace."""

    async def run(arguments: ReadArguments) -> Observation:
        return await asyncio.to_thread(_read, workspace, arguments)

    return Tool("read", described(workspace, DESCRIPTION.format(output=MAX_OUTPUT)), ReadArguments, run)


def _read(workspace: Workspace, arguments: ReadArguments) -> Observation:
    path = workspace.resolve(arguments.path)
    if not workspace.has(path):
        raise ToolError(_missing(workspace, path))
    first, shown, size, last = arguments.offset, list[str](), 0, 0
    cut, number = "", 0
    entry = workspace.corpus.manifest.by_path(path)
    with workspace.open(path) as file:
        for number, line, length in _lines(file):
            last = number
            if number < first:
                continue
            if number >= first + arguments.limit:
                last = number - 1
                break
            text = clean_line(line)
            if length > len(line) or len(text) > MAX_LINE:
                text = f"{text[:MAX_LINE]} [line cut: {length:,} bytes; rg -o '.{{0,80}}PATTERN.{{0,80}}' shows inside]"
            row = f"{number:>6}\t{text}"
            if size + len(row) > MAX_OUTPUT and shown:
                cut = f"cut at {MAX_OUTPUT:,} characters"
                last = number - 1
                break
            shown.append(row)
            size += len(row) + 1
        total = workspace.lines(entry) if entry else number + sum(1 for _ in _lines(file))
    if not shown:
        raise ToolError(f"{path} has {total:,} lines; offset {first} is behind its end")
    if last < total:
        shown.append(f"[{cut or 'more follows'}: lines {first}-{last} of {total:,}; go on with offset={last + 1}]")
    data = {
        "path": path,
        "first": first,
        "last": last,
        "lines": total,
        "docid": entry.docid if entry else None,
    }
    return Observation("\n".join(shown), data)


def _lines(file: IO[bytes]) -> Iterator[tuple[int, bytes, int]]:
    """(number, the beginning of the line, its whole length in bytes); memory does not grow with the line."""
    number = 0
    while line := file.readline(_CHUNK):
        number += 1
        length, end = len(line), line
        while not end.endswith(b"\n") and (end := file.readline(_CHUNK)):
            length += len(end)
        yield number, line, length


def _missing(workspace: Workspace, path: str) -> str:
    shown = clean(path.encode(errors="replace"))[:200]
    if workspace.has_folder(path):
        return f"{shown} is a folder; list it with bash: ls {shown}"
    if workspace.whole:
        return f"no file {shown} in the corpus. Find files with rg --files | rg NAME"
    files = [
        os.path.relpath(os.path.join(folder, name), workspace.path)
        for folder, _, names in os.walk(workspace.path)
        for name in names
    ]
    name = path.rpartition("/")[2]
    found = [file for file in files if file.rpartition("/")[2] == name][:3] or difflib.get_close_matches(path, files)
    hint = f"Did you mean {', '.join(found)}?" if found else "Only search brings files in; list them with rg --files"
    return f"no file {shown} in the workspace. {hint}"
