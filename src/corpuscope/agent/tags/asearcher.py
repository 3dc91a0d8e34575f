"""ASearcher with its local tools (github.com/inclusionAI/ASearcher, agent/asearcher.py)."""

from collections.abc import Sequence

from ...workspace import Passage
from .grammar import INVALID, Action, Forced, Grammar, Told, tagged

MAX_DOCUMENT = 5_000
"""Characters of one search result."""

KEPT = 100
"""Characters of a page of a document that stay once something was said about it."""


def _parse(text: str) -> Action:
    """An answer ends it; else the last search comes before the last access."""
    if answers := tagged(text, "answer"):
        return Action("", {}, answers[-1].strip())
    if searches := tagged(text, "search"):
        return Action("search", {"query": searches[-1].strip()})
    if urls := tagged(text, "access"):
        return Action("access", {"url": urls[-1].strip()})
    return Action(INVALID, {})


def _show(passages: Sequence[Passage]) -> str:
    if not passages:
        return "No search results are found."
    return "\n\n".join(f"[Doc {i}]({p.path}):\n{p.text[:MAX_DOCUMENT]}" for i, p in enumerate(passages, 1))


def _tell(told: Told) -> str:
    text = told.text
    if told.tool == INVALID:
        text = "Nothing was done: search with <search>, open with <access>, answer with <answer>."
    elif told.tool == "access" and "page" in told.data:
        text = f">>>> Page {told.data['page']} >>>>\n\n{text if told.latest else text[:KEPT]}"
    elif told.tool == "access":
        text = "No More Information is Found for this URL."
    return f"\n\n<information>\n{text}\n</information>\n<think>\n"


def _forced(told: Told) -> Forced | None:
    """A document of several pages is read to its end, a thought on each, before the next action."""
    page, pages = int(told.data.get("page", 0)), int(told.data.get("pages", 0))
    if told.tool != "access" or page >= pages:
        return None
    return Forced(("</think>",), Action("access", {"url": told.data["path"], "page": page + 1}))


GRAMMAR = Grammar(
    mode="completion",
    stop=("</search>", "</access>", "</answer>"),
    parse=_parse,
    tell=_tell,
    show=_show,
    forced=_forced,
)
