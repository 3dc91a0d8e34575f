"""A corpus with distractors from another mixed in: the same documents under the same paths, and more to search through.

The source is a TOML file: `base` and `distractors` (corpora, relative to it), `documents` (how many distractors) and `seed`. Which
are taken depends on the seed alone, and more of them include the fewer: experiments of growing size nest.
"""

from __future__ import annotations

import hashlib
import heapq
import os
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ...errors import UsageError
from ..document import Entry, Record, Skipped, Unit
from . import SourceSettings

if TYPE_CHECKING:
    from ..corpus import Corpus

PREFIX = "distractor:"
"""Before the docid of a distractor, so that it is none of the base's."""


class Mixture(BaseModel):
    """What the TOML file says."""

    model_config = ConfigDict(extra="forbid")

    base: str
    distractors: str
    documents: int = Field(ge=0)
    seed: int = 0


class MixtureSource:
    """Two units: the base, and the distractors."""

    def __init__(self, file: Path, settings: SourceSettings) -> None:
        from ..corpus import Corpus

        try:
            self.mixture = Mixture.model_validate(tomllib.loads(file.read_text()))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, ValidationError) as error:
            raise UsageError(f"{file} is no mixture of corpora: {' '.join(str(error).split())[:200]}") from error
        self.base = Corpus.open(os.path.join(file.parent, self.mixture.base))
        self.distractors = Corpus.open(os.path.join(file.parent, self.mixture.distractors))
        if self.mixture.documents > len(self.distractors):
            raise UsageError(
                f"{self.distractors.root} has {len(self.distractors):,} documents, not {self.mixture.documents:,}"
            )

    def units(self) -> Iterator[Unit | Skipped]:
        yield Unit("base", self.base.manifest.digest())
        chosen = f"{self.mixture.seed}:{self.mixture.documents}:{self.distractors.manifest.digest()}"
        yield Unit("distractors", chosen)

    def read(self, unit: Unit) -> Iterator[Record | Skipped]:
        if unit.name == "base":
            yield from (_record(self.base, entry, entry.docid) for entry in self.base.manifest.entries())
            return
        chosen = self._chosen()
        for entry in self.distractors.manifest.entries():
            if entry.docid in chosen:
                yield _record(self.distractors, entry, PREFIX + entry.docid)

    def _chosen(self) -> set[str]:
        """The distractors whose docids come first once hashed with the seed."""

        def place(docid: str) -> bytes:
            return hashlib.sha256(f"{self.mixture.seed}\0{docid}".encode(errors="surrogatepass")).digest()

        docids = (entry.docid for entry in self.distractors.manifest.entries())
        return set(heapq.nsmallest(self.mixture.documents, docids, key=place))


def _record(corpus: Corpus, entry: Entry, docid: str) -> Record:
    data = corpus.store.read(entry.path)
    return Record(docid, entry.path, entry.title, data, entry.path, corpus.manifest.metadata(entry.docid))
