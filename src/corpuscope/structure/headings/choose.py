"""Which kind of document a text is: by its name where that says so, else by what stands in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ..section import Heading
from .asciidoc import asciidoc_headings
from .html import html_headings
from .latex import latex_headings
from .man import man_headings, rendered_man_headings
from .markdown import markdown_headings
from .plain import plain_headings
from .restructuredtext import rst_headings

Lines = Sequence[str]
Proposer = Callable[[Lines], list[Heading]]


def nothing(lines: Lines) -> list[Heading]:
    """Program code, data and configuration have comments and keys, no headings."""
    return []


def converted(lines: Lines) -> list[Heading]:
    """What markitdown makes of pdf, html and office files; an html file that it did not convert has its tags."""
    return html_headings(lines) or markdown_headings(lines) or plain_headings(lines)


_PROGRAMS = """
asm awk bat bash bib c cc cfg cjs clj cmake conf cpp cs css csv cxx dart diff dts dtsi el erl ex exs f90 go gradle graphql
h hh hpp hs hxx ini ipynb java jl js json jsonl jsx kt kts lds less lisp lock log lua m mjs mk ml ndjson patch php pl pm
po pot proto ps1 py pyi pyx r rb rs s sass scala scss sh sql svg swift tcl tf toml ts tsv tsx v vb vhd vue xml xsl yaml
yml zig zsh
"""
_BY_SUFFIX: dict[str, Proposer] = {
    **dict.fromkeys(("md", "markdown", "mdown", "mkd", "mdx", "qmd", "rmd"), markdown_headings),
    **dict.fromkeys(("rst", "rest"), rst_headings),
    **dict.fromkeys(("adoc", "asciidoc", "asc", "wiki", "mediawiki"), asciidoc_headings),
    **dict.fromkeys(("tex", "latex", "ltx"), latex_headings),
    **dict.fromkeys(("html", "htm", "xhtml", "pdf", "docx", "pptx", "xlsx", "xls", "epub", "msg"), converted),
    **dict.fromkeys(_PROGRAMS.split(), nothing),
}
_MAN_SUFFIX = re.compile(r"\A[1-9][a-z]?\Z")
_ROFF = re.compile(r"^\.(?:TH|SH|Dd|Sh)\s", re.MULTILINE)
_LATEX = re.compile(r"^[ \t]*\\(?:documentclass|(?:sub)*section\*?|chapter\*?)[\[{]", re.MULTILINE)
_HTML = re.compile(r"\A\s*<(?:!doctype html|html|\?xml[^>]*>\s*<!doctype html)", re.IGNORECASE)
_EQUALS = re.compile(r"^={1,6} [^\s=]", re.MULTILINE)
_RST = re.compile(r"^\.\. (?:_|[\w-]+::|\|)|^:[\w-]+:|:[a-z]+:`|``\S|::$|`_", re.MULTILINE)
_COLUMNS = re.compile(r"\t|\S {3,}\S")
"""The head of a table, not a title."""
_SAMPLE = 1 << 16


def propose_headings(text: str, path: str) -> list[Heading]:
    """The headings of a document in the order of their lines, one a line; [] where there are none."""
    lines = text.replace("\r", "").split("\n") if "\r" in text else text.split("\n")
    suffix = path.rpartition("/")[2].rpartition(".")[2].lower()
    found = (_BY_SUFFIX.get(suffix) or _by_content(text, suffix))(lines)
    first_of_line = {heading.line: heading for heading in reversed(found) if heading.title}
    return [first_of_line[line] for line in sorted(first_of_line)]


def _by_content(text: str, suffix: str) -> Proposer:
    sample = text[:_SAMPLE]
    if sample.startswith("#!"):
        return nothing
    if _MAN_SUFFIX.match(suffix) or _ROFF.search(sample):
        return man_headings if _ROFF.search(sample) else _text
    if _LATEX.search(sample):
        return latex_headings
    if _HTML.search(sample):
        return html_headings
    if _EQUALS.search(sample):
        return _asciidoc
    if _RST.search(sample):
        return _restructured
    return _text


def _asciidoc(lines: Lines) -> list[Heading]:
    """A line of other text may begin with an equals sign too, and most underlined titles are titles in both."""
    marked, underlined = asciidoc_headings(lines), rst_headings(lines)
    return underlined if 2 * len(underlined) > len(marked) else marked


def _restructured(lines: Lines) -> list[Heading]:
    return rst_headings(lines) or _text(lines)


def _text(lines: Lines) -> list[Heading]:
    """Text of no known kind: what has more headings, as Markdown, with underlines of any kind, or as plain text."""
    rendered = rendered_man_headings(lines)
    if rendered:
        return rendered
    marked, underlined = (
        [heading for heading in found if not _COLUMNS.search(heading.title)]
        for found in (markdown_headings(lines, sure=False), rst_headings(lines))
    )
    best = marked if len(marked) > len(underlined) else underlined
    if len(best) > 1:
        return best
    plain = plain_headings(lines)
    return plain if len(plain) > len(best) else best
