"""What a trajectory's events do not say by themselves: where gold came to the surface, and what the context policy took away."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from pydantic_ai.messages import ModelMessage, ToolReturnPart

from ...agent import PLACEHOLDER, POLICIES, Event, Past, advance, first_request
from ...bench import TELLING, Gold, Question, gold_documents, surfaced
from ...corpus import Corpus
from ...systems import System, Task

KNOWN_BY = 200
"""Characters by which a line of evidence is known where it is shown: a tool may have cut the rest."""


def gold_marks(question: Question, corpus: Corpus, events: Sequence[Event]) -> list[dict[str, Any]]:
    """For each document that the way to the answer needs: the calls (counted from 1) that first named it, first showed a piece
    of it (DCI, section 3.4), showed the narrowest, and showed lines of its evidence."""
    gold = gold_documents(question, corpus)
    told: dict[str, dict[str, Any]] = {document.docid: _unseen(document, question) for document in gold}
    showing: dict[str, set[int]] = {document.docid: set() for document in gold}
    for docid, call, characters in surfaced(events, gold):
        mark = told[docid]
        showing[docid].add(call)
        mark["surfaced"] = mark["surfaced"] or call
        if characters is not None:
            mark["localised"] = mark["localised"] or call
            if mark["narrowest"] is None or characters < mark["narrowest"][1]:
                mark["narrowest"] = [call, characters]
    for document in gold:
        mark = told[document.docid]
        mark["evidence_calls"] = [
            call for call in _calls_with(mark["lines"], events) if call in showing[document.docid]
        ]
    return list(told.values())


def _unseen(document: Gold, question: Question) -> dict[str, Any]:
    return {
        "docid": document.docid,
        "path": document.path,
        "answers": document.docid in question.gold,
        "evidence": [[e.first, e.last] for e in question.evidence if e.docid == document.docid],
        "lines": [line[:KNOWN_BY] for line in document.evidence if len(line) >= TELLING],
        "surfaced": None,
        "localised": None,
        "narrowest": None,
    }


def _calls_with(lines: Sequence[str], events: Iterable[Event]) -> Iterator[int]:
    calls = (event for event in events if event["type"] == "tool")
    for call, event in enumerate(calls, 1):
        if any(line in event["text"] for line in lines):
            yield call


class Removal(NamedTuple):
    """From the request of `turn` (counted from 1) on, the model has only the first `kept` characters of the observation of `call`.
    `how`: `cut`, `blanked`, `summarised`, or `back` where it stands whole again."""

    call: int
    turn: int
    how: str
    kept: int


def removals(system: System, task: Task, events: Iterable[Event]) -> list[Removal]:
    """Every change that the context policy made, in the order of the turns: the policy itself is asked again, at each request for
    which the run recorded that it leaves out something else than before. A harness has its own way, which nobody recorded."""
    if system.harness or system.context not in POLICIES:
        return []
    past = Past(messages=[first_request(system.system_prompt(task), "")])
    calls: dict[int, int] = {}
    """The identity of a result in the history -> the number of its call."""
    found: list[Removal] = []
    now: dict[int, _Left] = {}
    cuts: dict[tuple[int, int], int] = {}
    call = turn = 0
    changed = False
    for event in events:
        if event["type"] == "response":
            turn += 1
            if changed:
                past.close_turn()
                kept = POLICIES[system.context](past.messages, past.pressure).messages
                then = dict(_left(past.messages, kept, calls, cuts))
                found += _changes(now, then, turn)
                now, changed = then, False
        changed |= event["type"] in ("context", "summary")
        advance(past, event)
        if event["type"] == "tool":
            call += 1
            calls[id(past.results[-1])] = call
    return found


_Left = tuple[str, int]
"""(how, characters left)."""


def _left(
    history: Sequence[ModelMessage],
    kept: Sequence[ModelMessage],
    calls: dict[int, int],
    cuts: dict[tuple[int, int], int],
) -> Iterator[tuple[int, _Left]]:
    """What is left of each observation that is not whole. Both end with the same turn; `cuts` remembers where texts were cut."""
    gone = len(history) - len(kept)
    for place, message in enumerate(history):
        if place <= gone and gone:
            yield from ((calls[id(part)], ("summarised", 0)) for part in _results(message))
        else:
            for whole, part in zip(_results(message), _results(kept[place - gone]), strict=True):
                call, text, left = calls[id(whole)], str(whole.content), str(part.content)
                if left == PLACEHOLDER != text:
                    yield call, ("blanked", 0)
                elif left != text:
                    key = (call, len(left))
                    cuts[key] = cuts.get(key) or _same(text, left)
                    yield call, ("cut", cuts[key])


def _same(text: str, left: str) -> int:
    """Characters at the beginning that both have."""
    return bisect_left(range(1, len(left) + 1), True, key=lambda n: text[:n] != left[:n])


def _changes(now: dict[int, _Left], then: dict[int, _Left], turn: int) -> Iterator[Removal]:
    for call in sorted(now.keys() | then.keys()):
        if now.get(call) != then.get(call):
            yield Removal(call, turn, *then.get(call, ("back", 0)))


def _results(message: ModelMessage) -> list[ToolReturnPart]:
    return [part for part in message.parts if isinstance(part, ToolReturnPart)]
