"""The 641 texts of Django's documentation: our titles against those that docutils parses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import pytest
from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.parsers.rst import Directive, Parser, directives, roles, states
from docutils.utils import new_document

from corpuscope.corpus import Corpus, SourceSettings
from corpuscope.structure import Structured, parse_toc, strip, structure


class AnyDirective(Directive):
    """Sphinx's directives, whose contents hold no sections."""

    has_content = True
    optional_arguments = 100
    final_argument_whitespace = True
    option_spec = None

    def run(self) -> list[nodes.Node]:
        return []


def any_role(name: str, rawtext: str, text: str, *rest: Any, **more: Any) -> tuple[list[nodes.Node], list[Any]]:
    named = re.match(r"(.*\S)\s*<[^<>]*>$", text, re.DOTALL)
    return [nodes.literal(rawtext, named[1] if named else text.lstrip("!~"))], []


@pytest.fixture
def lenient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """docutils without Sphinx: every directive and role is known, and does nothing."""
    monkeypatch.setattr(directives, "directive", lambda name, language, document: (AnyDirective, []))
    monkeypatch.setattr(roles, "role", lambda name, language, line, reporter: (any_role, []))
    monkeypatch.setattr(states.roles, "role", lambda name, language, line, reporter: (any_role, []))
    yield


def docutils_titles(text: str) -> list[str]:
    settings = get_default_settings(Parser)
    settings.report_level, settings.halt_level = 5, 6
    document = new_document("x", settings)
    Parser().parse(text, document)
    return [" ".join(title.astext().split()) for title in document.findall(nodes.title)]


@pytest.mark.slow
@pytest.mark.usefixtures("lenient")
def test_titles_agree_with_docutils_and_every_document_with_a_heading_has_a_table(
    django_docs: Path, tmp_path: Path
) -> None:
    corpus, _ = Corpus.build(django_docs, tmp_path / "c", SourceSettings(include=("*.txt", "*.rst")))
    structure(corpus)
    root = Structured(corpus).store.root
    same = ours = theirs = documents = 0
    for entry in corpus.entries():
        data = (root / entry.path).read_bytes()
        text = corpus.store.read(entry.path)
        assert strip(data) == text
        found = [row.title for row in parse_toc(data).entries]
        expected = docutils_titles(text.decode())
        assert found or not expected, entry.path
        if expected:  # a licence in Markdown and a robots.txt are none of docutils' business
            matcher = SequenceMatcher(None, found, expected, autojunk=False)
            same += sum(block.size for block in matcher.get_matching_blocks())
            ours, theirs, documents = ours + len(found), theirs + len(expected), documents + 1
    assert len(corpus) == 641 and documents >= 635 and theirs > 6_000
    assert same / max(ours, theirs) >= 0.99
