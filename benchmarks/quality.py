"""`python -m benchmarks.quality`: how well each engine ranks, on one collection, in one run, beside the library bm25s and published figures.

    python -m benchmarks.quality [--beir FOLDER] [--engine NAME ...] [--dense MODEL] [--late MODEL] [--rerank KIND:MODEL ...]

The collection is made from what the repository has: the documentation of Django in passages of about a hundred words (packed), and for each
question of django-hops the passages that hold its evidence. FOLDER is a collection in BEIR's form (corpus.jsonl, queries.jsonl,
qrels/test.tsv) that one has; for some there are published figures.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import bm25s

from corpuscope.bench import bootstrap, load_dataset
from corpuscope.bench.metrics import ranking_scores
from corpuscope.corpus import Corpus, SourceSettings
from corpuscope.retrieve import Retriever, follow_ingest, retriever

from .__main__ import DJANGO

MEASURES = ("nDCG@10", "R@1000")
K = 1_000
WORDS = 100
"""Of a passage, about: paragraphs are not cut."""

PUBLISHED = {
    "scifact": {"BM25 (bm25s, Lucene's)": 0.676, "BM25 (Pyserini, flat)": 0.679, "all-MiniLM-L6-v2": 0.645},
    "nfcorpus": {"BM25 (bm25s, Lucene's)": 0.318, "BM25 (Pyserini, flat)": 0.322, "all-MiniLM-L6-v2": 0.316},
    "fiqa": {"BM25 (bm25s, Lucene's)": 0.238, "BM25 (Pyserini, flat)": 0.236, "all-MiniLM-L6-v2": 0.369},
}
"""nDCG@10: table 2 of the paper on bm25s (arXiv:2407.03618), Pyserini's regressions for BEIR, MTEB's leaderboard."""

Rankings = dict[str, list[str]]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality")
    parser.add_argument("--beir", type=Path, help="a collection in BEIR's form instead of django-passages")
    parser.add_argument("--work", type=Path, default=Path("benchmarks/out"))
    parser.add_argument("--engine", action="append", default=[], help="instead of bm25, bm25s and rm3; + joins several")
    parser.add_argument("--dense", default="", help="an embedding model, for dense and bm25+dense")
    parser.add_argument("--late", default="", help="a late-interaction model, for late")
    parser.add_argument("--rerank", action="append", default=[], help="KIND:MODEL over bm25; may be repeated")
    chosen = parser.parse_args()
    work = chosen.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    source, queries, grades = _beir(chosen.beir) if chosen.beir else django_passages(work)
    name = chosen.beir.name if chosen.beir else "django-passages"
    models = {k: v for k, v in (("dense", chosen.dense), ("late", chosen.late)) if v}
    settings = SourceSettings(text_field="text", title_field="title")
    corpus, _ = Corpus.build(
        source, work / f"{name}.corpus", settings, packed=True, models=models, following=follow_ingest
    )
    engines = chosen.engine or [
        "bm25",
        "bm25s",
        "rm3",
        *(["dense", "bm25+dense"] if chosen.dense else []),
        *(["late"] if chosen.late else []),
    ]
    with corpus:
        runs: dict[str, Callable[[], Rankings]] = {"peer: the library bm25s": lambda: peer(source, queries)}
        runs |= {engine: lambda e=engine: ranked(retriever(e, corpus), queries) for engine in engines}
        for kind in chosen.rerank:
            runs[f"bm25, {kind.partition(':')[0]}"] = lambda k=kind: ranked(
                retriever("bm25", corpus, rerank=k), queries
            )  # type: ignore[misc]
        report(name, len(corpus), grades, runs, work / "quality.json")
    return 0


def ranked(engine: Retriever, queries: Mapping[str, str]) -> Rankings:
    engine.update()
    found = engine.search(list(queries.values()), K)
    return {query_id: [hit.docid for hit in hits] for query_id, hits in zip(queries, found, strict=True)}


def peer(source: Path, queries: Mapping[str, str]) -> Rankings:
    """The library by itself, as its authors use it: title and text as one, its own words, k1 = 1.5 and b = 0.75."""
    rows = [json.loads(line) for line in source.open()]
    texts = [f"{row.get('title') or ''} {row['text']}" for row in rows]
    docids = [str(row.get("docid") or row.get("_id")) for row in rows]
    engine = bm25s.BM25(k1=1.5, b=0.75)
    engine.index(bm25s.tokenize(texts, show_progress=False), show_progress=False)
    tokens = bm25s.tokenize(list(queries.values()), return_ids=False, show_progress=False)
    found = engine.retrieve(tokens, k=min(K, len(texts)), show_progress=False)
    rows_of = zip(queries, found.documents.tolist(), found.scores.tolist(), strict=True)
    # It fills up with documents that hold none of the words.
    return {
        q: [docids[p] for p, score in zip(places, scores, strict=True) if score > 0] for q, places, scores in rows_of
    }


def report(
    name: str,
    documents: int,
    grades: Mapping[str, Mapping[str, int]],
    runs: Mapping[str, Callable[[], Rankings]],
    file: Path,
) -> None:
    print(f"{name}: {documents:,} documents, {len(grades)} queries\n")
    print(f"{'':<34}{'nDCG@10':>10}{'R@1000':>10}   difference of nDCG@10 to the peer, 95%")
    results: dict[str, Any] = {}
    base: dict[str, float] = {}
    for run, rank in runs.items():
        scores = ranking_scores(rank(), grades, MEASURES)
        means = {measure: sum(s[measure] for s in scores.values()) / len(scores) for measure in MEASURES}
        each = {query_id: s["nDCG@10"] for query_id, s in scores.items()}
        base = base or each
        told = bootstrap([each[q] - base[q] for q in each])
        between = f"{told.mean:+.3f} [{told.low:+.3f}, {told.high:+.3f}]" if told and each is not base else ""
        print(f"{run:<34}{means['nDCG@10']:>10.3f}{means['R@1000']:>10.3f}   {between}", flush=True)
        results[run] = means
    for run, value in PUBLISHED.get(name, {}).items():
        print(f"published: {run:<23}{value:>10.3f}")
    file.write_text(
        json.dumps({"collection": name, "documents": documents, "queries": len(grades), "engines": results}, indent=1)
    )


def django_passages(work: Path) -> tuple[Path, dict[str, str], dict[str, dict[str, int]]]:
    """(rows to index, query_id -> question, query_id -> docid of a passage -> 1): those in which lines of evidence stand."""
    if not DJANGO.is_dir():
        subprocess.run([sys.executable, "examples/demo.py", "--documents-only"], check=True)
    source = work / "django-passages.jsonl"
    where: dict[str, list[tuple[int, int]]] = {}
    with source.open("w") as out:
        for file in sorted(DJANGO.rglob("*.txt")):
            path = str(file.relative_to(DJANGO))
            for first, last, text in _passages(file.read_text()):
                row = {"docid": f"{path}:{first}", "title": path.removesuffix(".txt"), "text": text}
                out.write(json.dumps(row) + "\n")
                where.setdefault(path, []).append((first, last))
    questions = load_dataset("django-hops").questions
    grades = {
        question.query_id: {
            f"{e.docid}:{first}": 1
            for e in question.evidence
            for first, last in where[e.docid]
            if first <= e.last and e.first <= last
        }
        for question in questions
    }
    return source, {question.query_id: question.query for question in questions}, grades


def _passages(text: str) -> Iterator[tuple[int, int, str]]:
    """(first line, last line, text) of paragraphs put together until they have `WORDS` words."""
    first, held = 1, list[str]()
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        held.append(line)
        full = not line.strip() and sum(len(h.split()) for h in held) >= WORDS
        if full or number == len(lines):
            if any(h.strip() for h in held):
                yield first, number, "\n".join(held).strip("\n") + "\n"
            first, held = number + 1, []


def _beir(folder: Path) -> tuple[Path, dict[str, str], dict[str, Mapping[str, int]]]:
    dataset = load_dataset(str(folder))
    return (
        folder / "corpus.jsonl",
        {question.query_id: question.query for question in dataset.questions},
        {question.query_id: question.grades for question in dataset.questions},
    )


if __name__ == "__main__":
    sys.exit(main())
