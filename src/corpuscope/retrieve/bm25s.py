"""BM25 exactly as in the RISE paper: the library `bm25s` with its defaults (k1 = 1.5, b = 0.75, Lucene's variant, words of two
letters and more, English stop words, no stems), kept in step with the manifest.

Its scores are computed for all documents at once, so each update computes them anew; what is kept from update to update
are the tokens of the documents, of which only new and changed ones are read.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..corpus import Corpus, open_database, write_whole
from ..errors import SetupError
from .catching_up import caught_up
from .protocol import Hit, Progress

if TYPE_CHECKING:
    import bm25s
    import numpy as np

FORMAT = 1
K1, B = 1.5, 0.75
"""RISE, section 4."""

COMMIT_EVERY = 2_000
"""Documents; a killed update goes on from there."""

_KEYS = "keys.npy"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tokens(id INTEGER PRIMARY KEY, token TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS documents(key INTEGER PRIMARY KEY, ids BLOB NOT NULL);
"""
_STOP_WORDS = (
    "english", "german", "dutch", "french", "spanish", "portuguese", "italian", "russian", "swedish", "norwegian", "danish", "turkish",
)  # fmt: skip
"""Languages for which the library has a list."""


class Bm25s:
    """The engine of the paper. Raises `SetupError` where the library is not installed."""

    name = "bm25s"

    def __init__(self, corpus: Corpus) -> None:
        try:
            import bm25s
        except ImportError as error:
            raise SetupError("the retriever bm25s needs its library: pip install 'corpuscope[bm25s]'") from error
        self.library: Any = bm25s
        self.corpus = corpus
        self.folder = corpus.root / "index" / self.name
        self._engine: bm25s.BM25 | None = None
        self._keys: np.ndarray
        self._revision = -1

    def meta(self) -> dict[str, Any]:
        """What the scores on disk were computed from: `revision` and `language`, and the folder they are in."""
        try:
            meta: dict[str, Any] = json.loads((self.folder / "corpuscope.json").read_text())
        except (OSError, ValueError):
            return {}
        same = meta.get("format") == FORMAT and meta.get("language") == self.corpus.language
        return meta if same else {}

    @property
    def fresh(self) -> bool:
        """Whether the index on disk stands at the corpus's revision."""
        return self.meta().get("revision") == self.corpus.revision

    def update(self, progress: Progress | None = None) -> int:
        return caught_up(self, self.corpus, lambda: self._catch_up(progress))

    def tokens(self, texts: Sequence[str]) -> list[list[str]]:
        """The words of each text, as the library finds them."""
        stop_words = self.corpus.language if self.corpus.language in _STOP_WORDS else []
        found: list[list[str]] = self.library.tokenize(
            list(texts), stopwords=stop_words, return_ids=False, show_progress=False
        )
        return found

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        if self._revision != self.corpus.revision:
            self.update()
            self._load()
        return [self._rank(words, k) for words in self.tokens(queries)]

    def _rank(self, words: list[str], k: int) -> list[Hit]:
        if self._engine is None or k < 1 or not any(word in self._engine.vocab_dict for word in words):
            return []
        found = self._engine.retrieve([words], k=min(k, len(self._keys)), show_progress=False)
        keys = self._keys[found.documents[0]].tolist()
        docids = self.corpus.manifest.by_key(keys)
        scored = zip(keys, found.scores[0].tolist(), strict=True)
        # The library fills up with documents that hold none of the words.
        return [Hit(docids[key], score) for key, score in scored if score > 0 and key in docids]

    def _load(self) -> None:
        import numpy as np

        meta = self.meta()
        self._engine = None
        if meta["folder"]:
            scores = self.folder / meta["folder"]
            self._engine = self.library.BM25.load(scores, mmap=True, show_progress=False)
            self._keys = np.load(scores / _KEYS)
        self._revision = meta["revision"]

    def _catch_up(self, progress: Progress | None) -> int:
        self.folder.mkdir(parents=True, exist_ok=True)
        if not self.meta() and (self.folder / "corpuscope.json").exists():  # of another language or format
            shutil.rmtree(self.folder)
            self.folder.mkdir()
        db = open_database(
            self.folder / f"tokens-{self.corpus.language}.sqlite", _SCHEMA, "delete its folder and index again"
        )
        try:
            count = self._read(db, progress)
            self._compute(db)
        except (OSError, sqlite3.OperationalError) as error:
            raise SetupError(
                f"cannot write the index in {self.folder} ({error}): free some space and run the same command again; "
                "nothing is lost"
            ) from error
        finally:
            db.close()
        return count

    def _read(self, db: sqlite3.Connection, progress: Progress | None) -> int:
        """Tokens of what is new or changed since the revision that the database stands at."""
        import numpy as np

        manifest, target = self.corpus.manifest, self.corpus.revision
        meta = dict(db.execute("SELECT name, value FROM meta").fetchall())
        base, done = meta.get("revision", 0), (meta.get("key", 0), meta.get("target", 0))
        ids = {token: number for number, token in db.execute("SELECT id, token FROM tokens")}
        total, count = manifest.count_changed_since(base, done), 0
        db.execute("BEGIN")
        db.executemany("DELETE FROM documents WHERE key = ?", ((key,) for key in manifest.removed_since(base)))
        for count, entry in enumerate(manifest.changed_since(base, done), 1):
            (words,) = self.tokens([self.corpus.store.read(entry.path).decode()])
            new = [word for word in dict.fromkeys(words) if word not in ids]
            ids.update(zip(new, range(len(ids), len(ids) + len(new)), strict=True))
            db.executemany("INSERT INTO tokens VALUES(?, ?)", ((ids[word], word) for word in new))
            packed = np.array([ids[word] for word in words], dtype=np.int32).tobytes()
            db.execute("INSERT OR REPLACE INTO documents VALUES(?, ?)", (entry.key, packed))
            if count % COMMIT_EVERY == 0:
                _note(db, revision=base, target=target, key=entry.key)
                db.execute("COMMIT")
                db.execute("BEGIN")
            if progress:
                progress(count, total)
        _note(db, revision=target, target=0, key=0)
        db.execute("COMMIT")
        return count

    def _compute(self, db: sqlite3.Connection) -> None:
        """Scores of all documents, in a folder of their own that the last step names."""
        import numpy as np

        keys: list[int] = []
        documents: list[Any] = []
        for key, packed in db.execute("SELECT key, ids FROM documents ORDER BY key"):
            keys.append(key)
            documents.append(np.frombuffer(packed, dtype=np.int32))
        folder = ""
        if any(map(len, documents)):
            vocabulary = {token: number for number, token in db.execute("SELECT id, token FROM tokens ORDER BY id")}
            engine = self.library.BM25(k1=K1, b=B)
            engine.index((documents, vocabulary), show_progress=False)
            folder = f"scores-{self.corpus.revision}"
            engine.save(self.folder / folder, show_progress=False)
            np.save(self.folder / folder / _KEYS, np.array(keys))
        meta = {"format": FORMAT, "language": self.corpus.language, "revision": self.corpus.revision, "folder": folder}
        write_whole(self.folder / "corpuscope.json", json.dumps(meta))
        for old in self.folder.glob("scores-*"):
            if old.name != folder:
                shutil.rmtree(old, ignore_errors=True)


def _note(db: sqlite3.Connection, **values: int) -> None:
    db.executemany("INSERT OR REPLACE INTO meta VALUES(?, ?)", values.items())
