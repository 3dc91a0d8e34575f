"""`corpuscope doctor`: what works here, what does not, and what to do about it."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from ..agent import default_model
from ..corpus import Corpus
from ..errors import CorpuscopeError
from ..retrieve import GrepIndex, engines_of, retriever
from ..structure import Structured, has_tables
from ..workspace import bubblewrap, front, ripgrep
from .progress import progress

_KEYS = (
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "OPENROUTER_API_KEY",
    "GROQ_API_KEY",
    "MISTRAL_API_KEY",
)
_EXTRAS = {"bm25s": "bm25s", "markitdown": "convert", "pyarrow": "parquet"}


class Check(NamedTuple):
    """`state` is ok, note (works, but) or bad."""

    name: str
    state: str
    text: str


def doctor_command(path: Path | None, *, verify: bool, as_json: bool) -> None:
    checks = [*_machine(), *(_corpus(path, verify) if path else ())]
    if as_json:
        print(json.dumps([check._asdict() for check in checks], ensure_ascii=False))
    else:
        for check in checks:
            print(f"{check.state:<5} {check.name}: {check.text}")
    if any(check.state == "bad" for check in checks):
        sys.exit(1)


def _machine() -> Iterator[Check]:
    yield Check("python", "ok", sys.version.split()[0])
    yield _tried("sandbox", lambda: f"{_version(bubblewrap())} at {bubblewrap()}")
    yield _tried("ripgrep", lambda: f"{_version(ripgrep())} at {ripgrep()}")
    keys = [key for key in _KEYS if os.environ.get(key)]
    if keys:
        yield Check("keys", "ok", f"{', '.join(keys)}; ask uses {default_model()} unless told otherwise")
    else:
        yield Check("keys", "note", "none set: ask uses the scout; set OPENAI_API_KEY or another, or pass --base-url")
    for module, extra in _EXTRAS.items():
        installed = importlib.util.find_spec(module) is not None
        text = "installed" if installed else f"not installed: pip install 'corpuscope[{extra}]' when you need it"
        yield Check(f"extra {extra}", "ok" if installed else "note", text)


def _corpus(path: Path, verify: bool) -> Iterator[Check]:
    try:
        corpus = Corpus.open(path)
    except CorpuscopeError as error:
        yield Check("corpus", "bad", str(error))
        return
    with corpus:
        source = corpus.config.get("source")
        yield Check("corpus", "ok", f"{len(corpus):,} documents from {source}, revision {corpus.revision}")
        again = f"run: corpuscope index {source} --into {path}"
        if not corpus.finished:
            yield Check("index", "bad", f"the last index run was cut off or met bad rows; {again}")
        else:
            yield from _engines(corpus, again)
        yield _grep(corpus, again)
        if has_tables(corpus):
            yield _tables(corpus)
        if not os.access(corpus.root, os.W_OK):
            yield Check("workspaces", "note", "the corpus is read-only here: documents are copied, not linked")
        if verify:
            with progress("reading documents") as done:
                damaged = list(corpus.verify(done))
            shown = "; ".join(f"{damage.path}: {damage.reason}" for damage in damaged[:5])
            text = f"{len(damaged):,} documents are damaged ({shown}); index into a new folder"
            yield Check("documents", "bad", text) if damaged else Check("documents", "ok", "all as they were indexed")


def _engines(corpus: Corpus, again: str) -> Iterator[Check]:
    for name in engines_of(corpus) or ["bm25"]:
        title = "index" if name == "bm25" else f"index {name}"
        try:
            fresh = retriever(name, corpus).fresh
        except CorpuscopeError as error:
            yield Check(title, "note", str(error))
            continue
        behind = f"behind the manifest; the next search catches up, or {again}"
        yield Check(title, "ok" if fresh else "note", "up to date with the manifest" if fresh else behind)


def _grep(corpus: Corpus, again: str) -> Check:
    index = GrepIndex(corpus)
    if not index.exists:
        return Check("indexed grep", "note", f"none: rg and grep -r read the whole corpus; to make one, {again}")
    if not front():
        return Check(
            "indexed grep", "note", "not used: this installation came without its program; pip install corpuscope"
        )
    if not index.fresh:
        return Check("indexed grep", "note", f"behind the manifest: DCI systems catch up, or {again}")
    return Check("indexed grep", "ok", "up to date with the manifest")


def _tables(corpus: Corpus) -> Check:
    with closing(Structured(corpus)) as structured:
        missing = structured.missing() if structured.behind else 0
    if missing:
        return Check(
            "tables",
            "note",
            f"{missing:,} documents have none of their present text: corpuscope structure {corpus.root}",
        )
    return Check("tables", "ok", "every document has its table of contents")


def _tried(name: str, look: object) -> Check:
    assert callable(look)
    try:
        return Check(name, "ok", look())
    except CorpuscopeError as error:
        return Check(name, "bad", str(error))


def _version(program: str) -> str:
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    return done.stdout.split("\n")[0].strip()
