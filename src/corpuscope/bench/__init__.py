"""The benchmark lab: datasets, runs over them, judgements, metrics, analyses, reports."""

from typing import TYPE_CHECKING

from ..lazy import lazily
from .question import Dataset, Evidence, Question

if TYPE_CHECKING:
    from .datasets import KNOWN, Known, check, load_dataset

__getattr__ = lazily(
    __name__,
    {"KNOWN": ".datasets", "Known": ".datasets", "check": ".datasets", "load_dataset": ".datasets"},
)

__all__ = ["KNOWN", "Dataset", "Evidence", "Known", "Question", "check", "load_dataset"]
