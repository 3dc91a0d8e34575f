"""The offline pipeline (RISE, 3.2): propose, locate, insert, write; in proportion to what changed, and resumable.

Documents with headings of their own come first and cost nothing; a model is asked for the others.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from itertools import islice

from pydantic_ai.models import Model

from ..corpus import Corpus, Entry, FilesStore, count_lines, one_at_a_time
from ..errors import CorpuscopeError, UsageError
from ..models import Backoff, ContextOverflow, ModelFailed
from .batch import BatchAsk, Poll
from .direct import CONCURRENCY, DirectAsk
from .form import with_inserted_headings, with_own_headings
from .headings import propose_headings
from .proposal import Ask, Proposal, propose
from .purse import CostCap, Estimate, Purse, estimate
from .records import Current, Records, Row

HEADINGS = "headings"
"""The proposer of documents whose headings are their own."""

SHORT = 500
"""Bytes: a shorter document is read faster than its table would be."""

LIVE = {False: 2 * CONCURRENCY, True: 10_000}
"""Documents that wait for replies at once: sent directly, and in batches."""

MAX_FAILED_IN_A_ROW = 8
"""Documents; then the provider is down, and the others would only wait for the same."""

_COMMIT_SECONDS = 1.0
_CHUNK = 500


@dataclass(slots=True)
class Report:
    """What one run did, in documents. `left` could not be asked about: the provider failed, or the money was used up.

    `stopped` is "" or why the run ended before everything was done.
    """

    own: int = 0
    proposed: int = 0
    without: int = 0
    removed: int = 0
    left: int = 0
    replies: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    dollars: float = 0.0
    unpriced: int = 0
    stopped: str = ""


@dataclass(frozen=True, slots=True)
class Watch:
    """What a caller hears while it runs. `confirm(estimate)` is asked before anything is paid; False pays nothing."""

    progress: Callable[[int, int | None], None] = lambda done, total: None
    confirm: Callable[[Estimate], bool] = lambda estimate: True
    paying: Callable[[int, int, float], None] = lambda done, total, dollars: None
    retry: Callable[[str, float], None] = lambda error, wait: None
    note: Callable[[str], None] = lambda text: None


@dataclass(frozen=True, slots=True)
class Asking:
    """How a model is asked. With `everywhere`, also about documents that have headings of their own."""

    model: Model
    everywhere: bool = False
    batch: bool = False
    max_cost: float | None = None
    backoff: Backoff = field(default_factory=Backoff)
    poll: Poll = field(default_factory=Poll)


def structure(
    corpus: Corpus, asking: Asking | None = None, *, limit: int | None = None, watch: Watch | None = None
) -> Report:
    """Write `structured/` for the documents that are new or changed, at most `limit` of them.

    Without `asking`, documents without headings keep their text under an empty table; a later run with a model takes
    them up. Raises `CorpuscopeError` for what a person must repair; what is done is kept.
    """
    if not corpus.finished:
        raise UsageError(f"{corpus.root} is unfinished (its last index run was cut off); run corpuscope index again")
    with one_at_a_time(corpus.root, what="structure"):
        records = Records(corpus.root / "structured.sqlite")
        try:
            build = _Build(corpus, records, limit, watch or Watch())
            build.forget_removed()
            if not (asking and asking.everywhere):
                build.by_headings()
            if asking:
                build.by_model(asking)
            if limit is None and not build.report.left:
                records.put("corpus", str(corpus.revision))
        finally:
            records.close()
    return build.report


class _Build:
    """One run over one corpus."""

    def __init__(self, corpus: Corpus, records: Records, limit: int | None, watch: Watch) -> None:
        self.corpus, self.records, self.limit, self.watch = corpus, records, limit, watch
        self.store = FilesStore(corpus.root / "structured")
        self.report = Report()
        self._rows: list[Row] = []
        self._written = time.monotonic()
        self._failed_in_a_row = 0

    def forget_removed(self) -> None:
        """Documents that left the corpus leave here too."""
        for rows in self.records.known():
            known = self.corpus.manifest.by_key([key for key, _ in rows])
            gone = [(key, path) for key, path in rows if key not in known]
            for _, path in gone:
                self.store.remove(path)
            if gone:
                self.records.forget([key for key, _ in gone])
                self.report.removed += len(gone)

    def pending(self, wants: Callable[[Current], bool]) -> Iterator[Entry]:
        """Documents without a structured file of their present text, or with one that `wants` another proposer."""
        entries = self.corpus.entries()
        found = self._unfinished(entries, wants)
        return islice(found, self.limit) if self.limit is not None else found

    def _unfinished(self, entries: Iterator[Entry], wants: Callable[[Current], bool]) -> Iterator[Entry]:
        while chunk := list(islice(entries, _CHUNK)):
            done = self.records.current([entry.key for entry in chunk])
            for entry in chunk:
                row = done.get(entry.key)
                if row is None or row.sha256 != entry.sha256 or wants(row):
                    yield entry

    def by_headings(self) -> None:
        total = len(self.corpus) if self.limit is None else min(self.limit, len(self.corpus))
        for count, entry in enumerate(self.pending(lambda row: False), 1):
            data = self._read(entry)
            if data is not None:
                headings = propose_headings(data.decode(), entry.path)
                whole = with_own_headings(data, headings)
                self.report.own += bool(headings)
                self.report.without += not headings
                fallback = "" if headings else "no headings"
                self._write(entry, data, whole, HEADINGS if headings else "", entries=len(headings), fallback=fallback)
            self.watch.progress(count, total)
        self._commit()

    def by_model(self, asking: Asking) -> None:
        name = asking.model.model_name

        def pending() -> Iterator[Entry]:
            if asking.everywhere:
                return self.pending(lambda row: row.proposer != name)
            return self.pending(lambda row: not row.proposer)

        expected = estimate(asking.model, (e.bytes for e in pending() if e.bytes >= SHORT), batch=asking.batch)
        if asking.max_cost is not None and expected.documents and expected.dollars is None:
            raise UsageError(
                f"no price is known for {name}, so --max-cost cannot be kept: leave it out, or choose a model with "
                "public prices"
            )
        if expected.documents and not self.watch.confirm(expected):
            self.report.stopped = "not confirmed"
            return
        self.report.without = 0  # they are asked about now
        purse = Purse(asking.model, asking.max_cost, asking.batch)
        try:
            asyncio.run(self._ask_all(asking, pending(), expected.documents, purse))
        except BaseExceptionGroup as errors:
            raise _first(errors) from None
        finally:
            self._commit()
            self.report.dollars, self.report.unpriced = purse.spent, purse.unpriced
            self.report.replies = purse.replies
            self.report.input_tokens, self.report.output_tokens = purse.input_tokens, purse.output_tokens

    async def _ask_all(self, asking: Asking, entries: Iterable[Entry], total: int, purse: Purse) -> None:
        watch = self.watch
        way: AbstractAsyncContextManager[Ask]
        if asking.batch:
            way = BatchAsk(asking.model, self.records, purse, asking.backoff, asking.poll, watch.retry, watch.note)
        else:
            way = nullcontext(DirectAsk(asking.model, self.records, purse, asking.backoff, watch.retry))
        name, done = asking.model.model_name, 0
        if total:
            watch.paying(done, total, 0.0)
        async with way as ask, asyncio.TaskGroup() as group:
            tasks: set[asyncio.Task[None]] = set()
            for entry in entries:
                if entry.bytes < SHORT:
                    self._short(entry, name)
                    continue
                if self.report.stopped:
                    self.report.left += 1
                    continue
                tasks.add(group.create_task(self._ask(entry, name, ask)))
                while len(tasks) >= LIVE[asking.batch]:
                    finished, tasks = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                    done += len(finished)
                    watch.paying(done, total, purse.spent)
            while tasks:
                finished, tasks = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                done += len(finished)
                watch.paying(done, total, purse.spent)

    async def _ask(self, entry: Entry, name: str, ask: Ask) -> None:
        if self._read(entry) is None:
            return
        try:
            proposal = await propose(entry.key, name, lambda: self._text(entry), ask)
        except CostCap:
            self.report.stopped = "max cost"
            self.report.left += 1
        except ContextOverflow:
            self._fall_back(entry, name, "too long for the model's context", Proposal([]))
        except ModelFailed as error:
            self.report.left += 1
            self._failed_in_a_row += 1
            if self._failed_in_a_row >= MAX_FAILED_IN_A_ROW:
                raise CorpuscopeError(
                    f"the provider keeps failing ({error}); what is done is kept, run the same command again later"
                ) from error
        else:
            self._failed_in_a_row = 0
            self._insert(entry, name, proposal)

    def _insert(self, entry: Entry, name: str, proposal: Proposal) -> None:
        data = self._read(entry)
        if data is None:
            return
        if not proposal.sections:
            why = "no section proposed"
            if proposal.unreadable:
                why = "no reply could be read"
            elif proposal.lost:
                why = "no anchor was found"
            self._fall_back(entry, name, why, proposal)
            return
        self.report.proposed += 1
        whole = with_inserted_headings(data.decode(), proposal.sections)
        self._write_proposed(entry, data, whole, name, "", proposal)

    def _fall_back(self, entry: Entry, name: str, why: str, proposal: Proposal) -> None:
        """The text under an empty table, and not asked about again."""
        if (data := self._read(entry)) is not None:
            self.report.without += 1
            self._write_proposed(entry, data, with_own_headings(data, ()), name, why, proposal)

    def _short(self, entry: Entry, name: str) -> None:
        self._fall_back(entry, name, "short", Proposal([]))

    def _write_proposed(
        self, entry: Entry, data: bytes, whole: bytes, name: str, fallback: str, proposal: Proposal
    ) -> None:
        found = proposal.exact + proposal.normalised
        self._write(
            entry, data, whole, name, entries=found, fallback=fallback, proposed=found + proposal.lost,
            exact=proposal.exact, normalised=proposal.normalised, lost=proposal.lost, malformed=proposal.malformed,
        )  # fmt: skip

    def _write(
        self, entry: Entry, data: bytes, whole: bytes, proposer: str, *, entries: int, fallback: str, **counts: int
    ) -> None:
        self.store.write(entry.path, whole)
        added = len(whole) - len(data)
        self._rows.append(
            Row(entry.key, entry.path, entry.sha256, count_lines(whole), added, proposer, entries, fallback=fallback, **counts)
        )  # fmt: skip
        if time.monotonic() - self._written > _COMMIT_SECONDS:
            self._commit()

    def _commit(self) -> None:
        if self._rows or self.report.removed:
            self.records.write(self._rows)
            self.records.put("revision", str(int(self.records.get("revision", "0")) + 1))
        self._rows = []
        self._written = time.monotonic()

    def _read(self, entry: Entry) -> bytes | None:
        """The text that the manifest has; None for one that changed under our hands, which the next run takes up."""
        try:
            data = self.corpus.store.read(entry.path)
        except FileNotFoundError:
            data = b""
        if hashlib.sha256(data).hexdigest() != entry.sha256:
            self.report.left += 1
            return None
        return data

    def _text(self, entry: Entry) -> str:
        return self.corpus.store.read(entry.path).decode(errors="replace")


def _first(errors: BaseExceptionGroup) -> BaseException:
    """The error behind a group of groups; a cancelled neighbour is only its consequence."""
    leaves = [_first(error) if isinstance(error, BaseExceptionGroup) else error for error in errors.exceptions]
    return next((error for error in leaves if not isinstance(error, asyncio.CancelledError)), leaves[0])
