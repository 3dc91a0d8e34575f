"""The tantivy index on disk: its schema, what it was built from, and writing to it."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..corpus import write_whole
from ..errors import SetupError
from .analysis import Analysis, normalize, unspaced_runs

if TYPE_CHECKING:
    import tantivy

FORMAT = 1
HEAP_BYTES = 128 << 20
"""Of the writer, over all its threads."""

COMMIT_SECONDS = 60.0
"""A killed build is taken up from its last commit."""

_CHUNK = 1 << 20
"""Long documents are given to tantivy in pieces of this many characters."""


class Bm25Index:
    """The index in one folder, for one language. Documents are known to it by their manifest key alone."""

    def __init__(self, folder: Path, analysis: Analysis) -> None:
        self.folder = folder
        self.analysis = analysis
        self._opened: tantivy.Index | None = None
        self._links: tempfile.TemporaryDirectory[str] | None = None

    def meta(self) -> dict[str, Any]:
        """What the index was built from; {} when it must be built anew.

        `revision` is the manifest's. A build that was cut off has `target` and `key` too: it also holds what
        revision `target` had up to that key.
        """
        try:
            meta: dict[str, Any] = json.loads((self.folder / "corpuscope.json").read_text())
        except (OSError, ValueError):
            return {}
        same = meta.get("format") == FORMAT and meta.get("language") == self.analysis.language
        return meta if same else {}

    def open(self) -> tantivy.Index:
        """The index, made empty where there is none that can be used."""
        import tantivy

        if self._opened is not None:
            return self._opened
        if not self.meta():
            shutil.rmtree(self.folder, ignore_errors=True)
        build = tantivy.SchemaBuilder()
        build.add_unsigned_field("key", indexed=True, fast=True)
        build.add_text_field("body", tokenizer_name="words", index_option="freq")
        build.add_text_field("unspaced", tokenizer_name="bigrams", index_option="freq")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._opened = tantivy.Index(build.build(), path=str(self._lockable()))
        except (OSError, ValueError) as error:
            raise SetupError(
                f"cannot open the index in {self.folder} ({error}); delete that folder and index again"
            ) from error
        self._opened.register_tokenizer("words", self.analysis.words)
        self._opened.register_tokenizer("bigrams", self.analysis.bigrams)
        return self._opened

    def _lockable(self) -> Path:
        """The folder, or links to its files in one of our own: tantivy makes a lock file even to read."""
        if os.access(self.folder, os.W_OK):
            return self.folder
        self._links = tempfile.TemporaryDirectory(prefix="corpuscope-index-", ignore_cleanup_errors=True)
        for file in self.folder.iterdir():
            if file.suffix != ".lock":
                Path(self._links.name, file.name).symlink_to(file)
        return Path(self._links.name)


class Bm25Writer:
    """Adds to an index and deletes from it; nothing counts before `commit`. Only one at a time."""

    def __init__(self, index: Bm25Index) -> None:
        self.index = index
        self.meta = index.meta()
        self._tantivy = index.open()
        self._writer = self._tried(lambda: self._tantivy.writer(heap_size=HEAP_BYTES))
        self.last_commit = time.monotonic()

    def put(self, key: int, title: str, text: str) -> None:
        """Add the document of that key, in the place of an older version."""
        import tantivy

        if self.meta:  # only an index that holds something can hold an older version
            self.delete(key)
        text = normalize(f"{title}\n{text}")
        document = tantivy.Document()
        document.add_unsigned("key", key)
        for start in range(0, len(text), _CHUNK):
            document.add_text("body", text[start : start + _CHUNK])
        if runs := unspaced_runs(text):
            document.add_text("unspaced", "\n".join(runs))
        self._tried(lambda: self._writer.add_document(document))

    def delete(self, key: int) -> None:
        """By query: `delete_documents_by_term` takes a number for a signed one, which an unsigned field never holds."""
        import tantivy

        self._writer.delete_documents_by_query(tantivy.Query.term_query(self._tantivy.schema, "key", key))

    def commit(self, **meta: int) -> None:
        """Make all so far visible, as `Bm25Index.meta` then tells it."""
        self._tried(self._writer.commit)
        self.meta = {"format": FORMAT, "language": self.index.analysis.language, **meta}
        write_whole(self.index.folder / "corpuscope.json", json.dumps(self.meta))
        self.last_commit = time.monotonic()

    def commit_is_due(self) -> bool:
        return time.monotonic() - self.last_commit > COMMIT_SECONDS

    def close(self) -> None:
        """Wait for the merging of segments that commits began."""
        self._writer.wait_merging_threads()

    def _tried(self, action: Callable[[], Any]) -> Any:
        try:
            return action()
        except ValueError as error:
            if "No space" in str(error) or "os error 28" in str(error):
                raise SetupError(
                    f"no space left for {self.index.folder}: free some and run the same command again; nothing is lost"
                ) from error
            raise SetupError(f"the index in {self.index.folder} cannot be written: {error}") from error
