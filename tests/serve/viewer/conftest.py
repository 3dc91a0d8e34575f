"""Runs over a small corpus with questions of known answers, looked at through the viewer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import httpx2
import pytest

from corpuscope.bench import Dataset, run_dataset
from corpuscope.corpus import Corpus
from corpuscope.serve import Shelf, viewer_app
from corpuscope.systems import Run, load_system

from ...bench.conftest import Colours, dataset
from ...bench.conftest import corpus as corpus
from .trajectories import new_run

__all__ = ["dataset"]

Ask = Callable[..., Any]
OpenShelf = Callable[..., Shelf]


@pytest.fixture
def run(dataset: Dataset, corpus: Corpus, tmp_path: Path) -> Run:
    """Twelve trajectories of a search, a grep and an answer; right about even things, none about the eleventh."""
    with Colours() as server:
        made = new_run(tmp_path / "run", dataset, corpus, load_system("rise-bm25"))
        run_with(server, dataset, corpus, made)
    return made


def run_with(server: Colours, dataset: Dataset, corpus: Corpus, run: Run) -> None:
    from corpuscope.agent import open_model

    asyncio.run(run_dataset(dataset, corpus, run, model=open_model("tiny", server.base_url), workers=4))


@pytest.fixture
def shelf_of() -> Iterator[OpenShelf]:
    """`shelf_of(folder, ..., measured=True)`."""
    with ExitStack() as stack:

        def opened(*folders: Path, measured: bool = True, **more: Any) -> Shelf:
            shelf = stack.enter_context(closing(Shelf.open(folders, **more)))
            while measured and any(shown.measure_next() for shown in shelf.runs):
                pass
            return shelf

        yield opened


@pytest.fixture
def ask() -> Ask:
    """`ask(shelf, "runs?...")` -> the JSON value, over HTTP in this process; `whole=True` gives the answer with its headers."""

    def asked(shelf: Shelf, path: str, *, token: str = "", whole: bool = False, **headers: str | bytes) -> Any:
        async def once() -> httpx2.Response:
            transport = httpx2.ASGITransport(app=viewer_app(shelf, token))
            async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8801") as client:
                return await client.get(path if path.startswith("/") else f"/api/{path}", headers=headers)

        response = asyncio.run(once())
        return response if whole else response.json()

    return asked


def calls_of(events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event for event in events if event["type"] == "tool"]
