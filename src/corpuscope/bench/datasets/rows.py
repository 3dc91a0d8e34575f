"""Questions as rows of a JSONL or Parquet file, under the names that benchmarks give their fields."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ...errors import SetupError, UsageError
from ..question import Dataset, Evidence, Question, made

ID = ("query_id", "id", "_id", "qid", "question_id")
QUERY = ("query", "question", "text")
ANSWERS = ("answer", "answers", "golden_answers")
GOLD = ("gold_doc_ids", "gold_docs", "gold_ids", "gold", "supporting_docids")
EVIDENCE_DOCUMENTS = ("evidence_docs", "evidence_doc_ids", "supporting")


def rows_dataset(file: Path) -> Dataset:
    """A `.jsonl` or `.parquet` file of `query_id, query, answer?, gold_doc_ids?, evidence?`; without any answer it is a ranking
    task."""
    questions = [question_of(row, f"{file}, row {number}") for number, row in enumerate(read_rows(file), 1)]
    task = "answer" if any(question.answers for question in questions) else "ranking"
    return made(file.stem, questions, task)  # type: ignore[arg-type]


def read_rows(file: Path) -> Iterator[dict[str, Any]]:
    """Raises `UsageError` for what cannot be read, with the line."""
    if file.suffix == ".parquet":
        yield from _parquet(file)
        return
    try:
        with file.open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    row = json.loads(line)
                    if not isinstance(row, dict):
                        raise UsageError(f"{file}, line {number}, is not a JSON object")
                    yield row
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {file} ({error})") from error
    except json.JSONDecodeError as error:
        raise UsageError(f"{file}, line {number}, is not JSON ({error.msg})") from error


def question_of(row: Mapping[str, Any], where: str) -> Question:
    """Raises `UsageError` naming the field that is missing or of the wrong kind."""
    query_id, query = _field(row, ID), _field(row, QUERY)
    if query is None or not isinstance(query, str):
        raise UsageError(f"{where}: no question in any of the fields {', '.join(QUERY)}")
    if query_id is None:
        raise UsageError(f"{where}: no id in any of the fields {', '.join(ID)}")
    try:
        return Question(
            query_id=str(query_id),
            query=query,
            answers=tuple(_texts(_field(row, ANSWERS))),
            gold=tuple(_docids(_field(row, GOLD))),
            supporting=tuple(_docids(_field(row, EVIDENCE_DOCUMENTS))),
            evidence=tuple(Evidence.model_validate(value) for value in _evidence(row.get("evidence"))),
            kind=str(row.get("kind") or ""),
            derived=bool(row.get("derived")),
        )
    except ValueError as error:
        raise UsageError(f"{where}: {' '.join(str(error).split())[:200]}") from error


def _field(row: Mapping[str, Any], names: Iterable[str]) -> Any:
    return next((row[name] for name in names if row.get(name) is not None), None)


def _texts(value: Any) -> list[str]:
    if value is None:
        return []
    return [str(text) for text in value] if isinstance(value, list | tuple) else [str(value)]


def _docids(value: Any) -> list[str]:
    """Ids, or documents with an id."""
    values = value if isinstance(value, list | tuple) else [] if value is None else [value]
    return list(dict.fromkeys(str(v["docid"] if isinstance(v, Mapping) and "docid" in v else v) for v in values))


def _evidence(value: Any) -> list[Any]:
    """`{docid, first, last, keys?}`, or `docid:first-last`."""
    found = []
    for item in value if isinstance(value, list | tuple) else []:
        if isinstance(item, str):
            docid, _, lines = item.rpartition(":")
            first, _, last = lines.partition("-")
            if not docid or not first.isdigit():
                continue  # prose: what else benchmarks call evidence
            item = {"docid": docid, "first": int(first), "last": int(last or first)}
        found.append(item)
    return found


def _parquet(file: Path) -> Iterator[dict[str, Any]]:
    try:
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise SetupError("Parquet needs a package: pip install 'corpuscope[bench]'") from error
    try:
        for batch in parquet.ParquetFile(file).iter_batches(64):
            yield from batch.to_pylist()
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {file} ({' '.join(str(error).split())[:200]})") from error
