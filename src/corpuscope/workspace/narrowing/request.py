"""What was typed before rg or grep, and what it comes to when only some files can match."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...retrieve import Need
from ..sandbox import W


class Untouched(Exception):
    """The command goes to the real program as it was typed."""


Candidates = Callable[[Need], list[str]]
"""W-relative paths of the documents that can match. Raises `Untouched`."""


@dataclass(frozen=True, slots=True)
class Request:
    """A command in the sandbox: its program, its folder, whether its standard input may be searched, its arguments."""

    program: str
    folder: str
    readable_input: bool
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Root:
    """A folder of W that a command would walk: `inside` is its W-relative path ("" is W), `printed` what stands before the
    names of its files in the output."""

    inside: str
    printed: str

    @property
    def prefix(self) -> str:
        return f"{self.inside}/" if self.inside else ""


def root_of(path: str, folder: str, files: Path) -> Root | None:
    """The folder that a command in `folder` means by `path`; None for what is no folder of W or not surely one.

    W holds no links, so only words are looked at: `..` is followed at the beginning alone, below W.
    """
    parts = [part for part in path.split("/") if part not in ("", ".")]
    start = [] if path.startswith("/") else [part for part in folder.split("/") if part]
    while parts[:1] == [".."] and len(start) > 1:
        start, parts = start[:-1], parts[1:]
    whole = [*start, *parts]
    if not path or whole[:1] != [W.strip("/")] or ".." in whole or not f"{folder}{path}".startswith("/"):
        return None
    inside = "/".join(whole[1:])
    if not os.path.isdir(files / inside):
        return None
    return Root(inside, path if path.endswith("/") else f"{path}/")


def below(root: Root, paths: Iterable[str]) -> list[str]:
    """Those W-relative paths that lie in `root`, as they are printed, in the order of a sorted walk."""
    prefix = root.prefix
    found = [path[len(prefix) :] for path in paths if path.startswith(prefix)]
    return [root.printed + path for path in sorted(found, key=lambda path: path.split("/"))]


def value_of(words: Iterator[str]) -> str:
    """The value behind an option. Raises `Untouched` where there is none."""
    value = next(words, None)
    if value is None:
        raise Untouched
    return value


def within_limits(arguments: Sequence[str]) -> bool:
    """Whether the kernel takes so many arguments."""
    return sum(len(os.fsencode(argument)) + 9 for argument in arguments) < MAX_ARGUMENTS


MAX_ARGUMENTS = 1_800_000
"""Bytes, with their pointers; Linux takes a quarter of the stack's 8 MB, the environment included."""
