"""Indexed grep: what the sandbox's rg and grep print is what the programs themselves print."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from corpuscope.corpus import Corpus, SourceSettings
from corpuscope.retrieve import GrepIndex
from corpuscope.retrieve.grep import part
from corpuscope.workspace import Workspace
from corpuscope.workspace.narrowing import serving
from tests.conftest import MakeCorpus, write_files
from tests.workspace.searches import HOSTILE, Search, compared, searches, words_of


@pytest.fixture(autouse=True)
def _narrow_wherever_it_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what most documents have, and with signatures of hardly more than one short document."""
    monkeypatch.setattr(serving, "WORTHWHILE", 1.0)
    monkeypatch.setattr(part, "UNIT_BYTES", 100)


@pytest.fixture
def hostile(make_corpus: MakeCorpus) -> Iterator[Workspace]:
    corpus = make_corpus(HOSTILE)
    GrepIndex(corpus).update()
    with Workspace(corpus, whole=True) as workspace:
        yield workspace


def folders_of(corpus: Corpus) -> list[str]:
    return sorted({entry.path.rpartition("/")[0] for entry in corpus.entries()} - {""})


def words_in(corpus: Corpus, every: int = 1) -> list[str]:
    texts = [corpus.store.read(entry.path)[:20_000].decode(errors="ignore") for entry in corpus.entries()]
    return words_of(texts[::every])


def test_prints_what_ripgrep_and_grep_print_on_hostile_documents(hostile: Workspace) -> None:
    wanted = searches(words_in(hostile.corpus), folders_of(hostile.corpus), 200, seed=1)
    assert compared(hostile, wanted) == []
    assert hostile.narrowing and hostile.narrowing.narrowed > 60


LETTERS = (
    "\N{KELVIN SIGN}elvin", "kelvin", "KELVIN", "congress", "CONGRESS", "congre\u017f\u017f", "stra\u00dfe", "STRA\u1e9eE", "strasse", "istanbul", "\u0131stanbul",
    "\u0130stanbul", "diyarbakir", "d\u0131yarbak\u0131r", "\u0432\u043e\u0439\u043d\u0430", "\u0412\u041e\u0419\u041d\u0410", "\u043c\u0438\u0440", "\u03bf\u03b4\u03c5\u03c3\u03c3\u03b5\u03c5\u03c2", "\u039f\u0394\u03a5\u03a3\u03a3\u0395\u03a5\u03a3", "\u5317\u4eac", "\u4eac", "\uc11c\uc6b8", "\u05e9\u05dc\u05d5\u05dd",
)  # fmt: skip


def test_letters_match_as_the_programs_match_them(hostile: Workspace) -> None:
    programs = ("rg -i", "rg -P -i", "rg -F -i", "rg", "grep -r -i", "grep -r -P -i", "grep -r", "rg -i --no-unicode")
    wanted = [Search(f"{program} {letters}", "", False) for letters in LETTERS for program in programs]
    assert compared(hostile, wanted) == []
    assert hostile.narrowing and hostile.narrowing.narrowed == len(wanted)


PAPERS = (
    "grep -rn 'keyword' . | head", "grep -rl foo . | xargs grep -l bar", "find . -type f | grep '2024' | head", "rg -n --sort=path needle | head -2",
    "rg -l 'first' | xargs rg -l 'third'", "rg -n 'needle' | rg second", "rg -n --sort path 'needle' app.log ansi.txt", "grep -m 3 'needle' app.log | head -c 1500",
    "rg -c --sort path needle | sort -t: -k2 -n -r", "rg -o --no-filename --sort path '.{0,10}needle.{0,10}'", "rg -l needle -0 | xargs -0 rg -c line | sort",
    "for f in $(rg -l --sort path needle); do rg -c e \"$f\"; done", "cat app.log | rg needle", "rg needle < app.log", "rg -f <(echo needle) | sort",
    "rg -il needle | wc -l", "find . -name '*.md' -exec rg -l Needle {} +", "rg --files | rg -i md | sort", "rg needle && echo yes || echo no", "rg -q zzzz; echo $?",
    "timeout 5 rg -l needle | sort", "rg -l --sort path needle | while read -r f; do rg -n first \"$f\"; done", "xargs -I{} rg -l {} < short.txt", "RIPGREP_CONFIG_PATH= rg -l needle | sort",
    "env -i /opt/corpuscope/rg -l needle | sort", "LC_ALL=C grep -rl needle . | sort", "cd names && rg -l needle .. | sort", "mkdir -p /tmp/e && cat crlf.txt > /tmp/e/crlf.txt && rg -l needle /tmp/e /w | sort",
    "mkdir -p /tmp/d && cat app.log > /tmp/d/app.log && rg -l --sort path needle . /tmp/d", "ln -sfn /w /tmp/link && rg -l needle /tmp/link/names | sort", "cd /tmp && rg -l needle /w/names | sort",
    "egrep -r 'needle|none' . | sort", "rg 'needle' -- -none", "rg -- -needle", "rg -e -needle", "rg", "grep", "grep -r", "rg -g", "rg needle nosuchfile", "rg needle /etc/shadow",
)  # fmt: skip
"""What agents of both papers type (DCI: table of bash patterns, its examples; RISE: its prompt), and what leads astray."""


def test_pipelines_of_both_papers_print_the_same(hostile: Workspace) -> None:
    differences = compared(hostile, [Search(command, "", False) for command in PAPERS])
    assert not differences, "\n".join(differences)


@pytest.mark.slow
def test_prints_what_ripgrep_and_grep_print_for_two_thousand_commands(django_docs: Path, tmp_path: Path) -> None:
    write_files(tmp_path / "hostile", HOSTILE)
    source = tmp_path / "source"
    source.mkdir()
    (source / "django").symlink_to(django_docs)
    with _corpus(django_docs, tmp_path / "django.corpus") as corpus, Workspace(corpus, whole=True) as workspace:
        wanted = searches(words_in(corpus, 5), folders_of(corpus), 1_000, seed=2)
        assert compared(workspace, wanted) == []
        assert workspace.narrowing and workspace.narrowing.narrowed > 300
    with (
        _corpus(tmp_path / "hostile", tmp_path / "hostile.corpus") as corpus,
        Workspace(corpus, whole=True) as workspace,
    ):
        assert compared(workspace, searches(words_in(corpus), folders_of(corpus), 1_000, seed=3)) == []


def _corpus(source: Path, into: Path) -> Corpus:
    corpus, _ = Corpus.build(source, into, SourceSettings())
    GrepIndex(corpus).update()
    return corpus
