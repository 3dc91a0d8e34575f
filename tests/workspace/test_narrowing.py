"""Indexed grep: what the sandbox's rg and grep print is what the programs themselves print."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corpuscope.corpus import Corpus, SourceSettings
from corpuscope.retrieve import GrepIndex
from corpuscope.retrieve.grep import part
from corpuscope.workspace import Workspace, execute
from corpuscope.workspace import ripgrep as ripgrep_program
from corpuscope.workspace.narrowing import ripgrep, serving
from tests.conftest import MakeCorpus, write_files
from tests.workspace.searches import HOSTILE, Search, compared, searches, words_of


@pytest.fixture(autouse=True, scope="module")
def _narrow_wherever_it_can_be() -> Iterator[None]:
    """Also what most documents have, and with signatures of hardly more than one short document."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(serving, "WORTHWHILE", 1.0)
        patch.setattr(part, "UNIT_BYTES", 100)
        yield


@pytest.fixture(scope="module")
def hostile_corpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Corpus]:
    folder = tmp_path_factory.mktemp("hostile")
    with _corpus(write_files(folder / "source", HOSTILE), folder / "corpus") as corpus:
        yield corpus


@pytest.fixture
def hostile(hostile_corpus: Corpus) -> Iterator[Workspace]:
    with Workspace(hostile_corpus, whole=True) as workspace:
        yield workspace


def folders_of(corpus: Corpus) -> list[str]:
    return sorted({entry.path.rpartition("/")[0] for entry in corpus.entries()} - {""})


def words_in(corpus: Corpus, every: int = 1) -> list[str]:
    texts = [corpus.store.read(entry.path)[:20_000].decode(errors="ignore") for entry in corpus.entries()]
    return words_of(texts[::every])


def test_prints_what_ripgrep_and_grep_print_on_hostile_documents(hostile: Workspace) -> None:
    wanted = searches(words_in(hostile.corpus), folders_of(hostile.corpus), 120, seed=1)
    assert compared(hostile, wanted) == []
    assert hostile.narrowing and hostile.narrowing.narrowed > 35


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
    "rg needle ''", "rg needle nosuch names | sort", "grep -r needle nosuch names | sort", "rg needle names app.log | sort", "grep -r needle ''", "rg needle '' names | sort", "rg needle ./. ././names | sort", "rg needle .//names | sort", "rg needle //w/names", "rg needle /w//names | sort",
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


def ask(workspace: Workspace, question: bytes) -> bytes:
    """What the front's socket answers, as any program in the sandbox could ask it."""
    script = f"""
import socket, sys
s = socket.socket(socket.AF_UNIX); s.connect("/opt/corpuscope/index")
s.sendall(bytes.fromhex("{question.hex()}")); s.shutdown(socket.SHUT_WR)
data = b""
while part := s.recv(65536): data += part
sys.stdout.buffer.write(data)
"""
    command = f"/usr/bin/python3 -c {shlex.quote(script)}"
    return execute(workspace.sandbox, command, 20).output


def question(*fields: str) -> bytes:
    return b"".join(field.encode(errors="surrogateescape") + b"\0" for field in fields)


@pytest.mark.parametrize(
    "asked",
    [
        b"", b"\0", b"rg", b"rg\0/w\0", b"\xff\xfe\0" * 9, question("sh", "/w", "", "needle"), question("rg", "/etc", "", "needle"),
        question("rg", "/w", "", "needle", "/etc"), question("rg", "/w", "", "needle", "/w/../etc"), question("rg", "/w/../..", "", "needle"),
        question("rg", "/w", "", "needle", "../../etc"), question("grep", "/w", "", "-r", "needle", "/etc"), question("rg", "", "", "needle"),
        question("rg", "/w", "", "(" * 3000, "."), question("rg", "/w", "", "-e"), question("rg", "w", "", "needle", "."), b"rg\0/w\0\0" + b"x" * 200_000,
    ],
)  # fmt: skip
def test_a_question_nobody_should_ask_is_answered_by_nothing(hostile: Workspace, asked: bytes) -> None:
    assert hostile.narrowing and hostile.narrowing.answer(asked) == []


@given(st.lists(st.text(alphabet=st.sampled_from("rgw/.-e*{}[]()\\n\0needl\u20ac"), max_size=12), max_size=8))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_asked_only_documents_are_named(hostile: Workspace, fields: list[str]) -> None:
    assert hostile.narrowing
    typed = [field for field in fields if "\0" not in field]
    answer = hostile.narrowing.answer(question("rg", "/w", "", *typed))
    roots = set(typed)
    for path in answer[answer.index("--") + 1 :] if answer else []:
        inside = os.path.normpath(f"/w/{path}" if not path.startswith("/") else path)
        assert path in roots or path == "/dev/null" or (hostile.path / inside[3:]).is_file()


def test_a_client_that_never_finishes_its_question_keeps_nobody_waiting(hostile: Workspace) -> None:
    stuck = "/usr/bin/python3 -c 'import socket,time; s=socket.socket(socket.AF_UNIX); s.connect(\"/opt/corpuscope/index\"); time.sleep(30)'"
    outcome = execute(hostile.sandbox, f"{stuck} & {stuck} & sleep 0.5; rg -l --sort path needle names | head -1", 20)
    assert outcome.output.splitlines() == [b"names/UPPER.MD"] and outcome.seconds < 15


def test_programs_in_the_sandbox_can_ask_and_learn_nothing_they_do_not_see(hostile: Workspace) -> None:
    answer = ask(hostile, question("rg", "/w", "", "needle", "names")).split(b"\0")
    assert b"names/UPPER.MD" in answer and str(hostile.corpus.root).encode() not in b" ".join(answer)
    assert ask(hostile, question("rg", "/w", "", "needle", "/etc")) == b""


def test_answers_stay_right_while_the_corpus_changes(make_corpus: MakeCorpus, tmp_path: Path) -> None:
    source = write_files(tmp_path / "changing", {f"{n}.txt": f"document {n}" for n in range(50)})
    with _corpus(source, tmp_path / "changing.corpus") as corpus, Workspace(corpus, whole=True) as workspace:
        assert workspace.narrowing
        (source / "7.txt").write_text("it says otherwise")
        (source / "8.txt").unlink()
        Corpus.build(source, corpus.root)[0].close()
        assert execute(workspace.sandbox, "rg -l otherwise", 20).output == b"7.txt\n"
        assert workspace.narrowing.narrowed == 0, "an index behind the corpus is not asked"
        with Corpus.open(corpus.root) as again:
            GrepIndex(again).update()
        assert execute(workspace.sandbox, "rg -l otherwise; rg -l 'document 8'", 20).output == b"7.txt\n"
        assert workspace.narrowing.narrowed == 2


def test_without_an_index_or_a_listener_the_programs_run_as_they_are(make_corpus: MakeCorpus) -> None:
    corpus = make_corpus({"a.md": "needle"})
    with Workspace(corpus, whole=True) as workspace:
        assert workspace.narrowing is None
        assert execute(workspace.sandbox, "command -v rg grep; rg -l needle", 20).output.endswith(
            b"/usr/bin/grep\na.md\n"
        )
    GrepIndex(corpus).update()
    with Workspace(corpus, whole=True) as workspace:
        assert workspace.narrowing
        workspace.narrowing.close()
        assert execute(workspace.sandbox, "rg -l needle; grep -rl needle .", 20).output == b"a.md\n./a.md\n"
        workspace.narrowing = None


def test_where_no_socket_can_be_the_programs_read_everything(
    hostile_corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError("no sockets on this file system")

    monkeypatch.setattr(serving, "_listening", refuse)
    with Workspace(hostile_corpus, whole=True) as workspace:
        assert workspace.narrowing is None
        assert execute(workspace.sandbox, "rg -l NeedleAcross", 20).output == b"straddling.txt\n"


def test_a_pattern_of_hundreds_of_literals_is_left_to_the_program(hostile: Workspace) -> None:
    assert hostile.narrowing
    few, many = ("|".join(f"word{n}" for n in range(count)) for count in (256, 257))
    assert hostile.narrowing.answer(question("rg", "/w", "", few)) != []
    assert hostile.narrowing.answer(question("rg", "/w", "", many)) == []


def test_what_most_documents_have_is_left_to_the_program(hostile: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "WORTHWHILE", 0.25)
    assert hostile.narrowing
    outcome = execute(hostile.sandbox, "rg -c 'e' | wc -l; rg -l 'NeedleAcrossTheSeam'", 20)
    assert outcome.output.endswith(b"straddling.txt\n") and hostile.narrowing.narrowed == 1


def test_a_long_way_to_the_corpus_is_no_hindrance(tmp_path: Path) -> None:
    deep = tmp_path / "/".join(["a folder of a long name"] * 8)
    source = write_files(tmp_path / "source", {"a.md": "needle", "b.md": "nothing"})
    deep.mkdir(parents=True)
    with _corpus(source, deep / "corpus") as corpus, Workspace(corpus, whole=True) as workspace:
        assert execute(workspace.sandbox, "rg -l needle", 20).output == b"a.md\n"
        assert workspace.narrowing and workspace.narrowing.narrowed == 1


def test_every_option_kept_is_one_of_this_ripgrep() -> None:
    """A new ripgrep with other options must not be read by the old table."""
    helped = subprocess.run([ripgrep_program(), "--help"], capture_output=True, text=True, check=True).stdout
    options = re.findall(r"^ {4}(?:-(\S), )?--([a-z0-9-]+)(=\S+)?", helped, re.MULTILINE) + re.findall(
        r"^ {4}-(\S) [A-Z]+, --([a-z0-9-]+)(=\S+)", helped, re.MULTILINE
    )
    takes_value = {name: bool(value) for _, name, value in options}
    short = {letter: name for letter, name, _ in options if letter}
    assert len(takes_value) > 90
    for letter, name in {**ripgrep.VALUES, **ripgrep.SWITCHES}.items():
        assert short[letter] == name
    for name in ripgrep.LONG_VALUES - {"maxdepth"}:
        assert takes_value[name], name
    for name in ripgrep.LONG_SWITCHES:
        plain = name if name in takes_value else name.removeprefix("no-")
        assert not takes_value[plain] or name == "no-context-separator", name
