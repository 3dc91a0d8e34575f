"""Indexed grep against ripgrep's warm full scan, in one sandbox; its index against a trigram field in tantivy."""

from __future__ import annotations

import json
import random
import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

from corpuscope import Corpus, Workspace
from corpuscope.retrieve import GrepIndex, need_of
from corpuscope.workspace import execute

from .measure import Row

REAL = "/opt/corpuscope/real"
SELECTIVE = 40
"""Documents that a selective pattern matches at most."""

TRIES = 300
"""Draws for such words: a text that was grown many times over has few."""

WHOLE = ("rg -c '[aeiou]{4}'", "rg -l 'e'", "rg -lv x", "rg -c '\\d{7}'")
"""Searches in which nothing can be narrowed."""


def measure(corpus_folder: Path, work: Path, rounds: int) -> list[Row]:
    with Corpus.open(corpus_folder) as corpus:
        rows = _building(corpus, work)
        with Workspace(corpus, whole=True) as workspace:
            patterns = selective(corpus, workspace)
            found = [_compared(workspace, f"rg -l '{pattern}'", rounds) for pattern in patterns]
            median = statistics.median(row.ratio for row in found)
            rows += [*found, Row("rg -l of these: median, against a twentieth", "", "", median, 0.05)]
            rows.append(_compared(workspace, f"rg -n -i -C2 '{patterns[1]}.*'", rounds))
            rows += [_compared(workspace, command, rounds, limit=1.2) for command in WHOLE]
            some = next(corpus.entries()).path
            rows.append(_compared(workspace, f"rg -c e '{some}'", rounds * 10))
    return rows


def _building(corpus: Corpus, work: Path) -> list[Row]:
    megabytes = corpus.manifest.total_bytes() / 1e6
    index = GrepIndex(corpus)
    shutil.rmtree(index.folder, ignore_errors=True)
    shutil.rmtree(work / "trigrams", ignore_errors=True)
    build = (
        "import json,resource,sys,time; from corpuscope import Corpus; from corpuscope.retrieve import GrepIndex; "
        "c = Corpus.open(sys.argv[1]); t = time.process_time(); GrepIndex(c).update(); "
        "print(json.dumps({'cpu': time.process_time() - t, 'rss': resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))"
    )
    ours = _told([sys.executable, "-c", build, str(corpus.root)])
    peer = _told([sys.executable, "-m", "benchmarks.trigrams", str(corpus.root), str(work / "trigrams")])
    size, peer_size = (
        sum(file.stat().st_size for file in folder.iterdir()) / 1e6 for folder in (index.folder, work / "trigrams")
    )
    shutil.rmtree(work / "trigrams")
    return [
        Row("n-gram index: size, against 12% of the text", f"{size:.0f} MB", f"{megabytes * 0.12:.0f} MB", size / megabytes / 0.12, 1.0),
        Row("n-gram index: size, against trigrams in tantivy", f"{size:.0f} MB", f"{peer_size:.0f} MB", size / peer_size),
        Row("n-gram index: CPU time, against 20 MB/s a core", f"{megabytes / ours['cpu']:.0f} MB/s", "20 MB/s", 20 * ours["cpu"] / megabytes, 1.0),
        Row("n-gram index: CPU time, against trigrams in tantivy", f"{ours['cpu']:.1f} s", f"{peer['cpu']:.1f} s", ours["cpu"] / peer["cpu"]),
        Row("n-gram index: peak memory, against 2 GB", f"{ours['rss']:.0f} MB", "2048 MB", ours["rss"] / 2048, 1.0),
    ]  # fmt: skip


def _told(command: list[str]) -> dict[str, float]:
    found: dict[str, float] = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    return found


def selective(corpus: Corpus, workspace: Workspace, count: int = 6) -> list[str]:
    """Words of the documents, drawn by chance, that stand in few of them."""
    chance = random.Random(7)
    largest = corpus.manifest.db.execute("SELECT max(key) FROM documents").fetchone()[0]
    drawn = "SELECT path FROM documents WHERE key >= ? AND bytes > 2000 LIMIT 1"
    index = GrepIndex(corpus)
    found: list[str] = []
    for _ in range(TRIES):
        if len(found) == count:
            break
        row = corpus.manifest.db.execute(drawn, (chance.randint(1, largest),)).fetchone()
        text = corpus.store.read(row[0]).decode(errors="ignore") if row else ""
        word = chance.choice(re.findall(r"[A-Za-z_]{6,24}", text) or ["a"])
        keys = index.candidates(need_of(word, "rust"))
        if keys is not None and len(keys) < len(corpus) / 50 and word not in found:
            matches = execute(workspace.sandbox, f"{REAL}/rg -l '{word}' | wc -l", 60)
            if 0 < int(matches.output) <= SELECTIVE:
                found.append(word)
    return found or ["nowhere_to_be_found"]


def _compared(workspace: Workspace, command: str, rounds: int, limit: float | None = None) -> Row:
    """The command through the front and without it, in turn, timed by the shell that runs both."""
    timed = (
        f't() {{ local a=${{EPOCHREALTIME/./}}; {command} > /dev/null; echo "$1 $((${{EPOCHREALTIME/./}} - a))"; }}; '
        f"t warm > /dev/null; PATH={REAL}:$PATH t warm > /dev/null; "
        f"for n in $(seq {rounds * 3}); do t ours; PATH={REAL}:$PATH t real; done"
    )
    outcome = execute(workspace.sandbox, timed, 600)
    times: dict[str, list[float]] = {"ours": [], "real": []}
    for line in outcome.output.decode().split("\n")[:-1]:
        name, microseconds = line.split()
        times[name].append(int(microseconds) / 1e3)
    ours, real = statistics.median(times["ours"]), statistics.median(times["real"])
    return Row(f"{command}: time, against ripgrep", f"{ours:.1f} ms", f"{real:.1f} ms", ours / real, limit)
