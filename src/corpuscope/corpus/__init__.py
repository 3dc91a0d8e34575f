"""Documents on disk: sources -> store and manifest; docid <-> path; add, update, delete, verify."""

from .corpus import Corpus, Damage, one_at_a_time, write_whole
from .database import open_database
from .document import Document, Entry, count_lines
from .entering import Changes
from .packs import PackedStore, Place
from .sources import FORMATS, SourceSettings
from .store import FilesStore

__all__ = [
    "FORMATS", "Changes", "Corpus", "Damage", "Document", "Entry", "FilesStore", "PackedStore", "Place", "SourceSettings", "count_lines", "one_at_a_time",
    "open_database", "write_whole",
]  # fmt: skip
