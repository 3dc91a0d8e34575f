"""VerlTool's search agent (github.com/TIGER-AI-Lab/verl-tool, servers/tools/search_retrieval.py and
data_preprocess/search_r1.py)."""

from .grammar import INVALID, Grammar, Told, information, last_search, numbered


def _tell(told: Told) -> str:
    """An action that cannot be understood brings nothing back."""
    return "" if told.tool == INVALID else information(told)


GRAMMAR = Grammar(
    mode="continued",
    stop=("</search>", "</answer>"),
    parse=last_search,
    tell=_tell,
    show=numbered,
    system="You are a helpful and harmless assistant.",
)
