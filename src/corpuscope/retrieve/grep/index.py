"""The n-gram index of a corpus on disk: which documents can match a pattern, kept in step with the manifest.

Of a packed corpus it is the shards: what is said here of a document is then meant of a shard.

It may name a document that does not match, never leave one out that does. So a document that changed or went leaves
its old signature behind: all that costs is a look at a file, until there are enough of them to build anew.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...corpus import Corpus, write_whole
from ...errors import SetupError
from ..catching_up import caught_up
from ..protocol import Progress
from .grams import rows
from .part import UNITS, Part, PartBuilder, joined
from .pattern import Every, Holds, Need, Some

if TYPE_CHECKING:
    import numpy as np

FORMAT = 1
SMALL_PARTS = 8
"""Parts of updates that may stand beside one another before they are joined."""

_META = "corpuscope.json"


class GrepIndex:
    """Of one corpus, in `index/grep`. Raises `UsageError` for a corpus that is unfinished."""

    name = "grep"

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.folder = corpus.root / "index" / self.name
        self._parts: list[Part] = []
        self._entries = 0
        self._revision = -1

    @property
    def exists(self) -> bool:
        """Whether there is an index that can be used or brought up to date."""
        return bool(self.meta())

    @property
    def fresh(self) -> bool:
        """Whether the index on disk stands at the corpus's revision."""
        return self.meta().get("revision") == self.corpus.revision

    def meta(self) -> dict[str, Any]:
        """`revision` is the manifest's; a build that was cut off has `target` and `key` too: it also holds what
        revision `target` had up to that key. `parts` are names of files, `entries` how many documents went in."""
        try:
            meta: dict[str, Any] = json.loads((self.folder / _META).read_text())
        except (OSError, ValueError):
            return {}
        return meta if meta.get("format") == FORMAT else {}

    def update(self, progress: Progress | None = None) -> int:
        """Bring the index to the corpus's revision, from nothing if there is none; returns documents read."""
        return caught_up(self, self.corpus, lambda: self._catch_up(progress))

    def _catch_up(self, progress: Progress | None) -> int:
        writer = GrepWriter(self)
        files, target = self.corpus.files, self.corpus.revision
        if writer.mostly_stale(len(files)):
            writer.start_anew()
        base = int(writer.meta.get("revision", 0))
        done = (int(writer.meta.get("key", 0)), int(writer.meta.get("target", 0)))
        total = files.count_changed_since(base, done)
        count = last = 0
        for count, file in enumerate(files.changed_since(base, done), 1):
            if writer.is_full(file.bytes):
                writer.commit(revision=base, target=target, key=last)
            writer.put(file.key, (self.corpus.store.root / file.path).read_bytes())
            last = file.key
            if progress:
                progress(count, total)
        writer.commit(revision=target)
        return count

    def candidates(self, need: Need) -> np.ndarray | None:
        """Keys of the documents that can match, rising, int64[n]; None while the index is behind the corpus."""
        import numpy as np

        if not self._opened():
            return None
        try:
            found = [part.documents(_evaluated(part, need)) for part in self._parts]
        except FileNotFoundError:  # an update has just joined or replaced it
            return None
        return np.unique(np.concatenate(found)) if found else np.zeros(0, dtype=np.int64)

    @property
    def documents(self) -> int:
        """How many it was told of; more than there are where some changed or went."""
        return self._entries if self._opened() else int(self.meta().get("entries", 0))

    def paths(self, keys: np.ndarray) -> list[str]:
        """Of the documents that are there now."""
        return self.corpus.files.paths_by_key(keys.tolist())

    def _opened(self) -> bool:
        revision = self.corpus.revision
        if self._revision != revision:
            meta = self.meta()
            if meta.get("revision") != revision:
                return False
            try:
                self._parts = [Part.load(self.folder / name) for name in meta["parts"]]
            except (OSError, ValueError) as error:
                raise SetupError(
                    f"cannot read the index in {self.folder} ({error}); delete that folder and index again"
                ) from error
            self._entries, self._revision = int(meta["entries"]), revision
        return True


def _evaluated(part: Part, need: Need) -> np.ndarray:
    """bool[units]: where a document stands that can fulfil `need`."""
    import numpy as np

    if isinstance(need, Holds):
        return part.holding(np.unique(rows(need.literal)))
    found = [_evaluated(part, inner) for inner in need.needs]
    if isinstance(need, Some):
        return reduce(np.logical_or, found, np.zeros(part.units, dtype=bool))
    assert isinstance(need, Every)
    return reduce(np.logical_and, found, np.ones(part.units, dtype=bool))


class GrepWriter:
    """Adds documents to an index; nothing counts before `commit`. Only one at a time."""

    def __init__(self, index: GrepIndex) -> None:
        self.index = index
        self.folder = index.folder
        self.meta = index.meta()
        self._builder = PartBuilder()
        self._count = 0
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SetupError(f"cannot make {self.folder}: {error.strerror}") from error

    @property
    def parts(self) -> list[str]:
        return list(self.meta.get("parts", []))

    def mostly_stale(self, documents: int) -> bool:
        """Whether more signatures are of documents that changed or went than of those that are there."""
        return int(self.meta.get("entries", 0)) > 2 * documents + 1000

    def start_anew(self) -> None:
        self.meta = {}

    def is_full(self, size: int) -> bool:
        """Whether a document of so many bytes needs another part."""
        return not self._builder.has_room(size)

    def put(self, key: int, data: bytes) -> None:
        """Add the document of that key; `data` is its UTF-8."""
        self._builder.add(key, data)
        self._count += 1

    def commit(self, **meta: int) -> None:
        """Make all so far visible, as `GrepIndex.meta` then tells it."""
        parts = self.parts
        try:
            if not self._builder.empty:
                parts.append(self._builder.save(self._new_file()).file.name)
            if "key" not in meta:  # the last of an update: parts in the middle of a long build are full
                parts = self._fewer(parts)
            entries = int(self.meta.get("entries", 0)) + self._count
            self.meta = {"format": FORMAT, "parts": parts, "entries": entries, **meta}
            write_whole(self.folder / _META, json.dumps(self.meta))
        except OSError as error:
            raise SetupError(
                f"cannot write the index in {self.folder} ({error.strerror}): free some space and run the same command "
                "again; nothing is lost"
            ) from error
        self._builder, self._count = PartBuilder(), 0
        self._sweep()

    def _new_file(self) -> Path:
        return self.folder / f"{time.time_ns():x}.bits"

    def _fewer(self, names: list[str]) -> list[str]:
        """Join the parts that updates left small once there are many of them."""
        loaded = {name: Part.load(self.folder / name) for name in names}
        small = [name for name in names if loaded[name].units < UNITS // 2]
        if len(small) <= SMALL_PARTS:
            return names
        groups = ([loaded[name] for name in group] for group in _groups(small, loaded))
        made = [joined(parts, self._new_file()) for parts in groups]
        return [name for name in names if name not in small] + [part.file.name for part in made]

    def _sweep(self) -> None:
        """Files that no index names: parts that were joined, and what a killed run left."""
        kept = {Path(name).stem for name in self.parts} | {Path(_META).stem}
        for file in list(self.folder.iterdir()):
            if file.stem not in kept:
                shutil.rmtree(file) if file.is_dir() else os.unlink(file)


def _groups(names: list[str], loaded: dict[str, Part]) -> Iterator[list[str]]:
    """Neighbours that fit into one part."""
    group: list[str] = []
    units = 0
    for name in names:
        if group and units + loaded[name].units > UNITS:
            yield group
            group, units = [], 0
        group.append(name)
        units += loaded[name].units
    yield group
