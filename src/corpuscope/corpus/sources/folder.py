"""A folder in which every file is a document: text of any encoding, and pdf, html, office by conversion."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ..document import Record, Skipped, Unit
from ..paths import safe_path
from ..text import to_utf8
from ..title import guess_title
from . import SourceSettings
from .convert import CONVERTIBLE, HTML, convert, converter_installed
from .walk import walk

MAX_DOCUMENT_BYTES = 256 << 20
"""A document is held in memory once while it is read; a larger file wants splitting."""


class FolderSource:
    """One unit and one document a file; the docid is the file's path relative to the folder."""

    def __init__(self, root: Path, settings: SourceSettings) -> None:
        self.root = root
        self.settings = settings

    def units(self) -> Iterator[Unit | Skipped]:
        converts = f":{int(converter_installed())}"
        for found in walk(self.root, self.settings.include, self.settings.exclude):
            if isinstance(found, Unit) and os.path.splitext(found.name)[1].lower() in CONVERTIBLE:
                # Installed since, the converter reads what was passed over before.
                yield Unit(found.name, found.fingerprint + converts)
            else:
                yield found

    def read(self, unit: Unit) -> Iterator[Record | Skipped]:
        file = self.root / unit.name
        docid = os.fsencode(unit.name).decode(errors="backslashreplace")
        try:
            handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                data = _read_all(handle)
            finally:
                os.close(handle)
        except OSError as error:
            yield Skipped(docid, f"cannot be read: {error.strerror}")
            return
        if len(data) > MAX_DOCUMENT_BYTES:
            yield Skipped(docid, f"larger than {MAX_DOCUMENT_BYTES >> 20} MiB: split it")
            return
        yield self._document(file, docid, data)

    def _document(self, file: Path, docid: str, data: bytes) -> Record | Skipped:
        suffix = file.suffix.lower()
        notes: tuple[str, ...] = ()
        name = docid
        if suffix in CONVERTIBLE:
            if converter_installed():
                converted = convert(file)
                if isinstance(converted, str):
                    data, name, notes = (
                        converted.encode(),
                        docid + ".md",
                        (f"converted from {suffix[1:]} to Markdown",),
                    )
                elif suffix not in HTML:
                    return Skipped(docid, converted.reason)
                else:
                    notes = (converted.reason,)
            elif suffix not in HTML:
                return Skipped(docid, f"{suffix[1:]} needs the extra: pip install 'corpuscope[convert]'")
            else:
                notes = ("HTML kept as its source; for Markdown: pip install 'corpuscope[convert]'",)
        text = to_utf8(data)
        if text is None:
            return Skipped(docid, "binary")
        if not text[0].strip():
            return Skipped(docid, "empty")
        title = guess_title(text[0][:16384].decode(errors="ignore")) or file.stem
        path = safe_path(name)
        if path != name:
            notes += (f"stored as {path}",)
        return Record(docid, path, title, text[0], docid, notes=notes + text[1])


def _read_all(handle: int) -> bytes:
    """The file, or a little more than `MAX_DOCUMENT_BYTES` of it."""
    parts = []
    left = MAX_DOCUMENT_BYTES + 1
    size = min(left, os.fstat(handle).st_size + 1)
    while left > 0 and (part := os.read(handle, size)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
