"""`corpuscope index` against bare tantivy on the same files: at most 2x the time, at most 1 GB."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from .measure import Row, side_by_side


def measure(documents: Path, work: Path, rounds: int) -> list[Row]:
    program = str(Path(sys.executable).parent / "corpuscope")
    with tempfile.TemporaryDirectory(dir=work) as folder:
        commands = {
            "ours": [program, "index", str(documents), "--into", f"{folder}/ours{{round}}.corpus", "--no-grep"],
            "peer": [sys.executable, "-m", "benchmarks.bare_tantivy", str(documents), f"{folder}/bare{{round}}"],
        }
        found = side_by_side(commands, rounds)
        again = side_by_side({"again": commands["ours"]}, 1)["again"]
    ours, peer = found["ours"], found["peer"]
    return [
        Row("index: time, against bare tantivy", f"{ours.seconds:.1f} s", f"{peer.seconds:.1f} s",
            ours.seconds / peer.seconds, 2.0),
        Row("index: peak memory, against 1 GB", f"{ours.megabytes:.0f} MB", "1024 MB", ours.megabytes / 1024, 1.0),
        Row("index again, nothing changed: time, against the first", f"{again.seconds:.1f} s", f"{ours.seconds:.1f} s",
            again.seconds / ours.seconds),
    ]  # fmt: skip
