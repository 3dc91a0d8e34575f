"""Runs written down event by event, for what a viewer must stand: any length, any text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from corpuscope.agent import Event, EventLog
from corpuscope.bench import Dataset, open_run
from corpuscope.corpus import Corpus
from corpuscope.systems import Run, System, folder_name


def spent(calls: int, **more: Any) -> dict[str, Any]:
    """After `calls` replies of 1,000 tokens in (900 of them cached), 50 out, one cent and a second each."""
    return {
        "model_calls": calls, "tool_calls": calls - 1, "seconds": float(calls), "input_tokens": 1000 * calls, "cached_tokens": 900 * calls,
        "output_tokens": 50 * calls, "sent_characters": 4000 * calls, "prefix_characters": 3600 * calls, "dollars": 0.01 * calls, **more,
    }  # fmt: skip


def reply(number: int, *parts: dict[str, Any], **more: Any) -> Event:
    message = {"parts": list(parts), "usage": {}, "model_name": "written", "timestamp": "2026-01-01T00:00:00Z", "kind": "response"}  # fmt: skip
    return {"type": "response", "seconds": float(number), "message": message, "spent": spent(number, **more)}


def said(text: str) -> dict[str, Any]:
    return {"part_kind": "text", "content": text}


def thought(text: str) -> dict[str, Any]:
    return {"part_kind": "thinking", "content": text}


def called(name: str, arguments: Any, id: str) -> dict[str, Any]:
    return {"part_kind": "tool-call", "tool_name": name, "args": arguments, "tool_call_id": id}


def observed(name: str, arguments: Any, id: str, text: str, data: dict[str, Any] | None = None, **more: Any) -> Event:
    return {
        "type": "tool", "seconds": 0.5, "id": id, "name": name, "arguments": arguments, "text": text, "data": data or {}, "error": False,
        "malformed": False, "took": 0.25, **more,
    }  # fmt: skip


def trajectory(
    question: str, turns: Sequence[tuple[str, Any, str, dict[str, Any]]], answer: str = ""
) -> Iterator[Event]:
    """One call a turn, (tool, arguments, observation, data), and an answer."""
    yield {"type": "start", "seconds": 0.0, "question": question, "time": 0.0, "workspace": 0}
    for number, (name, arguments, text, data) in enumerate(turns, 1):
        yield reply(number, thought(f"thought {number}"), called(name, arguments, f"c{number}"))
        yield observed(name, arguments, f"c{number}", text, data)
    last = len(turns) + 1
    if answer:
        yield reply(last, said(f"Exact Answer: {answer}"))
        told = {"explanation": "", "exact_answer": answer, "confidence": 50.0, "citations": [], "ranking": []}
        yield {"type": "answer", "seconds": float(last), "text": answer, "answer": told}
    yield {
        "type": "stop",
        "seconds": float(last),
        "reason": "answered" if answer else "model_calls",
        "detail": "",
        "spent": spent(last),
    }


def write(run: Run, query_id: str, events: Iterator[Event] | Sequence[Event]) -> Path:
    file = run.folder / "queries" / folder_name(query_id) / "events.jsonl"
    log = EventLog(file)
    for event in events:
        log.append(event)
    log.close()
    return file


def new_run(folder: Path, dataset: Dataset, corpus: Corpus, system: System) -> Run:
    return open_run(folder, dataset, corpus, system, "written", "http://127.0.0.1:1/v1")
