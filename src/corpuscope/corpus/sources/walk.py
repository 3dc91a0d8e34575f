"""Walking a folder of anything: what is a plain file, and why the rest is not."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pathspec

from ..document import Skipped, Unit

VERSION_CONTROL = (".git", ".hg", ".svn", ".jj")
"""Databases of version control. Everything else in a folder is content, hidden or not (case C1)."""


def walk(root: Path, include: tuple[str, ...], exclude: tuple[str, ...]) -> Iterator[Unit | Skipped]:
    """Every plain file below `root` in the order of its name, and a `Skipped` for whatever is none.

    Globs are those of `.gitignore` (`*.log`, `docs/**/*.md`, `node_modules/`). Symbolic links are never
    followed: a target inside the folder is read under its own name, one outside does not belong to it.
    """
    wanted = pathspec.PathSpec.from_lines("gitignore", include) if include else None
    unwanted = pathspec.PathSpec.from_lines("gitignore", exclude)
    yield from _walk(str(root), "", wanted, unwanted)


def unit_of(name: str, info: os.stat_result) -> Unit:
    """The unit for a file. Size and the two times change with its content; reading it is not needed."""
    return Unit(name, f"{info.st_size}:{info.st_mtime_ns}:{info.st_ctime_ns}")


def _walk(
    root: str, prefix: str, wanted: pathspec.PathSpec[Any] | None, unwanted: pathspec.PathSpec[Any]
) -> Iterator[Unit | Skipped]:
    folder = os.path.join(root, prefix)
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        yield Skipped(prefix or ".", f"folder cannot be read: {error.strerror}")
        return
    for entry in entries:
        name = prefix + entry.name
        try:
            info = entry.stat(follow_symlinks=False)
        except OSError as error:
            yield Skipped(name, f"cannot be read: {error.strerror}")
            continue
        if stat.S_ISDIR(info.st_mode):
            if unwanted.match_file(name + "/"):
                continue
            if reason := _not_content(entry):
                yield Skipped(name, reason)
            else:
                yield from _walk(root, name + "/", wanted, unwanted)
        elif unwanted.match_file(name) or (wanted and not wanted.match_file(name)):
            continue
        elif stat.S_ISREG(info.st_mode):
            yield unit_of(name, info)
        else:
            yield Skipped(name, _kind(entry.path, info.st_mode, root))


def _not_content(entry: os.DirEntry[str]) -> str:
    if entry.name in VERSION_CONTROL:
        return "folder of a version-control system"
    if os.path.exists(os.path.join(entry.path, "manifest.sqlite")) and os.path.exists(
        os.path.join(entry.path, "corpuscope.toml")
    ):
        return "a corpuscope corpus"
    return ""


def _kind(path: str, mode: int, root: str) -> str:
    if not stat.S_ISLNK(mode):
        names = {
            stat.S_IFIFO: "FIFO",
            stat.S_IFSOCK: "socket",
            stat.S_IFCHR: "device",
            stat.S_IFBLK: "device",
        }
        return f"{names.get(stat.S_IFMT(mode), 'special file')}, not opened"
    target = os.path.realpath(path)
    if not os.path.exists(target):
        return "symbolic link that points nowhere"
    if not (target + "/").startswith(os.path.realpath(root) + "/"):
        return "symbolic link that points outside the folder"
    return "symbolic link to something inside the folder, which is read under its own name"
