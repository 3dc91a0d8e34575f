"""Where documents come from. A source lists its units (files) and reads one unit into records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from ...errors import UsageError
from ..document import Record, Skipped, Unit

FORMATS = ("auto", "folder", "jsonl", "parquet", "csv", "tsv", "trec", "mixture")
_BY_SUFFIX = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet", ".csv": "csv", ".tsv": "tsv",
    ".trec": "trec", ".sgml": "trec", ".sgm": "trec", ".trectext": "trec",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """What a person chose about a source; kept in `corpuscope.toml`. A change re-reads every unit."""

    format: str = "auto"
    docid_field: str = ""
    text_field: str = ""
    title_field: str = ""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    skip_bad: bool = False

    def as_dict(self) -> dict[str, Any]:
        return {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(self).items()}


class Source(Protocol):
    """A place documents come from."""

    def units(self) -> Iterator[Unit | Skipped]:
        """Everything there is, sorted by name, unread."""

    def read(self, unit: Unit) -> Iterator[Record | Skipped]:
        """The documents of one unit, in order."""


def open_source(root: Path, settings: SourceSettings) -> Source:
    """The source at `root`, its format guessed from its name unless `settings.format` says it.

    Raises `UsageError` for a path that does not exist or a format that is not known.
    """
    if settings.format not in FORMATS:
        raise UsageError(f"unknown format {settings.format!r}; choose one of {', '.join(FORMATS)}")
    if not root.exists():
        raise UsageError(f"{root} does not exist; give a folder, or a .jsonl, .parquet, .csv, .tsv or TREC file")
    kind = settings.format
    if kind == "auto":
        kind = "folder" if root.is_dir() else _guess(root)
    if kind == "folder":
        if not root.is_dir():
            raise UsageError(f"{root} is a file; --format folder needs a folder")
        from .folder import FolderSource

        return FolderSource(root, settings)
    if kind == "mixture":
        from .mixture import MixtureSource

        return MixtureSource(root, settings)
    from .rows import RowsSource

    return RowsSource(root, kind, settings)


def _guess(file: Path) -> str:
    suffixes = [s.lower() for s in file.suffixes if s.lower() != ".gz"]
    kind = _BY_SUFFIX.get(suffixes[-1] if suffixes else "")
    if kind is None:
        raise UsageError(
            f"cannot tell the format of {file}; say it with --format {'|'.join(FORMATS[2:])}, or give its folder"
        )
    return kind
