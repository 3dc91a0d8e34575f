"""The scout's turns, each decided from the history of calls and results."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo
from pydantic_ai.usage import RequestUsage

from ...retrieve import Analysis
from ..ranking import HEADER, MOST
from . import SCOUT
from .evidence import TABLE_END, Passage, Window, choose, holds, passages, weights, windows
from .question import IDENTIFIER, Question, understand
from .short import short_answer

DOCUMENTS = 10
"""Documents grepped closely at each hop."""

PATTERNS = 8
"""Terms grepped for, the rarest: with common ones the matches of a long document do not fit one observation."""

READS = 6
CONTEXT = 12
"""Lines read before and after a window."""

SPANS = 5
"""Passages returned."""

FAINT = 0.3
"""Passages below this share of the best one's score are no evidence."""

SECOND_QUERIES = 6

_ANALYSIS = Analysis("english")


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the past with its observation."""

    name: str
    arguments: dict[str, Any]
    text: str
    data: dict[str, Any]


async def scout(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """The next reply: calls while there is something to look up, then the answer."""
    question = understand(_question(messages), _ANALYSIS)
    turns = _turns(messages)
    steps = (_search, _count, _grep, _read, _second_search, _grep, _read)
    number = len(turns)
    while number < len(steps):
        calls = steps[number](question, turns)
        if calls:
            parts = [ToolCallPart(name, args, f"scout-{number}-{i}") for i, (name, args) in enumerate(calls)]
            return _reply(list(parts))
        turns.append([])  # nothing to do at this step
        number += 1
    return _reply([TextPart(_ranking(turns) if _wants_ranking(messages) else _answer(question, turns))])


def _reply(parts: list[Any]) -> ModelResponse:
    return ModelResponse(parts=parts, usage=RequestUsage(), model_name=SCOUT)


_Planned = list[tuple[str, dict[str, Any]]]


def _search(question: Question, turns: list[list[Call]]) -> _Planned:
    return [("search", {"queries": list(question.queries)})]


def _count(question: Question, turns: list[list[Call]]) -> _Planned:
    if not _ranked(turns):
        return []
    terms = " ".join(shlex.quote(term) for term in question.terms)
    command = f'rg --files | wc -l; for term in {terms}; do echo "$(rg -ilF -e "$term" | wc -l) $term"; done'
    planned = [("bash", {"command": command})]
    if question.names:
        patterns = " ".join(f"-e {shlex.quote(name)}" for name in question.names)
        shortest = "awk '{print length, $0}' | sort -n | head -5 | cut -d' ' -f2-"
        planned.append(("bash", {"command": f"rg --files | rg -iF {patterns} | {shortest}"}))
    return planned


def _grep(question: Question, turns: list[list[Call]]) -> _Planned:
    """Where the question's terms stand in the best documents not yet looked at, and in those an earlier hop chose."""
    weight = _weights(question, turns)
    known = {call.arguments["command"] for turn in turns for call in turn if call.name == "bash"}
    planned = []
    named = turns[1][1].text.split("\n") if len(turns) == 2 and len(turns[1]) > 1 else []
    named = [path for path in named if path and not path.startswith("[")]
    for path in dict.fromkeys([*named, *_ranked(turns[-1:] if len(turns) > 4 else turns)[:DOCUMENTS]]):
        terms = sorted((t for t in weight if weight[t] > 0), key=lambda t: -weight[t])[:PATTERNS]
        if not terms:
            return []
        patterns = " ".join(f"-e {shlex.quote(term)}" for term in [*terms, TABLE_END])
        command = f"rg -noiF --no-filename {patterns} -- {shlex.quote(path)}"
        if command not in known:
            planned.append(("bash", {"command": command}))
    return planned


def _read(question: Question, turns: list[list[Call]]) -> _Planned:
    weight = _weights(question, turns)
    seen = {(c.arguments["path"], c.arguments["offset"]) for turn in turns for c in turn if c.name == "read"}
    planned = []
    for window in choose(_windows(question, turns[-1], weight), weight, READS):
        offset = max(1, window.first - CONTEXT)
        if (window.path, offset) not in seen:
            limit = window.last - offset + CONTEXT
            planned.append(("read", {"path": window.path, "offset": offset, "limit": limit}))
    return planned


def _second_search(question: Question, turns: list[list[Call]]) -> _Planned:
    """Names that the best passages bring in, each with the part of the question they leave open."""
    names = _names(question, turns)
    best = _passages(question, turns, _weights(question, turns))
    covered = holds(best[0][0].text, question.terms) if best else frozenset()
    left = [term for term in question.terms if term not in covered] or list(question.terms)
    open_part = _words_of(question, left)
    queries = [f"{name.replace('.', ' ')} {open_part}" for name in names]
    return [("search", {"queries": [*queries, open_part]})] if open_part or queries else []


def _names(question: Question, turns: list[list[Call]]) -> list[str]:
    """Identifiers in the best passages of the first hop that the question does not have: what it may have meant."""
    first_hop = turns[:4]
    found: dict[str, float] = {}
    asked = question.text.lower()
    for passage, score in _passages(question, first_hop, _weights(question, first_hop))[:READS]:
        for name in dict.fromkeys(IDENTIFIER.findall(passage.text)):
            if name.lower() not in asked:
                found[name] = found.get(name, 0.0) + score
    return sorted(found, key=lambda name: -found[name])[:SECOND_QUERIES]


def _wants_ranking(messages: Sequence[ModelMessage]) -> bool:
    return any(isinstance(part, SystemPromptPart) and HEADER in part.content for part in messages[0].parts)


def _ranking(turns: list[list[Call]]) -> str:
    """What all its sub-queries brought, fused."""
    rows = [f"{rank}. {path}" for rank, path in enumerate(_ranked(turns)[:MOST], 1)]
    return "\n".join(["Explanation: scout is a fixed search policy, not a language model.", HEADER, *rows])


def _answer(question: Question, turns: list[list[Call]]) -> str:
    weight = _weights(question, turns)
    found = _passages(question, turns, weight)
    if not found:
        return (
            "Explanation: scout (a fixed search policy, not a language model) found no document that holds the "
            "question's words.\nConfidence: 0%"
        )
    spans = _spans(found, weight)
    answer = short_answer(question.text, found[:12], weight)
    total = sum(weight.values()) or 1.0
    covered = frozenset[str]().union(*(holds(p.text, question.terms) for p in spans))
    share = sum(weight.get(t, 0.0) for t in covered) / total
    lines = [
        "Explanation: scout is a fixed search policy, not a language model: it has not understood the question. These "
        "passages hold most of its words:"
    ]
    lines += [f"\n[{p.path}:{p.first}-{p.last}]\n{_quoted(p)}" for p in spans]
    if answer:
        lines.append(f"\nExact Answer: {answer}")
    lines.append(f"Confidence: {round(40 * share) if answer else 0}%")
    return "\n".join(lines)


def _spans(found: Sequence[tuple[Passage, float]], weight: dict[str, float]) -> list[Passage]:
    """The best passages that add something, from different documents first."""
    least = FAINT * found[0][1]
    scored = {Window(p.path, p.first, p.last, score, holds(p.text, weight)): p for p, score in found if score >= least}
    return [scored[window] for window in choose(list(scored), weight, SPANS)]


def _quoted(passage: Passage) -> str:
    return "\n".join(f"  {line.strip()}" for line in passage.lines)


def _passages(question: Question, turns: list[list[Call]], weight: dict[str, float]) -> list[tuple[Passage, float]]:
    """(passage, score) of all that was read, best first. A heading and the path speak for the paragraph below them."""
    found: dict[tuple[str, int], tuple[Passage, float]] = {}
    for call in (call for turn in turns for call in turn if call.name == "read" and call.data):
        previous = ""
        for passage in passages(call.arguments["path"], call.text):
            inside = holds(passage.text, weight)
            around = holds(f"{previous} {passage.path}", weight) - inside
            length = 1 + len(passage.text) / 1500
            score = (sum(weight.get(t, 0.0) for t in inside) + 0.5 * sum(weight.get(t, 0.0) for t in around)) / length
            if inside and not _is_heading(passage):
                found[passage.path, passage.first] = (passage, score)
            previous = passage.text if _is_heading(passage) else previous
    return sorted(found.values(), key=lambda pair: -pair[1])


def _is_heading(passage: Passage) -> bool:
    """A title alone: one line that ends as no sentence does, or one with its underline."""
    words = [line.strip() for line in passage.lines if any(map(str.isalnum, line))]
    if len(words) != 1:
        return not words
    return len(passage.lines) > 1 or words[0].startswith("#") or (len(words[0]) < 80 and words[0][-1] not in ".!?;,)")


def _weights(question: Question, turns: list[list[Call]]) -> dict[str, float]:
    """Of the question's terms by how rare they are in W, and after the first hop of the names it brought."""
    if len(turns) < 2 or not turns[1]:
        return dict.fromkeys(question.terms, 1.0)
    rows = turns[1][0].text.split("\n")
    counts = {}
    for row in rows[1:]:
        number, _, term = row.strip().partition(" ")
        if number.isdigit() and term in question.terms:
            counts[term] = int(number)
    documents = int(rows[0]) if rows[0].strip().isdigit() else 1
    weight = weights(counts, documents) or dict.fromkeys(question.terms, 1.0)
    if len(turns) > 4:
        heaviest = max(weight.values())
        weight |= {name.lower(): heaviest for name in _names(question, turns)}
    return weight


def _windows(question: Question, turn: Sequence[Call], weight: dict[str, float]) -> list[Window]:
    found = []
    for rank, call in enumerate(turn):
        path = shlex.split(call.arguments["command"])[-1]
        matches: list[tuple[int, str]] = []
        for row in call.text.split("\n"):
            line, _, term = row.partition(":")
            if line.isdigit() and term == TABLE_END:
                matches.clear()  # what was found so far are rows of a table of contents
            elif line.isdigit():
                matches.append((int(line), term.lower()))
        prior = 1 / (1 + 0.05 * rank)
        found += [Window(w.path, w.first, w.last, w.score * prior, w.terms) for w in windows(path, matches, weight, 3)]
    return found


def _ranked(turns: Sequence[Sequence[Call]]) -> list[str]:
    """Paths of the previews of all searches in `turns`, best first, by reciprocal rank fusion."""
    score: dict[str, float] = {}
    for call in (call for turn in turns for call in turn if call.name == "search"):
        for query in call.data.get("queries", []):
            for rank, path in enumerate(query["paths"], 1):
                score[path] = score.get(path, 0.0) + 1 / (5 + rank)
    return sorted(score, key=lambda path: -score[path])


def _words_of(question: Question, terms: Sequence[str]) -> str:
    """The question's own words that begin with `terms`."""
    words = re.findall(r"[\w.]+", question.text)
    return " ".join(dict.fromkeys(w for w in words if any(w.lower().startswith(t) for t in terms)))


def _question(messages: Sequence[ModelMessage]) -> str:
    parts = (part for message in messages for part in message.parts)
    return next(str(part.content) for part in parts if isinstance(part, UserPromptPart))


def _turns(messages: Sequence[ModelMessage]) -> list[list[Call]]:
    """The calls of each step; [] for a step that had nothing to do. A call's id says which step made it."""
    turns: list[list[Call]] = []
    for reply, results in pairwise(messages):
        if isinstance(reply, ModelResponse) and isinstance(results, ModelRequest):
            calls = {part.tool_call_id: part for part in reply.parts if isinstance(part, ToolCallPart)}
            step = int(next(iter(calls)).split("-")[1])
            turns += [[] for _ in range(step - len(turns))]
            turns.append(
                [
                    Call(
                        part.tool_name, calls[part.tool_call_id].args_as_dict(), str(part.content), part.metadata or {}
                    )
                    for part in results.parts
                    if isinstance(part, ToolReturnPart)
                ]
            )
    return turns
