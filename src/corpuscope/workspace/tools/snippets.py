"""The tools of a snippet agent (BrowseComp-Plus, appendix E; RISE's retrieval-agent baseline): `search` shows the beginnings of a
few documents, `get_document` returns one whole. There is nothing else to look with."""

from __future__ import annotations

import asyncio

from pydantic import BaseModel, ConfigDict, Field

from ...corpus import Entry
from ...errors import ToolError
from ...retrieve import Retriever, searchable
from ..output import clean
from ..workspace import Workspace
from .tool import Observation, Tool

SNIPPET_TOKENS = 512
"""Of a document's beginning that `search` shows (RISE, section 4)."""

CHARACTERS_PER_TOKEN = 4
"""Of English text: the papers' tokenizers differ, and none comes with every model."""

SEARCH = """Search the collection. Returns the best {k} documents with docid, score and the beginning of each."""
GET = """Return the full text of a document by its docid, as search shows it."""


class SearchArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")
    query: str = Field(description="What to search for.", min_length=1)


class GetArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")
    docid: str = Field(description="As search shows it.", min_length=1)


def snippet_tools(workspace: Workspace, retriever: Retriever, k: int) -> dict[str, Tool]:
    """name -> tool. What `search` found counts as in W, so that citations of it can be checked."""

    async def search(arguments: SearchArguments) -> Observation:
        if not searchable(arguments.query):
            raise ToolError("an empty query: there is no word in it to search for")
        return await asyncio.to_thread(_search, workspace, retriever, arguments.query, k)

    async def get(arguments: GetArguments) -> Observation:
        return await asyncio.to_thread(_get, workspace, arguments.docid)

    return {
        "search": Tool("search", SEARCH.format(k=k), SearchArguments, search),
        "get_document": Tool("get_document", GET, GetArguments, get),
    }


def _search(workspace: Workspace, retriever: Retriever, query: str, k: int) -> Observation:
    (ranking,) = retriever.search([query], k)
    entries = workspace.corpus.manifest.find(hit.docid for hit in ranking)
    new = workspace.add(hit.docid for hit in ranking)
    shown = [(hit, entries[hit.docid]) for hit in ranking if hit.docid in entries]
    beginnings = [_beginning(workspace, entry) for _, entry in shown]
    parts = [
        f"[{rank}] docid: {hit.docid}\nscore: {hit.score:.4f}\n{beginning}"
        for rank, ((hit, _), beginning) in enumerate(zip(shown, beginnings, strict=True), 1)
    ]
    data = {
        "queries": [{
            "query": query, "found": len(ranking), "top": [hit.docid for hit, _ in shown],
            "paths": [entry.path for _, entry in shown], "characters": list(map(len, beginnings)),
        }],
        "imported": new,
        "workspace": len(workspace),
    }  # fmt: skip
    return Observation("\n\n".join(parts) or "no document holds any of these words; try others", data)


def _beginning(workspace: Workspace, entry: Entry) -> str:
    most = SNIPPET_TOKENS * CHARACTERS_PER_TOKEN
    with open(workspace.path / entry.path, "rb") as file:
        text = clean(file.read(4 * most))  # at most four bytes a character
    return text if len(text) <= most else text[:most] + " ..."


def _get(workspace: Workspace, docid: str) -> Observation:
    entry = workspace.corpus.manifest.find([docid]).get(docid)
    if entry is None:
        raise ToolError(f"no document {docid!r}; give a docid that search showed")
    workspace.add([docid])
    text = clean((workspace.path / entry.path).read_bytes())
    data = {
        "path": entry.path,
        "docid": docid,
        "first": 1,
        "last": entry.lines,
        "lines": entry.lines,
        "imported": [docid],
    }
    return Observation(text or "[an empty document]", data)
