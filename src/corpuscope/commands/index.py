"""`corpuscope index`."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..api import Corpus
from ..corpus import Changes, SourceSettings
from ..errors import Interrupted, SetupError, UsageError
from ..retrieve import ENGINES, LANGUAGES, MODELLED, GrepIndex, engines_of, follow_ingest, retriever
from .progress import bring_up_to_date, progress

_SHOWN = 10
"""Kinds of notes printed; `--report` has every note."""


def index_command(
    source: Path,
    into: Path,
    *,
    language: str,
    packed: bool,
    grep: bool,
    retrievers: Sequence[str],
    report: Path | None,
    as_json: bool,
    **settings: Any,
) -> None:
    if language not in LANGUAGES:
        raise UsageError(f"no stemmer for {language!r}; choose one of {', '.join(LANGUAGES)}")
    chosen = dict(_chosen(name) for name in retrievers)
    started = time.monotonic()
    try:
        with progress("reading documents") as done:
            corpus, changes = Corpus.build(
                source,
                into,
                SourceSettings(**settings),
                language=language,
                packed=packed,
                models={name: model for name, model in chosen.items() if model},
                progress=done,
                following=follow_ingest,
            )
    except KeyboardInterrupt:
        raise Interrupted("interrupted; what is done is kept, run the same command again to go on") from None
    except UsageError:
        if report and (into / "manifest.sqlite").exists():
            with Corpus.open(into) as unfinished:
                _write_report(unfinished, report)
        raise
    with corpus:
        engines = [retriever(name, corpus) for name in dict.fromkeys(["bm25", *engines_of(corpus), *chosen])]
        bring_up_to_date([*engines, *([GrepIndex(corpus)] if grep else [])])
        if report:
            _write_report(corpus, report)
        if as_json:
            print(json.dumps(_summary(corpus, changes, time.monotonic() - started), ensure_ascii=False))
        else:
            _print(corpus, changes, into, time.monotonic() - started, report)
        if not len(corpus):
            raise UsageError(f"no documents in {source}: see what was passed over with --report FILE")


def _chosen(option: str) -> tuple[str, str]:
    """(the retriever, its model) of NAME or NAME=MODEL."""
    name, _, model = option.partition("=")
    if name not in ENGINES:
        raise UsageError(f"there is no retriever {name!r}: there are {', '.join(ENGINES)}")
    if model and name not in MODELLED:
        raise UsageError(f"the retriever {name} works without a model; only {' and '.join(MODELLED)} take one")
    return name, model


def _summary(corpus: Corpus, changes: Changes, seconds: float) -> dict[str, Any]:
    counts = ("added", "changed", "removed", "renamed", "unchanged", "skipped", "altered")
    return {
        "corpus": str(corpus.root),
        "documents": len(corpus),
        "bytes": corpus.manifest.total_bytes(),
        "revision": corpus.revision,
        **{name: getattr(changes, name) for name in counts},
        "seconds": round(seconds, 3),
    }


def _print(corpus: Corpus, changes: Changes, into: Path, seconds: float, report: Path | None) -> None:
    megabytes = corpus.manifest.total_bytes() / 1e6
    print(f"{into}: {len(corpus):,} documents, {megabytes:,.1f} MB, in {seconds:.1f} s")
    parts = [f"{getattr(changes, name):,} {name}" for name in ("added", "changed", "removed", "unchanged")]
    print("  " + ", ".join(parts) + (f" ({changes.renamed:,} of them renamed)" if changes.renamed else ""))
    notes = corpus.manifest.notes_by_reason(_SHOWN + 1)
    for kind, reason, count, place in notes[:_SHOWN]:
        more = f" and {count - 1:,} more" if count > 1 else ""
        print(f"  {kind}: {_printable(place)}{more}: {_printable(reason)}")
    if (len(notes) > _SHOWN or any(note[2] > 1 for note in notes)) and not report:
        print("  --report FILE lists every one of them")
    if report:
        print(f"  skipped and altered documents: {report}")


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _write_report(corpus: Corpus, file: Path) -> None:
    try:
        with file.open("w", encoding="utf-8") as out:
            for place, kind, reason in corpus.manifest.notes():
                row = {"where": place, "what": kind, "reason": reason}
                out.write(json.dumps(row, ensure_ascii=False) + "\n")
    except OSError as error:
        raise SetupError(f"cannot write the report to {file}: {error.strerror}") from error
    sys.stdout.flush()
