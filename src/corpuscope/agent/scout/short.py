"""A short answer, where the question names the kind of thing it wants and a passage holds one near its terms."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

from .evidence import Passage

_WHAT = r"\b(?:which|what) (?:\w+ ){0,2}"
_MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_NAME = r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b"
_VERSION = r"(?<![\d.])\d+\.\d+(?:\.\d+)?(?![\d.]*\d)"
_AMOUNT = r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?![\w.]*\w|%)"
_DATE = rf"\b(?:\d{{1,2}} )?{_MONTH}(?: \d{{1,2}},?)?(?: \d{{4}})?\b|\b(?:1[5-9]|20)\d\d\b"
_CAMEL = r"\b[A-Z][a-z0-9]+(?:[A-Z]+[a-z0-9]*)+\b"
_CODE = r"\b\w+(?:[._-]\w+)+(?:\(\))?|``[^`\s]+``"
_VALUE = r"``[^`\n]{1,40}``|'[^'\n]{1,40}'|\b\d[\d,.]*\d\b"
_PERSON = r"\b(?!The )[A-Z][\w'’-]+(?: (?:(?:de|da|van|von|der|la|le|bin|al|af) )?(?:[A-Z]\.|[A-Z][\w'’-]+)){1,3}"
_PLACE = r"\b[A-Z][\w-]+(?: [A-Z][\w-]+){0,2}\b"

_KINDS = (
    (rf"{_WHAT}settings?\b|\bsetting (?:is|does|names?|gives?|sets?)\b|name of the setting", _NAME),
    (rf"{_WHAT}(?:version|release)\b", _VERSION),
    (r"\bhow (?:many|much|long|large|often)\b|\biteration count\b", _AMOUNT),
    (rf"{_WHAT}(?:number|count|value of|limit|size|port)\b", _AMOUNT),
    (rf"{_WHAT}(?:year|date|day)\b|^when\b", _DATE),
    (rf"{_WHAT}(?:class|middleware|model|backend|field|exception|view|mixin|validator|hasher)\b", _CAMEL),
    (rf"{_WHAT}(?:function|method|command|option|module|argument|parameter|package|attribute|header)\b", _CODE),
    (r"\bdefaults?(?: value)?\b", _VALUE),
    (rf"^who\b|{_WHAT}(?:person|author|man|woman|scientist|artist|writer|player|actor)\b", _PERSON),
    (rf"^where\b|{_WHAT}(?:city|country|place|town|river|state)\b", _PLACE),
)
"""(the question's words, what such a thing looks like); the first that fits the question decides."""

_PREPOSITION = re.compile(r"\b(to|from|by|since|until|in|at) (?:which|what|how)\b", re.IGNORECASE)
"""The answer often stands behind the same little word: raised *to what* -> raised *to* 5."""

_NEAR = 160
"""Characters within which a term of the question speaks for a candidate."""


def short_answer(question: str, passages: Sequence[tuple[Passage, float]], weight: Mapping[str, float]) -> str:
    """The candidate of the wanted kind best supported by (passage, score) pairs, or ''."""
    kind = next((shape for asks, shape in _KINDS if re.search(asks, question, re.IGNORECASE)), None)
    if kind is None:
        return ""
    before = _PREPOSITION.search(question)
    support: dict[str, float] = defaultdict(float)
    for passage, score in passages:
        # A name in the path (releases/3.1.txt) stands beside every line of the document.
        text = f"{passage.path.rpartition('.')[0]} {passage.text}"
        lower = text.lower()
        places = [(m.start(), weight[t]) for t in weight if t for m in re.finditer(re.escape(t), lower)]
        for match in re.finditer(kind, text):
            candidate = match[0].strip("`'")
            if candidate.lower() in question.lower():
                continue
            near = sum(w / (1 + abs(at - match.start()) / 40) for at, w in places if abs(at - match.start()) < _NEAR)
            if before and re.search(
                rf"\b{before[1].lower()}\s+\W{{0,2}}$", lower[max(0, match.start() - 12) : match.start()]
            ):
                near *= 2
            own = sum(any(part.lower().startswith(t) for t in weight) for part in re.findall(r"[A-Za-z]+", candidate))
            support[candidate] = max(support[candidate], near * score * (1 + own))
    return max(support, key=lambda c: support[c], default="")
