"""`corpuscope bench scale` and `grid`: several runs, and one table of them."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from ..api import Corpus
from ..bench import (
    Dataset,
    evaluate,
    grid,
    judge_exactly,
    load_dataset,
    results_of,
    scaled,
    summaries,
    summary,
    variations,
)
from ..errors import CorpuscopeError
from ..systems import System, default_system, load_system
from .bench import for_task, run_questions
from .progress import progress


def scale_command(
    name: str, path: Path, *, distractors: Path, into: Path, times: Sequence[float], seed: int, systems: Sequence[str],
    model: str, base_url: str, workers: int, limit: int | None, max_cost: float | None, canary: str, ids: Path | None,
    qrels: Path | None, as_json: bool,
) -> None:  # fmt: skip
    dataset = load_dataset(name, canary=canary, ids=ids, qrels=qrels)
    rows: dict[str, dict[str, Any]] = {}
    spent = 0.0
    with Corpus.open(path) as corpus, Corpus.open(distractors) as others:
        chosen = [load_system(system or default_system(corpus)) for system in systems]
        for factor in sorted(times):
            with progress(f"{factor:g}x") as report:
                larger = scaled(corpus, others, factor, seed, into / "corpora", report)
            with closing(larger):
                for system in chosen:
                    label = f"{system.name} {factor:g}x"
                    figures = _one(
                        dataset, larger, system, model, base_url, into / "runs" / f"{system.name}-{factor:g}x",
                        workers=workers, limit=limit, max_cost=max_cost, spent=spent, quiet=as_json, label=label,
                    )  # fmt: skip
                    spent += figures["total_dollars"] or 0.0
                    rows[label] = {"documents": len(larger), **figures}
    print(json.dumps(rows) if as_json else summaries(rows), end="\n" if as_json else "")


def grid_command(
    name: str, path: Path, *, vary: Sequence[str], into: Path, system: str, model: str, base_url: str, workers: int,
    limit: int | None, max_cost: float | None, canary: str, ids: Path | None,
    qrels: Path | None, as_json: bool,
) -> None:  # fmt: skip
    dataset = load_dataset(name, canary=canary, ids=ids, qrels=qrels)
    rows: dict[str, dict[str, Any]] = {}
    spent = 0.0
    with Corpus.open(path) as corpus:
        base = load_system(system or default_system(corpus))
        for label, variant in grid(base, variations(vary)).items():
            figures = _one(
                dataset, corpus, variant, model, base_url, into / label, workers=workers, limit=limit, max_cost=max_cost,
                spent=spent, quiet=as_json, label=label,
            )  # fmt: skip
            spent += figures["total_dollars"] or 0.0
            rows[label] = figures
    print(json.dumps(rows) if as_json else summaries(rows), end="\n" if as_json else "")


def _one(
    dataset: Dataset, corpus: Any, system: System, model: str, base_url: str, folder: Path, *, workers: int,
    limit: int | None, max_cost: float | None, spent: float, quiet: bool, label: str,
) -> dict[str, Any]:  # fmt: skip
    """The figures of one of the runs, done or gone on with. Raises `CorpuscopeError` where it could not be finished."""
    if not quiet:
        print(f"{label}:", file=sys.stderr)
    left = None if max_cost is None else max_cost - spent
    if left is not None and left <= 0:
        raise CorpuscopeError(f"the money is used up before {label}: raise --max-cost, run it again")
    asked = for_task(dataset, system.tasks, "")
    run = run_questions(
        asked, corpus, system, model, base_url, folder,
        workers=workers, limit=limit, max_cost=left, sandboxed=True, quiet=quiet,
    )  # fmt: skip
    return summary(evaluate(run, asked, corpus, judge_exactly(asked, results_of(run, asked))))
