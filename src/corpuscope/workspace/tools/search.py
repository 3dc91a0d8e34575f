"""`search(queries)`: rank the corpus for each sub-query, import the union into W, preview the best."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from ...corpus import Entry
from ...errors import ToolError
from ...retrieve import Analysis, Hit, Reranked, Retriever, searchable, snippet_of
from ...structure import Toc
from ..output import clean, clean_line
from ..workspace import Workspace
from .tool import Observation, Tool

PREVIEWS = 10
"""Documents shown for each sub-query (RISE)."""

MAX_QUERIES = 32
"""Sub-queries of one call; RISE's agents send three to six."""

DESCRIPTION = """Search the whole collection and import what it finds into the workspace. Give several different \
sub-queries at once: each is ranked by itself (keywords, names, numbers, phrases of the answer you expect; not a \
question in prose). The best {k} documents of each become files of the workspace, where bash and read can use them; \
only search adds files. Shows the top {previews} of each sub-query with path, title and the line \
of a matching passage."""


class SearchArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")
    queries: list[str] = Field(
        description="Sub-queries, each ranked by itself.",
        min_length=1,
        max_length=MAX_QUERIES,
        examples=[["first sub-query", "second sub-query"]],
    )


def search_tool(workspace: Workspace, retriever: Retriever, k: int = 1000) -> Tool:
    """The tool over one workspace; imports the top `k` of each sub-query."""
    analysis = Analysis(workspace.corpus.language)
    lock = threading.Lock()

    def search(queries: Sequence[str]) -> Observation:
        with lock:  # parallel calls must agree on which of them brought a file
            return _search(workspace, retriever, analysis, queries, k)

    async def run(arguments: SearchArguments) -> Observation:
        return await asyncio.to_thread(search, arguments.queries)

    return Tool("search", DESCRIPTION.format(k=k, previews=PREVIEWS), SearchArguments, run)


def _search(
    workspace: Workspace, retriever: Retriever, analysis: Analysis, queries: Sequence[str], k: int
) -> Observation:
    before = _paid(retriever)
    rankings = retriever.search(queries, k)
    after = _paid(retriever)
    new = workspace.add(hit.docid for ranking in rankings for hit in ranking)
    tops = [ranking[:PREVIEWS] for ranking in rankings]
    entries = workspace.corpus.manifest.find({hit.docid for top in tops for hit in top})
    sections = [
        _section(workspace, analysis, number, query, ranking, entries)
        for number, (query, ranking) in enumerate(zip(queries, rankings, strict=True), 1)
    ]
    parts = [text for text, _ in sections]
    parts.append(f"Workspace: {len(workspace):,} files ({len(new):,} new).")
    data: dict[str, Any] = {
        "queries": [
            {
                "query": query,
                "found": len(ranking),
                "new": brought,
                "top": [hit.docid for hit in top],
                "paths": [entries[hit.docid].path for hit in top if hit.docid in entries],
                "characters": characters,
            }
            for query, ranking, brought, top, (_, characters) in zip(
                queries, rankings, _brought(rankings, new), tops, sections, strict=True
            )
        ],
        "imported": new,
        "workspace": len(workspace),
    }
    if after != 0:
        data["dollars"] = None if after is None or before is None else after - before
    if not any(map(searchable, queries)):
        raise ToolError("empty queries: there is no word in them to search for; nothing was imported")
    return Observation("\n\n".join(parts), data)


def _brought(rankings: Sequence[Sequence[Hit]], new: Sequence[str]) -> list[int]:
    """How many of the `new` documents each sub-query was the first to rank; they stand in `new` in this order."""
    left, counts = set(new), []
    for ranking in rankings:
        mine = left.intersection(hit.docid for hit in ranking)
        left -= mine
        counts.append(len(mine))
    return counts


def _paid(retriever: Retriever) -> float | None:
    """US dollars for a language model that reranks, so far; None where its price is not known."""
    return retriever.dollars if isinstance(retriever, Reranked) else 0.0


def _section(
    workspace: Workspace,
    analysis: Analysis,
    number: int,
    query: str,
    ranking: Sequence[Hit],
    entries: dict[str, Entry],
) -> tuple[str, list[int]]:
    """What is said of one sub-query, and the characters shown of each document."""
    shown = " ".join(clean(query.encode(errors="replace")).split())
    shown = shown if len(shown) <= 200 else shown[:200] + " …"
    if not searchable(query):
        return f"[{number}] {shown!r}: empty, there is no word in it to search for.", []
    if not ranking:
        return f"[{number}] {shown}: no document holds any of these words. Try other words.", []
    lines = [f"[{number}] {shown}: {len(ranking):,} documents, the best {min(PREVIEWS, len(ranking))}:"]
    stems = analysis.stems(query)
    characters = []
    for rank, hit in enumerate(ranking[:PREVIEWS], 1):
        if entry := entries.get(hit.docid):
            head, passage, shown_of_it = _preview(workspace, rank, entry, stems)
            lines += [head, passage] if passage else [head]
            characters.append(shown_of_it)
    return "\n".join(lines), characters


def _preview(workspace: Workspace, rank: int, entry: Entry, stems: Sequence[str]) -> tuple[str, str, int]:
    """(the line that names a document, the one that shows a passage of it, characters of that passage)."""
    title = clean_line(entry.title.encode(errors="replace"))[:160]
    head = f"{rank:>2}. {entry.path} ({workspace.lines(entry):,} lines){': ' + title if title else ''}"
    try:
        toc = workspace.toc(entry.path)
        found = snippet_of(workspace.path / entry.path, stems, skip=toc.body if toc else 0)
    except OSError:
        return head, "", 0
    line = found.line + (toc.body_line - 1 if toc else 0)
    return head, f"    {line}{_section_of(toc, line)}: {clean(found.text.encode())}", len(found.text)


def _section_of(toc: Toc | None, line: int) -> str:
    """The section that a line stands in, by name and lines."""
    section = toc.section_at(line) if toc else None
    return f" [{clean(section.title.encode())}, lines {section.first}-{section.last}]" if section else ""
