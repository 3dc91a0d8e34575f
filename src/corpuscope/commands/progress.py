"""A progress line for what may take more than two seconds; silent where nobody looks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..corpus import Corpus
from ..retrieve import Bm25


@contextmanager
def progress(label: str) -> Iterator[Callable[[int, int | None], None]]:
    """`report(done, total)` under `label`, on a terminal's standard error; `total` None while it is unknown."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def bring_up_to_date(corpus: Corpus) -> None:
    """Let the index catch up where somebody sees it, not inside the first search."""
    engine = Bm25(corpus)
    if not engine.fresh:
        with progress("indexing") as done:
            engine.update(done)
