"""The tools of the trained search agents: `search` returns passages, `access` a document by pages of text."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from ...corpus import Entry
from ...errors import ToolError
from ...retrieve import Analysis, Retriever, searchable, snippet_of
from ..output import clean, clean_line
from ..workspace import Workspace
from .tool import Observation, Tool

PASSAGE = 640
"""Characters: the 100 words of the Wikipedia passages these agents were trained on. A document up to four times as long is shown
whole; of a longer one, the place that holds most of the query."""

PAGE = 25_000
"""Characters of one page of a document (ASearcher)."""

PAGES = 10
"""Of one document (ASearcher)."""


class Passage(NamedTuple):
    title: str
    text: str
    path: str


Show = Callable[[Sequence[Passage]], str]
"""Passages, best first -> the text of the observation, as an agent was trained to see it."""


class PassageSearchArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")
    query: str = Field(description="What to search for.", min_length=1)


class AccessArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")
    url: str = Field(description="The path of a document, as search shows it.", min_length=1)
    page: int = Field(default=1, ge=1, le=PAGES, description="Which page of it.")


def passage_tools(workspace: Workspace, retriever: Retriever, k: int, show: Show) -> dict[str, Tool]:
    """name -> tool. What `search` found counts as in W."""
    analysis = Analysis(workspace.corpus.language)

    def find(query: str) -> Observation:
        if not searchable(query):
            return Observation(show([]), {"queries": [{"query": query, "found": 0, "top": [], "paths": []}]})
        (ranking,) = retriever.search([query], k)
        entries = workspace.corpus.manifest.find(hit.docid for hit in ranking)
        new = workspace.add(entries)
        shown = [entries[hit.docid] for hit in ranking if hit.docid in entries]
        passages = [_passage(workspace, entry, analysis.stems(query)) for entry in shown]
        data = {
            "queries": [{
                "query": query, "found": len(ranking), "top": [entry.docid for entry in shown],
                "paths": [entry.path for entry in shown], "characters": [len(passage.text) for passage in passages],
            }],
            "imported": new, "workspace": len(workspace),
        }  # fmt: skip
        return Observation(show(passages), data)

    async def search(arguments: PassageSearchArguments) -> Observation:
        return await asyncio.to_thread(find, arguments.query)

    async def access(arguments: AccessArguments) -> Observation:
        return await asyncio.to_thread(_access, workspace, arguments)

    return {
        "search": Tool("search", f"The best {k} passages for a query.", PassageSearchArguments, search),
        "access": Tool("access", "A page of the text of a document that search showed.", AccessArguments, access),
    }


def _passage(workspace: Workspace, entry: Entry, stems: Sequence[str]) -> Passage:
    title = clean_line(entry.title.encode(errors="replace"))
    file = workspace.path / entry.path
    if entry.bytes <= 4 * PASSAGE:
        text = " ".join(clean(file.read_bytes()).split())
    else:
        text = clean(snippet_of(file, stems, width=PASSAGE).text.encode())
    return Passage(title, text, entry.path)


def _access(workspace: Workspace, arguments: AccessArguments) -> Observation:
    path = workspace.resolve(arguments.url)
    entry = workspace.corpus.manifest.by_path(path) if workspace.has(path) else None
    if entry is None:
        raise ToolError("no such document; access one that search showed")
    with open(workspace.path / path, "rb") as file:
        text = clean(file.read(4 * PAGE * PAGES))[: PAGE * PAGES]
    pages = max(1, -(-len(text) // PAGE))
    if arguments.page > pages:
        raise ToolError(f"the document has {pages} pages")
    start = (arguments.page - 1) * PAGE
    data = {"path": path, "docid": entry.docid, "page": arguments.page, "pages": pages}
    return Observation(text[start : start + PAGE], data)
