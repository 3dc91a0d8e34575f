"""The benchmark lab: datasets, runs over them, judgements, metrics, analyses, reports."""

from typing import TYPE_CHECKING

from ..lazy import lazily
from .question import Dataset, Evidence, Question

if TYPE_CHECKING:
    from .datasets import KNOWN, Known, check, load_dataset
    from .running import Tally, open_run, run_dataset

__getattr__ = lazily(
    __name__,
    {
        "KNOWN": ".datasets", "Known": ".datasets", "Tally": ".running", "check": ".datasets", "load_dataset": ".datasets",
        "open_run": ".running", "run_dataset": ".running",
    },
)  # fmt: skip

__all__ = [
    "KNOWN", "Dataset", "Evidence", "Known", "Question", "Tally", "check", "load_dataset", "open_run", "run_dataset",
]  # fmt: skip
