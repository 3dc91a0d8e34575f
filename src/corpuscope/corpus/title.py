"""A title for a document whose source gives none: front matter, else its first heading, else nothing."""

from __future__ import annotations

import re

_HEAD = 4096
_FRONT_MATTER = re.compile(r"\A---\s*\n(?P<body>.*?)\n(?:---|\.\.\.)\s*(?:\n|\Z)", re.DOTALL)
_FRONT_TITLE = re.compile(r"^title:\s*[\"']?(?P<title>.+?)[\"']?\s*$", re.MULTILINE | re.IGNORECASE)
_HTML_TITLE = re.compile(r"<title[^>]*>(?P<title>.*?)</title>", re.DOTALL | re.IGNORECASE)
_ATX = re.compile(r"\n#{1,3}[ \t]+(?P<title>\S[^\n]*?)[ \t]*#*[ \t]*(?=\n|\Z)")
_ADORNMENT = re.compile(r"\n([=\-~^\"'`*+#])\1{2,}[ \t]*(?=\n|\Z)")

MAX_TITLE = 200
"""Characters of a guessed title; a title that the source gives is kept whole."""


def guess_title(text: str) -> str:
    """The title in the first 4,096 characters of `text`, or ''."""
    head = text[:_HEAD].replace("\r\n", "\n")
    front = _FRONT_MATTER.match(head)
    if front and (given := _FRONT_TITLE.search(front["body"])):
        return _usable(given["title"])
    # Every pattern starts at a line end, which makes them fast on text that has no heading at all.
    body = "\n" + (head[front.end() :] if front else head)
    found = [(m.start(), m["title"]) for p in (_HTML_TITLE, _ATX) if (m := p.search(body))]
    return _usable(min([*found, *_underlined(body)], default=(0, ""))[1])


def _underlined(body: str) -> list[tuple[int, str]]:
    """(offset, text) of the first line that has an adornment below it (setext, reStructuredText)."""
    for adornment in _ADORNMENT.finditer(body):
        start = body.rfind("\n", 0, adornment.start()) + 1
        line = body[start : adornment.start()].strip()
        if line and any(map(str.isalnum, line)):
            return [(start, line)]
    return []


def _usable(title: str) -> str:
    title = " ".join(title.split())
    return title[:MAX_TITLE] if any(map(str.isalnum, title)) else ""
