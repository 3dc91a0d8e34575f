"""What everything costs at 10k, 100k and a million documents, and how each cost grows from one size to the next.

python -m benchmarks.growth [--text FOLDER] [--sizes 10000 100000 1000000] [--rounds N] [--work FOLDER] [--packed]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from .grown import grown
from .measure import Row, keep_history, report, run_once

SIZES = (10_000, 100_000, 1_000_000)
BM25S_UP_TO = 100_000
"""Documents that the library bm25s is asked to index: it holds all of them in memory."""

BM25S = """
import json, resource, sys, time, bm25s
t = time.perf_counter()
texts = [row["title"] + " " + row["text"] for row in map(json.loads, open(sys.argv[1]))]
engine = bm25s.BM25(k1=1.5, b=0.75)
engine.index(bm25s.tokenize(texts, show_progress=False), show_progress=False)
built = time.perf_counter() - t
queries = json.loads(sys.argv[2])
took = []
for queries in queries:
    t = time.perf_counter()
    engine.retrieve(bm25s.tokenize(queries, return_ids=False, show_progress=False), k=1000, show_progress=False)
    took.append((time.perf_counter() - t) * 1e3)
print(json.dumps({"built": built, "rank": sorted(took)[len(took) // 2], "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
"""

GROWS = (
    ("index", "index: time a document", "us", 1.5),
    ("index memory", "index: peak memory", "MB", None),
    ("again", "index again, nothing changed: time", "ms", None),
    ("search", "search tool, 4 x K=1000: time", "ms", None),
    ("search and bash", "search and three commands: time", "ms", 1.5),
    ("import", "import into W: time a file", "us", 1.5),
    ("memory", "serving search and W: peak memory", "MB", None),
    ("serving", "serving, indexed grep too: peak memory", "MB", None),
    ("rg", "rg of a rare word, through the index: time", "ms", None),
    ("plain rg", "rg of a rare word, full scan: time", "ms", None),
)
"""(value, what it is, its unit, how many times itself it may be after ten times as many documents)."""

Values = dict[str, float]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth")
    parser.add_argument("--text", type=Path, required=True, help="a folder of real text")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--work", type=Path, default=Path("benchmarks/out"))
    parser.add_argument("--packed", action="store_true")
    chosen = parser.parse_args()
    work = chosen.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    rows = measure(chosen.text.resolve(), work, chosen.rounds, chosen.sizes, packed=chosen.packed)
    report(rows, work / "growth.json")
    keep_history(rows, work / "history.jsonl")
    return 0 if all(row.kept for row in rows) else 1


def measure(text: Path, work: Path, rounds: int, sizes: list[int], *, packed: bool = False) -> list[Row]:
    rows: list[Row] = []
    before: tuple[int, Values] | None = None
    for size in sizes:
        print(f"growth: {size:,} documents", file=sys.stderr, flush=True)
        values = _at(grown(text, size, work / f"grown-{size}.jsonl"), work, rounds, size, packed)
        rows += _beside_peers(size, values, packed)
        if before:
            rows += _grown(before, (size, values))
        before = size, values
    return rows


def _at(source: Path, work: Path, rounds: int, size: int, packed: bool) -> Values:
    """Everything at one size; the corpus goes afterwards."""
    corpus = work / f"grown-{size}.corpus"
    shutil.rmtree(corpus, ignore_errors=True)
    program = str(Path(sys.executable).parent / "corpuscope")
    index = [program, "index", str(source), "--into", str(corpus), *(["--packed"] if packed else [])]
    first, again = run_once(index), run_once(index)
    values = {"index": first.seconds / size * 1e6, "index memory": first.megabytes, "again": again.seconds * 1e3}
    lines = work / f"grown-{size}.csearch"
    codesearch = shutil.which("cindex") and shutil.which("csearch") and not packed
    if codesearch:
        cindex = run_once(["cindex", str(corpus / "text")], env=os.environ | {"CSEARCHINDEX": str(lines)})
        values |= {"cindex": cindex.seconds, "cindex size": lines.stat().st_size / 1e6}
        values["grep size"] = sum(file.stat().st_size for file in (corpus / "index/grep").iterdir()) / 1e6
    probe = [sys.executable, "-m", "benchmarks.probe", str(corpus), str(rounds), *([str(lines)] if codesearch else [])]
    values |= json.loads(subprocess.run(probe, stdout=subprocess.PIPE, check=True).stdout)
    values["search and bash"] = values["search"] + 3 * values["bash"]
    if size <= BM25S_UP_TO:
        from .searching import QUERY_SETS

        peer = [sys.executable, "-c", BM25S, str(source), json.dumps([list(q) for q in QUERY_SETS])]
        told = json.loads(subprocess.run(peer, stdout=subprocess.PIPE, check=True).stdout)
        values |= {f"bm25s {name}": value for name, value in told.items()}
    shutil.rmtree(corpus)
    lines.unlink(missing_ok=True)
    return values


def _beside_peers(size: int, v: Values, packed: bool) -> list[Row]:
    n = f"{size:,}: "
    rows = [
        Row(n + "indexed rg of a rare word, against ripgrep", f"{v['rg']:.1f} ms", f"{v['plain rg']:.1f} ms", v["rg"] / v["plain rg"],
            None if packed else {100_000: 1 / 20, 1_000_000: 1 / 100}.get(size)),
        Row(n + "index: peak memory, against 2 GB", f"{v['index memory']:.0f} MB", "2048 MB", v["index memory"] / 2048, 1.0),
        Row(n + "serving: peak memory, against 300 MB", f"{v['serving']:.0f} MB", "300 MB", v["serving"] / 300, 1.0),
        Row(n + "import into W, against 25 us a file", f"{v['import']:.1f} us", "25.0 us", v["import"] / 25, None if packed else 1.0),
        Row(n + f"import into W, against a bare loop that {'writes' if packed else 'links'} files", f"{v['import']:.1f} us", f"{v['bare import']:.1f} us",
            v["import"] / v["bare import"]),
    ]  # fmt: skip
    if "bm25s built" in v:
        seconds = v["index"] * size / 1e6
        rows += [
            Row(n + "index, BM25 and n-grams: time, against bm25s", f"{seconds:.1f} s", f"{v['bm25s built']:.1f} s", seconds / v["bm25s built"]),
            Row(n + "index: peak memory, against bm25s", f"{v['index memory']:.0f} MB", f"{v['bm25s memory']:.0f} MB", v["index memory"] / v["bm25s memory"]),
            Row(n + "ranking, 4 x K=1000: time, against bm25s", f"{v['rank']:.1f} ms", f"{v['bm25s rank']:.1f} ms", v["rank"] / v["bm25s rank"]),
        ]  # fmt: skip
    if "csearch" in v:
        rows += [
            Row(n + "indexed rg of a rare word in its sandbox, against bare csearch", f"{v['rg']:.1f} ms", f"{v['csearch']:.1f} ms", v["rg"] / v["csearch"]),
            Row(n + "n-gram index: size, against csearch's", f"{v['grep size']:.0f} MB", f"{v['cindex size']:.0f} MB", v["grep size"] / v["cindex size"]),
        ]  # fmt: skip
    return rows


def _grown(before: tuple[int, Values], after: tuple[int, Values]) -> list[Row]:
    """How many times itself each cost is; a limit counts from 100k documents on: below, start-up is most of it."""
    (small, old), (large, new) = before, after
    return [
        Row(f"{small:,} -> {large:,}: {what}", f"{new[name]:.1f} {unit}", f"{old[name]:.1f} {unit}", new[name] / old[name],
            limit if small >= 100_000 else None)
        for name, what, unit, limit in GROWS
    ]  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
