"""`corpuscope structure` by headings: documents a second, memory as the corpus grows, and what the tables save a reader."""

from __future__ import annotations

import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from corpuscope import Corpus
from corpuscope.structure import Structured, parse_toc, structure

from .measure import Row, side_by_side

COPIES = (5, 20)
"""Of the documents: the small corpus and the large one."""

PER_SECOND = 1_000
LINES_PER_DOCUMENT = 20
LONG = 10_000
"""Characters of a document that is worth a table."""


def measure(documents: Path, django_corpus: Path, work: Path, rounds: int) -> list[Row]:
    return [*speed(documents, work, rounds), *reading(django_corpus)]


def speed(documents: Path, work: Path, rounds: int) -> list[Row]:
    """Wall time and peak memory of the program on copies of `documents`, beside `cp -r` of the same files."""
    program = str(Path(sys.executable).parent / "corpuscope")
    with tempfile.TemporaryDirectory(dir=work) as folder:
        commands = {}
        sizes = []
        for copies in COPIES:
            source = Path(folder, f"source{copies}")
            for number in range(copies):
                shutil.copytree(documents, source / f"copy{number}")
            for number in range(rounds):
                corpus = f"{folder}/{copies}-{number}.corpus"
                index = [program, "index", str(source), "--into", corpus, "--include", "*.txt", "--include", "*.rst"]
                subprocess.run(index, check=True, stdout=subprocess.DEVNULL)
            with Corpus.open(corpus) as opened:
                sizes.append(len(opened))
            commands[f"{copies}"] = [
                program,
                "structure",
                f"{folder}/{copies}-{{round}}.corpus",
                "--propose",
                "headings",
            ]
        large = f"{folder}/{COPIES[1]}-{{round}}.corpus/text"
        commands["copy"] = ["cp", "-r", large, f"{folder}/copy{{round}}"]
        found = side_by_side(commands, rounds)
    small, big = found[f"{COPIES[0]}"], found[f"{COPIES[1]}"]
    allowed = sizes[1] / PER_SECOND
    return [
        Row(f"structure: {sizes[1]:,} documents, against {PER_SECOND:,} a second", f"{big.seconds:.1f} s", f"{allowed:.1f} s",
            big.seconds / allowed, 1.0),
        Row("structure: time, against cp -r of the same files", f"{big.seconds:.1f} s", f"{found['copy'].seconds:.1f} s",
            big.seconds / found["copy"].seconds),
        Row(f"structure: peak memory at {sizes[1]:,}, against {sizes[0]:,}", f"{big.megabytes:.0f} MB", f"{small.megabytes:.0f} MB",
            big.megabytes / small.megabytes, 1.2),
    ]  # fmt: skip


def reading(django_corpus: Path) -> list[Row]:
    """Characters from where a reader begins to a line of evidence: the top of the document, or the table and then the
    section that the line stands in. The lines are drawn from every document, with a fixed seed."""
    chance = random.Random(20260)
    without: list[int] = []
    with_table: list[int] = []
    with Corpus.open(django_corpus) as corpus:
        structure(corpus)
        with closing(Structured(corpus)) as structured:
            for entry in corpus.entries():
                data = structured.store.read(entry.path)
                toc = parse_toc(data)
                lines = data.decode().split("\n")
                full = range(toc.body_line, len(lines) + 1)
                full_lines = [number for number in full if any(map(str.isalnum, lines[number - 1]))]
                if not full_lines or not toc.entries:
                    continue
                for line in chance.choices(full_lines, k=LINES_PER_DOCUMENT):
                    section = toc.section_at(line)
                    start = section.first if section else toc.body_line
                    without.append(characters(lines, toc.body_line, line))
                    with_table.append(toc.body + characters(lines, start, line))
    pairs = list(zip(with_table, without, strict=True))
    far = [(ours, peer) for ours, peer in pairs if peer > LONG]
    return [row("any line", pairs), row(f"a line more than {LONG:,} characters in", far)]


def row(what: str, pairs: list[tuple[int, int]]) -> Row:
    ours, peer = statistics.mean(o for o, _ in pairs), statistics.mean(p for _, p in pairs)
    return Row(f"characters read to {what}: with tables, without", f"{ours:,.0f}", f"{peer:,.0f}", ours / peer)


def characters(lines: list[str], first: int, last: int) -> int:
    return sum(len(line) + 1 for line in lines[first - 1 : last])
