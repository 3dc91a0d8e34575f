"""Which gold documents a trajectory brought to the surface, by which call, and how narrow the piece was (DCI, section 3.4)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..agent import Event
from ..corpus import Corpus, Place
from .question import Question

READERS = re.compile(r"\b(sed|cat|head|tail|awk|nl|less|more|cut|fold)\b")
"""Programs that show a piece of a file as one span, where grep shows single lines."""

TELLING = 12
"""Characters of a printed line that must stand in a document to be its line: a count or a bracket stands in many."""


class Surfaced(NamedTuple):
    """`call` counts tool calls from 1. `characters` of the candidate snippet; None when only the document's name was seen."""

    docid: str
    call: int
    characters: int | None


@dataclass(frozen=True, slots=True)
class Gold:
    """A gold document as it is looked for: its text, and the lines of its annotated evidence."""

    docid: str
    path: str
    text: str
    evidence: tuple[str, ...]
    place: Place | None = None
    """Where it stands in the shards of a packed corpus."""

    @property
    def files(self) -> tuple[str, ...]:
        """Names under which it can have been looked at."""
        return (self.path, self.place.shard) if self.place else (self.path,)


def gold_documents(question: Question, corpus: Corpus) -> list[Gold]:
    """Those that exist, each with its text in memory."""
    entries = corpus.manifest.find(dict.fromkeys((*question.gold, *question.supporting)))
    found = []
    for docid in dict.fromkeys((*question.gold, *question.supporting)):
        if entry := entries.get(docid):
            text = corpus.store.read(entry.path).decode()
            lines = text.split("\n")
            told = [line for e in question.evidence if e.docid == docid for line in lines[e.first - 1 : e.last]]
            place = next(iter(corpus.packs.places([entry.path])), None) if corpus.packs is not None else None
            found.append(Gold(docid, entry.path, text, tuple(line.strip() for line in told if line.strip()), place))
    return found


def surfaced(events: Iterable[Event], gold: Sequence[Gold]) -> Iterator[Surfaced]:
    """Every time a gold document was named or shown in an observation, in the order of the calls."""
    call = 0
    for event in events:
        if event["type"] != "tool":
            continue
        call += 1
        if not event["error"]:
            for document in gold:
                for characters in _shown(event["name"], event["text"], event["data"], document):
                    yield Surfaced(document.docid, call, characters)


def candidates(events: Iterable[Event]) -> set[str] | None:
    """Docids in the union of all sub-queries' rankings, seen or not; None where nothing was ever ranked (RISE, section 4)."""
    told = [event["data"] for event in events if event["type"] == "tool" and "queries" in event["data"]]
    if not told:
        return None
    return {
        docid for data in told for docid in (*data.get("imported", ()), *(d for q in data["queries"] for d in q["top"]))
    }


def _shown(name: str, text: str, data: Mapping[str, Any], document: Gold) -> Iterator[int | None]:
    """Lengths of the candidate snippets of a document in one observation."""
    if "queries" in data:
        yield from _previews(data, document)
    elif data.get("docid") == document.docid or data.get("path") == document.path:
        yield _read(text, document)
    elif name == "read" and document.place and data.get("path") == document.place.shard:
        if data["first"] < document.place.line + document.place.lines and document.place.line <= data["last"]:
            yield _read(text, document)
    elif name in ("bash", "grep"):
        yield from _printed(text, str(data.get("command", "")), document)


def _previews(data: Mapping[str, Any], document: Gold) -> Iterator[int | None]:
    for query in data["queries"]:
        if document.docid in query["top"]:
            shown = query.get("characters") or []
            place = query["top"].index(document.docid)
            yield (shown[place] if place < len(shown) else 0) or None


def _read(text: str, document: Gold) -> int | None:
    """A span that was read counts as a snippet when it holds at least half of the annotated lines, or nothing is annotated."""
    return len(text) if _holds_evidence(text, document) else None


def _holds_evidence(text: str, document: Gold) -> bool:
    held = sum(line in text for line in document.evidence)
    return 2 * held >= len(document.evidence)


def _printed(text: str, command: str, document: Gold) -> Iterator[int | None]:
    """What a command printed: lines of grep are candidates one by one, what a reader prints is one span."""
    if not any(name in text or name in command for name in document.files):
        return
    lines = text.split("\n")
    prefixed = [shown for line in lines if (shown := _match_line(line, document)) is not None]
    if prefixed:
        yield from map(len, prefixed)
        return
    bare = [_without_number(line) for line in lines]
    inside = [line for line in bare if len(line.strip()) >= TELLING and line.strip() in document.text]
    if not any(name in command for name in document.files) or not inside:
        if document.path in text or document.path in command:
            yield None
    elif READERS.search(command.split("|")[0]):
        yield sum(len(line) + 1 for line in inside) if _holds_evidence("\n".join(inside), document) else None
    else:
        yield from map(len, inside)


def _match_line(line: str, document: Gold) -> str | None:
    """What stands behind name and number in a line of the document that grep or rg print with its file's name."""
    for name in document.files:
        match = re.match(rf"(?:\./|/w/)?{re.escape(name)}[:-](?:(\d+)[:-])?(.*)", line)
        if match and (name == document.path or _is_inside(match, document)):
            return match[2]
    return None


def _is_inside(match: re.Match[str], document: Gold) -> bool:
    """Whether a line of a shard is the document's: by its number, else by what it says."""
    if match[1] and document.place:
        return document.place.line <= int(match[1]) < document.place.line + document.place.lines
    return len(match[2].strip()) >= TELLING and match[2].strip() in document.text


def _without_number(line: str) -> str:
    return re.sub(r"^\s*\d+[:\t-]", "", line)
