"""A run as rows, one a question: what came of it, what it cost, and every measure that applies."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic_ai.messages import ModelResponse, ToolReturnPart

from ..agent import PLACEHOLDER, POLICIES, Event, Result, Spent, read_events, replay
from ..corpus import Corpus
from ..systems import Run
from .gold import candidates, gold_documents, surfaced
from .judging import Judgement
from .metrics import (
    calibration_error,
    citation_scores,
    coverage,
    exact_match,
    localization,
    ranking_scores,
    token_f1,
)
from .question import Dataset, Question

Row = dict[str, Any]
"""Plain values; a measure that does not apply is None. `correct` is None where nobody has judged."""


def results_of(run: Run, dataset: Dataset) -> dict[str, Result]:
    """query_id -> result, of the questions that have one."""
    found = {question.query_id: run.result(question.query_id) for question in dataset.questions}
    return {query_id: result for query_id, result in found.items() if result}


def evaluate(run: Run, dataset: Dataset, corpus: Corpus, judgements: Mapping[str, Judgement]) -> list[Row]:
    """One row for every question of the dataset, in its order."""
    results = results_of(run, dataset)
    rows = outcomes(run, dataset, results, judgements)
    add_ranking_measures(run, dataset, results, rows)
    for question, row in zip(dataset.questions, rows, strict=True):
        if question.query_id in results:
            row |= surfacing(run, question, corpus, list(read_events(run.events(question.query_id))))
    return rows


def outcomes(
    run: Run, dataset: Dataset, results: Mapping[str, Result], judgements: Mapping[str, Judgement]
) -> list[Row]:
    """The rows as far as results and judgements tell: no corpus and no event is looked at."""
    return [
        _outcome(run, question, results.get(question.query_id), judgements.get(question.query_id))
        for question in dataset.questions
    ]


def add_ranking_measures(run: Run, dataset: Dataset, results: Mapping[str, Result], rows: Sequence[Row]) -> None:
    """nDCG and recall, into the rows of a ranking task. Raises `SetupError` without the package that measures them."""
    if run.settings.task != "ranking":
        return
    rankings = {
        query_id: [ranked.docid or ranked.path for ranked in result.answer.ranking]
        for query_id, result in results.items()
        if result.answer
    }
    grades = {q.query_id: q.grades or dict.fromkeys(q.supporting or q.gold, 1) for q in dataset.questions}
    scores = ranking_scores(rankings, grades)
    for row in rows:
        row.update(scores.get(row["query_id"], {}))


def _outcome(run: Run, question: Question, result: Result | None, judgement: Judgement | None) -> Row:
    row: Row = {"query_id": question.query_id, "kind": question.kind, "hops": question.hops}
    if result is None:
        return row | {"stop_reason": "missing", "answered": False, "correct": None}
    answer = result.answer
    asked = bool(question.answers) and run.settings.task == "answer"
    judgement = judgement if asked else None  # a ranking is measured against the qrels, not judged
    correct: bool | None = judgement.correct if judgement else None
    if answer is None and not result.stop_reason.resumable and asked:
        correct = False  # no answer is none that is right; nobody has to judge that
    confidence = (
        judgement.confidence if judgement and judgement.confidence is not None else answer and answer.confidence
    )
    row |= {
        "stop_reason": result.stop_reason.value, "answered": answer is not None, "correct": correct,
        "unjudged": judgement.unjudged if judgement else "", "confidence": confidence,
    }  # fmt: skip
    if asked:
        given = str(answer) if answer else ""
        row |= {"exact_match": float(exact_match(given, question.answers)), "f1": token_f1(given, question.answers)}
        cited = {citation.docid for citation in answer.citations if citation.docid} if answer else set()
        row |= citation_scores(cited, question.supporting or question.gold)
    return row | usage(result.spent)


def usage(spent: Spent) -> Row:
    """What it took."""
    return {
        "model_calls": spent.model_calls, "tool_calls": spent.tool_calls, "seconds": round(spent.seconds, 3),
        "input_tokens": spent.input_tokens, "cached_tokens": spent.cached_tokens, "output_tokens": spent.output_tokens,
        "sent_characters": spent.sent_characters, "prefix_characters": spent.prefix_characters, "dollars": spent.dollars,
    }  # fmt: skip


def surfacing(run: Run, question: Question, corpus: Corpus, events: Sequence[Event]) -> Row:
    """Coverage and localization over all documents that the way to the answer needs, and when the first of them was seen."""
    gold = gold_documents(question, corpus)
    wanted = question.supporting or question.gold
    if not wanted:
        return {}
    seen = [s for s in surfaced(events, gold) if s.docid in wanted]
    row: Row = dict(coverage({s.docid for s in seen}, wanted))
    row["localization"] = localization(seen, {g.docid: len(g.text) for g in gold})
    ranked = candidates(events)
    if ranked is not None and question.gold:
        row["gold_R"] = coverage(ranked & set(question.gold), question.gold)["coverage_mean"]
    row["first_gold_call"] = seen[0].call if seen else None
    retained = _retained(run, events)
    if retained is not None:
        kept = {s.docid for s in surfaced(retained, gold)}
        row["retained_coverage"] = coverage(kept, wanted)["coverage_mean"]
    files = [event["data"]["workspace"] for event in events if event["type"] == "tool" and "workspace" in event["data"]]
    row["workspace_files"] = files[-1] if files else 0
    return row


def _retained(run: Run, events: Sequence[Event]) -> list[Event] | None:
    """The observations as they stood before the model in its last request; None where a harness decided that."""
    settings = run.settings
    if settings.system.harness or not events:
        return None
    past = replay(iter(events), settings.system.system_prompt(settings.task), str(events[0]["question"]))
    replies = [i for i, message in enumerate(past.messages) if isinstance(message, ModelResponse)]
    before = past.messages[: replies[-1]] if replies else past.messages
    kept = POLICIES[settings.system.context](before, past.pressure).messages
    texts = {
        part.tool_call_id: str(part.content)
        for message in kept
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    }
    return [
        {**event, "text": texts[event["id"]]}
        for event in events
        if event["type"] == "tool" and texts.get(event["id"], PLACEHOLDER) != PLACEHOLDER
    ]


MEANS = (
    "exact_match", "f1", "coverage_any", "coverage_mean", "coverage_all", "gold_R", "retained_coverage", "localization",
    "citation_precision", "citation_recall", "nDCG@10", "R@20", "model_calls", "tool_calls", "seconds", "dollars",
)  # fmt: skip
"""Measures of which the mean over questions is reported, each over those it applies to."""


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """A run in one row. Accuracy counts questions without an answer as wrong and leaves unjudged ones out."""
    judged = [row for row in rows if row["correct"] is not None]
    right = sum(bool(row["correct"]) for row in judged)
    whole: dict[str, Any] = {
        "questions": len(rows),
        "answered": sum(row["answered"] for row in rows),
        "judged": len(judged),
        "unjudged": sum("exact_match" in row and row["answered"] and row["correct"] is None for row in rows),
        "correct": right,
        "accuracy": right / len(judged) if judged else None,
        "no_answer": sum(not row["answered"] and row["stop_reason"] != "missing" for row in rows),
        "missing": sum(row["stop_reason"] == "missing" for row in rows),
        "stop_reasons": _counted(row["stop_reason"] for row in rows),
    }
    for name in MEANS:
        values = [row[name] for row in rows if row.get(name) is not None]
        whole[name] = math.fsum(values) / len(values) if values else None
    confident = [row for row in judged if row.get("confidence") is not None and row["answered"]]
    whole["calibration_error"] = calibration_error(
        [row["confidence"] for row in confident], [bool(row["correct"]) for row in confident]
    )
    return whole | _money(rows, right)


def _money(rows: Sequence[Row], right: int) -> dict[str, Any]:
    known = [row["dollars"] for row in rows if row.get("dollars") is not None]
    total = math.fsum(known)
    tokens, cached = (sum(row.get(name) or 0 for row in rows) for name in ("input_tokens", "cached_tokens"))
    return {
        "total_dollars": total if len(known) == sum("dollars" in row for row in rows) else None,
        "dollars_per_correct": total / right if right and known else None,
        "input_tokens": tokens,
        "output_tokens": sum(row.get("output_tokens") or 0 for row in rows),
        "cached_share": cached / tokens if tokens else None,
    }


def _counted(values: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    return dict(sorted(counts.items(), key=lambda pair: -pair[1]))
