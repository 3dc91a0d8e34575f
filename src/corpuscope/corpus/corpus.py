"""A corpus on disk: `corpuscope.toml`, `manifest.sqlite`, `text/`, `index/`."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import tomli_w

from ..errors import SetupError, UsageError
from .document import Document, Entry
from .entering import Changes, Follower
from .ingest import ingest
from .manifest import Manifest
from .packs import PackedStore
from .sources import SourceSettings, open_source
from .store import Files, FilesStore, Store

FORMAT = 1
"""Version of the layout on disk; a corpus of another one is refused, never guessed at."""

CONFIG = "corpuscope.toml"
PACKED = "packed"
PIPELINE = "1"
"""Changes when the same source would give other text, titles or paths: every unit is then read again."""


@dataclass(frozen=True, slots=True)
class Damage:
    """A document whose file is not what the manifest says."""

    path: str
    reason: str


class Corpus:
    """An open corpus. Cheap to open; nothing of the documents is held in memory."""

    def __init__(self, root: Path, config: dict[str, Any]) -> None:
        self.root = root
        self.config = config
        self.manifest = Manifest(root / "manifest.sqlite")
        self.store: Store = FilesStore(root / "text")
        self.packs: PackedStore | None = None
        self.files: Files = self.manifest
        """What there is to see for who works on the whole corpus, below `store.root`."""
        if config.get("store") == PACKED:
            self.packs = packs = PackedStore(root / "packs", self.manifest.db)
            self.store, self.files = packs, packs

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open the corpus at `path`. Raises `UsageError` where there is none, or one of another format."""
        root = Path(path).resolve()
        file = root / CONFIG
        if not file.is_file():
            raise UsageError(f"{path} is not a corpus (no {CONFIG}); make one: corpuscope index SOURCE --into {path}")
        try:
            config = tomllib.loads(file.read_text())
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise UsageError(f"{file} cannot be read: {error}") from error
        if config.get("format") != FORMAT:
            raise UsageError(f"{path} has format {config.get('format')}, this version reads {FORMAT}: index it anew")
        return cls(root, config)

    @classmethod
    def build(
        cls,
        source: str | Path,
        into: str | Path,
        settings: SourceSettings | None = None,
        *,
        language: str = "english",
        packed: bool = False,
        models: Mapping[str, str] | None = None,
        progress: Callable[[int, int | None], None] = lambda done, total: None,
        following: Callable[[Corpus], AbstractContextManager[Follower | None]] = lambda corpus: nullcontext(),
    ) -> tuple[Self, Changes]:
        """Make or update the corpus at `into` from `source`; an index may read along by `following`.

        A new corpus may be `packed`: its documents then stand by the thousand in shards, for millions of short ones. `models` are
        those that retrievers work with, by the retriever's name; those chosen before stay.
        Raises `UsageError` when `into` holds something else, or bad rows without `skip_bad`.
        """
        root, origin = Path(into), Path(source)
        settings = settings or SourceSettings()
        reader = open_source(origin, settings)
        before = _claim(root, origin, packed)
        packed = packed or before.get("store") == PACKED
        with one_at_a_time(root):
            config = {
                "format": FORMAT,
                "source": str(origin.resolve()),
                "language": language,
                **({"store": PACKED} if packed else {}),
                "models": {**before.get("models", {}), **(models or {})},
                "settings": settings.as_dict(),
            }
            write_whole(root / CONFIG, tomli_w.dumps(config))
            corpus = cls(root.resolve(), config)
            with following(corpus) as follower:
                changes = ingest(
                    reader,
                    corpus.manifest,
                    corpus.store,
                    settings_key=_settings_key(settings),
                    skip_bad=settings.skip_bad,
                    progress=progress,
                    follower=follower,
                )
        return corpus, changes

    def close(self) -> None:
        if self.packs is not None:
            self.packs.close()
        self.manifest.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self.manifest)

    @property
    def revision(self) -> int:
        return self.manifest.revision

    @property
    def finished(self) -> bool:
        """False while, or after, an `index` that was cut off or refused bad rows."""
        return self.manifest.get("unfinished") != "yes"

    @property
    def models(self) -> dict[str, str]:
        """Which model each retriever works with that needs one."""
        return dict(self.config.get("models", {}))

    @property
    def language(self) -> str:
        return str(self.config.get("language", "english"))

    def document(self, docid: str) -> Document:
        """The whole document. Raises `UsageError` for a docid that does not exist."""
        entry = self.manifest.find([docid]).get(docid)
        if entry is None:
            raise UsageError(f"no document {docid!r} in {self.root}")
        text = self.store.read(entry.path).decode()
        return Document(docid, entry.path, entry.title, text, self.manifest.metadata(docid), entry.sha256)

    def materialize(self, docids: Iterable[str], into: Path) -> int:
        """Put these documents as files below `into`; returns how many are new there."""
        return self.store.materialize((path for _, path in self.manifest.paths(list(docids))), into)

    def entries(self) -> Iterator[Entry]:
        return self.manifest.entries()

    def verify(self, progress: Callable[[int, int | None], None] = lambda done, total: None) -> Iterator[Damage]:
        """Every document whose file is missing or altered: a full read of the store."""
        total = len(self)
        for count, entry in enumerate(self.entries(), 1):
            progress(count, total)
            try:
                data = self.store.read(entry.path)
            except OSError as error:
                yield Damage(entry.path, error.strerror or "cannot be read")
                continue
            if hashlib.sha256(data).hexdigest() != entry.sha256:
                yield Damage(entry.path, "its text is not what was indexed")


def write_whole(file: Path, text: str) -> None:
    """Write a small file so that a reader sees the old one or the new one."""
    temporary = file.with_name(file.name + ".new")
    temporary.write_text(text)
    os.replace(temporary, file)


def _claim(root: Path, origin: Path, packed: bool) -> dict[str, Any]:
    """`root` may be new, empty or this source's corpus; anything else is somebody's data. Returns how it was configured."""
    config = root / CONFIG
    if config.is_file():
        recorded = tomllib.loads(config.read_text())
        if recorded.get("source") != str(origin.resolve()):
            raise UsageError(f"{root} was built from {recorded.get('source')}; index {origin} into another folder")
        if packed and recorded.get("store") != PACKED:
            raise UsageError(f"{root} has a file for each document; index {origin} --packed into another folder")
        return recorded
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise UsageError(f"{root} exists and is not a corpus; choose a new folder")
    try:
        (root / ("packs" if packed else "text")).mkdir(parents=True)
    except OSError as error:
        raise SetupError(f"cannot make {root}: {error.strerror}") from error
    return {}


@contextmanager
def one_at_a_time(root: Path, wait: float = 0.0, *, what: str = "index") -> Iterator[None]:
    """Hold the corpus at `root` for writing. Raises `UsageError` if another process holds it after `wait` seconds.

    `what` is the command that writes: one that writes elsewhere does not wait for an `index`.
    """
    give_up = time.monotonic() + wait
    with (root / ("lock" if what == "index" else f"lock-{what}")).open("w") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError as error:
                if time.monotonic() >= give_up:
                    raise UsageError(f"another corpuscope {what} is at work in {root}; wait for it") from error
                time.sleep(0.05)
        yield


def _settings_key(settings: SourceSettings) -> str:
    chosen = {k: v for k, v in settings.as_dict().items() if k != "skip_bad"}
    return json.dumps([PIPELINE, chosen], sort_keys=True)
