"""Exact match and token F1 (SQuAD's, Rajpurkar et al., 2016): answers without a model to judge them."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalized(text: str) -> str:
    """Lower case, without punctuation, articles and extra white space, in this order."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(given: str, answers: Sequence[str]) -> bool:
    """Whether it equals any of the answers once both are normalized."""
    return any(normalized(given) == normalized(answer) for answer in answers)


def token_f1(given: str, answers: Sequence[str]) -> float:
    """The best over the answers: harmonic mean of the precision and recall of words."""
    return max((_f1(normalized(given).split(), normalized(answer).split()) for answer in answers), default=0.0)


def _f1(given: list[str], wanted: list[str]) -> float:
    if not given or not wanted:
        return float(given == wanted)
    both = sum((Counter(given) & Counter(wanted)).values())
    if not both:
        return 0.0
    precision, recall = both / len(given), both / len(wanted)
    return 2 * precision * recall / (precision + recall)
