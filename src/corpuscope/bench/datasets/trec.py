"""TREC topics and qrels, and BEIR's folder of both."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ...errors import UsageError
from ..question import Dataset, Question, made
from .rows import read_rows

Grades = dict[str, dict[str, int]]
"""query_id -> docid -> grade."""


def trec_dataset(topics: Path, qrels: Path) -> Dataset:
    """Topics as `id<TAB>query` lines or TREC's SGML, with a qrels file."""
    return _judged(topics.stem, dict(_topics(topics)), read_qrels(qrels))


def beir_dataset(folder: Path, split: str = "test") -> Dataset:
    """`queries.jsonl` and `qrels/SPLIT.tsv`."""
    judgements = folder / "qrels" / f"{split}.tsv"
    topics: dict[str, str] = {}
    for number, row in enumerate(read_rows(folder / "queries.jsonl"), 1):
        if "_id" not in row or "text" not in row:
            raise UsageError(f"{folder / 'queries.jsonl'}, row {number}: BEIR has the fields _id and text")
        if str(row["_id"]) in topics:
            raise UsageError(f"{folder}: two questions have the id {row['_id']}")
        topics[str(row["_id"])] = str(row["text"])
    grades = read_qrels(judgements)
    asked = {query_id: text for query_id, text in topics.items() if query_id in grades}
    return _judged(folder.name, asked or topics, grades)


def read_qrels(file: Path) -> Grades:
    """Four columns (TREC) or three with a header (BEIR). Raises `UsageError` for a line that is neither."""
    grades: Grades = {}
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the qrels {file} ({error})") from error
    for number, line in enumerate(lines, 1):
        parts = line.split()
        if not parts or (number == 1 and not parts[-1].lstrip("-").isdigit()):
            continue
        try:
            query_id, docid, grade = (
                (parts[0], parts[2], parts[3]) if len(parts) == 4 else (parts[0], parts[1], parts[2])
            )
            grades.setdefault(query_id, {})[docid] = int(grade)
        except (IndexError, ValueError) as error:
            raise UsageError(f"{file}, line {number}: not a judgement (query, 0, document, grade)") from error
    return grades


def _judged(name: str, topics: dict[str, str], grades: Grades) -> Dataset:
    problems = []
    if nowhere := sorted(set(grades) - set(topics)):
        problems.append(f"{len(nowhere)} judged topics are not asked ({', '.join(nowhere[:3])} ...)")
    questions = []
    for query_id, query in topics.items():
        judged = grades.get(query_id, {})
        relevant = tuple(docid for docid, grade in judged.items() if grade > 0)
        questions.append(Question(query_id=query_id, query=query, gold=relevant, grades=judged))
    if unjudged := [question.query_id for question in questions if not question.grades]:
        problems.append(
            f"{len(unjudged)} topics have no judgement and are counted apart ({', '.join(unjudged[:3])} ...)"
        )
    return made(name, questions, "ranking", problems=problems)


def _topics(file: Path) -> Iterator[tuple[str, str]]:
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the topics {file} ({error})") from error
    found = list(_sgml(text) if "<top>" in text.lower() else _lines(text, file))
    seen: set[str] = set()
    for query_id, query in found:
        if query_id in seen:
            raise UsageError(f"{file}: two topics have the id {query_id}")
        seen.add(query_id)
        yield query_id, query


def _lines(text: str, file: Path) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        query_id, tab, query = line.partition("\t")
        if not tab or not query.strip():
            raise UsageError(f"{file}, line {number}: not a topic (an id, a tab, a query)")
        yield query_id.strip(), query.strip()


def _sgml(text: str) -> Iterator[tuple[str, str]]:
    for topic in re.findall(r"<top>(.*?)</top>", text, re.DOTALL | re.IGNORECASE):
        number = re.search(r"<num>\s*(?:number:)?\s*([^\s<]+)", topic, re.IGNORECASE)
        title = re.search(r"<title>\s*(?:topic:)?\s*([^<]+)", topic, re.IGNORECASE)
        if number and title:
            yield number[1], " ".join(title[1].split())
