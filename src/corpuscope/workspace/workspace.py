"""W: the files an agent may see, for one question. Searches add to it; nothing leaves it."""

from __future__ import annotations

import fcntl
import io
import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from ..corpus import Corpus, Entry, one_at_a_time
from ..errors import SetupError, ToolError, UsageError
from ..retrieve import GrepIndex
from ..structure import Structured, Toc, read_toc
from .narrowing import SOCKET, Narrowing
from .programs import front
from .sandbox import Limits, Sandbox, W

LOCK_SECONDS = 30.0
"""How long to wait while others make their workspaces, which takes each a moment."""


class Workspace:
    """A private folder of hard links beside the corpus, and a scratch folder; both go when it is closed.

    It lives below the corpus, where links are possible; below the system's temporary folder when the
    corpus cannot be written, and documents are then copied. With `structured`, a document that has a table of contents
    of its present text is there in that form. With `whole`, W is the whole corpus, read-only (DCI): nothing is imported, and
    `rg` and `grep -r` answer through the corpus's n-gram index where it has one. Of a packed corpus the whole is its shards.
    """

    def __init__(
        self,
        corpus: Corpus,
        *,
        structured: Structured | None = None,
        whole: bool = False,
        sandboxed: bool = True,
        limits: Limits | None = None,
    ) -> None:
        if whole and not sandboxed:
            raise UsageError(
                "a system that works on the whole corpus needs the sandbox: nothing else keeps it from changing"
            )
        self.corpus = corpus
        self.structured = structured
        self.whole = whole
        self.root, self._lock = _make_root(corpus.root / "workspaces")
        self.path = corpus.store.root if whole else self.root / "w"
        self.scratch = self.root / "scratch"
        self.path.mkdir(exist_ok=True)
        self.scratch.mkdir()
        if not sandboxed:
            corpus.store.copy_always()
            if structured:
                structured.store.copy_always()
        self.narrowing = _narrowing(corpus, self.root) if whole else None
        self.sandbox = Sandbox(
            self.path,
            self.scratch,
            hidden=(corpus.root, self.root),
            index=self.root / SOCKET if self.narrowing else None,
            enabled=sandboxed,
            limits=limits or Limits(),
        )
        self._docids: set[str] = set()
        self._tables: dict[str, int] = {}

    @property
    def shards(self) -> bool:
        """Whether the files of W hold many documents each."""
        return self.whole and self.corpus.packs is not None

    def __len__(self) -> int:
        """Documents in W."""
        return len(self.corpus) if self.whole else len(self._docids)

    def __contains__(self, docid: object) -> bool:
        return docid in self._docids or (self.whole and bool(self.corpus.manifest.find([str(docid)])))

    def add(self, docids: Iterable[str]) -> list[str]:
        """Import documents; returns those that are new, in their order. A docid that left the corpus is passed over."""
        if self.whole:
            return []
        new = [docid for docid in dict.fromkeys(docids) if docid not in self._docids]
        paths = self._structured(new) if self.structured else dict(self.corpus.manifest.paths(new))
        self.corpus.store.materialize((path for path in paths.values() if path not in self._tables), self.path)
        added = [docid for docid in new if docid in paths]
        self._docids.update(added)
        return added

    def _structured(self, docids: list[str]) -> dict[str, str]:
        """Import those that have a table of contents; returns docid -> path of all that exist."""
        assert self.structured
        entries = self.corpus.manifest.find(docids)
        tables = self.structured.current(entries.values())
        self.structured.store.materialize(tables, self.path)
        if not self.structured.store.links:
            self.corpus.store.copy_always()
        self._tables |= tables
        return {docid: entry.path for docid, entry in entries.items()}

    def lines(self, entry: Entry) -> int:
        """Lines of a document as it stands in W."""
        return self._tables.get(entry.path, entry.lines)

    def toc(self, path: str) -> Toc | None:
        """The table of contents of a document of W; None for one without, or that a command without sandbox spoilt."""
        if path not in self._tables:
            return None
        try:
            return read_toc(self.path / path)
        except (OSError, ValueError):
            return None

    def resolve(self, path: str) -> str:
        """The W-relative form of a path as a model writes it (`a/b.txt`, `./a/b.txt`, `/w/a/b.txt`).

        Raises `ToolError` for one that leads out of W.
        """
        inside = path.strip()
        for prefix in (f"{W}/", f"{self.path}/"):
            inside = inside.removeprefix(prefix)
        # Only the words are normalised: W holds plain files and folders of ours, never a link to follow.
        normal = os.path.normpath(inside or ".")
        if _leads_out(normal):
            raise ToolError(
                f"{path!r} is outside the workspace; give a path relative to it, as search and rg print them"
            )
        return normal

    def has(self, path: str) -> bool:
        """Whether the W-relative `path` is a document of W."""
        if _unspeakable(path) or _leads_out(path):
            return False
        return os.path.isfile(self.path / path) or self._is_packed(path)

    def open(self, path: str) -> IO[bytes]:
        """The file at the W-relative `path`; in shards also a document by its own. Raises `OSError` where it has gone."""
        if not os.path.isfile(self.path / path) and self._is_packed(path):
            return io.BytesIO(self.corpus.store.read(path))
        return open(self.path / path, "rb")

    def _is_packed(self, path: str) -> bool:
        """Whether it is a document in the shards that W consists of."""
        return self.shards and self.corpus.manifest.by_path(path) is not None

    def has_folder(self, path: str) -> bool:
        return not _unspeakable(path) and not _leads_out(path) and os.path.isdir(self.path / path)

    def close(self) -> None:
        if self.narrowing:
            self.narrowing.close()
        shutil.rmtree(self.root, ignore_errors=True)
        self._lock.close()

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _narrowing(corpus: Corpus, folder: Path) -> Narrowing | None:
    """What answers `rg` and `grep -r` from the index; None where there is none, or no socket can be: they then read everything."""
    if not front() or not GrepIndex(corpus).exists:
        return None
    try:
        return Narrowing(corpus.root, folder)
    except OSError:
        return None


def _leads_out(path: str) -> bool:
    """Whether a path is absolute or climbs above W; what lies there is not even looked at."""
    return path.startswith("/") or os.path.normpath(path).split("/")[0] == ".."


def _unspeakable(path: str) -> bool:
    """No file can have such a name; the operating system's calls would raise over it."""
    return "\0" in path or len(path) > 4096 or any("\ud800" <= c <= "\udfff" for c in path)


def _make_root(parent: Path) -> tuple[Path, IO[str]]:
    try:
        parent.mkdir(exist_ok=True)
        # A folder and its lock are made by one at a time: nobody takes one that is just being made for a dead one.
        with one_at_a_time(parent.parent, wait=LOCK_SECONDS, what="workspace"):
            dead = [root for root in parent.iterdir() if _is_dead(root)]
            made = _locked(Path(tempfile.mkdtemp(dir=parent)))
        for root in dead:
            shutil.rmtree(root, ignore_errors=True)
        return made
    except OSError:
        try:
            return _locked(Path(tempfile.mkdtemp(prefix="corpuscope-")))
        except OSError as error:
            raise SetupError(f"cannot make a workspace ({error.strerror}): free some space or set TMPDIR") from error


def _locked(root: Path) -> tuple[Path, IO[str]]:
    lock = (root / "lock").open("w")
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return root, lock


def _is_dead(root: Path) -> bool:
    """Whether a killed run left this folder: whoever is alive holds the lock in it."""
    try:
        with (root / "lock").open("r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass  # killed before it had one
    return True
