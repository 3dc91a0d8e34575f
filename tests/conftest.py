"""Small corpora of known text, made by the real pipeline."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import settings

from corpuscope.corpus import Corpus, SourceSettings

MakeCorpus = Callable[..., Corpus]

# A machine that is busy elsewhere is no fault of the code: nothing here is about time.
settings.register_profile("corpuscope", deadline=None)
settings.load_profile("corpuscope")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Two for each processor where the fast tests run alone: they wait for programs and servers half of their time."""
    return 2 * (os.cpu_count() or 1) if config.option.markexpr == "not slow" else None


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


@pytest.fixture
def make_corpus(tmp_path: Path) -> Iterator[MakeCorpus]:
    """`make_corpus({"a.md": "text"}, language="english", **settings)` indexes these files as a folder."""
    made: list[Corpus] = []

    def make(
        files: Mapping[str, str | bytes], *, language: str = "english", packed: bool = False, **settings: object
    ) -> Corpus:
        number = len(made)
        source = write_files(tmp_path / f"source{number}", files)
        corpus, _ = Corpus.build(
            source,
            tmp_path / f"corpus{number}",
            SourceSettings(**settings),
            language=language,  # type: ignore[arg-type]
            packed=packed,
        )
        made.append(corpus)
        return corpus

    yield make
    for corpus in made:
        corpus.close()


@pytest.fixture(scope="session")
def django_docs() -> Path:
    """The documents of `make demo`, downloaded once for all workers."""
    root = Path(__file__).parents[1]
    (root / ".demo").mkdir(exist_ok=True)
    with (root / ".demo/lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run([sys.executable, "examples/demo.py", "--documents-only"], cwd=root, check=True)
    return root / ".demo/django-5.2.8/docs"
