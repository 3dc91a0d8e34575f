"""Benchmarks by name or path: BrowseComp-Plus, the DCI bench, BEIR folders, TREC topics, JSONL, and our own."""

from .catalogue import KNOWN, Known, load_dataset
from .check import check, nowhere

__all__ = ["KNOWN", "Known", "check", "load_dataset", "nowhere"]
