"""`grep(pattern)` as the boundary: every document that matches, best first, becomes a file of W.

The sibling of `search`: what is known for sure (a name, a number, a form) says it better than words to be ranked. Through
the n-gram index it costs about as much.
"""

from __future__ import annotations

import asyncio
import shlex
import threading
import uuid
from collections.abc import Callable, Mapping
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from ...corpus import Entry
from ...errors import ToolError
from ..execute import Outcome, execute
from ..output import clean, clean_line
from ..workspace import Workspace
from .shards import matches_by_document
from .tool import Observation, Tool

PREVIEWS = 10
"""Documents shown, as `search` shows them (RISE)."""

LINES = 3
"""Matching lines shown of each."""

MAX_LINE = 240
"""Characters shown of one line."""

K1, B = 1.2, 0.75
"""Of BM25: how soon more matches stop to tell, and how much a document's length counts against it."""

CONSIDERED = 3
"""Times as many documents are looked at, by their number of matches, as can be imported."""

MATCHES = 2_000_000
"""Looked at in shards; a pattern with more of them says nothing of which documents are meant."""

DESCRIPTION = """Search the text of the whole collection for a pattern (ripgrep, regular expressions) and import every \
document that matches into the workspace, at most {k:,}, best first, where bash and read can use them. Give what is \
surely written there: a rare name, a number, a phrase, alternatives as (one|other). Patterns match within a line. Shows \
the best {previews} documents with matching lines, and how many there are."""


class ImportGrepArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")
    pattern: str = Field(
        description="A regular expression, or plain text with literal.",
        min_length=1,
        max_length=4_000,
        examples=["(Rocinante|Rozinante)"],
    )
    ignore_case: bool = Field(default=True, description="Capital and small letters are the same.")
    literal: bool = Field(default=False, description="The pattern is plain text.")
    glob: str = Field(default="", description="Only documents whose path matches, such as *.md.", examples=["*.md"])


class _Match(NamedTuple):
    entry: Entry
    matches: int


def import_grep_tool(workspace: Workspace, whole: Workspace, k: int = 1000) -> Tool:
    """The tool over one workspace; imports the best `k` of the documents that match in `whole`, which is all of the corpus."""
    lock = threading.Lock()
    seconds = workspace.sandbox.limits.seconds

    async def run(arguments: ImportGrepArguments) -> Observation:
        cancelled = threading.Event()

        def grep() -> Observation:
            found = _found_in_shards if whole.shards else _found
            total, counts = found(
                whole, arguments, k, lambda command: execute(whole.sandbox, command, seconds, cancelled)
            )
            with lock:  # parallel calls must agree on which of them brought a file
                return _imported(workspace, arguments, total, counts, k)

        try:
            return await asyncio.to_thread(grep)
        except ValueError as error:
            raise ToolError(f"{error}; type the pattern again without it") from error
        finally:
            cancelled.set()

    return Tool("grep", DESCRIPTION.format(k=k, previews=PREVIEWS), ImportGrepArguments, run)


def _rg(arguments: ImportGrepArguments, *options: str) -> list[str]:
    """No word of the model's is more than an argument of rg."""
    words = ["rg", "--with-filename", "--color=never", "--no-messages", *options]
    words += ["--ignore-case"] if arguments.ignore_case else []
    words += ["--fixed-strings"] if arguments.literal else []
    return [*words, "-e", arguments.pattern]


def _counting(arguments: ImportGrepArguments, k: int) -> str:
    """Says how many documents match, then `matches<TAB>path` of those with the most; or what is wrong with the pattern."""
    words = _rg(
        arguments,
        "--no-heading",
        "--count-matches",
        "--null",
        *([f"--glob={arguments.glob}"] if arguments.glob else []),
    )
    command = " ".join(map(shlex.quote, [*words, "."]))
    # A line ends in the count, and no path of a corpus holds a tab or a line end.
    turned = r"""sed -E 's/^\.\/(.*)\x00([0-9]+)$/\2\t\1/'"""
    return (
        f"at=$(mktemp -d) && set -o pipefail; {command} 2> $at/said | {turned} > $at/found; code=$?; "
        # Without a word said it is a document that has just left the corpus, not the pattern.
        f"if [ $code -gt 1 ] && [ -s $at/said ]; then cat $at/said; else code=0; wc -l < $at/found; "
        f"sort -k1,1nr -k2 $at/found | head -n {CONSIDERED * k}; fi; rm -r $at; exit $code"
    )


def _found(
    whole: Workspace, arguments: ImportGrepArguments, k: int, run: Callable[[str], Outcome]
) -> tuple[int, Mapping[str, int]]:
    """(how many documents match, path -> matches of those with the most)."""
    count, *rows = _said(run(_counting(arguments, k))).rstrip("\n").split("\n")
    return int(count), {path: int(number) for number, _, path in (row.partition("\t") for row in rows) if path}


def _found_in_shards(
    whole: Workspace, arguments: ImportGrepArguments, k: int, run: Callable[[str], Outcome]
) -> tuple[int, Mapping[str, int]]:
    """The same of a packed corpus, by the lines that match: sandbox and shards know nothing of documents."""
    assert whole.corpus.packs is not None
    name = f"grep-{uuid.uuid4().hex}"
    command = " ".join(map(shlex.quote, _rg(arguments, "--heading", "--line-number", "--only-matching", "--replace=")))
    try:
        _said(
            run(
                f"set -o pipefail; {command} . 2> /tmp/{name}.said | head -n {MATCHES} > /tmp/{name}; code=$?; "
                f"if [ $code -eq 2 ] && [ -s /tmp/{name}.said ]; then cat /tmp/{name}.said; exit 2; fi"
            )
        )
        with (whole.scratch / name).open("rb") as lines:
            counts = matches_by_document(whole.corpus.packs, lines, arguments.glob)
    finally:
        for left in whole.scratch.glob(f"{name}*"):
            left.unlink(missing_ok=True)
    return len(counts), dict(counts.most_common(CONSIDERED * k))


def _said(outcome: Outcome) -> str:
    """What a command printed. Raises `ToolError` for one that was stopped or failed."""
    text = outcome.output.decode(errors="replace")
    if outcome.stopped:
        raise ToolError(
            f"stopped: {outcome.stopped}; give a pattern with a longer literal in it, or search for words instead"
        )
    if outcome.exit_code:
        raise ToolError(f"{' '.join(clean(text.encode()).split())[:600]}; repair the pattern, or set literal to true")
    return text


def _imported(
    workspace: Workspace, arguments: ImportGrepArguments, total: int, counts: Mapping[str, int], k: int
) -> Observation:
    best = _ranked(workspace, counts)[:k]
    new = workspace.add(match.entry.docid for match in best)
    shown = best[:PREVIEWS]
    previews, characters = _previews(workspace, arguments, shown)
    pattern = clean_line(arguments.pattern.encode(errors="replace"))[:200]
    cut = f", the best {len(best):,} are imported" if total > len(best) else ""
    count_said = "1 document matches" if total == 1 else f"{total:,} documents match"
    head = f"{pattern}: {count_said}{cut}" if total else f"{pattern}: no document matches. Try a weaker pattern."
    data = {
        "queries": [
            {
                "query": arguments.pattern,
                "found": total,
                "top": [match.entry.docid for match in shown],
                "paths": [match.entry.path for match in shown],
                "characters": characters,
            }
        ],
        "imported": new,
        "workspace": len(workspace),
    }
    tail = f"Workspace: {len(workspace):,} files ({len(new):,} new)."
    return Observation("\n".join([head, *previews, "", tail]), data)


def _ranked(workspace: Workspace, counts: Mapping[str, int]) -> list[_Match]:
    """By matches, saturated and weighed against the document's length as BM25 weighs terms; then by path."""
    entries = workspace.corpus.manifest.by_paths(list(counts))
    found = [_Match(entry, counts[path]) for path, entry in entries.items()]
    mean = max(1.0, sum(match.entry.bytes for match in found) / max(1, len(found)))

    def weight(match: _Match) -> float:
        return match.matches / (match.matches + K1 * (1 - B + B * match.entry.bytes / mean))

    return sorted(found, key=lambda match: (-weight(match), match.entry.path))


def _previews(workspace: Workspace, arguments: ImportGrepArguments, shown: list[_Match]) -> tuple[list[str], list[int]]:
    """(the lines that show the best documents, the characters shown of each of them)."""
    if not shown:
        return [], []
    options = (
        "--no-heading",
        "--line-number",
        f"--max-count={LINES}",
        f"--max-columns={MAX_LINE}",
        "--max-columns-preview",
        "--null",
    )
    words = [*_rg(arguments, *options), "--", *(match.entry.path for match in shown)]
    outcome = execute(workspace.sandbox, " ".join(map(shlex.quote, words)), workspace.sandbox.limits.seconds)
    lines: dict[str, list[str]] = {}
    for line in outcome.output.split(b"\n"):
        path, found, text = line.partition(b"\0")
        if found:
            lines.setdefault(path.decode(), []).append(clean_line(text)[: MAX_LINE + 20])
    rows, characters = [], []
    for rank, (entry, matches) in enumerate(shown, 1):
        title = clean_line(entry.title.encode(errors="replace"))[:160]
        said = f"{matches:,} matches" if matches > 1 else "1 match"
        rows.append(
            f"{rank:>2}. {entry.path} ({workspace.lines(entry):,} lines, {said}){': ' + title if title else ''}"
        )
        rows += [f"    {line}" for line in lines.get(entry.path, [])]
        characters.append(max(map(len, lines.get(entry.path, [""]))))
    return rows, characters
