"""The tools of Pi-Serini: a ranking is cached, paged through by its id, and its documents are read by lines.

Contract of the peer (github.com/justram/pi-serini, src/pi-search): `reason` comes first in every call and is not looked at; the
first page shows five hits, later ones ten; documents are read 200 lines at a time.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from itertools import islice

from pydantic import BaseModel, ConfigDict, Field

from ...errors import ToolError
from ...retrieve import Analysis, Hit, Retriever, searchable, snippet_of
from ..output import clean, clean_line
from ..workspace import Workspace
from .tool import Observation, Tool

MAX_CACHED = 32
"""Rankings kept; the oldest goes."""

FIRST_PAGE = 5
PAGE = 10
LINES = 200
"""Lines of a document, unless a call says otherwise."""

EXCERPT = 220
"""Characters shown of a hit."""

MAX_LINES = 2_000
MAX_BYTES = 50 << 10
"""Of one observation."""

SEARCH = """Rank the collection for a short lexical query. Shows the first {first} hits and a search_id: the rest of the ranking, \
{k} hits at most, is read with read_search_results."""
READ_RESULTS = """Read on in a ranking that search made: `limit` hits from rank `offset` on."""
READ_DOCUMENT = """Read a document by its docid: `limit` lines from line `offset` on."""

_Reason = Field(description="Why this call, in at most 100 words: the clue, the gap, or what you expect to verify.")


class SearchArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")
    reason: str = _Reason
    query: str = Field(description="Few words that the document would use, not a question in prose.", min_length=1)


class ReadResultsArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")
    reason: str = _Reason
    search_id: str = Field(description="As search shows it.", examples=["s1"])
    offset: int = Field(default=FIRST_PAGE + 1, ge=1, description="The first rank, counted from 1.")
    limit: int = Field(default=PAGE, ge=1, description="How many hits.")


class ReadDocumentArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")
    reason: str = _Reason
    docid: str = Field(description="As search shows it.", min_length=1)
    offset: int = Field(default=1, ge=1, description="The first line, counted from 1.")
    limit: int = Field(default=LINES, ge=1, description="How many lines.")


def paged_tools(workspace: Workspace, retriever: Retriever, k: int = 1000) -> dict[str, Tool]:
    """name -> tool. What a page has shown counts as in W, so that citations of it can be checked."""
    analysis = Analysis(workspace.corpus.language)
    cache: dict[str, tuple[str, list[Hit]]] = {}
    count = 0

    async def search(arguments: SearchArguments) -> Observation:
        nonlocal count
        if not searchable(arguments.query):
            raise ToolError("an empty query: there is no word in it to search for")
        (ranking,) = await asyncio.to_thread(retriever.search, [arguments.query], k)
        count += 1
        cache[f"s{count}"] = (arguments.query, ranking)
        for old in list(cache)[:-MAX_CACHED]:
            del cache[old]
        return _page(workspace, analysis, f"s{count}", arguments.query, ranking, 1, FIRST_PAGE)

    async def read_results(arguments: ReadResultsArguments) -> Observation:
        if arguments.search_id not in cache:
            known = f"there are {', '.join(cache)}" if cache else "call search first"
            raise ToolError(f"no ranking {arguments.search_id!r}; {known}")
        query, ranking = cache[arguments.search_id]
        return _page(workspace, analysis, arguments.search_id, query, ranking, arguments.offset, arguments.limit)

    async def read_document(arguments: ReadDocumentArguments) -> Observation:
        return await asyncio.to_thread(_read, workspace, arguments)

    return {
        "search": Tool(
            "search", SEARCH.format(first=FIRST_PAGE, k=f"{k:,}"), SearchArguments, search, lambda data: True
        ),
        "read_search_results": Tool("read_search_results", READ_RESULTS, ReadResultsArguments, read_results),
        "read_document": Tool("read_document", READ_DOCUMENT, ReadDocumentArguments, read_document),
    }


def _page(
    workspace: Workspace,
    analysis: Analysis,
    search_id: str,
    query: str,
    ranking: Sequence[Hit],
    offset: int,
    limit: int,
) -> Observation:
    shown = ranking[offset - 1 : offset - 1 + limit]
    entries = workspace.corpus.manifest.find(hit.docid for hit in shown)
    new = workspace.add(entries)
    plain = json.dumps(" ".join(clean(query.encode(errors="replace")).split())[:200], ensure_ascii=False)
    if shown:
        head = (
            f"Showing ranks {offset}-{offset + len(shown) - 1} of {len(ranking)} cached hits for search_id={search_id}"
        )
        lines = [head, f"Plain query: {plain}", ""]
    else:
        head = f"No cached hits remain for search_id={search_id}."
        lines = [head, f"Plain query: {plain}", f"Cached hits in this ranking: {len(ranking)}", ""]
    stems = analysis.stems(query)
    characters = []
    for rank, hit in enumerate(shown, offset):
        if entry := entries.get(hit.docid):
            lines.append(f"{rank}. docid={hit.docid} score={hit.score:.4f}")
            if title := clean_line(entry.title.encode(errors="replace"))[:160]:
                lines.append(f"   Title: {title}")
            found = snippet_of(workspace.path / entry.path, stems, width=EXCERPT)
            lines += [f"   Excerpt: {clean(found.text.encode())}", ""]
            characters.append(len(found.text))
    behind = offset + len(shown)
    if shown and behind <= len(ranking):
        call = json.dumps({"search_id": search_id, "offset": behind, "limit": limit})
        lines.append(f"More of this ranking: read_search_results({call})")
    ranked = [entries[hit.docid] for hit in shown if hit.docid in entries]
    data = {
        "queries": [{
            "query": query, "found": len(ranking), "top": [entry.docid for entry in ranked],
            "paths": [entry.path for entry in ranked], "characters": characters,
        }],
        "search_id": search_id, "first": offset, "last": behind - 1, "imported": new, "workspace": len(workspace),
    }  # fmt: skip
    return Observation("\n".join(_bounded(lines)).strip(), data)


def _read(workspace: Workspace, arguments: ReadDocumentArguments) -> Observation:
    entry = workspace.corpus.manifest.find([arguments.docid]).get(arguments.docid)
    if entry is None:
        raise ToolError(f"no document {arguments.docid!r}; give a docid that search or read_search_results showed")
    new = workspace.add([entry.docid])
    first = arguments.offset
    with open(workspace.path / entry.path, "rb") as file:
        lines = [clean_line(line) for line in islice(file, first - 1, first - 1 + arguments.limit)]
    if not lines and entry.lines:
        raise ToolError(f"{entry.docid} has {entry.lines:,} lines; offset {first} is behind its end")
    shown = _bounded(lines)
    last = first + len(shown) - 1
    text = "\n".join([f"[docid={entry.docid} lines {first}-{last} of {entry.lines}]", "", *shown])
    if last < entry.lines:
        call = json.dumps({"docid": entry.docid, "offset": last + 1, "limit": arguments.limit})
        text += f"\n\n[The document goes on: read_document({call})]"
    data = {
        "path": entry.path, "docid": entry.docid, "first": first, "last": last, "lines": entry.lines, "imported": new,
        "workspace": len(workspace),
    }  # fmt: skip
    return Observation(text, data)


def _bounded(lines: Sequence[str]) -> list[str]:
    """As many whole lines as one observation holds; of a first line that is too long, its beginning."""
    kept, size = list[str](), 0
    for line in lines[:MAX_LINES]:
        size += len(line.encode(errors="replace")) + 1
        if size > MAX_BYTES:
            break
        kept.append(line)
    return kept or [lines[0].encode(errors="replace")[:MAX_BYTES].decode(errors="ignore")] if lines else []
