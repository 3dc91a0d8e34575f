"""A trajectory as it happens, on a terminal: one line a call, then the answer with its citations."""

from __future__ import annotations

import json
import sys
from typing import Any

from rich.console import Console
from rich.text import Text

from ..agent import Citation, Event, Result, StopReason
from ..workspace import clean


class LiveView:
    """Shows events of one question. Everything a model or a document wrote is printed as plain text."""

    def __init__(self, *, quiet: bool) -> None:
        self.quiet = quiet
        self.files = 0
        self.out = Console(highlight=False, soft_wrap=True)

    def show(self, event: Event) -> None:
        if self.quiet:
            return
        kind = event["type"]
        if kind == "start":
            self.files = int(event.get("workspace", 0))
        elif kind == "tool":
            self._tool(event)
        elif kind == "response":
            self._response(event)
        elif kind == "retry":
            self._line(f"  retry in {event['wait']:.0f} s: {event['error']}", "yellow")
        elif kind == "context":
            self._line(f"  context: {event['removed_characters']:,} characters of old results left out", "dim")
        elif kind == "steer":
            why = f"the limit ({event['forced']}) is reached" if event["forced"] else "its time is nearly used up"
            self._line(f"  the agent is told to answer now: {why}", "yellow")
        elif kind == "summary":
            what = f"failed: {event['error']}" if event["error"] else f"{len(event['text']):,} characters"
            self._line(f"  summary of the older history: {_one_line(what, 160)}", "dim")

    def answer(self, result: Result) -> None:
        if result.answer is None:
            return
        answer = result.answer
        self.out.print()
        self._line(clean(answer.explanation.encode(errors="replace")), "")
        if answer.exact_answer:
            self._line(f"\nExact answer: {clean(answer.exact_answer.encode(errors='replace'))}", "bold")
        if result.stop_reason is StopReason.FORCED:
            self._line(f"Forced:       the limit ({result.detail}) was reached", "yellow")
        if answer.confidence is not None:
            self._line(f"Confidence:   {answer.confidence:.0f}%", "")
        for rank, document in enumerate(answer.ranking, 1):
            problem = f"  ({document.problem})" if document.problem else ""
            shown = clean(document.path.encode(errors="replace"))
            self._line(f"{rank:>3}. {shown}{problem}", "red" if problem else "green")
        if answer.citations:
            self._line("Citations:", "")
        for citation in answer.citations:
            shown = clean(str(citation).encode(errors="replace"))
            self._line(
                f"  {shown}{_remark(citation)}",
                "red" if citation.problem else "green",
            )
        self._line(_summary(result), "dim")

    def note(self, text: str) -> None:
        self._line(text, "dim")

    def _tool(self, event: Event) -> None:
        self.files = int(event["data"].get("workspace", self.files))
        name, arguments = _one_line(event["name"], 40), _short(event["arguments"])
        self._line(f"{event['seconds']:7.1f} s  {name:<6} {arguments}", "cyan" if not event["error"] else "red")
        self._line(f"           {_came_back(event)}  [{self.files:,} files in W]", "dim")

    def _response(self, event: Event) -> None:
        spent = event["spent"]
        money = "price unknown" if spent["dollars"] is None else f"${spent['dollars']:.4f}"
        tokens = f"{spent['input_tokens']:,} in ({spent['cached_tokens']:,} cached), {spent['output_tokens']:,} out"
        if spent["input_tokens"] or spent["output_tokens"]:
            self._line(f"  call {spent['model_calls']}: {tokens}, {money}", "dim")
        for part in event["message"]["parts"]:
            if part["part_kind"] == "text" and part["content"].strip() and _has_calls(event):
                self._line(f"  {_one_line(part['content'], 200)}", "italic")

    def _line(self, text: str, style: str) -> None:
        self.out.print(Text(text, style=style))
        sys.stdout.flush()


def _remark(citation: Citation) -> str:
    if citation.problem:
        return f"  ({citation.problem})"
    if citation.original_first is None or citation.original_first == citation.first:
        return ""
    one = citation.original_first == citation.original_last
    lines = f"line {citation.original_first}" if one else f"lines {citation.original_first}-{citation.original_last}"
    return f"  ({lines} of the original)"


def _has_calls(event: Event) -> bool:
    return any(part["part_kind"] == "tool-call" for part in event["message"]["parts"])


def _short(arguments: Any) -> str:
    """The arguments of a call in one short line."""
    try:
        values = json.loads(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        return _one_line(str(arguments), 100)
    if not isinstance(values, dict):
        return _one_line(str(values), 100)
    shown = (" | ".join(map(str, value)) if isinstance(value, list) else str(value) for value in values.values())
    return _one_line(" ".join(shown), 120)


def _came_back(event: Event) -> str:
    data, text = event["data"], event["text"]
    if event["error"]:
        return _one_line(text, 160)
    if "queries" in data:
        best = dict.fromkeys(query["paths"][0] for query in data["queries"] if query["paths"])
        return f"{len(data['imported']):,} new files; best: {_one_line(', '.join(best), 100)}"
    if "lines" in data:
        return f"lines {data['first']:,}-{data['last']:,} of {data['lines']:,}"
    lines = text.count("\n") + 1 if text else 0
    return f"{lines:,} lines: {_one_line(text, 90)}"


def _one_line(text: str, most: int) -> str:
    flat = " ".join(clean(text.encode(errors="replace")).split())
    return flat if len(flat) <= most else flat[: most - 1] + "…"


def _summary(result: Result) -> str:
    spent = result.spent
    calls = f"{spent.model_calls} model calls, {spent.tool_calls} tool calls, {spent.seconds:.1f} s"
    if not spent.input_tokens and not spent.unmeasured:
        return calls
    money = "price unknown" if spent.dollars is None else f"${spent.dollars:.4f}"
    tokens = f"{spent.input_tokens:,} tokens in ({spent.cached_tokens:,} cached), {spent.output_tokens:,} out, {money}"
    unmeasured = f"; {spent.unmeasured} replies without usage" if spent.unmeasured else ""
    return f"{calls}, {tokens}{unmeasured}"
