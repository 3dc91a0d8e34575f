"""A document as the agent had it, in pieces: its lines, its table of contents, and where they stand in the original."""

from __future__ import annotations

from contextlib import closing
from typing import Any

from ...corpus import Corpus, Entry
from ...errors import UsageError
from ...structure import Structured, Toc, has_tables, original_lines, parse_toc
from .shelf import Shown

BLOCK = 500
"""Lines of one answer."""

MAX_LINE = 4_000
"""Characters shown of one line."""


def document(shown: Shown, name: str, form: str, block: int) -> dict[str, Any]:
    """Lines `block * BLOCK + 1` and on of the document whose docid or path is `name`. `form` is `original` or `structured`; without
    one it is as it stood in W.

    `originals` are the numbers of these lines in the original, None for those of the table. Raises `UsageError` for a document
    that is not there, and for a block behind its end.
    """
    corpus = shown.documents()
    entry = corpus.manifest.by_path(name) or corpus.manifest.find([name]).get(name)
    if entry is None:
        raise UsageError(f"no document {name[:200]!r} in {corpus.root}")
    tables = _structured(corpus, entry)
    if form not in ("", "original", "structured"):
        raise UsageError(f"form={form[:40]!r}: it is original or structured")
    form = form or (shown.run.settings.system.documents if tables else "original")
    if form == "structured" and tables is None:
        raise UsageError(f"{entry.path} has no table of contents of its present text")
    try:
        data = tables if form == "structured" and tables is not None else corpus.store.read(entry.path)
    except OSError as error:
        raise UsageError(
            f"{entry.path} cannot be read ({error.strerror}): corpuscope doctor {corpus.root} --verify"
        ) from error
    lines = data.split(b"\n")
    if lines[-1] == b"" and len(lines) > 1:
        lines.pop()
    if not 0 <= block * BLOCK < len(lines):
        raise UsageError(f"{entry.path} has {len(lines)} lines")
    first = block * BLOCK + 1
    toc = parse_toc(data) if data is tables else None
    original = original_lines(data) if toc else None
    return {
        "docid": entry.docid, "path": entry.path, "title": entry.title, "form": form, "first": first, "total": len(lines),
        "forms": ["structured", "original"] if tables is not None else ["original"],
        "lines": [_shown(line) for line in lines[first - 1 : first - 1 + BLOCK]],
        "originals": [original(n) for n in range(first, min(first + BLOCK, len(lines) + 1))] if original else None,
        "body": toc.body_line if toc else 1, "toc": _rows(toc) if toc else [],
    }  # fmt: skip


def _structured(corpus: Corpus, entry: Entry) -> bytes | None:
    if not has_tables(corpus):
        return None
    with closing(Structured.open(corpus)) as structured:
        return structured.store.read(entry.path) if structured.current([entry]) else None


def _rows(toc: Toc) -> list[dict[str, Any]]:
    return [{"title": e.title, "description": e.description, "depth": e.depth, "first": e.first, "last": e.last}
            for e in toc.entries]  # fmt: skip


def _shown(line: bytes) -> str:
    text = line.removesuffix(b"\r").decode(errors="replace")
    return text if len(text) <= MAX_LINE else f"{text[:MAX_LINE]} [line cut: {len(text):,} characters]"
