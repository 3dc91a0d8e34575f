"""A short answer, where the question names the kind of thing it wants and a passage holds one near its terms."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

from .evidence import Passage

_KINDS: tuple[tuple[str, str], ...] = (
    (r"\b(?:which|what) (?:\w+ ){0,2}settings?\b|\bsetting (?:is|does|names?|gives?|sets?)\b|name of the setting", r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b"),
    (r"\b(?:which|what|in which) (?:\w+ ){0,2}(?:version|release)\b", r"(?<![\d.])\d+\.\d+(?:\.\d+)?(?![\d.]*\d)"),
    (r"\bhow (?:many|much|long|large|often)\b|\b(?:which|what) (?:\w+ ){0,3}(?:number|count|value of|limit|size|port)\b|\biteration count\b", r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?![\w.]*\w|%)"),
    (r"\b(?:which|what) (?:\w+ ){0,2}(?:year|date|day)\b|^when\b", r"\b(?:\d{1,2} )?(?:January|February|March|April|May|June|July|August|September|October|November|December)(?: \d{1,2},?)?(?: \d{4})?\b|\b(?:1[5-9]|20)\d\d\b"),
    (r"\b(?:which|what) (?:\w+ ){0,2}(?:class|middleware|model|backend|field|exception|view|mixin|validator|hasher)\b", r"\b[A-Z][a-z0-9]+(?:[A-Z]+[a-z0-9]*)+\b"),
    (r"\b(?:which|what) (?:\w+ ){0,2}(?:function|method|command|option|module|argument|parameter|package|attribute|header)\b", r"\b\w+(?:[._-]\w+)+(?:\(\))?|``[^`\s]+``"),
    (r"\bdefaults?(?: value)?\b", r"``[^`\n]{1,40}``|'[^'\n]{1,40}'|\b\d[\d,.]*\d\b"),
    (r"^who\b|\bwhich (?:person|author|man|woman|scientist|artist|writer|player|actor)\b", r"\b[A-Z]\w+(?: (?:[A-Z]\.|[a-z]{2,3}|[A-Z]\w+)){1,3}\b"),
    (r"^where\b|\b(?:which|what) (?:city|country|place|town|river|state)\b", r"\b[A-Z][\w-]+(?: [A-Z][\w-]+){0,2}\b"),
)  # fmt: skip
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
            if before and re.search(rf"\b{before[1]}\s+\W{{0,2}}$", lower[max(0, match.start() - 12) : match.start()]):
                near *= 2
            own = sum(any(part.lower().startswith(t) for t in weight) for part in re.findall(r"[A-Za-z]+", candidate))
            support[candidate] = max(support[candidate], near * score * (1 + own))
    return max(support, key=lambda c: support[c], default="")
