"""Runs in the forms that others evaluate: BrowseComp-Plus's folder of JSON files, and TREC's run file."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from ..agent import Event, Result, read_events
from ..corpus import write_whole
from ..errors import SetupError
from ..systems import Run, folder_name
from .question import Dataset, Question


def export_browsecomp_plus(run: Run, dataset: Dataset, folder: Path) -> int:
    """One `run_QUERYID.json` for each finished question, as its evaluation script and leaderboard want them; returns how many.

    Citations become docids in brackets: that script looks for nothing else.
    """
    count = 0
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for question in dataset.questions:
            if result := run.result(question.query_id):
                events = list(read_events(run.events(question.query_id)))
                record = _browsecomp_record(run, question, result, events)
                write_whole(
                    folder / f"run_{folder_name(question.query_id)}.json",
                    json.dumps(record, ensure_ascii=False, indent=1),
                )
                count += 1
    except OSError as error:
        raise SetupError(f"cannot write to {folder} ({error.strerror})") from error
    return count


def _browsecomp_record(run: Run, question: Question, result: Result, events: list[Event]) -> dict[str, Any]:
    settings, spent = run.settings, result.spent
    called = [event for event in events if event["type"] == "tool"]
    steps: list[dict[str, Any]] = [
        {"type": "tool_call", "tool_name": event["name"], "arguments": event["arguments"], "output": event["text"]}
        for event in called
    ]
    if result.answer:
        steps.append({"type": "output_text", "tool_name": None, "arguments": None, "output": _with_docids(result)})
    return {
        "metadata": {"model": settings.model, "system": settings.system.name, "corpuscope": settings.version},
        "query_id": question.query_id,
        "tool_call_counts": dict(Counter(event["name"] for event in called)),
        "usage": {
            "input_tokens": spent.input_tokens, "input_tokens_cached": spent.cached_tokens,
            "output_tokens": spent.output_tokens, "included_reasoning_tokens": spent.reasoning_tokens,
            "total_tokens": spent.input_tokens + spent.output_tokens,
        },
        "status": "completed" if result.answer else result.stop_reason.value,
        "retrieved_docids": _retrieved(called),
        "result": steps,
    }  # fmt: skip


def _retrieved(called: list[Event]) -> list[str]:
    """Documents shown by a search or opened, each once, in the order in which they came."""
    found: dict[str, None] = {}
    for event in called:
        data = event["data"]
        for query in data.get("queries", []):
            found.update(dict.fromkeys(query["top"]))
        if data.get("docid"):
            found[str(data["docid"])] = None
    return list(found)


def _with_docids(result: Result) -> str:
    assert result.answer
    answer = result.answer
    explanation = answer.explanation
    for citation in answer.citations:
        if citation.docid:
            explanation = explanation.replace(f"[{citation}]", f"[{citation.docid}]")
    confidence = f"\nConfidence: {answer.confidence:g}%" if answer.confidence is not None else ""
    return f"Explanation: {explanation}\nExact Answer: {answer.exact_answer}{confidence}"


def export_trec(run: Run, dataset: Dataset, file: Path) -> int:
    """`query Q0 document rank score name` lines of all ranked documents; returns how many topics have any."""
    lines, topics = [], 0
    name = "".join(c if c.isalnum() or c in "-_." else "-" for c in f"{run.settings.system.name}-{run.folder.name}")
    for question in dataset.questions:
        result = run.result(question.query_id)
        ranked = [r.docid for r in result.answer.ranking if r.docid] if result and result.answer else []
        topics += bool(ranked)
        for rank, docid in enumerate(ranked, 1):
            lines.append(f"{question.query_id} Q0 {docid} {rank} {len(ranked) - rank + 1} {name}")
    try:
        write_whole(file, "\n".join(lines) + "\n" if lines else "")
    except OSError as error:
        raise SetupError(f"cannot write {file} ({error.strerror})") from error
    return topics
