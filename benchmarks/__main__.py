"""`make bench`: every promise about speed, measured beside a peer in one run.

    python -m benchmarks [--documents FOLDER] [--work FOLDER] [--rounds N] [--only NAME] [--sizes N ...]

FOLDER is what is indexed: the 78k files of Debian's linux-source-6.1 for the figures in the README, the Django
documentation of `make demo` when left out.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from corpuscope import Corpus

from . import commands, grepping, growth, indexing, policies, searching, structuring, trajectory, viewing
from .measure import Row, keep_history, report

DEMO = Path(".demo")
DJANGO = DEMO / "django-5.2.8/docs"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("--documents", type=Path, default=DJANGO)
    parser.add_argument("--work", type=Path, default=Path("benchmarks/out"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--only",
        choices=["index", "search", "grep", "structure", "commands", "trajectory", "policies", "viewing", "growth"],
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=list(growth.SIZES), help="of the grown collections")
    chosen = parser.parse_args()
    if not DJANGO.is_dir():
        subprocess.run([sys.executable, "examples/demo.py", "--documents-only"], check=True)
    work = chosen.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    corpus, django = work / "bench.corpus", work / "django.corpus"
    program = str(Path(sys.executable).parent / "corpuscope")
    if not (corpus / "corpuscope.toml").exists():
        subprocess.run([program, "index", str(chosen.documents), "--into", str(corpus)], check=True)
    subprocess.run(
        [program, "index", str(DJANGO), "--into", str(django), "--include", "*.txt", "--include", "*.rst"], check=True
    )
    parts: dict[str, Callable[[], list[Row]]] = {
        "index": lambda: indexing.measure(chosen.documents.resolve(), work, chosen.rounds),
        "search": lambda: searching.measure(corpus, chosen.rounds),
        "grep": lambda: grepping.measure(corpus, work, chosen.rounds),
        "structure": lambda: structuring.measure(DJANGO.resolve(), django, work, chosen.rounds),
        "policies": lambda: policies.measure(django),
        "commands": lambda: commands.measure(django, chosen.rounds),
        "trajectory": lambda: trajectory.measure(django, DJANGO.resolve(), work, chosen.rounds),
        "viewing": lambda: viewing.measure(work / "viewing", chosen.rounds),
        "growth": lambda: growth.measure(chosen.documents.resolve(), work, chosen.rounds, chosen.sizes),
    }
    rows: list[Row] = []
    for name, part in parts.items():
        if chosen.only in (None, name):
            rows += part()
    if is_small(corpus):
        rows = [
            replace(row, limit=None) if row.name.startswith(("index", "search", "ranking", "n-gram", "rg")) else row
            for row in rows
        ]
    report(rows, work / "results.json")
    keep_history(rows, work / "history.jsonl")
    return 0 if all(row.kept for row in rows) else 1


def is_small(corpus: Path) -> bool:
    """Too few documents for the limits of `index` and `search`: starting up costs more than the work."""
    with Corpus.open(corpus) as opened:
        return len(opened) < 10_000


if __name__ == "__main__":
    sys.exit(main())
