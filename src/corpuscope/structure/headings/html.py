"""HTML as it is: `<h1>` to `<h6>`."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence

from ..section import MAX_HEADING, Heading

_OPEN = re.compile(
    r"<(?P<tag>!--|script|style|pre|textarea|template|h[1-6])(?:\b[^<>]{0,1000}>|(?<=--))", re.IGNORECASE
)
_TAGS = re.compile(r"<[^<>]*>")


def html_headings(lines: Sequence[str]) -> list[Heading]:
    """Headings outside of comments, scripts and preformatted text. A heading's line is that of its first word."""
    text = "\n".join(lines)
    found = []
    line, done = 1, 0
    for level, start, title in _headings(text):
        line += text.count("\n", done, start)
        done = start
        found.append(Heading(title, level, line))
    return found


def _headings(text: str) -> Iterator[tuple[int, int, str]]:
    """(level, offset of the first word, title) of each heading."""
    lower, at = "", 0
    while match := _OPEN.search(text, at):
        tag = match["tag"].lower()
        lower = lower or text.lower()
        if tag == "!--":
            at = text.find("-->", match.end())
        elif tag[0] == "h":
            at = match.end()
            end = lower.find(f"</{tag}", at, at + MAX_HEADING)
            if end >= 0:
                blank = _TAGS.sub(lambda found: " " * len(found[0]), text[at:end])
                title = plain_text(text[at:end])
                if title:
                    yield int(tag[1]), at + len(blank) - len(blank.lstrip()), title
                at = end
        else:
            at = lower.find(f"</{tag}", match.end())
        if at < 0:
            return


def plain_text(markup: str) -> str:
    """The words of a piece of HTML."""
    return " ".join(html.unescape(_TAGS.sub("", markup)).split())
