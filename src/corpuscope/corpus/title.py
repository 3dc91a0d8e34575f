"""A title for a document whose source gives none: front matter, else its first heading, else nothing."""

from __future__ import annotations

import re

_HEAD = 4096
_FRONT_MATTER = re.compile(r"\A---\s*\n(?P<body>.*?)\n(?:---|\.\.\.)\s*(?:\n|\Z)", re.DOTALL)
_FRONT_TITLE = re.compile(r"^title:\s*[\"']?(?P<title>.+?)[\"']?\s*$", re.MULTILINE | re.IGNORECASE)
_HTML_TITLE = re.compile(r"<title[^>]*>(?P<title>.*?)</title>", re.DOTALL | re.IGNORECASE)
_ATX = re.compile(r"^#{1,3}[ \t]+(?P<title>\S.*?)[ \t]*#*[ \t]*$", re.MULTILINE)
_UNDERLINED = re.compile(
    r"^(?P<over>([=\-~^\"'`*+#])\2{2,}[ \t]*\n)?[ \t]*(?P<title>\S[^\n]*?)[ \t]*\n"
    r"(?P<line>[=\-~^\"'`*+#])(?P=line){2,}[ \t]*$",
    re.MULTILINE,
)

MAX_TITLE = 200
"""Characters of a guessed title; a title that the source gives is kept whole."""


def guess_title(text: str) -> str:
    """The title in the first 4,096 characters of `text`, or ''."""
    head = text[:_HEAD]
    front = _FRONT_MATTER.match(head)
    found = _FRONT_TITLE.search(front["body"]) if front else None
    if not found:
        body = head[front.end() :] if front else head
        candidates = [m for p in (_HTML_TITLE, _ATX, _UNDERLINED) if (m := p.search(body))]
        found = min(candidates, key=lambda m: m.start(), default=None)
    title = " ".join(found["title"].split()) if found else ""
    return title[:MAX_TITLE] if any(map(str.isalnum, title)) else ""
