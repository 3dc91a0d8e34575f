"""Search-R1 (github.com/PeterGriffinJin/Search-R1, infer.py and search_r1/llm_agent/generation.py)."""

from .grammar import INVALID, TRY_AGAIN, Grammar, Told, first_action, information, numbered


def _tell(told: Told) -> str:
    return TRY_AGAIN if told.tool == INVALID else information(told)


GRAMMAR = Grammar(
    mode="continued", stop=("</search>", "</answer>"), parse=first_action, tell=_tell, show=numbered,
)  # fmt: skip
