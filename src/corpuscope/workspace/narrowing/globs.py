"""Which files a walk of ripgrep would have visited: its globs and types, for files that are named to it one by one.

ripgrep asks its globs only of what it meets on a walk. The rules are those of its crates `globset` and `ignore`.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from ..programs import ripgrep


class Unclear(Exception):
    """A glob or type that is not read here; ripgrep itself then does all of the work."""


Filter = Callable[[str, str], bool]
"""Whether a walk from a root visits a file; both as they are printed, the root with its slash or empty."""


@dataclass(frozen=True, slots=True)
class Glob:
    """One `-g` or `--iglob`. `excludes` is its leading `!`."""

    pattern: re.Pattern[bytes]
    excludes: bool
    folders_only: bool


def overrides(globs: Sequence[tuple[str, bool]], folder: str) -> Callable[[str, bool], bool | None]:
    """What (glob, without case) say of a printed path and whether it is a folder: in, out, or nothing. Raises `Unclear`."""
    read = [found for text, caseless in globs if (found := _override(text, caseless))]
    whitelists = any(not glob.excludes for glob in read)

    def verdict(path: str, is_folder: bool) -> bool | None:
        name = _relative(path, folder).encode(errors="surrogateescape")
        for glob in reversed(read):
            if (is_folder or not glob.folders_only) and glob.pattern.match(name):
                return not glob.excludes
        return False if whitelists and not is_folder else None

    return verdict


def _override(text: str, caseless: bool) -> Glob | None:
    """A line of a .gitignore, with the meaning of `!` turned round."""
    if text.startswith("#"):
        return None
    line = text if text.endswith("\\ ") else text.rstrip()
    if not line:
        return None
    if line.startswith("\\"):
        raise Unclear(text)
    excludes = line.startswith("!")
    line = line.removeprefix("!")
    anchored = line.startswith("/")
    line = line.removeprefix("/")
    folders_only = line.endswith("/")
    line = line.removesuffix("/")
    if not anchored and "/" not in line and line != "**" and not line.startswith("**/"):
        line = f"**/{line}"
    if line.endswith("/**"):
        line += "/*"
    return Glob(glob_pattern(line, caseless=caseless), excludes, folders_only)


def _relative(path: str, folder: str) -> str:
    path = path.removeprefix("./")
    if "/" in path and path.startswith(folder):
        path = path.removeprefix(folder).removeprefix("/")
    return path


@cache
def glob_pattern(glob: str, *, caseless: bool = False) -> re.Pattern[bytes]:
    """A glob of `globset`, whose `*` stops at slashes, as a pattern for whole paths. Raises `Unclear`."""
    if not glob.isascii() and (caseless or "[" in glob):
        raise Unclear(glob)
    if glob == "**":
        return re.compile(rb".*", re.DOTALL)
    text, at = _translated(glob, 0, nested=False)
    if at != len(glob):
        raise Unclear(glob)
    return re.compile(text + rb"\Z", re.DOTALL | (re.IGNORECASE if caseless else 0))


def _translated(glob: str, at: int, *, nested: bool) -> tuple[bytes, int]:
    """From `at` to the end, or to the `,` or `}` that ends an alternative."""
    parts: list[bytes] = []
    while at < len(glob) and not (nested and glob[at] in ",}"):
        part, at = _token(glob, at, nested=nested)
        parts.append(part)
    return b"".join(parts), at


def _token(glob: str, at: int, *, nested: bool) -> tuple[bytes, int]:
    char, rest = glob[at], glob[at + 1 :]
    if glob.startswith("***", at) or (nested and glob.startswith("**", at)) or glob.startswith("**/**", at):
        raise Unclear(glob)
    if at == 0 and glob.startswith("**/"):
        return b"(?:/?|.*/)", 3
    if glob.startswith("/**/", at):
        return b"(?:/|/.*/)", at + 4
    if char == "*":
        return b"[^/]*", at + 1
    if char == "?":
        return b"[^/]", at + 1
    if char == "[":
        return _set(glob, at + 1)
    if char == "{":
        return _alternatives(glob, at + 1)
    if char == "}" or (char == "\\" and not rest):
        raise Unclear(glob)
    if char == "\\":
        return re.escape(rest[0].encode(errors="surrogateescape")), at + 2
    return re.escape(char.encode(errors="surrogateescape")), at + 1


def _set(glob: str, at: int) -> tuple[bytes, int]:
    end = glob.find("]", at + (2 if glob[at : at + 1] in ("!", "^") else 1))
    inside = glob[at:end]
    if end < 0 or "\\" in inside or "[" in inside:
        raise Unclear(glob)
    negated = inside[:1] in ("!", "^")
    members = inside[1:] if negated else inside
    if re.search(r"-.*-|^-|-$|[&~|]", members) or any(a > b for a, b in re.findall(r"(.)-(.)", members)):
        raise Unclear(glob)
    return b"[" + (b"^" if negated else b"") + members.replace("]", r"\]").encode() + b"]", end + 1


def _alternatives(glob: str, at: int) -> tuple[bytes, int]:
    found: list[bytes] = []
    while True:
        text, at = _translated(glob, at, nested=True)
        if not text:
            raise Unclear(glob)  # left out of the list by globset
        found.append(text)
        if at >= len(glob):
            raise Unclear(glob)
        at += 1
        if glob[at - 1] == "}":
            return b"(?:" + b"|".join(found) + b")", at


@dataclass(frozen=True, slots=True)
class Types:
    """What `-t` and `-T` ask of a file's name, in their order."""

    chosen: tuple[tuple[str, bool], ...]

    def accepts(self, path: str) -> bool:
        name = path.rpartition("/")[2].encode(errors="surrogateescape")
        for kind, wanted in reversed(self.chosen):
            if any(glob.match(name) for glob in _globs_of(kind)):
                return wanted
        return not any(wanted for _, wanted in self.chosen)


@cache
def _globs_of(kind: str) -> tuple[re.Pattern[bytes], ...]:
    """Of a type of files as ripgrep knows it. Raises `Unclear`."""
    globs = _type_list().get(kind)
    if globs is None:
        raise Unclear(kind)
    return tuple(glob_pattern(glob) for glob in globs)


@cache
def _type_list() -> dict[str, tuple[str, ...]]:
    listed = subprocess.run(
        [ripgrep(), "--no-config", "--type-list"], capture_output=True, text=True, check=True
    ).stdout
    split = (line.partition(": ") for line in listed.splitlines())
    return {name: tuple(globs.split(", ")) for name, _, globs in split}


def visits(
    globs: Sequence[tuple[str, bool]], types: Sequence[tuple[str, bool]], folder: str, depth: int | None
) -> Filter:
    """Whether a walk from the folder `root` of its argument would visit a file, both as they are printed; `folder` is where
    the command runs. Raises `Unclear`."""
    says = overrides(globs, folder) if globs else None
    of_type = Types(tuple(types))
    for kind, _ in types:
        _globs_of(kind)

    def visited(root: str, path: str) -> bool:
        below = path.removeprefix(root).split("/")
        if depth is not None and len(below) > depth:
            return False
        if says:
            above = root
            for part in below[:-1]:
                above += part
                if says(above, True) is False:
                    return False
                above += "/"
            if (verdict := says(path, False)) is not None:
                return verdict
        return of_type.accepts(path) if types else True

    return visited
