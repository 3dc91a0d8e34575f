"""A model asked about the documents that have no headings, or about all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field

from pydantic_ai.models import Model

from ..corpus import Entry
from ..errors import CorpuscopeError, UsageError
from ..models import Backoff, ContextOverflow, ModelFailed
from .batch import BatchAsk, Poll
from .direct import CONCURRENCY, DirectAsk
from .form import with_inserted_headings, with_own_headings
from .proposal import Ask, Proposal, propose
from .purse import CostCap, Purse, estimate
from .watch import Watch
from .writing import HEADINGS, Writing

SHORT = 500
"""Bytes: a shorter document is read faster than its table would be."""

LIVE = {False: 2 * CONCURRENCY, True: 10_000}
"""Documents that wait for replies at once: sent directly, and in batches."""

MAX_FAILED_IN_A_ROW = 8
"""Documents; then the provider is down, and the others would only wait for the same."""

_KEPT = "what is done is kept, run the same command again later"


@dataclass(frozen=True, slots=True)
class Asking:
    """How a model is asked. With `everywhere`, also about documents that have headings of their own."""

    model: Model
    everywhere: bool = False
    batch: bool = False
    max_cost: float | None = None
    backoff: Backoff = field(default_factory=Backoff)
    poll: Poll = field(default_factory=Poll)


def by_model(writing: Writing, asking: Asking, watch: Watch) -> None:
    """Ask about every document that waits for it. Raises `CorpuscopeError` for what a person must repair."""
    asker = _Asker(writing, asking, watch)
    expected = estimate(asking.model, (e.bytes for e in asker.pending() if e.bytes >= SHORT), batch=asking.batch)
    if asking.max_cost is not None and expected.documents and expected.dollars is None:
        raise UsageError(
            f"no price is known for {asker.name}, so --max-cost cannot be kept: leave it out, or choose a model with "
            "public prices"
        )
    report, purse = writing.report, asker.purse
    if expected.documents and not watch.confirm(expected):
        report.stopped = "not confirmed"
        return
    report.without = 0  # they are asked about now
    try:
        asyncio.run(asker.ask_all(expected.documents))
    except BaseExceptionGroup as errors:
        first = _first(errors)
        if isinstance(first, ContextOverflow | ModelFailed):
            raise CorpuscopeError(f"the provider fails ({first}); {_KEPT}") from None
        raise first from None
    finally:
        writing.commit()
        report.dollars, report.unpriced, report.replies = purse.spent, purse.unpriced, purse.replies
        report.input_tokens, report.output_tokens = purse.input_tokens, purse.output_tokens


class _Asker:
    """The documents of one run on their way to the model and back."""

    def __init__(self, writing: Writing, asking: Asking, watch: Watch) -> None:
        self.writing, self.asking, self.watch = writing, asking, watch
        self.report = writing.report
        self.name = asking.model.model_name
        self.purse = Purse(asking.model, asking.max_cost, asking.batch)
        self._failed_in_a_row = 0

    def pending(self) -> Iterator[Entry]:
        if self.asking.everywhere:
            return self.writing.pending(lambda entry, row: row.proposer not in (self.name, *_done_anyway(entry)))
        return self.writing.pending(lambda entry, row: not row.proposer)

    def _way(self) -> AbstractAsyncContextManager[Ask]:
        """To the provider: now, or in batches."""
        asking, records, watch = self.asking, self.writing.records, self.watch
        if asking.batch:
            return BatchAsk(asking.model, records, self.purse, asking.backoff, asking.poll, watch.retry, watch.note)
        return nullcontext(DirectAsk(asking.model, records, self.purse, asking.backoff, watch.retry))

    async def ask_all(self, total: int) -> None:
        done = 0
        tasks: set[asyncio.Task[None]] = set()

        async def some_done() -> None:
            nonlocal done, tasks
            finished, tasks = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            done += len(finished)
            self.watch.paying(done, total, self.purse.spent)

        if total:
            self.watch.paying(0, total, 0.0)
        async with self._way() as ask, asyncio.TaskGroup() as group:
            for entry in self.pending():
                if entry.bytes < SHORT:
                    self.writing.write_own(entry, otherwise=self.name, why="short")
                elif self.report.stopped:
                    self.report.left += 1
                else:
                    tasks.add(group.create_task(self._ask(entry, ask)))
                while len(tasks) >= LIVE[self.asking.batch]:
                    await some_done()
            while tasks:
                await some_done()

    async def _ask(self, entry: Entry, ask: Ask) -> None:
        if self.writing.read(entry) is None:
            return
        try:
            proposal = await propose(entry.key, self.name, lambda: self.writing.text(entry), ask)
        except CostCap:
            self.report.stopped = "max cost"
            self.report.left += 1
        except ContextOverflow:
            self._fall_back(entry, "too long for the model's context", Proposal([]))
        except ModelFailed as error:
            self.report.left += 1
            self._failed_in_a_row += 1
            if self._failed_in_a_row >= MAX_FAILED_IN_A_ROW:
                raise CorpuscopeError(f"the provider keeps failing ({error}); {_KEPT}") from error
        else:
            self._failed_in_a_row = 0
            self._insert(entry, proposal)

    def _insert(self, entry: Entry, proposal: Proposal) -> None:
        data = self.writing.read(entry)
        if data is None:
            return
        if not proposal.sections:
            why = "no section proposed"
            if proposal.unreadable:
                why = "no reply could be read"
            elif proposal.lost:
                why = "no anchor was found"
            self._fall_back(entry, why, proposal)
            return
        self.report.proposed += 1
        whole = with_inserted_headings(data.decode(), proposal.sections)
        self._write_proposed(entry, data, whole, "", proposal)

    def _fall_back(self, entry: Entry, why: str, proposal: Proposal) -> None:
        """The text under an empty table, and not asked about again."""
        if (data := self.writing.read(entry)) is not None:
            self.report.without += 1
            self._write_proposed(entry, data, with_own_headings(data, ()), why, proposal)

    def _write_proposed(self, entry: Entry, data: bytes, whole: bytes, fallback: str, proposal: Proposal) -> None:
        found = proposal.exact + proposal.normalised
        self.writing.write(
            entry, data, whole, self.name, entries=found, fallback=fallback, proposed=found + proposal.lost,
            exact=proposal.exact, normalised=proposal.normalised, lost=proposal.lost, malformed=proposal.malformed,
        )  # fmt: skip


def _done_anyway(entry: Entry) -> tuple[str, ...]:
    """Proposers whose table stays although a model is asked about everything."""
    return (HEADINGS,) if entry.bytes < SHORT else ()


def _first(errors: BaseExceptionGroup) -> BaseException:
    """The error behind a group of groups; a cancelled neighbour is only its consequence."""
    leaves = [_first(error) if isinstance(error, BaseExceptionGroup) else error for error in errors.exceptions]
    return next((error for error in leaves if not isinstance(error, asyncio.CancelledError)), leaves[0])
