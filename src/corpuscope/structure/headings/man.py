"""Manual pages: their source (`.SH`, `.Sh`), and as a terminal shows them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..section import MAX_HEADING, Heading

_MACRO = re.compile(r"^[.'][ \t]*(?P<name>SH|SS|Sh|Ss)\b[ \t]*(?P<words>.*)$")
_QUOTED = re.compile(r'"((?:[^"]|"")*)"')
_ESCAPE = re.compile(r"\\(?:f(?:\[[^\]]*\]|\(..|.)|s[-+]?\d|&|/|,|\(..|\[[^\]]*\]|.)")
_SPELT = {"\\-": "-", "\\ ": " ", "\\(em": "—", "\\(en": "–", "\\e": "\\", "\\(aq": "'", "\\(bu": "•"}
_RUNNING_HEAD = re.compile(r"^(?P<page>[\w.:+@\[-]+\([0-9][\w-]*\))\s{2,}.*\s{2,}(?P=page)$")
_OVERSTRUCK = re.compile(r".\x08")


def man_headings(lines: Sequence[str]) -> list[Heading]:
    """`.SH` and `.SS` of man, `.Sh` and `.Ss` of mdoc; a macro without words takes those of the next line."""
    found = []
    for number, line in enumerate(lines):
        if line[:1] not in (".", "'") or len(line) > MAX_HEADING or not (match := _MACRO.match(line)):
            continue
        words, at = match["words"], number
        if not words.strip() and number + 1 < len(lines) and not lines[number + 1].startswith("."):
            words, at = lines[number + 1], number + 1
        found.append(Heading(_clean(words), 1 if match["name"].lower() == "sh" else 2, at + 1))
    return found


def rendered_man_headings(lines: Sequence[str]) -> list[Heading]:
    """Lines at the margin below a running head such as `LS(1)   User Commands   LS(1)`, and those three columns in."""
    first = next((number for number, line in enumerate(lines[:10]) if line.strip()), 0)
    head = _OVERSTRUCK.sub("", lines[first][:MAX_HEADING]).strip()
    if not _RUNNING_HEAD.match(head):
        return []
    page = head.split()[0]
    found = []
    for number in range(first + 1, len(lines)):
        line = lines[number]
        if len(line) > MAX_HEADING:
            continue
        line = _OVERSTRUCK.sub("", line) if "\x08" in line else line
        indent = len(line) - len(line.lstrip(" "))
        if line.strip() and indent in (0, 3) and not line.rstrip().endswith(page):
            found.append(Heading(line.strip(), 1 if indent == 0 else 2, number + 1))
    return found


def _clean(words: str) -> str:
    words = words.split('\\"')[0].strip()
    if words.startswith('"'):
        words = _QUOTED.sub(lambda match: match[1].replace('""', '"'), words)
    return " ".join(_ESCAPE.sub(lambda match: _SPELT.get(match[0], ""), words).split())
