"""`corpuscope structure`, its statistics, and `corpuscope toc`."""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import ExitStack, closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..corpus import Corpus
from ..errors import CorpuscopeError, Interrupted, UsageError
from ..structure import Statistics, Structured
from ..workspace import clean_line
from .progress import Paying, progress

if TYPE_CHECKING:
    from ..structure import Estimate, Report

DEFAULTS = (
    ("OPENAI_API_KEY", "openai:gpt-5.4-nano"),
    ("ANTHROPIC_API_KEY", "anthropic:claude-haiku-4-5"),
)
"""Environment variable -> the model that `auto` asks when it is set; the first is the RISE paper's."""

BYTES_PER_TOKEN = 4
"""Of English text, for the tokens that tables add."""


def structure_command(
    path: Path,
    *,
    propose: str,
    base_url: str,
    batch: bool,
    max_cost: float | None,
    limit: int | None,
    yes: bool,
    as_json: bool,
) -> None:
    from ..structure import Asking, Watch, structure

    if max_cost is not None and max_cost <= 0:
        raise UsageError("--max-cost must be above zero")
    name = _model(propose, base_url)
    asking = None
    if name:
        from ..models import open_model

        everywhere = propose not in ("auto", "headings")
        asking = Asking(open_model(name, base_url), everywhere, batch, max_cost)
    elif batch or max_cost is not None:
        raise UsageError("--batch and --max-cost need a model: --propose provider:model, or a key in the environment")

    bars = ExitStack()

    def confirm(estimate: Estimate) -> bool:
        bars.close()
        print(_expected(estimate, name, batch), file=sys.stderr)
        if yes or max_cost is not None or not sys.stdin.isatty():
            return True
        return input("Go on? [y/N] ").strip().lower() in ("y", "yes")

    started = time.monotonic()
    report: Report
    with Corpus.open(path) as corpus:
        try:
            with bars, closing(Paying("waiting for batches" if batch else "asking the model")) as paid:
                done = bars.enter_context(progress("reading headings"))
                report = structure(
                    corpus, asking, limit=limit, watch=Watch(done, confirm, paid.show, paid.retry, paid.note)
                )
        except KeyboardInterrupt:
            more = "; its batches go on at the provider" if batch else ""
            raise Interrupted(f"interrupted; what is done is kept, run the same command again to go on{more}") from None
        seconds = time.monotonic() - started
        if as_json:
            print(json.dumps({"corpus": str(corpus.root), **asdict(report), "seconds": round(seconds, 3)}))
        else:
            print(_summary(corpus, report, seconds))
    if report.stopped == "max cost":
        raise CorpuscopeError(
            f"--max-cost is reached: {report.left:,} documents are left; run again with more to go on"
        )
    if report.left:
        raise CorpuscopeError(f"{report.left:,} documents are left (see above); run the same command again")


def statistics_command(path: Path, *, as_json: bool) -> None:
    with Corpus.open(path) as corpus, closing(Structured.open(corpus)) as structured:
        found, missing = structured.statistics(), structured.missing()
    if as_json:
        print(json.dumps({**_json(found), "missing": missing}))
    else:
        print(_table(found, missing))


def toc_command(path: Path, document: str, *, as_json: bool) -> None:
    with Corpus.open(path) as corpus, closing(Structured.open(corpus)) as structured:
        toc = structured.toc(document)
    if as_json:
        entries = [asdict(entry) for entry in toc.entries]
        print(json.dumps({"path": document, "inserted": toc.inserted, "entries": entries}, ensure_ascii=False))
        return
    if not toc.entries:
        print("(no sections)")
    width = max((len(f"{entry.first}-{entry.last}") for entry in toc.entries), default=0)
    for entry in toc.entries:
        lines = f"{entry.first}-{entry.last}".rjust(width)
        about = f" — {entry.description}" if entry.description else ""
        print(f"{lines}  {'  ' * entry.depth}{clean_line((entry.title + about).encode())}")


def _model(propose: str, base_url: str) -> str:
    """The model to ask; '' for none."""
    if propose == "headings":
        return ""
    if propose != "auto":
        return propose
    if base_url:
        from ..models import served_model

        return served_model(base_url)
    return next((model for key, model in DEFAULTS if os.environ.get(key)), "")


def _expected(estimate: Estimate, name: str, batch: bool) -> str:
    money = "price unknown" if estimate.dollars is None else f"about ${estimate.dollars:.4f}"
    how = "by the batch API" if batch else "directly"
    tokens = f"{estimate.input_tokens:,} tokens in, {estimate.output_tokens:,} out"
    return f"{name} for {estimate.documents:,} documents, {how}: {estimate.requests:,} requests, {tokens}, {money}"


def _summary(corpus: Corpus, report: Report, seconds: float) -> str:
    done = report.own + report.proposed + report.without
    parts = [f"{done:,} documents in {seconds:.1f} s"]
    parts.append(
        f"{report.own:,} by their headings, {report.proposed:,} by the model, {report.without:,} without sections"
    )
    if report.removed:
        parts.append(f"{report.removed:,} removed")
    if report.replies:
        money = "price unknown" if report.unpriced else f"${report.dollars:.4f}"
        parts.append(
            f"{report.replies:,} replies, {report.input_tokens:,} tokens in, {report.output_tokens:,} out, {money}"
        )
    if report.stopped == "not confirmed":
        parts.append("the model was not asked")
    return "\n  ".join([f"{corpus.root}: {parts[0]}", *parts[1:]])


def _json(found: Statistics) -> dict[str, Any]:
    values = asdict(found)
    values["costs"] = [cost._asdict() for cost in found.costs]
    values["entries_per_document"] = round(found.entries / max(1, found.with_entries), 2)
    values["added_tokens_per_document"] = round(found.added / BYTES_PER_TOKEN / max(1, found.documents), 1)
    values["dollars"] = round(found.dollars, 6)
    return values


def _table(found: Statistics, missing: int) -> str:
    share = found.with_entries / max(1, found.documents)
    located = (found.exact + found.normalised) / max(1, found.proposed)
    rows = [
        (
            "documents",
            f"{found.documents:,} of {found.corpus:,}" + (f", {missing:,} new or changed since" if missing else ""),
        ),
        ("with a table", f"{found.with_entries:,} ({share:.1%})"),
        *((f"  by {proposer}", f"{count:,}") for proposer, count in found.proposers.items()),
        *((f"  without: {reason}", f"{count:,}") for reason, count in found.fallbacks.items()),
        ("entries a document", f"{found.entries / max(1, found.with_entries):.1f}"),
        ("tokens added a document", f"about {found.added / BYTES_PER_TOKEN / max(1, found.documents):,.0f}"),
    ]
    if found.proposed or found.malformed or found.costs:
        rows += [
            ("anchors proposed", f"{found.proposed:,}, {located:.1%} located"),
            ("  exact", f"{found.exact:,}"),
            ("  normalised", f"{found.normalised:,}"),
            ("  lost", f"{found.lost:,}"),
            ("malformed replies", f"{found.malformed:,}"),
        ]
    for cost in found.costs:
        money = f"${cost.dollars:.4f}" + (f" and {cost.unpriced:,} of unknown price" if cost.unpriced else "")
        tokens = f"{cost.input_tokens:,} tokens in, {cost.output_tokens:,} out"
        rows.append((f"cost of {cost.model}", f"{cost.requests:,} replies, {tokens}, {money}"))
    width = max(len(name) for name, _ in rows) + 2
    return "\n".join(f"{name:<{width}}{text}" for name, text in rows)
