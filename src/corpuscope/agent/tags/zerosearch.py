"""ZeroSearch (github.com/Alibaba-NLP/ZeroSearch, inference.py and llm_agent/generation.py): Search-R1's tags, passages of its own
form."""

from collections.abc import Sequence

from ...workspace import Passage
from .grammar import INVALID, TRY_AGAIN, Grammar, Told, first_action, information


def _show(passages: Sequence[Passage]) -> str:
    return "\n".join(f"Doc {i}: {p.title} {p.text}" for i, p in enumerate(passages, 1)) or "No information available"


def _tell(told: Told) -> str:
    return TRY_AGAIN if told.tool == INVALID else information(told)


GRAMMAR = Grammar(mode="continued", stop=("</search>", "</answer>"), parse=first_action, tell=_tell, show=_show)
