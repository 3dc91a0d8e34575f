"""The final reply of a ranking task: documents, best first."""

from __future__ import annotations

import re

from ..errors import ToolError
from ..workspace import Workspace
from .answer import Answer, Citation, entry_of

MOST = 20
"""Documents of a ranking (DCI, appendix C)."""

HEADER = "Relevant Documents:"

RANKING_FORM = f"""Your task is to find the documents that matter to the question, not to answer it. A document that is missing counts
as much as one that does not belong. When you are done, reply without calling a tool, in exactly this form, the most useful document
first, at most {MOST}, one a line by its path:

Explanation: in a few words, what makes a document relevant here.
{HEADER}
1. folder/file.txt
2. folder/other.txt
"""
"""What a system prompt ends with when documents are to be ranked (DCI, appendix C)."""

_HEADER = re.compile(r"^[ \t>*_#-]*(relevant documents|ranking)\b[^\n:]*:[ \t*_]*$", re.IGNORECASE | re.MULTILINE)
_AFTER = re.compile(r"^[ \t>*_#-]*(explanation|exact answer|answer|confidence)\b[*_ ]*:", re.IGNORECASE | re.MULTILINE)
"""What may follow the list: its bullets are no documents."""

_ROW = re.compile(r"^[ \t>]*(?:[-*•]|\(?\d+[.):]|\[\d+\](?=\s))[ \t]+(?P<name>.+?)[ \t]*$", re.MULTILINE)


def parse_ranking(text: str, workspace: Workspace) -> Answer:
    """Read a final reply: the rows of its list, each a path or a docid, at most `MOST`, each document once.

    A row that names no document of W keeps its place with a `problem`. What stands above the list is the explanation.
    """
    headers = list(_HEADER.finditer(text))
    start = headers[-1].end() if headers else 0
    after = _AFTER.search(text, start) if headers else None
    rows = list(_ROW.finditer(text, start, after.start() if after else len(text)))
    found: dict[str, Citation] = {}
    for row in rows:
        ranked = _ranked(row["name"], workspace)
        found.setdefault(ranked.docid or ranked.path, ranked)
    above = text[: headers[-1].start() if headers else rows[0].start() if rows else len(text)].strip()
    explanation = re.sub(r"^[*_# ]*explanation[*_ ]*:[*_ ]*", "", above, flags=re.IGNORECASE)
    return Answer(explanation=explanation, ranking=list(found.values())[:MOST])


def _ranked(row: str, workspace: Workspace) -> Citation:
    """The document a row names: all of it, or what stands before a remark."""
    bare = row.strip().strip("`*[]\"' ")
    before_remark = re.split(r"\s+[-–—:(]|[:`\]](?:\s|$)", bare, maxsplit=1)[0].strip("`*[] ")
    first_word = (bare.split() or [""])[0].strip("`*[]:,")
    for name in dict.fromkeys((bare, before_remark, first_word)):
        try:
            path = workspace.resolve(name)
        except ToolError:
            continue
        if entry := entry_of(path, workspace) or entry_of(name, workspace):
            return Citation(path=entry.path, docid=entry.docid)
    return Citation(path=bare[:300], problem="not in the workspace")
