"""A progress line for what may take more than two seconds; silent where nobody looks."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..retrieve import Index

if TYPE_CHECKING:
    from rich.progress import Progress

LOG_SECONDS = 10.0
"""Between two lines about a model at work where there is no terminal."""


@contextmanager
def progress(label: str) -> Iterator[Callable[[int, int | None], None]]:
    """`report(done, total)` under `label`, on a terminal's standard error; `total` None while it is unknown."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    with _bar() as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)


class Paying:
    """The live cost of a model at work: a bar on a terminal, else now and then a line on standard error.

    The bar begins with the first document: before that another may be on the terminal, and a question.
    """

    def __init__(self, label: str) -> None:
        self.label = label
        self._bar: Progress | None = None
        self._said = time.monotonic()

    def show(self, done: int, total: int, dollars: float) -> None:
        if not sys.stderr.isatty():
            self._now_and_then(f"{done:,} of {total:,} documents, ${dollars:.4f}")
            return
        if self._bar is None:
            self._bar = _bar()
            self._bar.add_task("", total=total)
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], completed=done, description=f"{self.label}, ${dollars:.4f}")

    def retry(self, error: str, wait: float) -> None:
        self._now_and_then(f"trying again in {wait:.0f} s: {error}")

    def note(self, text: str) -> None:
        if self._bar is not None:
            self._bar.console.print(text, markup=False, highlight=False)
        else:
            print(text, file=sys.stderr)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _now_and_then(self, text: str) -> None:
        if time.monotonic() - self._said > LOG_SECONDS:
            self._said = time.monotonic()
            print(text, file=sys.stderr)


def bring_up_to_date(indexes: Iterable[Index]) -> None:
    """Let indexes catch up where somebody sees it, not inside the first search."""
    for index in indexes:
        if not index.fresh:
            with progress(f"indexing for {index.name}") as done:
                index.update(done)
