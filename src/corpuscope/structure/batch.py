"""Proposals by the provider's batch API: half the price, an answer within a day.

The batches are sent and collected by the model's own `batch_*` methods and not by `model_request_batch`, which cancels
them when its process ends: here a run that is stopped or killed finds its batches again and reads what is paid for.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass

from pydantic import TypeAdapter
from pydantic_ai import exceptions
from pydantic_ai.messages import ModelMessage, ModelRequest
from pydantic_ai.models import Model
from pydantic_ai.models.batch import Batch, BatchRequest, BatchResult, EncodedBatchRequest
from pydantic_ai.settings import ModelSettings

from ..errors import SetupError
from ..models import Backoff, ContextOverflow, ModelFailed, final_error, one_line, retried
from .direct import SETTINGS, take
from .proposal import Request
from .purse import Purse
from .records import Records

MAX_REQUESTS = 1_000
"""Of one batch: what a failed batch costs in time stays small, and many run side by side."""

QUIET_SECONDS = 0.3
"""A batch is sent when it is full, or when no request came for this long: all documents at work wait for it."""

MAX_SENDS = 3
"""Times one request is put into a batch: some expire, and some fail as live requests do."""

MAX_FAILED_CHECKS = 20
"""Failed looks at a batch in a row. With the waits between them that is about an hour without the provider."""

_HANDLE = TypeAdapter(Batch)


@dataclass(frozen=True, slots=True)
class Poll:
    """Seconds between two looks at a batch: `first`, then half as long again each time, at most `longest`."""

    first: float = 5.0
    longest: float = 300.0

    def wait(self, looks: int) -> float:
        return min(self.longest, self.first * 1.5 ** min(looks, 20))


@dataclass(slots=True)
class _Waiting:
    request: Request
    dollars: float
    reply: asyncio.Future[str | None]  # None: send it again


class BatchAsk:
    """Collects requests into batches and waits for them. Use as an async context manager."""

    def __init__(
        self,
        model: Model,
        records: Records,
        purse: Purse,
        backoff: Backoff,
        poll: Poll,
        on_retry: Callable[[str, float], None],
        on_note: Callable[[str], None],
    ) -> None:
        if model.batch_max_requests is None:
            raise SetupError(f"{model.model_name} has no batch API here: leave out --batch")
        self.model, self.records, self.purse, self.backoff, self.poll = model, records, purse, backoff, poll
        self.on_retry, self.on_note = on_retry, on_note
        self.most = min(MAX_REQUESTS, model.batch_max_requests)
        self.most_bytes = model.batch_max_bytes or (1 << 27)
        self.sent: dict[str, asyncio.Future[str | None]] = {}
        self._waiting: dict[str, _Waiting] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._tasks = asyncio.TaskGroup()
        self._sending = asyncio.Semaphore(1)  # the texts of one batch at a time are in memory

    async def __aenter__(self) -> BatchAsk:
        await self._tasks.__aenter__()
        for handle, requests in self.records.batches():
            batch = _HANDLE.validate_python(handle)
            if batch.model_name == self.model.model_name:
                futures = {request: self._future(request) for request in requests}
                self.on_note(f"batch {batch.id} of an earlier run: waiting for {len(requests):,} replies")
                self._tasks.create_task(self._collect(batch, requests, futures, 0.0))
        return self

    async def __aexit__(self, *error: object) -> None:
        if self._timer:
            self._timer.cancel()
        await self._tasks.__aexit__(*error)  # type: ignore[arg-type]

    def _future(self, request: str) -> asyncio.Future[str | None]:
        self.sent[request] = future = asyncio.get_running_loop().create_future()
        return future

    async def __call__(self, question: Request) -> str:
        for _ in range(MAX_SENDS):
            if (kept := self.records.reply(question.id)) is not None:
                return kept
            reply = await asyncio.shield(self.sent.get(question.id) or self._enqueue(question))
            if reply is not None:
                return reply
        raise ModelFailed(f"no reply in {MAX_SENDS} batches")

    def _enqueue(self, question: Request) -> asyncio.Future[str | None]:
        dollars = self.purse.expected(question.size)
        self.purse.reserve(dollars)
        future = self._future(question.id)
        self._waiting[question.id] = _Waiting(question, dollars, future)
        if self._timer:
            self._timer.cancel()
        full = sum(waiting.request.size for waiting in self._waiting.values()) if len(self._waiting) % 50 == 0 else 0
        if len(self._waiting) >= self.most or full > self.most_bytes // 2:
            self._send()
        else:
            self._timer = asyncio.get_running_loop().call_later(QUIET_SECONDS, self._send)
        return future

    def _send(self) -> None:
        if self._waiting:
            waiting, self._waiting = self._waiting, {}
            self._tasks.create_task(self._run(waiting))

    async def _run(self, waiting: dict[str, _Waiting]) -> None:
        requests = {name: one.request.key for name, one in waiting.items()}
        dollars = sum(one.dollars for one in waiting.values())
        futures = {name: one.reply for name, one in waiting.items()}
        async with self._sending:
            encoded = [
                await self.model.batch_encode(_batch_request(name, one.request)) for name, one in waiting.items()
            ]
            batch = await self._create(encoded)
            self.records.send_batch(batch.id, _HANDLE.dump_python(batch, mode="json"), requests)
            del encoded
        self.on_note(
            f"batch {batch.id}: {len(requests):,} requests sent; if this run is stopped, the next one reads them"
        )
        await self._collect(batch, requests, futures, dollars)

    async def _create(self, encoded: list[EncodedBatchRequest]) -> Batch:
        return await retried(
            lambda: self.model.batch_create(encoded),
            backoff=self.backoff,
            seconds_left=lambda: math.inf,
            on_retry=self.on_retry,
        )

    async def _collect(
        self, batch: Batch, requests: dict[str, int], replies: dict[str, asyncio.Future[str | None]], dollars: float
    ) -> None:
        """Wait for a batch, and give each of its requests the reply, its error, or None for another try."""
        results = await self._results(batch)
        for name, reply in replies.items():
            self.sent.pop(name, None)
            try:
                text = self._read(results.get(name), name, requests[name])
            except (ContextOverflow, ModelFailed) as error:
                reply.set_exception(error)
                reply.exception()  # nobody asks for it where the document was given up meanwhile
            else:
                reply.set_result(text)
        self.records.end_batch(batch.id)
        self.purse.release(dollars)

    def _read(self, result: BatchResult | None, name: str, key: int) -> str | None:
        if result is None:
            return None
        if result.status == "canceled":
            raise ModelFailed("the batch was cancelled at the provider")
        try:
            response = self.model.batch_decode(result, _batch_request(name, None))
        except exceptions.ModelAPIError as error:
            if final := final_error(error):
                raise final from error
            return None
        return take(name, key, response, self.records, self.purse)

    async def _results(self, batch: Batch) -> dict[str, BatchResult]:
        """The results of a batch when it has ended; {} for one that came to nothing: all of it is sent again."""
        looks = failed = 0
        while True:
            try:
                if batch.status == "ended":
                    return {result.custom_id: result for result in await self.model.batch_results(batch)}
                batch = await self.model.batch_status(batch)
                failed = 0
            except exceptions.UserError as error:
                raise SetupError(
                    f"batch {batch.id} was sent with another key or to another address: run with those to collect it"
                ) from error
            except exceptions.ModelAPIError as error:
                final = final_error(error)
                if getattr(error, "status_code", 0) == 404 or (batch.status == "ended" and final):
                    return {}
                failed += 1
                if final or failed >= MAX_FAILED_CHECKS:
                    raise final or ModelFailed(one_line(error)) from error
                self.on_retry(one_line(error), self.poll.wait(looks))
            if batch.status != "ended" or failed:
                await asyncio.sleep(self.poll.wait(looks))
                looks += 1


def _batch_request(name: str, question: Request | None) -> BatchRequest:
    messages: list[ModelMessage] = question.messages() if question else [ModelRequest.user_text_prompt("")]
    return BatchRequest(custom_id=name, messages=messages, model_settings=ModelSettings(**SETTINGS))
