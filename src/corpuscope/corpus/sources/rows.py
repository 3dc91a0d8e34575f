"""Files of many documents: JSONL, Parquet, CSV, TSV and TREC. One unit a file, one record a row."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ...errors import UsageError
from ..document import Record, Skipped, Unit
from ..paths import row_name
from ..text import clean_text
from ..title import guess_title
from . import SourceSettings
from .formats import Row, read_csv, read_jsonl, read_parquet, read_trec
from .walk import unit_of, walk

DOCID_FIELDS = ("docid", "doc_id", "_id", "id", "docno", "pid", "uuid", "url")
TEXT_FIELDS = ("text", "contents", "content", "body", "passage", "document", "abstract", "markdown")
TITLE_FIELDS = ("title", "headline", "name", "subject")

_READERS: dict[str, Callable[[Path], Iterator[Row | Skipped]]] = {
    "jsonl": read_jsonl,
    "csv": lambda file: read_csv(file, ","),
    "tsv": lambda file: read_csv(file, "\t"),
    "parquet": read_parquet,
    "trec": read_trec,
}
_PATTERNS = {
    "jsonl": ("*.jsonl", "*.ndjson", "*.jsonl.gz", "*.ndjson.gz"),
    "csv": ("*.csv", "*.csv.gz"),
    "tsv": ("*.tsv", "*.tsv.gz"),
    "parquet": ("*.parquet",),
    "trec": ("*",),
}


class RowsSource:
    """A file of rows, or a folder of such files (its shards)."""

    def __init__(self, root: Path, kind: str, settings: SourceSettings) -> None:
        self.root = root
        self.kind = kind
        self.settings = settings

    def units(self) -> Iterator[Unit | Skipped]:
        if self.root.is_dir():
            yield from walk(self.root, self.settings.include or _PATTERNS[self.kind], self.settings.exclude)
        else:
            yield unit_of(self.root.name, os.stat(self.root))

    def read(self, unit: Unit) -> Iterator[Record | Skipped]:
        file = self.root / unit.name if self.root.is_dir() else self.root
        for row in _READERS[self.kind](file):
            if isinstance(row, Skipped):
                yield Skipped(f"{unit.name}:{row.where}", row.reason, row.bad)
            else:
                yield self._record(unit.name, row)

    def _record(self, name: str, row: Row) -> Record | Skipped:
        where = f"{name}:{row.line}"
        text_field = self._field("text", self.settings.text_field, TEXT_FIELDS, row, where)
        docid_field = self._field("docid", self.settings.docid_field, DOCID_FIELDS, row, where)
        title_field = self._field("title", self.settings.title_field, TITLE_FIELDS, row, where)
        docid = _plain(row.values.get(docid_field)) if docid_field else f"{Path(name).stem}-{row.line}"
        if not docid:
            return Skipped(where, f"empty {docid_field}", bad=True)
        text = row.values.get(text_field)
        if not isinstance(text, str):
            kind = "null" if text is None else type(text).__name__
            return Skipped(where, f"{text_field} of docid {docid!r} is {kind}, not text", bad=True)
        if not text.strip():
            return Skipped(where, f"{text_field} of docid {docid!r} is empty")
        data, notes = clean_text(text)
        title = (_plain(row.values.get(title_field)) if title_field else "") or guess_title(text)
        metadata = {
            k: v for k, v in row.values.items() if k not in (text_field, docid_field, title_field) and v is not None
        }
        url = row.values.get("url")
        path = row_name(docid, title, url if isinstance(url, str) else None)
        return Record(docid, path, title, data, where, metadata, notes)

    def _field(self, role: str, chosen: str, guesses: tuple[str, ...], row: Row, where: str) -> str:
        """The field that plays `role`. Only the text has to exist; a row without it is named, with its fields."""
        if chosen:
            if chosen in row.values or role != "text":
                return chosen
            raise UsageError(f"{where}: no field {chosen!r}; the fields are {', '.join(row.values) or 'none'}")
        found = next((name for name in guesses if name in row.values), "")
        if not found and role == "text":
            raise UsageError(
                f"{where}: cannot tell which field holds the text; choose with --text-field one of "
                f"{', '.join(map(repr, row.values)) or 'none: the row is empty'}"
            )
        return found


def _plain(value: Any) -> str:
    if value is None or isinstance(value, (dict, list)):
        return ""
    return str(value).encode(errors="replace").decode().strip()
