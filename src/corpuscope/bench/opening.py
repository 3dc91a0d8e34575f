"""A run that was made before, with the questions it was about."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ..errors import UsageError
from ..systems import Run
from .datasets import load_dataset
from .judging import EXACT, judges
from .question import Dataset


def dataset_of(run: Run, canary: str) -> Dataset:
    """Raises `UsageError` for a run of `ask`, and where the dataset is no longer what it was."""
    settings = run.settings
    if not settings.dataset:
        raise UsageError(f"{run.folder} is a run of ask, not of a benchmark")
    paths = {name: Path(value) if value else None for name, value in (("qrels", settings.qrels), ("ids", settings.ids))}
    dataset = load_dataset(settings.dataset, canary=canary, **paths)
    dataset = replace(dataset, task=settings.task)
    if dataset.digest() != settings.dataset_digest:
        raise UsageError(
            f"{settings.dataset} is not what it was when {run.folder} was run: its questions or answers have changed"
        )
    return dataset


def only_judge(run: Run) -> str:
    """The model that has judged the run, where there is one; else exact match. Raises `UsageError` for several."""
    known = judges(run)
    if len(known) > 1:
        raise UsageError(f"{run.folder} has several judges ({', '.join(known)}): choose one with --judge")
    return known[0] if known else EXACT
