"""Every benchmark by its name: what it is, where its questions come from, and which corpus they are asked of."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Literal

from ...errors import SetupError, UsageError
from ..question import Dataset
from .browsecomp_plus import browsecomp_plus
from .rows import rows_dataset
from .trec import beir_dataset, trec_dataset


@dataclass(frozen=True, slots=True)
class Known:
    """`hub` is `repository:pattern` of a dataset repository; `corpus` says what to index for it."""

    description: str
    task: Literal["answer", "ranking"]
    corpus: str
    hub: str = ""
    read: Callable[[Sequence[Path], str], Dataset] = lambda files, canary: rows_dataset(files[0])


def _dci(folder: str, description: str, task: Literal["answer", "ranking"], corpus: str) -> Known:
    return Known(description, task, corpus, f"DCI-Agent/dci-bench:data/{folder}/*.jsonl")


_WIKIPEDIA = "Wikipedia-18 in passages of 100 words (21 million)"

KNOWN: dict[str, Known] = {
    "django-hops": Known(
        "Multi-hop questions over the documentation of Django 5.2.8, with evidence lines; ours, free to use.",
        "answer", "the docs folder of Django 5.2.8's source (make demo downloads it)",
    ),
    "browsecomp-plus": Known(
        "830 hard questions over a fixed web corpus, gold and evidence documents (Chen et al., 2025).",
        "answer", "Tevatron/browsecomp-plus-corpus on the Hub (100,195 documents)",
        "Tevatron/browsecomp-plus:data/*.parquet", browsecomp_plus,
    ),
    "nq": _dci("nq", "Natural Questions, the sample of 50 of the DCI bench.", "answer", _WIKIPEDIA),
    "triviaqa": _dci("triviaqa", "TriviaQA, the sample of 50 of the DCI bench.", "answer", _WIKIPEDIA),
    "bamboogle": _dci("bamboogle", "Bamboogle, of the DCI bench.", "answer", _WIKIPEDIA),
    "hotpotqa": _dci("hotpotqa", "HotpotQA, the sample of 50 of the DCI bench.", "answer", _WIKIPEDIA),
    "2wiki": _dci("2wikimultihopqa", "2WikiMultihopQA, the sample of 50 of the DCI bench.", "answer", _WIKIPEDIA),
    "musique": _dci("musique", "MuSiQue, the sample of 50 of the DCI bench.", "answer", _WIKIPEDIA),
    "bright-biology": _dci("bright_biology", "BRIGHT, biology.", "ranking", "BRIGHT's biology documents"),
    "bright-earth-science": _dci("bright_earth_science", "BRIGHT, earth science.", "ranking", "BRIGHT's earth science documents"),
    "bright-economics": _dci("bright_economics", "BRIGHT, economics.", "ranking", "BRIGHT's economics documents"),
    "bright-robotics": _dci("bright_robotics", "BRIGHT, robotics.", "ranking", "BRIGHT's robotics documents"),
    "arguana": Known(
        "BEIR's ArguAna: the counter-argument to an argument.", "ranking", "the corpus.jsonl of BEIR/arguana",
        "BeIR/arguana:*", lambda files, canary: beir_dataset(_folder(files)),
    ),
    "scifact": Known(
        "BEIR's SciFact: abstracts that bear on a claim.", "ranking", "the corpus.jsonl of BEIR/scifact",
        "BeIR/scifact:*", lambda files, canary: beir_dataset(_folder(files)),
    ),
}  # fmt: skip


def load_dataset(name: str, *, canary: str = "", qrels: Path | None = None, ids: Path | None = None) -> Dataset:
    """A benchmark by its name, or a path: a `.jsonl` or `.parquet` file, a BEIR folder, TREC topics with `qrels`.

    `ids` names the questions to ask, one a line or as JSON (RISE's fixed hundred). Raises `UsageError` for what is not there or
    cannot be read, `SetupError` where a package or the network is missing.
    """
    dataset = _known(name, canary) if name in KNOWN else _at(Path(name), canary, qrels)
    return replace(
        dataset.only(_ids(ids)) if ids else dataset,
        source=name if name in KNOWN else str(Path(name).absolute()),
        qrels=str(qrels.absolute()) if qrels else "",
        ids=str(ids.absolute()) if ids else "",
    )


def _known(name: str, canary: str) -> Dataset:
    known = KNOWN[name]
    if not known.hub:
        with resources.as_file(resources.files(__package__) / f"{name}.jsonl") as file:
            return rows_dataset(file)
    found = known.read(_downloaded(name, known.hub), canary)
    return replace(found, name=name, task=known.task)


def _at(path: Path, canary: str, qrels: Path | None) -> Dataset:
    if not path.exists():
        raise UsageError(
            f"no dataset {path}: there are {', '.join(KNOWN)}, or give a .jsonl, .parquet, BEIR folder or topics file"
        )
    if qrels:
        return trec_dataset(path, qrels)
    if path.is_dir():
        if (path / "queries.jsonl").exists():
            return beir_dataset(path)
        if files := sorted(path.glob("*.parquet")):
            return browsecomp_plus(files, canary)
        raise UsageError(f"{path} is no BEIR folder (queries.jsonl, qrels/test.tsv) and has no .parquet files")
    if path.suffix == ".parquet" and canary:
        return browsecomp_plus([path], canary)
    if path.suffix not in (".jsonl", ".parquet"):
        raise UsageError(f"{path}: topics need their judgements, --qrels FILE")
    return rows_dataset(path)


def _downloaded(name: str, hub: str) -> list[Path]:
    """The files of a dataset repository, from the local cache where they are there already."""
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError
    except ImportError as error:
        raise SetupError(f"{name} is on the Hugging Face Hub: pip install 'corpuscope[bench]'") from error
    repository, _, pattern = hub.partition(":")
    try:
        folder = snapshot_download(repository, repo_type="dataset", allow_patterns=[pattern])
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        why = " ".join(str(error).split())[:200]
        raise SetupError(
            f"cannot get {repository} from the Hub ({why}); log in, or give its files by their path"
        ) from error
    files = sorted(file for file in Path(folder).glob(pattern) if file.is_file())
    if not files:
        raise SetupError(f"{repository} has no {pattern}")
    return files


def _folder(files: Sequence[Path]) -> Path:
    return next((file.parent for file in files if file.name == "queries.jsonl"), files[0].parent)


def _ids(file: Path) -> list[str]:
    """A JSON list, JSON objects with a `query_id` a line, or plain ids."""
    try:
        text = file.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {file} ({error})") from error
    try:
        if text.startswith("["):
            return [str(item["query_id"] if isinstance(item, dict) else item) for item in json.loads(text)]
        return [
            str(json.loads(line)["query_id"]) if line.startswith("{") else line.strip()
            for line in text.splitlines()
            if line.strip()
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{file} is no list of question ids ({error})") from error
