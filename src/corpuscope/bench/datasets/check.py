"""Whether a benchmark is what it says: its documents are in the corpus, its evidence stands where it says, and no shortcut leads
to an answer."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...corpus import Corpus
from ..question import Dataset, Question


def check(dataset: Dataset, corpus: Corpus) -> list[str]:
    """What is wrong, one line each; empty when all is right.

    Every gold and supporting document exists. Every evidence line exists and holds its keys. The answer stands in the evidence of a
    gold document, unless it is derived, or a choice that the question offers. For a question with evidence in several documents, no
    single document of the corpus has the keys of all of it.
    """
    problems = list(dataset.problems)
    for question in dataset.questions:
        problems += [f"{question.query_id}: {problem}" for problem in _documents(question, corpus)]
        problems += [f"{question.query_id}: {problem}" for problem in _evidence(question, corpus)]
    problems += _shortcuts(dataset, corpus)
    return problems


def nowhere(dataset: Dataset, corpus: Corpus) -> list[str]:
    """One line that names gold documents which the corpus does not have, and so no system can find; else nothing."""
    named = dict.fromkeys(docid for q in dataset.questions for docid in (*q.gold, *q.supporting))
    there = corpus.manifest.find(named)
    lost = [docid for docid in named if docid not in there]
    if not lost:
        return []
    gone = set(lost)
    questions = sum(not gone.isdisjoint((*q.gold, *q.supporting)) for q in dataset.questions)
    examples = ", ".join(lost[:3]) + (" ..." if len(lost) > 3 else "")
    return [f"{len(lost)} gold documents of {questions} questions are not in the corpus ({examples})"]


def folded(text: str) -> str:
    """White space and case aside."""
    return " ".join(text.split()).lower()


def _documents(question: Question, corpus: Corpus) -> Iterator[str]:
    named = dict.fromkeys((*question.gold, *question.supporting, *(e.docid for e in question.evidence)))
    there = corpus.manifest.find(named)
    for docid in named:
        if docid not in there:
            yield f"no document {docid} in the corpus"


def _evidence(question: Question, corpus: Corpus) -> Iterator[str]:
    entries = corpus.manifest.find({evidence.docid for evidence in question.evidence})
    told = []
    for evidence in question.evidence:
        entry = entries.get(evidence.docid)
        if entry is None:
            continue
        where = f"{evidence.docid}:{evidence.first}-{evidence.last}"
        if not 1 <= evidence.first <= evidence.last <= entry.lines:
            yield f"{where} is no range of its {entry.lines} lines"
            continue
        lines = corpus.store.read(entry.path).decode().split("\n")[evidence.first - 1 : evidence.last]
        text = folded(" ".join(lines))
        told.append((evidence.docid, text))
        for key in evidence.keys:
            if folded(key) not in text:
                yield f"{where} does not hold {key!r}"
    if question.evidence and question.answers and not question.derived and not _answered(question, told):
        yield f"the answer {question.answers[0]!r} stands in no evidence of a gold document"


def _answered(question: Question, told: list[tuple[str, str]]) -> bool:
    asked = folded(question.query)
    for answer in map(folded, question.answers):
        if re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", asked):
            return True  # a choice, which no line needs to spell out
        if any(answer in text for docid, text in told if docid in question.gold):
            return True
    return False


def _shortcuts(dataset: Dataset, corpus: Corpus) -> list[str]:
    """Documents that have the keys of all evidence of a question whose evidence stands in several: one pass over the corpus."""
    hops = {
        question.query_id: [[folded(key) for key in evidence.keys] for evidence in question.evidence]
        for question in dataset.questions
        if len({evidence.docid for evidence in question.evidence}) > 1
    }
    found = [
        f"{question.query_id}: the evidence of a hop has no keys"
        for question in dataset.questions
        if any(not keys for keys in hops.get(question.query_id, []))
    ]
    for entry in corpus.manifest.entries():
        text = folded(corpus.store.read(entry.path).decode())
        for query_id, needed in hops.items():
            if needed and all(keys and all(key in text for key in keys) for keys in needed):
                found.append(f"{query_id}: {entry.docid} alone tells all of its hops")
    return found
