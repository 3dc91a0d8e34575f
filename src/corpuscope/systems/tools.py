"""The tools of a system over a workspace of their own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from pathlib import Path

from ..corpus import Corpus
from ..retrieve import GrepIndex, Index, retriever
from ..structure import Structured
from ..workspace import (
    Limits,
    Tool,
    Workspace,
    bash_tool,
    bubblewrap,
    dci_tools,
    import_grep_tool,
    paged_tools,
    passage_tools,
    read_tool,
    rise_tools,
    snippet_tools,
)
from .system import System, default_system, load_system

DEFAULT_SPEECH = "search-r1"
"""Whose form passages have for a model that makes tool calls."""

_BOUNDED = {"search": rise_tools, "snippets": snippet_tools, "pages": paged_tools}


@contextmanager
def open_tools(
    corpus: Corpus | str | Path, system: str | System = "", *, sandboxed: bool = True, limits: Limits | None = None
) -> Iterator[dict[str, Tool]]:
    """name -> tool of a `system` (`rise` where the corpus has tables of contents, else `rise-bm25`), over a new workspace that
    goes when the context is left.

    Raises `CorpuscopeError` for what a person has to repair.
    """
    opened = corpus if isinstance(corpus, Corpus) else Corpus.open(corpus)
    chosen = system if isinstance(system, System) else load_system(system or default_system(opened))
    with (
        nullcontext() if opened is corpus else closing(opened),
        open_workspace(opened, chosen, sandboxed=sandboxed, limits=limits) as (_, tools),
    ):
        yield tools


@contextmanager
def open_workspace(
    corpus: Corpus, system: System, *, sandboxed: bool = True, limits: Limits | None = None
) -> Iterator[tuple[Workspace, dict[str, Tool]]]:
    """A new workspace as `system` wants it, and its tools."""
    if sandboxed:
        bubblewrap()  # a machine that cannot make a sandbox says so before anything is spent
    whole = system.boundary == "corpus"
    with ExitStack() as open_until_left:
        for index in indexes(corpus, system):
            index.update()
        structured = open_until_left.enter_context(_structured(corpus, system))
        workspace = open_until_left.enter_context(
            Workspace(corpus, structured=structured, whole=whole, sandboxed=sandboxed, limits=limits)
        )
        tools = dci_tools(workspace) if whole else _bounded(system, workspace)
        if _imports_by_grep(system):
            every = open_until_left.enter_context(Workspace(corpus, whole=True, sandboxed=sandboxed, limits=limits))
            tools["grep"] = import_grep_tool(workspace, every, system.k)
        yield workspace, {name: tools[name] for name in system.tools}


def indexes(corpus: Corpus, system: System) -> list[Index]:
    """What has to stand at the corpus's revision before `system` can work. Without an n-gram index grep reads everything."""
    found: list[Index] = []
    if _ranks(system):
        found.append(retriever(system.retriever, corpus))
    grep = GrepIndex(corpus)
    writable = os.access(corpus.root, os.W_OK)  # where it is not, an index that is behind is done without
    if grep.exists and writable and (system.boundary == "corpus" or _imports_by_grep(system)):
        found.append(grep)
    return found


def _ranks(system: System) -> bool:
    return system.boundary != "corpus" and "search" in system.tools


def _imports_by_grep(system: System) -> bool:
    return system.boundary == "search" and "grep" in system.tools


def _bounded(system: System, workspace: Workspace) -> dict[str, Tool]:
    if not _ranks(system):
        return {tool.name: tool for tool in (bash_tool(workspace), read_tool(workspace))}
    engine = retriever(system.retriever, workspace.corpus, rerank=system.rerank, depth=system.rerank_depth)
    if system.boundary == "passages":
        from ..agent import grammar_of

        return passage_tools(workspace, engine, system.k, grammar_of(system.speech or DEFAULT_SPEECH).show)
    return _BOUNDED[system.boundary](workspace, engine, system.k)


def _structured(corpus: Corpus, system: System) -> AbstractContextManager[Structured | None]:
    return closing(Structured.open(corpus)) if system.documents == "structured" else nullcontext()
