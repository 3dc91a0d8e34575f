"""`python -m benchmarks.probe CORPUS ROUNDS [CSEARCH_INDEX]`: what one process that serves a corpus costs, as JSON: the middle of all rounds.

In one process, so that its peak memory is that of serving: the RISE tools, indexed grep beside ripgrep, and import into W.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from corpuscope import Corpus, Workspace
from corpuscope.retrieve import Bm25
from corpuscope.workspace import Tool, execute, rise_tools

from .grepping import REAL, selective
from .searching import QUERY_SETS, link_all

COMMANDS = ("rg -n -i 'memory|session' | head -40", "rg -c error | sort -t: -k2 -nr | head", "ls | wc -l")
"""Of an agent in W."""


def main(folder: str, rounds: int, csearch: str = "") -> None:
    times: dict[str, list[float]] = {}

    def timed(name: str, call: Callable[..., Any], *arguments: Any) -> None:
        started = time.perf_counter()
        call(*arguments)
        times.setdefault(name, []).append((time.perf_counter() - started) * 1e3)

    with Corpus.open(folder) as corpus:
        engine = Bm25(corpus)
        engine.search(["warm"], 10)
        for queries in QUERY_SETS * rounds:
            with Workspace(corpus) as workspace:
                tools = rise_tools(workspace, engine)
                timed("rank", engine.search, queries, 1000)
                timed("search", _called, tools["search"], {"queries": list(queries)})
                for command in COMMANDS:
                    timed("bash", _called, tools["bash"], {"command": command})
        times["import"], times["bare import"] = _import(corpus, engine, rounds)
        memory = _peak()
        with Workspace(corpus, whole=True) as workspace:
            words = selective(corpus, workspace, 5)
            execute(workspace.sandbox, f"{REAL}/rg -c warm > /dev/null", 300)
            for word in words * rounds:
                timed("rg", execute, workspace.sandbox, f"rg -l '{word}'", 300)
                timed("plain rg", execute, workspace.sandbox, f"{REAL}/rg -l '{word}'", 300)
                if csearch:
                    timed("csearch", _csearch, word, csearch)
        middle = {name: statistics.median(values) for name, values in times.items()}
        # The index is mapped and read in this process: what grep adds is in it too.
        print(json.dumps({**middle, "memory": memory, "serving": _peak()}))


def _called(tool: Tool, arguments: dict[str, Any]) -> None:
    asyncio.run(tool.call(arguments))


def _csearch(word: str, index: str) -> None:
    subprocess.run(
        ["csearch", "-l", word], env=os.environ | {"CSEARCHINDEX": index}, stdout=subprocess.DEVNULL, check=True
    )


def _peak() -> float:
    """Megabytes of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _import(corpus: Corpus, engine: Bm25, rounds: int) -> tuple[list[float], list[float]]:
    """Microseconds a file, of the store's work (names looked up, folders made, files linked or written) and of a bare loop that
    links or writes the same files, in turn."""
    queries = [query for queries in QUERY_SETS for query in queries]
    docids = list(dict.fromkeys(hit.docid for hits in engine.search(queries, 1000) for hit in hits))
    paths = [path for _, path in corpus.manifest.paths(docids)]
    texts = [corpus.store.read(path) for path in paths] if corpus.packs is not None else []
    ours, bare = [], []
    for number in range(rounds):
        into = corpus.root / f"workspaces/probe{number}-{os.getpid()}"
        started = time.perf_counter()
        corpus.materialize(docids, into / "ours")
        ours.append((time.perf_counter() - started) * 1e6 / len(docids))
        if texts:
            bare.append(_write_all(texts, into / "bare") * 1e6 / len(docids))
        else:
            bare.append(link_all(corpus.store.root, paths, into / "bare") * 1e6 / len(docids))
        shutil.rmtree(into)
    return ours, bare


def _write_all(texts: list[bytes], into: Path) -> float:
    into.mkdir(parents=True)
    started = time.perf_counter()
    for number, text in enumerate(texts):
        handle = os.open(f"{into}/{number}", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        os.write(handle, text)
        os.close(handle)
    return time.perf_counter() - started


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
