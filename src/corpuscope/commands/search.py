"""`corpuscope search`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from ..api import Corpus
from ..corpus import Entry
from ..errors import UsageError
from ..retrieve import MAX_SCANNED, Analysis, Hit, Snippet, retriever, searchable, snippet
from ..workspace import clean
from .progress import bring_up_to_date


def search_command(
    path: Path, queries: Sequence[str], *, k: int, engine: str, rerank: str, depth: int, as_json: bool
) -> None:
    with Corpus.open(path) as corpus:
        ranks = retriever(engine, corpus, rerank=rerank, depth=depth)
        bring_up_to_date([ranks])
        rankings = ranks.search(queries, k)
        analysis = Analysis(corpus.language)
        for query, ranking in zip(queries, rankings, strict=True):
            entries = corpus.manifest.find(hit.docid for hit in ranking)
            stems = analysis.stems(query)
            rows = [(hit, entries[hit.docid]) for hit in ranking if hit.docid in entries]
            snippets = [snippet(corpus.store.read(entry.path, MAX_SCANNED), stems) for _, entry in rows]
            if as_json:
                print(json.dumps(_json(query, rows, snippets), ensure_ascii=False))
            else:
                _print(query, rows, snippets)
    if not any(map(searchable, queries)):
        raise UsageError("the query is empty: there is no word in it to search for")


def _json(query: str, rows: Sequence[tuple[Hit, Entry]], snippets: Sequence[Snippet]) -> object:
    hits = [
        {
            "docid": hit.docid, "path": entry.path, "title": entry.title, "score": round(hit.score, 4),
            "line": found.line, "snippet": found.text,
        }
        for (hit, entry), found in zip(rows, snippets, strict=True)
    ]  # fmt: skip
    return {"query": query, "hits": hits}


def _print(query: str, rows: Sequence[tuple[Hit, Entry]], snippets: Sequence[Snippet]) -> None:
    shown = " ".join(clean(query.encode(errors="replace")).split())
    print(f"{shown[:200]}: {f'{len(rows)} documents' if rows else 'nothing found'}")
    for rank, ((hit, entry), found) in enumerate(zip(rows, snippets, strict=True), 1):
        title = clean(entry.title.encode(errors="replace")).replace("\n", " ")
        print(f"{rank:>4}. {entry.path}:{found.line}  {hit.score:.2f}  {title[:100]}")
        print(f"      {clean(found.text.encode())}")
