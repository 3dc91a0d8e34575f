"""The arguments of `grep -r`: which of its files can match, and the same command for those alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ...retrieve import Dialect, Need, Unreadable, need_of, need_of_literal, one_of
from .request import Candidates, Request, Root, Untouched, below, root_of, value_of

DIALECTS: dict[str, Dialect] = {"G": "basic", "E": "extended", "P": "pcre"}
SWITCHES = "EFGPiywxsnHhloqbTZaIUrRz"
"""Short options without a value that can be kept.

Not among them, and so left to grep: what inverts (-v), prints zeros (-c) or misses (-L), and reads patterns from a file."""

VALUES = "emABC"
LONG_SWITCHES = {
    "extended-regexp": "E", "fixed-strings": "F", "basic-regexp": "G", "perl-regexp": "P", "ignore-case": "i",
    "word-regexp": "w", "line-regexp": "x", "no-messages": "s", "line-number": "n", "with-filename": "H", "no-filename": "h",
    "files-with-matches": "l", "only-matching": "o", "quiet": "q", "silent": "q", "byte-offset": "b", "initial-tab": "T",
    "null": "Z", "text": "a", "binary": "U", "recursive": "r", "dereference-recursive": "R", "null-data": "z",
}  # fmt: skip
"""Long options by their short names."""

LONG_KEPT = {"no-ignore-case", "line-buffered", "color", "colour"}
LONG_VALUES = {"regexp": "e", "max-count": "m", "after-context": "A", "before-context": "B", "context": "C"}
FILTERS = ("include", "exclude", "exclude-dir")

Visits = Callable[[str], bool]
"""Whether a walk visits a file of this path below its root."""


@dataclass(slots=True)
class _Read:
    """Arguments, told apart. `options` are those that stay."""

    options: list[str] = field(default_factory=list)
    patterns: list[str] = field(default_factory=list)
    positional: list[str] = field(default_factory=list)
    letters: str = ""
    filters: list[tuple[str, str]] = field(default_factory=list)


def narrowed(request: Request, candidates: Candidates, files: Path) -> list[str]:
    """The arguments of the same search in fewer files, in the order of their paths. Raises `Untouched`.

    `files` is the folder that W shows.
    """
    read = _read(request.arguments)
    if not set(read.letters) & {"r", "R"}:
        raise Untouched
    if not read.patterns:
        if not read.positional:
            raise Untouched
        read.patterns.append(read.positional.pop(0))
    roots = _roots(read.positional, request.folder, files)
    visited = _visits(read.filters, read.positional)
    found = candidates(_need(read))
    paths: list[str] = []
    for argument, root in roots:
        if root is None:
            paths.append(argument)
        else:
            paths += [path for path in below(root, found) if visited(path.removeprefix(root.printed))]
    if "-" in paths:
        raise Untouched
    patterns = [word for pattern in read.patterns for word in ("-e", pattern)]
    return ["-H", *read.options, *patterns, "--", *(paths or ["/dev/null"])]


def _read(arguments: tuple[str, ...]) -> _Read:
    """As getopt reads them: options anywhere, short ones together, values attached or behind. Raises `Untouched`."""
    read = _Read()
    words = iter(arguments)
    for word in words:
        if word == "--":
            read.positional += words
        elif word.startswith("--"):
            _long(read, word, words)
        elif re.fullmatch("-[0-9]+", word):
            read.options.append(word)
        elif word.startswith("-") and word != "-":
            _short(read, word[1:], words)
        else:
            read.positional.append(word)
    return read


def _long(read: _Read, word: str, words: Iterator[str]) -> None:
    name, equals, value = word[2:].partition("=")
    if name in LONG_SWITCHES and not equals:
        _switch(read, LONG_SWITCHES[name])
    elif name in LONG_VALUES:
        _option(read, LONG_VALUES[name], value if equals else value_of(words))
    elif name in FILTERS:
        read.filters.append((name, value if equals else value_of(words)))
    elif name in LONG_KEPT:
        read.options.append(word)
    else:
        raise Untouched


def _short(read: _Read, letters: str, words: Iterator[str]) -> None:
    for at, letter in enumerate(letters):
        if letter in VALUES:
            _option(read, letter, letters[at + 1 :] or value_of(words))
            return
        if letter not in SWITCHES:
            raise Untouched
        _switch(read, letter)


def _switch(read: _Read, letter: str) -> None:
    read.letters += letter
    read.options.append(f"-{letter}")


def _option(read: _Read, letter: str, value: str) -> None:
    if letter == "e":
        read.patterns.append(value)
    else:
        read.options.append(f"-{letter}{value}")


def _roots(paths: list[str], folder: str, files: Path) -> list[tuple[str, Root | None]]:
    if any(path.endswith("//") for path in paths):
        raise Untouched  # grep takes the second slash away
    here = root_of(".", folder, files)
    roots = (
        [(path, root_of(path, folder, files)) for path in paths]
        if paths
        else [(".", Root(here.inside, "") if here else None)]
    )
    if all(root is None for _, root in roots):
        raise Untouched
    return roots


def _visits(filters: list[tuple[str, str]], paths: list[str]) -> Visits:
    names = [(kind, _glob(glob)) for kind, glob in filters if kind != "exclude-dir"]
    folders = [_glob(glob) for kind, glob in filters if kind == "exclude-dir"]
    if folders and any(path.strip("./") for path in paths):
        raise Untouched  # what it says of a folder named on the command line is grep's to know

    def visited(path: str) -> bool:
        *above, name = path.split("/")
        if any(folder.match(part) for folder in folders for part in above):
            return False
        for kind, glob in reversed(names):
            if glob.match(name):
                return kind == "include"
        return not names or names[0][0] == "exclude"

    return visited


def _glob(glob: str) -> re.Pattern[str]:
    """A glob of plain characters, `*` and `?`. Raises `Untouched` for another."""
    if re.search(r"[\[\]\\/]", glob) or not glob:
        raise Untouched
    parts = (".*" if char == "*" else "." if char == "?" else re.escape(char) for char in glob)
    return re.compile("".join(parts) + r"\Z", re.DOTALL)


def _need(read: _Read) -> Need:
    chosen = [letter for letter in read.letters if letter in "EFGP"] or ["G"]
    if len(set(chosen)) > 1:
        raise Untouched
    lines = [line for pattern in read.patterns for line in pattern.split("\n")]
    if chosen[0] == "P" and len(lines) > 1:
        raise Untouched
    try:
        if chosen[0] == "F":
            return one_of(map(need_of_literal, lines))
        return one_of(need_of(line, DIALECTS[chosen[0]]) for line in lines)
    except Unreadable as error:
        raise Untouched from error
