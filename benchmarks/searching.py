"""The search tool with four sub-queries at K=1000 into an empty W, against a bare loop of `os.link`."""

from __future__ import annotations

import asyncio
import os
import shutil
import statistics
import time
from pathlib import Path

from corpuscope import Corpus, Workspace
from corpuscope.retrieve import Bm25
from corpuscope.workspace import rise_tools

from .measure import Row

QUERY_SETS = (
    (
        "memory allocation failure path",
        "interrupt handler registration",
        "network packet receive",
        "file system inode lock",
    ),
    ("session backend cache", "model field validation", "request response middleware", "database migration"),
    ("error return value", "device driver probe", "user input form", "test case setup"),
)


def measure(corpus_folder: Path, rounds: int) -> list[Row]:
    whole: list[float] = []
    ranking: list[float] = []
    bare: list[float] = []
    with Corpus.open(corpus_folder) as corpus:
        engine = Bm25(corpus)
        engine.search(["warm"], 10)
        for queries in QUERY_SETS * rounds:
            with Workspace(corpus) as workspace:
                tool = rise_tools(workspace, engine)["search"]
                started = time.perf_counter()
                seen = asyncio.run(tool.call({"queries": list(queries)}))
                whole.append(time.perf_counter() - started)
                paths = [path for _, path in corpus.manifest.paths(seen.data["imported"])]
            started = time.perf_counter()
            engine.search(queries, 1000)
            ranking.append(time.perf_counter() - started)
            bare.append(link_all(corpus.root / "text", paths, corpus.root / "workspaces/bare/w"))
            # In the folder where workspaces live: what a new folder costs depends on its neighbourhood on the disk.
            shutil.rmtree(corpus.root / "workspaces/bare")
    ours, rank, peer = map(statistics.median, (whole, ranking, bare))
    return [
        Row("search tool, 4 x K=1000: time, against a loop of os.link", f"{ours * 1e3:.1f} ms", f"{peer * 1e3:.1f} ms",
            statistics.median(w / b for w, b in zip(whole, bare, strict=True)), 2.0),
        Row("ranking: share of the search tool", f"{rank * 1e3:.1f} ms", f"{ours * 1e3:.1f} ms",
            statistics.median(r / w for r, w in zip(ranking, whole, strict=True)), 0.10),
    ]  # fmt: skip


def link_all(store: Path, paths: list[str], into: Path) -> float:
    """Seconds to link these files below a new folder, keeping their folders: nothing else is done."""
    shutil.rmtree(into, ignore_errors=True)
    source, target = f"{store}/", f"{into}/"
    started = time.perf_counter()
    for folder in {os.path.dirname(path) for path in paths}:
        os.makedirs(target + folder, exist_ok=True)
    for path in paths:
        os.link(source + path, target + path)
    return time.perf_counter() - started
