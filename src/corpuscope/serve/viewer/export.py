"""The page with all answers in it: one file that needs no server, to keep or to send to somebody."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from ...agent import read_events
from ...errors import UsageError
from .answers import ANSWERS, Shelf, as_json, events_from
from .documents import BLOCK
from .page import page
from .shelf import Shown

_LETTERS = "-_.!~*'()"
"""What `encodeURIComponent` leaves as it is, besides letters and digits."""

MAX_BLOCKS = 20
"""Pieces of one document that are laid down; of a longer one, those that are cited or evidence."""


def exported(shelf: Shelf, progress: Callable[[int, int], None] = lambda done, total: None) -> str:
    """The HTML. Documents that are gold or cited are in it, others are not. What is right stays out where a benchmark keeps it
    secret: the file may be read by anybody."""
    total = sum(len(shown.question_keys) for shown in shelf.runs)
    done = 0
    for shown in shelf.runs:
        while shown.measure_next():
            pass
    data: dict[str, bytes] = {}
    _put(data, "runs", {}, _answer(shelf, "runs", {}))
    for number, shown in enumerate(shelf.runs):
        for second in range(len(shelf.runs)):
            if second != number:
                asked = {"run": str(number), "second": str(second)}
                _put(data, "compare", asked, _answer(shelf, "compare", asked))
        asked = {"run": str(number)}
        _put(data, "questions", asked, _answer(shelf, "questions", asked))
        wanted: dict[str, list[int]] = {}
        for key in shown.question_keys:
            data.update(_trajectory(shelf, number, shown, key))
            for name, lines in _documents(shown, key).items():
                wanted.setdefault(name, []).extend(lines)
            done += 1
            progress(done, total)
        for name, lines in wanted.items():  # each once, however many questions it is gold of
            data.update(_pieces(shelf, number, name, lines))
    return page(data)


def _trajectory(shelf: Shelf, number: int, shown: Shown, key: str) -> dict[str, bytes]:
    data: dict[str, bytes] = {}
    asked = {"run": str(number), "question": key}
    told, _ = events_from(shown, key, 0)
    if not told:
        return data
    data[_key("events", asked)] = told
    for name in ("marks", "paths"):
        _put(data, name, asked, _answer(shelf, name, asked))
    return data


def _documents(shown: Shown, key: str) -> dict[str, list[int]]:
    """path -> lines of interest in it, of the documents that are gold or cited."""
    found: dict[str, list[int]] = {}
    if shown.corpus is None:
        return found
    if not shown.dataset.secret:
        question = shown.question(key)
        entries = shown.corpus.manifest.find(dict.fromkeys((*question.gold, *question.supporting)))
        for docid, entry in entries.items():
            found[entry.path] = [e.first for e in question.evidence if e.docid == docid]
    for event in read_events(shown.events(key)):
        if event["type"] == "answer":
            for citation in (*event["answer"]["citations"], *event["answer"]["ranking"]):
                if citation["docid"]:
                    found.setdefault(citation["path"], []).append(citation["first"] or 1)
    return found


def _pieces(shelf: Shelf, number: int, name: str, lines: Sequence[int]) -> Iterator[tuple[str, bytes]]:
    """The pieces of one document, in every form it has."""
    forms = [""]
    while forms:
        asked = {"run": str(number), "name": name, "form": forms.pop(), "block": "0"}
        try:
            first = ANSWERS["document"](shelf, asked)
        except UsageError:
            return  # it has left the corpus
        if not asked["form"]:
            forms = list(first["forms"])
        count = -(-first["total"] // BLOCK)
        near = {0, *(line // BLOCK + step for line in lines for step in (-1, 0, 1))}
        for block in range(count):
            if count <= MAX_BLOCKS or block in near:
                asked = {**asked, "block": str(block)}
                yield _key("document", asked), as_json(ANSWERS["document"](shelf, asked))


def _answer(shelf: Shelf, name: str, asked: Mapping[str, str]) -> Any:
    """With nothing in it that a benchmark keeps secret."""
    value = ANSWERS[name](shelf, asked)
    if name == "questions" and value["run"]["secret"]:
        value["rows"] = [{**row, "reference": []} for row in value["rows"]]
    if name == "marks" and shelf.run(asked).dataset.secret:
        value = {**value, "gold": []}
    return value


def _put(data: dict[str, bytes], name: str, asked: Mapping[str, str], value: Any) -> None:
    data[_key(name, asked)] = as_json(value)


def _key(name: str, asked: Mapping[str, str]) -> str:
    """As the page's script writes an address."""
    return f"{name}?" + "&".join(f"{key}={quote(value, safe=_LETTERS)}" for key, value in sorted(asked.items()))
