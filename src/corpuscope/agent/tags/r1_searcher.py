"""R1-Searcher (github.com/RUCAIBox/R1-Searcher, evaluation/eval_search_loacl.py)."""

from collections.abc import Sequence

from ...workspace import Passage
from .grammar import INVALID, Action, Grammar, Told

BEGIN, END = "<|begin_of_query|>", "<|end_of_query|>"


def _parse(text: str) -> Action:
    """Whichever stopped it: an answer, or a query of keywords without quotes, dots and tabs."""
    if text.rstrip().endswith("</answer>") and "<answer>" in text:
        return Action("", {}, text.split("<answer>")[-1].split("</answer>")[0].strip())
    if BEGIN in text and text.rstrip().endswith(END):
        query = text.split(BEGIN)[-1].split(END)[0]
        for removed, by in (('"', ""), ("'", ""), ("\t", " "), ("...", "")):
            query = query.replace(removed, by)
        if query.strip():
            return Action("search", {"query": query.strip()})
    return Action(INVALID, {})


def _show(passages: Sequence[Passage]) -> str:
    return "".join(f"({i}){p.title} {p.text}\n" for i, p in enumerate(passages, 1)) or "None"


def _tell(told: Told) -> str:
    if told.tool == INVALID:
        return f"\n\nA query goes between {BEGIN} and {END}, the answer between <answer> and </answer>.\n\n"
    return f"\n\n<|begin_of_documents|>\n{told.text}<|end_of_documents|>\n\n"


GRAMMAR = Grammar(
    mode="completion", stop=("<|im_end|>", "<|endoftext|>", END, "</answer>"), parse=_parse, tell=_tell, show=_show
)
