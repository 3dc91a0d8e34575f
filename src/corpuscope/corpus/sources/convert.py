"""pdf, html and office files to Markdown, by markitdown (the extra `corpuscope[convert]`)."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path
from typing import Any

from ..document import Skipped

HTML = (".html", ".htm", ".xhtml")
CONVERTIBLE = (".pdf", ".docx", ".pptx", ".xlsx", ".xls", *HTML)


@cache
def converter_installed() -> bool:
    return importlib.util.find_spec("markitdown") is not None


@cache
def _converter() -> Any:
    from markitdown import MarkItDown

    return MarkItDown(enable_plugins=False)


def convert(file: Path) -> str | Skipped:
    """The Markdown text of `file`, or why there is none."""
    try:
        with file.open("rb") as stream:
            text: str = _converter().convert_stream(stream, file_extension=file.suffix.lower()).text_content
    except Exception as error:
        # Any of a dozen parsers may raise anything over a hostile file; the file is listed, the run goes on.
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        return Skipped(str(file), f"{file.suffix[1:]} could not be converted: {reason}")
    if not text.strip():
        return Skipped(str(file), f"no text in this {file.suffix[1:]} (scanned pages need OCR first)")
    return text
