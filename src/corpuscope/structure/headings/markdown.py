"""Markdown: ATX (`## Title`) and setext (underlined) headings, as CommonMark reads them, and `<h2>` on a line."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ..section import MAX_HEADING, Heading
from .html import plain_text

_ATX = re.compile(r"^ {0,3}(?P<marks>#{1,6})(?:[ \t]+(?P<title>.*?))?(?:[ \t]+#+)?[ \t]*$")
_SETEXT = re.compile(r"^ {0,3}(?:=+|-+)[ \t]*$")
_FENCE = re.compile(r"^(?:[ \t]|[>*+-] |\d+\. )*(?P<marks>`{3,}(?=[^`]*$)|~{3,})")
_TAG = re.compile(r"^ {0,3}<h(?P<level>[1-6])\b[^>]*>(?P<title>.*?)</h(?P=level)>", re.IGNORECASE)
_BLOCK = re.compile(r"^ {0,3}<(?P<tag>pre|script|style|textarea)\b", re.IGNORECASE)
_NO_PARAGRAPH = re.compile(r"^(?: {0,3}(?:[>|]|[*+-][ \t]|\d{1,9}[.)][ \t]|<)| {4}|\t)")
_LINK = re.compile(r"!?\[(?P<text>[^\[\]]*)\](?:\([^()\s]*(?:\s[^()]*)?\)|\[[^\]]*\])")
_ATTRIBUTES = re.compile(r"[ \t]*\{[ \t]*[#.:][^{}]*\}[ \t]*$")
_STARS = re.compile(r"(?P<marks>\*{1,3}|(?<!\w)_{1,3})(?=\S)(?P<text>[^*_]*\S)(?P=marks)")

_LONG = "text"
"""What a line too long to be a heading is taken for."""

MAX_FRONT_MATTER = 500
"""Lines; a `---` that nothing closes before is a rule."""

MAX_COMMENTS = 0.2
"""Of the lines of `# text` where it is not sure that they are Markdown's."""

MAX_SETEXT = 3
"""Lines of a paragraph that an underline makes a heading; a longer one was meant to be followed by a rule."""


def markdown_headings(lines: Sequence[str], *, sure: bool = True) -> list[Heading]:
    """Headings outside of code, comments and front matter. Where it is not `sure` that this is Markdown, `# text` is
    one only if it looks like a title, and so do most of its kind: else they are comments of some other language."""
    found: list[Heading] = []
    atx, comments = 0, list[Heading]()
    number, paragraph = _front_matter(lines), 0
    while number < len(lines):
        line = lines[number]
        start = line.lstrip() if len(line) <= MAX_HEADING else _LONG
        if not start:
            paragraph = 0
        elif skipped := _skipped(lines, number, paragraph):
            number, paragraph = skipped, 0
            continue
        elif start[0] == "#" and (match := _ATX.match(line)):
            if match["title"]:
                heading = Heading(_clean(match["title"]), len(match["marks"]), number + 1)
                titled = sure or _is_title(lines, number, heading.title)
                (found if titled else comments).append(heading)
                atx += 1
            paragraph = 0
        elif paragraph and start[0] in "=-" and _SETEXT.match(line):
            if paragraph <= (MAX_SETEXT if sure else 1):
                title = " ".join(part.strip() for part in lines[number - paragraph : number])
                found.append(Heading(_clean(title), 1 if start[0] == "=" else 2, number - paragraph + 1))
            paragraph = 0
        elif start[0] == "<" and (match := _TAG.match(line)):
            found.append(Heading(_clean(plain_text(match["title"])), int(match["level"]), number + 1))
            paragraph = 0
        elif paragraph or not _NO_PARAGRAPH.match(line):
            # A list item or a quotation goes on without its mark, and an underline below it is none.
            paragraph = paragraph + 1 if paragraph or not number or not _continues(lines[number - 1]) else 0
        number += 1
    if len(comments) > MAX_COMMENTS * atx:
        return [heading for heading in found if not lines[heading.line - 1].lstrip().startswith("#")]
    return found


def _front_matter(lines: Sequence[str]) -> int:
    """The first line behind YAML or TOML front matter; 0 where there is none."""
    mark = lines[0].rstrip()
    if mark not in ("---", "+++") or len(lines) < 2 or not lines[1].strip():
        return 0
    ends = (mark, "...") if mark == "---" else (mark,)
    return next((n + 1 for n, line in enumerate(lines[1:MAX_FRONT_MATTER], 1) if line.rstrip() in ends), 0)


def _skipped(lines: Sequence[str], number: int, paragraph: int) -> int:
    """The line behind a block that holds no headings and begins here; 0 where none does."""
    line = lines[number]
    if ("```" in line or "~~~" in line) and (fence := _FENCE.match(line)):
        close = re.compile(rf"^[ \t>]*{fence['marks'][0]}{{{len(fence['marks'])},}}[ \t]*$")
        return _behind(lines, number + 1, lambda text: close.match(text) is not None)
    if "<" not in line:
        return 0
    if (at := line.find("<!--")) >= 0 and "-->" not in line[at:] and not paragraph:
        return _behind(lines, number + 1, lambda text: "-->" in text)
    if (block := _BLOCK.match(line)) and f"</{block['tag'].lower()}" not in line.lower():
        end = f"</{block['tag'].lower()}"
        return _behind(lines, number + 1, lambda text: end in text.lower())
    return 0


def _behind(lines: Sequence[str], number: int, ends: Callable[[str], bool]) -> int:
    return next((n + 1 for n in range(number, len(lines)) if ends(lines[n])), len(lines))


def _continues(line: str) -> bool:
    return bool(line.strip()) and _NO_PARAGRAPH.match(line) is not None


def _is_title(lines: Sequence[str], number: int, title: str) -> bool:
    """Whether a line of `# text` has no other of its level beside it, nothing right above it, and ends as titles do."""
    level = lines[number].lstrip().partition(" ")[0]
    above, below = (lines[n].strip() if 0 <= n < len(lines) else "" for n in (number - 1, number + 1))
    beside = any(line.partition(" ")[0] == level for line in (above, below))
    return not beside and (not above or above[0] in "#-=") and title[-1:] not in ".,;:" and not title[:1].islower()


def _clean(title: str) -> str:
    title = _ATTRIBUTES.sub("", title)
    if "[" in title:
        title = _LINK.sub(r"\g<text>", title)
    if "*" in title or "_" in title:
        title = _STARS.sub(r"\g<text>", title)
    return title.replace("\\", "").strip() if "\\" in title else title.strip()
