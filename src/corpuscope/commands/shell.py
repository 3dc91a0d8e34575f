"""`corpuscope shell`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from ..api import Corpus
from ..errors import UsageError
from ..retrieve import Bm25, GrepIndex, searchable
from ..structure import Structured, has_tables
from ..workspace import Limits, Workspace, bubblewrap, clean, execute, interactive_shell
from .progress import bring_up_to_date

_LIMITS = Limits(kept_bytes=Limits().output_bytes)
"""A person may pipe what a command prints: all of it is kept, not only what a model is shown."""


def shell_command(path: Path, queries: Sequence[str], *, whole: bool, command: str, k: int, sandboxed: bool) -> None:
    if whole and queries:
        raise UsageError("--whole is all of the corpus: give it or queries, not both")
    if not whole and not any(map(searchable, queries)):
        raise UsageError("the query is empty: there is no word in it to search for")
    if sandboxed:
        bubblewrap()
    with ExitStack() as stack:
        corpus = stack.enter_context(Corpus.open(path))
        workspace = _whole(corpus, stack, sandboxed) if whole else _bounded(corpus, stack, sandboxed, queries, k)
        if command:
            sys.exit(_run(workspace, command))
        print(f"{len(workspace):,} files of {len(corpus):,} in the workspace; /tmp is yours to write; exit leaves it.")
        sys.stdout.flush()
        sys.exit(interactive_shell(workspace))


def _whole(corpus: Corpus, stack: ExitStack, sandboxed: bool) -> Workspace:
    grep = GrepIndex(corpus)
    bring_up_to_date([grep] if grep.exists else [])
    return stack.enter_context(Workspace(corpus, whole=True, sandboxed=sandboxed, limits=_LIMITS))


def _bounded(corpus: Corpus, stack: ExitStack, sandboxed: bool, queries: Sequence[str], k: int) -> Workspace:
    structured = stack.enter_context(closing(Structured(corpus))) if has_tables(corpus) else None
    workspace = stack.enter_context(Workspace(corpus, structured=structured, sandboxed=sandboxed, limits=_LIMITS))
    bring_up_to_date([Bm25(corpus)])
    workspace.add(hit.docid for ranking in corpus.search(*queries, k=k) for hit in ranking)
    return workspace


def _run(workspace: Workspace, command: str) -> int:
    try:
        outcome = execute(workspace.sandbox, command, workspace.sandbox.limits.seconds)
    except ValueError as error:
        raise UsageError(str(error)) from error
    sys.stdout.write(clean(outcome.output))
    sys.stdout.flush()
    if outcome.total_bytes > len(outcome.output):
        print(f"corpuscope: only the first {len(outcome.output):,} bytes are shown", file=sys.stderr)
    if outcome.stopped:
        print(f"corpuscope: stopped: {outcome.stopped}", file=sys.stderr)
        return 124
    return outcome.exit_code if outcome.exit_code is not None and outcome.exit_code >= 0 else 1
