"""Offline tables of contents: propose sections, locate their anchors, insert headings and table, count."""

import importlib
from typing import TYPE_CHECKING, Any

from .form import BODY, Toc, TocEntry, original_lines, parse_toc, read_toc, strip
from .structured import Statistics, Structured, has_tables

if TYPE_CHECKING:
    from .asking import Asking
    from .batch import Poll
    from .build import structure
    from .purse import Estimate
    from .watch import Watch
    from .writing import Report

_BUILDING = {
    "Asking": ".asking", "Estimate": ".purse", "Poll": ".batch", "Report": ".writing", "Watch": ".watch", "structure": ".build",
}  # fmt: skip
"""What makes tables loads the model library; who reads them does without."""

__all__ = [
    "BODY", "Asking", "Estimate", "Poll", "Report", "Statistics", "Structured", "Toc", "TocEntry", "Watch", "has_tables",
    "original_lines", "parse_toc", "read_toc", "strip", "structure",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _BUILDING:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_BUILDING[name], __name__), name)
