"""LaTeX: `\\part` to `\\subparagraph`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..section import MAX_HEADING, Heading

_LEVELS = ("part", "chapter", "section", "subsection", "subsubsection", "paragraph", "subparagraph")
_COMMAND = re.compile(
    rf"\\(?P<name>{'|'.join(_LEVELS)})\*?[ \t]{{0,9}}(?:\[[^\[\]\n]{{0,500}}\])?[ \t]{{0,9}}\n?[ \t]{{0,9}}\{{"
)
_COMMENT = re.compile(r"(?<!\\)%[^\n]*")
_VERBATIM = re.compile(r"\\begin\{(?P<name>verbatim\*?|Verbatim|lstlisting|minted|comment|filecontents\*?)\}")
_DROPPED = re.compile(r"\\(?:label|footnote|thanks|index|protect|texorpdfstring\{[^{}]*\})(?:\{[^{}]*\})?")
_WRAPPED = re.compile(r"\\[a-zA-Z]+\*?[ \t]{0,9}\{(?P<inside>[^{}]*)\}")


def latex_headings(lines: Sequence[str]) -> list[Heading]:
    """Sectioning commands outside of comments, verbatim environments and macro definitions."""
    text = _without_verbatim("\n".join(lines))
    text = _COMMENT.sub("", text)  # comments hold no line ends: lines keep their numbers
    stop = text.find("\\end{document}")
    found = []
    line, done = 1, 0
    for match in _COMMAND.finditer(text, 0, stop if stop >= 0 else len(text)):
        title = _inside(text, match.end())
        if title is None or re.search(r"#\d", title):
            continue
        line += text.count("\n", done, match.start())
        done = match.start()
        found.append(Heading(_clean(title), _LEVELS.index(match["name"]) + 1, line))
    return found


def _without_verbatim(text: str) -> str:
    """The text with verbatim environments emptied, their line ends kept."""
    kept, at = [], 0
    while match := _VERBATIM.search(text, at):
        end = text.find(f"\\end{{{match['name']}}}", match.end())
        if end < 0:
            break
        kept += [text[at : match.start()], "\n" * text.count("\n", match.start(), end)]
        at = end
    return "".join([*kept, text[at:]])


def _inside(text: str, start: int) -> str | None:
    """What stands between the braces that were opened before `start`; None if they are not closed soon."""
    depth = 1
    for at in range(start, min(len(text), start + MAX_HEADING)):
        char = text[at]
        if char in "{}" and text[at - 1] != "\\":
            depth += 1 if char == "{" else -1
            if not depth:
                return text[start:at]
    return None


def _clean(title: str) -> str:
    title = _DROPPED.sub("", title)
    while (plain := _WRAPPED.sub(r"\g<inside>", title)) != title:
        title = plain
    title = re.sub(r"\\\\(?:\[[^\]]*\])?|~|\n", " ", title)
    title = re.sub(r"\\[,;:! ]", " ", title)
    return " ".join(re.sub(r"\\([&%$#_{}])|[{}]", r"\1", title).replace("$", "").split())
