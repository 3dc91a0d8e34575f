"""Offline tables of contents: propose sections, locate their anchors, insert headings and table, count."""

from typing import TYPE_CHECKING

from ..lazy import lazily
from .form import BODY, Toc, TocEntry, original_lines, parse_toc, read_toc, strip
from .structured import Statistics, Structured, has_tables

if TYPE_CHECKING:
    from .asking import Asking
    from .batch import Poll
    from .build import structure
    from .purse import Estimate
    from .watch import Watch
    from .writing import Report

# What makes tables loads the model library; who reads them does without.
__getattr__ = lazily(
    __name__,
    {
        "Asking": ".asking", "Estimate": ".purse", "Poll": ".batch", "Report": ".writing", "Watch": ".watch",
        "structure": ".build",
    },
)  # fmt: skip

__all__ = [
    "BODY", "Asking", "Estimate", "Poll", "Report", "Statistics", "Structured", "Toc", "TocEntry", "Watch", "has_tables",
    "original_lines", "parse_toc", "read_toc", "strip", "structure",
]  # fmt: skip
