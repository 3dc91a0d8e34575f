"""The final reply, taken apart: explanation, exact answer, confidence, and citations checked against W."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from pydantic import BaseModel

from ..corpus import Entry
from ..errors import ToolError
from ..structure import original_lines
from ..workspace import Workspace

ANSWER_FORM = """When you have verified the answer, reply without calling a tool, in exactly this form:

Explanation: how the evidence leads to the answer. Cite every fact right behind it with path and lines of the file,
like this: [folder/file.txt:120-124].
Exact Answer: the answer itself, as short as it can be.
Confidence: 0-100%
"""
"""What a system prompt ends with when a question is to be answered (DCI, appendix C)."""

_FIELD = re.compile(
    r"^[ \t>*_#-]*(?P<name>explanation|exact answer|answer|confidence)[ \t]*[*_]*[ \t]*:[ \t]*[*_]*[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)
_CITATION = re.compile(r"\[(?P<inside>(?:[^\[\]\n]|\[[^\[\]\n]*\])+)\](?!\()")
"""Brackets with at most one pair inside: titles hold some, and so do the paths made from them."""
_LINES = re.compile(r"^(?P<path>.+?)(?::|,?\s+)(?:lines?\s*)?L?(?P<first>\d+)(?:\s*[-–—]\s*L?(?P<last>\d+))?$", re.I)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


class Citation(BaseModel):
    """Lines `first` to `last` (1-based, inclusive) of a document; None cites the whole of it.

    `problem` is '' for lines of a document of W, else what is wrong with the citation. In W a document may carry a table
    of contents: `original_first` and `original_last` are the same lines of the document without it.
    """

    path: str
    first: int | None = None
    last: int | None = None
    docid: str | None = None
    problem: str = ""
    original_first: int | None = None
    original_last: int | None = None

    def __str__(self) -> str:
        if self.first is None:
            return self.path
        return f"{self.path}:{self.first}" + ("" if self.last in (None, self.first) else f"-{self.last}")


class Answer(BaseModel):
    """DCI's answer format. `confidence` is in percent; what the model left out is '' or None. `ranking` is the answer to a
    ranking task, best first, and empty for a question."""

    explanation: str = ""
    exact_answer: str = ""
    confidence: float | None = None
    citations: list[Citation] = []
    ranking: list[Citation] = []

    def __str__(self) -> str:
        return self.exact_answer or self.explanation


class _Lines(NamedTuple):
    path: str
    first: int | None
    last: int | None


def parse_answer(text: str, workspace: Workspace) -> Answer:
    """Read a final reply. One without the fields is all explanation; it cites all the same."""
    fields: dict[str, str] = {}
    found = list(_FIELD.finditer(text))
    for match, end in zip(found, [*(following.start() for following in found[1:]), len(text)], strict=False):
        name = match["name"].lower().removeprefix("exact ")
        fields[name] = text[match.end() : end].strip().strip("*_ ")
    preamble = text[: found[0].start()].strip() if found else text.strip()
    explanation = fields.get("explanation", "")
    return Answer(
        explanation="\n\n".join(part for part in (preamble, explanation) if part),
        exact_answer=fields.get("answer", ""),
        confidence=_percent(fields.get("confidence", "")),
        citations=_citations(text, workspace),
    )


def _percent(text: str) -> float | None:
    number = _NUMBER.search(text)
    if not number:
        return None
    value = float(number[0])
    if value <= 1.0 and "%" not in text and "." in number[0]:
        value *= 100
    return min(value, 100.0)


def _citations(text: str, workspace: Workspace) -> list[Citation]:
    found: dict[str, Citation] = {}
    for match in _CITATION.finditer(text):
        for lines in _inside(match["inside"], workspace):
            citation = _checked(lines, workspace)
            found.setdefault(str(citation), citation)
    return list(found.values())


def _inside(inside: str, workspace: Workspace) -> list[_Lines]:
    """What one pair of brackets cites: nothing, a document, or several separated by `;` or `,`."""
    whole = _split(inside, workspace)
    if entry_of(whole.path, workspace):
        return [whole]
    parts = [_split(part, workspace) for part in re.split(r"\s*[;,]\s*", inside) if part.strip()]
    return [
        p
        for p in parts
        if p.first is not None or re.search(r"[^\s/]/|\.\w{1,8}$", p.path) or entry_of(p.path, workspace)
    ]


def _split(text: str, workspace: Workspace) -> _Lines:
    text = text.strip().strip("`*\"'")
    match = _LINES.match(text)
    if not match:
        return _Lines(_relative(text, workspace), None, None)
    first = int(match["first"])
    return _Lines(_relative(match["path"].strip("`"), workspace), first, int(match["last"] or first))


def _relative(path: str, workspace: Workspace) -> str:
    try:
        return workspace.resolve(path)
    except ToolError:
        return path  # it leads out of W, and is reported as it was written


def entry_of(name: str, workspace: Workspace) -> Entry | None:
    """The document of W that a path or a docid names."""
    if workspace.has(name):
        return workspace.corpus.manifest.by_path(name)
    return workspace.corpus.manifest.find([name]).get(name) if name in workspace else None


def _checked(lines: _Lines, workspace: Workspace) -> Citation:
    values: dict[str, Any] = lines._asdict()
    entry = entry_of(lines.path, workspace)
    if entry is None:
        problem = "no longer in the corpus" if workspace.has(lines.path) else "not in the workspace"
        return Citation(**values, problem=problem)
    values |= {"docid": entry.docid, "path": entry.path}
    if lines.first is not None and lines.last is not None:
        if not 1 <= lines.first <= lines.last:
            return Citation(**values, problem=f"lines {lines.first} to {lines.last} are not a range")
        if lines.last > (there := workspace.lines(entry)):
            return Citation(**values, problem=f"the document has {there} lines")
        if workspace.toc(entry.path) is not None:
            return _without_table(values, workspace)
    return Citation(**values)


def _without_table(values: dict[str, Any], workspace: Workspace) -> Citation:
    """A citation of a document that carries a table of contents, which is no evidence."""
    original = original_lines((workspace.path / values["path"]).read_bytes())
    last = original(values["last"])
    if last is None:
        return Citation(**values, problem="these lines are its table of contents, not the document")
    return Citation(**values, original_first=original(values["first"]) or 1, original_last=last)
