"""The arguments of `rg`: which of its files can match, and the same command for those alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ...retrieve import Dialect, Need, Unreadable, need_of, need_of_literal, one_of
from .globs import Filter, Unclear, visits
from .request import Candidates, Request, Root, Untouched, below, root_of, value_of

VALUES = {
    "A": "after-context", "B": "before-context", "C": "context", "M": "max-columns", "T": "type-not", "d": "max-depth",
    "e": "regexp", "g": "glob", "j": "threads", "m": "max-count", "r": "replace", "t": "type",
}  # fmt: skip
"""Short options that take a value, by their long names."""

LONG_VALUES = {
    *VALUES.values(), "iglob", "maxdepth", "color", "colors", "context-separator", "field-context-separator",
    "field-match-separator", "path-separator", "sort", "dfa-size-limit", "regex-size-limit", "hyperlink-format",
}  # fmt: skip

SWITCHES = {
    "s": "case-sensitive", "F": "fixed-strings", "i": "ignore-case", "x": "line-regexp", "U": "multiline", "P": "pcre2",
    "S": "smart-case", "a": "text", "w": "word-regexp", "L": "follow", ".": "hidden", "u": "unrestricted", "b": "byte-offset",
    "n": "line-number", "N": "no-line-number", "0": "null", "o": "only-matching", "p": "pretty", "q": "quiet",
    "H": "with-filename", "I": "no-filename", "c": "count", "l": "files-with-matches",
}  # fmt: skip
"""Short options without a value, by their long names."""

LONG_SWITCHES = {
    *SWITCHES.values(), "crlf", "mmap", "no-mmap", "multiline-dotall", "no-unicode", "null-data", "stop-on-nonmatch", "binary",
    "glob-case-insensitive", "no-ignore", "no-ignore-dot", "no-ignore-exclude", "no-ignore-files", "no-ignore-global",
    "no-ignore-parent", "no-ignore-vcs", "no-require-git", "block-buffered", "column", "no-column", "heading", "no-heading",
    "line-buffered", "max-columns-preview", "trim", "vimgrep", "count-matches", "no-ignore-messages", "no-messages",
    "no-pcre2-unicode", "no-context-separator",
}  # fmt: skip
"""None of them lets a file match that has none of the pattern's literals, or prints anything of one that does not match.

Not among them, and so left to ripgrep: what inverts, counts zeros, lists files, tells of files searched (--stats, --json,
--debug), reads patterns from files, decodes, or heeds ignore files."""

FEW = 200
"""Files that one thread has searched before several have started."""


@dataclass(slots=True)
class _Read:
    """Arguments, told apart. `options` are as they were typed, but for the globs and types that are answered here."""

    options: list[str] = field(default_factory=list)
    patterns: list[str] = field(default_factory=list)
    positional: list[str] = field(default_factory=list)
    switches: set[str] = field(default_factory=set)
    globs: list[str] = field(default_factory=list)
    iglobs: list[str] = field(default_factory=list)
    types: list[tuple[str, bool]] = field(default_factory=list)
    depth: int | None = None
    threads: bool = False


def narrowed(request: Request, candidates: Candidates, files: Path, some: Iterator[str]) -> list[str]:
    """The arguments of the same search in fewer files. Raises `Untouched`.

    `files` is the folder that W shows; `some` are W-relative paths of documents, for one that a filter lets through.
    """
    read = _read(request.arguments)
    if not read.patterns:
        if not read.positional:
            raise Untouched
        read.patterns.append(read.positional.pop(0))
    if not read.positional and request.readable_input:
        raise Untouched
    roots = _roots(read.positional, request.folder, files)
    caseless = "glob-case-insensitive" in read.switches
    globs = [*((glob, caseless) for glob in read.globs), *((glob, True) for glob in read.iglobs)]  # ripgrep's own order
    try:
        visited = visits(globs, read.types, request.folder, read.depth)
    except Unclear as error:
        raise Untouched from error
    filters = bool(globs or read.types or read.depth is not None)
    found = candidates(_need(read))
    paths: list[str] = []
    for argument, root in roots:
        if root is None:
            paths.append(argument)
            continue
        seen = below(root, found)
        paths += [path for path in seen if visited(root.printed, path)] if filters else seen
    if not paths:
        if filters and not _any_visited(roots, visited, some):
            raise Untouched  # ripgrep has a word to say where it searched nothing at all
        paths = ["/dev/null"]
    if "-" in paths:
        raise Untouched
    if len(paths) == 1 and not all(root for _, root in roots):
        paths.append("/dev/null")  # as alone is searched, and complained of, in another way
    # Only among documents: one thread tells of a path that is not there in other words than several do.
    alone = len(paths) <= FEW and not read.threads and all(root for _, root in roots)
    threads = ["-j1"] if alone else []
    patterns = [word for pattern in read.patterns for word in ("-e", pattern)]
    return ["-H", *threads, *read.options, *patterns, "--", *paths]


def _read(arguments: tuple[str, ...]) -> _Read:
    """As ripgrep reads them: options anywhere, short ones together, values attached or behind. Raises `Untouched`."""
    read = _Read()
    words = iter(arguments)
    for word in words:
        if word == "--":
            read.positional += words
        elif word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            if name in LONG_VALUES:
                _option(read, f"--{name}", name, value if equals else value_of(words))
            elif name in LONG_SWITCHES and not equals:
                _switch(read, f"--{name}", name)
            else:
                raise Untouched
        elif word.startswith("-") and word != "-":
            _short(read, word[1:], words)
        else:
            read.positional.append(word)
    return read


def _short(read: _Read, letters: str, words: Iterator[str]) -> None:
    for at, letter in enumerate(letters):
        if letter in VALUES:
            rest = letters[at + 1 :].removeprefix("=")
            _option(read, f"-{letter}", VALUES[letter], rest if letters[at + 1 :] else value_of(words))
            return
        if letter not in SWITCHES:
            raise Untouched
        _switch(read, f"-{letter}", SWITCHES[letter])


def _switch(read: _Read, typed: str, name: str) -> None:
    read.switches.add(name)
    read.options.append(typed)  # as it was typed: ripgrep names it so when it complains


def _option(read: _Read, typed: str, name: str, value: str) -> None:
    if name == "regexp":
        read.patterns.append(value)
    elif name == "glob":
        read.globs.append(value)
    elif name == "iglob":
        read.iglobs.append(value)
    elif name in ("type", "type-not"):
        read.types.append((value, name == "type"))
    elif name in ("max-depth", "maxdepth"):
        if not (value.isascii() and value.isdigit() and 0 < int(value) < 1000):
            raise Untouched
        read.depth = int(value)
    else:
        if name == "sort" and value not in ("path", "none"):
            raise Untouched
        read.threads |= name == "threads" or name == "sort"
        read.options += [typed, value]


def _roots(paths: list[str], folder: str, files: Path) -> list[tuple[str, Root | None]]:
    if paths:
        roots = [(path, root_of(path, folder, files)) for path in paths]
    else:
        here = root_of(".", folder, files)
        roots = [(".", Root(here.inside, "") if here else None)]
    if all(root is None for _, root in roots):
        raise Untouched
    return roots


def _need(read: _Read) -> Need:
    literal = "fixed-strings" in read.switches
    dialect: Dialect = "pcre" if "pcre2" in read.switches else "rust"
    try:
        return one_of(need_of_literal(p) if literal else need_of(p, dialect) for p in read.patterns)
    except Unreadable as error:
        raise Untouched from error


def _any_visited(roots: list[tuple[str, Root | None]], visited: Filter, some: Iterator[str]) -> bool:
    walked = [root for _, root in roots if root]
    return any(visited(root.printed, path) for name in some for root in walked for path in below(root, [name]))
