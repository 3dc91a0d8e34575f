"""The whole of a packed corpus is shards, files of many documents each: what tools say of them, and what they count in them."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable

import pathspec

from ...corpus import PackedStore, Place
from ..workspace import Workspace

NOTE = """ Each file holds many documents, one below the other; above each stands a line ==> PATH <==, and PATH is its name: \
read takes it, and it is what to cite."""


def described(workspace: Workspace, description: str) -> str:
    """What a tool says of itself where the files of `workspace` are shards."""
    return description + NOTE if workspace.shards else description


def matches_by_document(packs: PackedStore, lines: Iterable[bytes], glob: str) -> Counter[str]:
    """path of a document -> matches in it, of those whose path fits the `glob`; a match in the line above it is none.

    `lines` are what `rg --heading --line-number --only-matching --replace ''` prints: a shard's name, then `LINE:` for each match.
    """
    found: Counter[str] = Counter()
    fits = _filter(glob)
    documents: list[Place] = []
    starts: list[int] = []
    for line in lines:
        if line.startswith(b"./"):
            documents = packs.documents_of(line[2:].rstrip(b"\n").decode())
            starts = [place.line for place in documents]
        elif line[:1].isdigit():
            number = int(line.partition(b":")[0])
            at = bisect_right(starts, number) - 1
            if at >= 0 and number < starts[at] + documents[at].lines and fits(documents[at].path):
                found[documents[at].path] += 1
    return found


def _filter(glob: str) -> Callable[[str], bool]:
    """Whether a path fits a glob as rg has it: of any folder unless it has a slash; behind `!`, those that do not fit."""
    if not glob:
        return lambda path: True
    wanted = not glob.startswith("!")
    spec = pathspec.GitIgnoreSpec.from_lines([glob.removeprefix("!")])
    return lambda path: spec.match_file(path) == wanted
