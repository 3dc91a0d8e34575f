"""One sandboxed command against bare `bash -c`, and `--help` against a bare Python start."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

from corpuscope import Corpus, Workspace
from corpuscope.workspace import execute

from .measure import Row, side_by_side


def measure(corpus_folder: Path, rounds: int) -> list[Row]:
    ours, peer = [], []
    with Corpus.open(corpus_folder) as corpus, Workspace(corpus) as workspace:
        for _ in range(60 * rounds):
            started = time.perf_counter()
            execute(workspace.sandbox, "true", 10)
            middle = time.perf_counter()
            subprocess.run(
                ["bash", "-c", "true"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                check=True,
            )
            ours.append(middle - started)
            peer.append(time.perf_counter() - middle)
    more = statistics.median(o - p for o, p in zip(ours, peer, strict=True))
    program = str(Path(sys.executable).parent / "corpuscope")
    found = side_by_side({"ours": [program, "--help"], "peer": [sys.executable, "-c", "pass"]}, 5 * rounds)
    return [
        Row(
            "sandboxed command: time above bash -c, against 5 ms",
            f"{more * 1e3:.1f} ms more",
            "5.0 ms",
            more / 0.005,
            1.0,
        ),
        Row(
            "--help: time, against 0.3 s", f"{found['ours'].seconds:.2f} s", "0.30 s", found["ours"].seconds / 0.3, 1.0
        ),
    ]
