"""Documents as files: one UTF-8 file each under `text/`, hard-linked into workspaces.

A changed document is a new file renamed over the old one, so a workspace that holds the old inode keeps
reading what it imported. Files are written read-only: they share their inode with every workspace.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from ..errors import SetupError

_TEMPORARY = ".corpuscope-new"
_FICLONE = 0x40049409


class Store(Protocol):
    """Where the text of a corpus is. Paths are those of documents."""

    root: Path

    def write(self, path: str, data: bytes) -> None:
        """Put `data` at `path`, in place of what was there."""

    def read(self, path: str, most: int = -1) -> bytes:
        """The document at `path`, or its first `most` bytes. Raises `FileNotFoundError`."""

    def remove(self, path: str) -> None:
        """Delete the document at `path`."""

    def settle(self, revision: int) -> Iterator[None]:
        """What is left to do when a run of that revision ends; may be cut off after each `yield`, and gone on with."""

    def sweep(self, known: Callable[[str], bool]) -> None:
        """Delete what a killed run left; `known` tells whether a path is a document's."""

    def materialize(self, paths: Iterable[str], into: Path) -> int:
        """Put documents as files below `into`; returns how many are new there."""

    @property
    def links(self) -> bool:
        """False once a workspace had to be filled with copies where links were meant."""

    def copy_always(self) -> None:
        """Never link again. For `--sandbox=off`, where nothing keeps a command from writing to a file."""


class Files(Protocol):
    """What a system that works on the whole corpus looks at: the documents, or the shards that they are packed in."""

    def __len__(self) -> int: ...

    def entries(self) -> Iterator[File]:
        """In the order of their paths."""

    def changed_since(self, revision: int, done: tuple[int, int] = (0, 0)) -> Iterator[File]:
        """Those that changed after `revision`, by key; without those up to key `done[0]` unchanged since revision `done[1]`."""

    def count_changed_since(self, revision: int, done: tuple[int, int] = (0, 0)) -> int: ...

    def paths_by_key(self, keys: Sequence[int]) -> list[str]:
        """Of those that exist, in no order."""


class File(Protocol):
    """`key` is never given twice; `path` is relative to the store's root."""

    @property
    def key(self) -> int: ...

    @property
    def path(self) -> str: ...

    @property
    def bytes(self) -> int: ...


class FilesStore:
    """The files under `root` (`my.corpus/text`)."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._known: set[str] = set()
        self._link = "link"

    def write(self, path: str, data: bytes) -> None:
        """Put `data` at `path`, replacing what was there at once.

        A new file is written in place: a reader knows of it only through the manifest, which is told afterwards.
        """
        self._make_folder(path)
        target = f"{self.root}/{path}"
        try:
            handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o444)
        except FileExistsError:
            temporary = f"{self.root}/{_TEMPORARY}"
            Path(temporary).unlink(missing_ok=True)
            self._fill(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o444), data)
            os.rename(temporary, target)
        else:
            self._fill(handle, data)

    def _fill(self, handle: int, data: bytes) -> None:
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(handle, view) :]
        except OSError as error:
            raise disk_error(error, self.root) from error
        finally:
            os.close(handle)

    def read(self, path: str, most: int = -1) -> bytes:
        with open(f"{self.root}/{path}", "rb") as file:
            return file.read(most)

    def remove(self, path: str) -> None:
        """Delete the file at `path` and the folders that this empties."""
        Path(self.root, path).unlink(missing_ok=True)
        folder = Path(self.root, path).parent
        while folder != self.root and folder.exists() and not any(folder.iterdir()):
            folder.rmdir()
            folder = folder.parent
        self._known.clear()

    def settle(self, revision: int) -> Iterator[None]:
        """Nothing is left to do when a run ends."""
        yield from ()

    def sweep(self, known: Callable[[str], bool]) -> None:
        """Delete the files of which `known` knows nothing: those that a killed run left."""
        for path in self.files():
            if not known(path):
                self.remove(path)

    def files(self) -> Iterator[str]:
        """Paths of all files, in no order."""
        for folder, _, names in os.walk(self.root):
            prefix = os.path.relpath(folder, self.root)
            yield from (name if prefix == "." else f"{prefix}/{name}" for name in names)

    def materialize(self, paths: Iterable[str], into: Path) -> int:
        """Hard-link these documents below `into`, keeping their paths; a copy where links cannot be.

        Returns how many are new there. A document that left the store meanwhile is passed over.
        """
        new = 0
        made: set[str] = set()
        source, target = f"{self.root}/", f"{into}/"
        for path in paths:
            folder = path.rpartition("/")[0]
            if folder not in made:
                os.makedirs(target + folder, exist_ok=True)
                made.add(folder)
            try:
                new += self._place(source + path, target + path)
            except FileExistsError:
                continue
            except FileNotFoundError:
                continue
            except OSError as error:
                raise disk_error(error, into) from error
        return new

    @property
    def links(self) -> bool:
        """False once `materialize` had to copy: the workspace is on another file system than the corpus."""
        return self._link == "link"

    def copy_always(self) -> None:
        """Never link again. For `--sandbox=off`, where nothing keeps a command from writing to a file."""
        self._link = "copy"

    def _place(self, source: str, target: str) -> bool:
        if self._link == "link":
            try:
                os.link(source, target)
                return True
            except OSError as error:
                if error.errno not in (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.EOPNOTSUPP):
                    raise
                if error.errno != errno.EMLINK:
                    self._link = "copy"
        with open(source, "rb") as old, open(target, "xb") as new:
            try:
                fcntl.ioctl(new.fileno(), _FICLONE, old.fileno())
            except OSError:
                shutil.copyfileobj(old, new, 1 << 20)
        return True

    def _make_folder(self, path: str) -> None:
        folder = path.rpartition("/")[0]
        if folder not in self._known:
            os.makedirs(f"{self.root}/{folder}", exist_ok=True)
            self._known.add(folder)


def disk_error(error: OSError, where: Path) -> Exception:
    """What a person has to know of it, where it is theirs to repair."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return SetupError(f"no space left for {where}: free some and run the same command again; nothing is lost")
    if error.errno in (errno.EACCES, errno.EROFS):
        return SetupError(f"cannot write to {where} ({error.strerror}): choose another place")
    return error
