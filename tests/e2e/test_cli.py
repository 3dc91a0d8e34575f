"""Each command, its output for people and for machines, and its errors."""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ..conftest import write_files
from ..embedding import EmbeddingServer
from ..scripted import ANSWER, ScriptedServer, call
from .conftest import PROGRAM, Cli, clean_environment

DOCS = {
    "cats.md": "# Cats\n\nA cat sat.\nIt sat on the mat.\n",
    "dogs.md": "# Dogs\n\nA dog barked at the cat.\n",
    "blob.bin": b"\x7fELF\x00\x00",
}


@pytest.fixture
def indexed(cli: Cli, tmp_path: Path) -> Path:
    write_files(tmp_path / "docs", DOCS)
    cli("index", "docs", "--into", "my.corpus")
    return tmp_path / "my.corpus"


def test_index_says_what_it_did_and_what_it_passed_over(cli: Cli, tmp_path: Path) -> None:
    write_files(tmp_path / "docs", DOCS)
    out = cli("index", "docs", "--into", "c", "--report", "report.jsonl").stdout
    assert "2 documents" in out and "2 added" in out and "skipped: blob.bin: binary" in out
    rows = [json.loads(line) for line in (tmp_path / "report.jsonl").read_text().splitlines()]
    assert rows == [{"where": "blob.bin", "what": "skipped", "reason": "binary"}]
    again = json.loads(cli("index", "docs", "--into", "c", "--json").stdout)
    assert (again["documents"], again["added"], again["unchanged"], again["revision"]) == (2, 0, 2, 1)


def test_what_was_passed_over_for_one_reason_is_one_line(cli: Cli, tmp_path: Path) -> None:
    write_files(tmp_path / "docs", {"a.md": "x"} | {f"{i}.bin": b"\x7fELF\x00" for i in range(40)})
    lines = cli("index", "docs", "--into", "c").stdout.splitlines()
    assert "  skipped: 0.bin and 39 more: binary" in lines and len(lines) == 4
    assert "--report FILE" in lines[-1]


def test_search_for_people_and_for_machines(cli: Cli, indexed: Path) -> None:
    out = cli("search", indexed, "cat", "dog", "-k", 1).stdout
    assert "cat: 1 documents" in out and "cats.md:" in out and "dogs.md:" in out
    rows = [json.loads(line) for line in cli("search", indexed, "mat", "--json").stdout.splitlines()]
    assert [(hit["docid"], hit["title"], hit["line"]) for hit in rows[0]["hits"]] == [("cats.md", "Cats", 4)]


@pytest.mark.parametrize("query", ['C++ "unbalanced', "GO:0006275", ">>> x", "AND OR NOT", "한국어"])
def test_search_takes_any_query(cli: Cli, indexed: Path, query: str) -> None:
    cli("search", indexed, "--", query)


def test_an_empty_query_is_told_so(cli: Cli, indexed: Path) -> None:
    done = cli("search", indexed, "", check=False)
    assert done.returncode == 2 and "the query is empty" in done.stderr


def test_ask_shows_calls_and_the_answer_with_citations(cli: Cli, indexed: Path) -> None:
    steps = [
        {"calls": [call("search", {"queries": ["cat"]})]},
        {"calls": [call("bash", {"command": "rg -n sat"}), call("read", {"path": "cats.md"})]},
        ANSWER,
    ]
    with ScriptedServer(steps) as server:
        done = cli("ask", indexed, "Where did the cat sit?", "--base-url", server.base_url, "--run", "runs/one")
    out = done.stdout
    for part in ("search cat", "2 new files", "bash", "rg -n sat", "read", "lines 1-4 of 4", "2 files in W", "100 in",
                 "Exact answer: the mat", "Confidence:   80%", "cats.md:3-4", "3 model calls, 3 tool calls"):  # fmt: skip
        assert part in out, part
    assert (indexed.parent / "runs/one/run.toml").is_file()
    assert done.stderr == ""


def test_ask_for_machines(cli: Cli, indexed: Path) -> None:
    with ScriptedServer([{"calls": [call("search", {"queries": ["cat"]})]}, ANSWER]) as server:
        done = cli("ask", indexed, "Where?", "--base-url", server.base_url, "--model", "m", "--json")
    value = json.loads(done.stdout)
    assert value["answer"]["exact_answer"] == "the mat" and value["spent"]["model_calls"] == 2


def test_ask_without_a_key_uses_the_scout_and_says_so(cli: Cli, indexed: Path) -> None:
    done = cli("ask", indexed, "What did the dog bark at?")
    assert "not a language model" in done.stderr and "not a language model" in done.stdout
    assert "dogs.md:3" in done.stdout


def test_a_run_without_an_answer_exits_non_zero_and_says_why(cli: Cli, indexed: Path) -> None:
    with ScriptedServer([{"calls": [call("search", {"queries": ["cat"]})]}]) as server:
        done = cli("ask", indexed, "?", "--base-url", server.base_url, "--max-calls", 2, check=False)
    assert done.returncode == 1 and "--max-calls" in done.stderr.splitlines()[-1]


def test_nothing_a_model_or_document_writes_drives_the_terminal(cli: Cli, indexed: Path, tmp_path: Path) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J"
    steps = [
        {"calls": [call("bash", {"command": f"echo '{evil}'"}), call(f"x{evil}", {"y": evil})], "text": evil},
        {"text": f"Explanation: {evil} [{evil}.md:1]\nExact Answer: {evil}ok"},
    ]
    with ScriptedServer(steps) as server:
        out = cli("ask", indexed, "?", "--base-url", server.base_url).stdout
    assert "\x1b]" not in out and "\x1b[2J" not in out and "\x07" not in out and "ok" in out


def test_shell_runs_one_command_in_the_workspace(cli: Cli, indexed: Path) -> None:
    assert cli("shell", indexed, "dog", "-c", "ls; cat /etc/passwd 2>&1 | tail -1").stdout.splitlines()[0] == "dogs.md"
    assert cli("shell", indexed, "cat", "-c", "exit 7", check=False).returncode == 7
    assert cli("shell", indexed, "cat", "-c", "rg -n sat; touch x", check=False).stdout.startswith(
        "cats.md:3:A cat sat."
    )


def test_shell_works_on_the_whole_corpus_through_its_index(cli: Cli, indexed: Path) -> None:
    assert (indexed / "index/grep/corpuscope.json").exists(), "index makes it unless told otherwise"
    assert cli("shell", indexed, "--whole", "-c", "rg -n --sort path '(A cat sat|barked)'").stdout == (
        "cats.md:3:A cat sat.\ndogs.md:3:A dog barked at the cat.\n"
    )
    assert cli("shell", indexed, "--whole", "-c", "touch x 2>/dev/null || echo read-only").stdout == "read-only\n"


@pytest.mark.slow
def test_another_retriever_is_indexed_once_and_kept_up_to_date(cli: Cli, indexed: Path, tmp_path: Path) -> None:
    cli("index", tmp_path / "docs", "--into", indexed, "--retriever", "bm25s")
    assert "index bm25s: up to date" in cli("doctor", indexed).stdout
    (tmp_path / "docs/emu.md").write_text("# Emus\n\nAn emu ran.\n")
    cli("index", tmp_path / "docs", "--into", indexed)
    assert "index bm25s: up to date" in cli("doctor", indexed).stdout
    hits = json.loads(cli("search", indexed, "emu", "--retriever", "bm25s", "--json").stdout)["hits"]
    assert [hit["path"] for hit in hits] == ["emu.md"]
    assert "1 documents" in cli("search", indexed, "emu", "--retriever", "bm25s").stdout


def test_an_index_without_grep_is_asked_for(cli: Cli, indexed: Path, tmp_path: Path) -> None:
    cli("index", tmp_path / "docs", "--into", "lean.corpus", "--no-grep")
    assert not (tmp_path / "lean.corpus/index/grep").exists()
    assert "indexed grep: none" in cli("doctor", "lean.corpus").stdout
    assert cli("shell", "lean.corpus", "--whole", "-c", "rg -l sat").stdout == "cats.md\n"
    assert "indexed grep: up to date" in cli("doctor", indexed).stdout


def test_shell_gives_a_person_a_terminal_that_documents_cannot_drive(indexed: Path) -> None:
    pid, master = pty.fork()
    if pid == 0:
        os.execve(PROGRAM, ["corpuscope", "shell", str(indexed), "cat"], clean_environment(TERM="xterm"))
    seen = b""

    def until(mark: bytes) -> bytes:
        nonlocal seen
        end = time.monotonic() + 20
        while mark not in seen and time.monotonic() < end:
            if select.select([master], [], [], 0.2)[0]:
                try:
                    seen += os.read(master, 4096)
                except OSError:
                    break
        assert mark in seen, seen
        return seen

    until(b"W:/w$ ")
    os.write(master, b"rg --color never -c sat; printf 'A\\033]0;owned\\007B\\n'; tty; exit 5\n")
    until(b"cats.md:2")
    until(b"AB\r\n")
    _, status = os.waitpid(pid, 0)
    os.close(master)
    assert os.waitstatus_to_exitcode(status) == 5
    assert b"\x1b]0;" not in seen


def test_doctor_says_what_works_and_what_to_do(cli: Cli, indexed: Path) -> None:
    out = cli("doctor", indexed, "--verify").stdout
    for part in (
        "ok    sandbox: bubblewrap",
        "ok    ripgrep: ripgrep 1",
        "note  keys",
        "2 documents",
        "ok    index: up to date",
    ):
        assert part in out, part
    (indexed / "text/cats.md").chmod(0o644)
    (indexed / "text/cats.md").write_text("tampered")
    done = cli("doctor", indexed, "--verify", "--json", check=False)
    assert done.returncode == 1
    assert {"name": "documents", "state": "bad"}.items() <= json.loads(done.stdout)[-1].items()


@pytest.mark.slow
def test_doctor_on_a_refused_corpus(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_text('{"docid": "1", "text": "a"}\nbroken\n')
    done = cli("index", "r.jsonl", "--into", "c", "--report", "report.jsonl", check=False)
    assert done.returncode == 2 and "r.jsonl:2: not JSON" in done.stderr and "--skip-bad" in done.stderr
    assert "r.jsonl:2" in (tmp_path / "report.jsonl").read_text()
    assert "met bad rows" in cli("doctor", "c", check=False).stdout
    assert cli("search", "c", "a", check=False).returncode == 2
    cli("index", "r.jsonl", "--into", "c", "--skip-bad")
    assert "1." in cli("search", "c", "a").stdout


ERRORS = [
    (("index", "missing", "--into", "c"), 2, "does not exist"),
    (("index", "docs", "--into", "c", "--language", "klingon"), 2, "choose one of english"),
    (("index", "docs", "--into", "docs"), 2, "is not a corpus"),
    (("index", "docs", "--into", "/proc/nope/c"), 3, "cannot make"),
    (("index", "docs", "--into", "empty", "--include", "*.zzz"), 2, "no documents in docs"),
    (("search", "my.corpus", "x", "--retriever", "nope"), 2, "there are bm25, bm25s"),
    (("index", "docs", "--into", "my.corpus", "--retriever", "nope"), 2, "there are bm25, bm25s"),
    (("search", "missing", "x"), 2, "is not a corpus"),
    (("ask", "my.corpus"), 2, "no question"),
    (("ask", "my.corpus", "x", "--system", "nope"), 2, "rise, rise-bm25"),
    (("ask", "my.corpus", "x", "--model", "gpt"), 2, "provider:model"),
    (("ask", "my.corpus", "x", "--model", "openai:gpt-5.4-mini"), 3, "OPENAI_API_KEY"),
    (("ask", "my.corpus", "x", "--base-url", "http://127.0.0.1:9/v1"), 2, "--model"),
    (("ask", "my.corpus", "x", "--max-cost", "-1"), 2, "above zero"),
    (("ask", "my.corpus", "--run", "none", "--resume"), 2, "no run in none"),
    (("shell", "my.corpus", "", "-c", "ls"), 2, "the query is empty"),
    (("shell", "my.corpus", "-c", "ls"), 2, "the query is empty"),
    (("shell", "my.corpus", "cat", "--whole"), 2, "not both"),
    (("shell", "my.corpus", "--whole", "--sandbox", "off", "-c", "ls"), 2, "needs the sandbox"),
    (("shell", "my.corpus", "cat", "--sandbox", "maybe"), 2, "on or off"),
]


@pytest.mark.parametrize(("arguments", "code", "message"), ERRORS)
def test_an_error_is_one_line_that_says_what_to_do(
    cli: Cli, indexed: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    done = cli(*arguments, check=False)
    assert done.returncode == code, done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert message in last


def test_debug_shows_the_traceback(cli: Cli) -> None:
    done = subprocess.run([PROGRAM, "search", "missing", "x", "--debug"], capture_output=True, text=True, check=False)
    assert "Traceback" in done.stderr and "UsageError" in done.stderr


@pytest.mark.parametrize("command", ["", "index", "search", "ask", "shell", "doctor"])
def test_help_has_examples_and_loads_nothing_heavy(cli: Cli, command: str) -> None:
    out = cli(*([command] if command else []), "--help").stdout
    assert "Example" in out and "corpuscope" in out
    script = f"import sys; sys.argv = ['corpuscope', {command!r}, '--help']; from corpuscope.cli import main\ntry: main()\nexcept SystemExit: pass\n"
    script = script.replace("'', ", "")
    script += "print([m for m in ('pydantic_ai', 'tantivy', 'rich', 'sqlite3', 'asyncio') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_colours_only_on_a_terminal(cli: Cli, indexed: Path) -> None:
    assert "\x1b" not in cli("ask", indexed, "What did the dog bark at?").stdout


def test_without_a_sandbox_only_when_told(cli: Cli, indexed: Path) -> None:
    out = cli("shell", indexed, "cat", "--sandbox", "off", "-c", "pwd; cat cats.md | head -1").stdout.splitlines()
    assert out[0] != "/w" and out[1] == "# Cats"


def test_version(cli: Cli) -> None:
    import corpuscope

    assert cli("--version").stdout == f"corpuscope {corpuscope.__version__}\n"


@pytest.mark.slow
def test_systems_lists_and_shows(cli: Cli, tmp_path: Path) -> None:
    rows = dict(line.split(maxsplit=1) for line in cli("systems").stdout.splitlines())
    assert {"rise", "rise-bm25", "dci-lite", "dci-lite-l0", "dci-read-grep"} <= set(rows)
    assert rows["rise"].startswith("RISE: ")
    shown = cli("systems", "show", "dci-lite").stdout
    (tmp_path / "mine.toml").write_text(shown.replace("300", "7"))
    assert 'boundary = "corpus"' in shown
    steps = [{"calls": [call("bash", {"command": "ls"})]}, ANSWER]
    write_files(tmp_path / "docs", DOCS)
    cli("index", "docs", "--into", "c")
    shutil.rmtree(tmp_path / "c/index")
    with ScriptedServer(steps) as server:
        cli("ask", "c", "?", "--system", "mine.toml", "--base-url", server.base_url, "--run", "run")
    assert "model_calls = 7\n" in (tmp_path / "run/run.toml").read_text()
    assert not (tmp_path / "c/index").exists(), "where nothing is ranked, no index is made"
    assert {row["name"] for row in json.loads(cli("systems", "--json").stdout)} == set(rows)
    for arguments, message in ((("systems", "show", "nope"), "no system"), (("systems", "list"), "systems show NAME")):
        done = cli(*arguments, check=False)
        assert done.returncode == 2 and message in done.stderr


def test_dci_needs_the_sandbox(cli: Cli, indexed: Path) -> None:
    done = cli("ask", indexed, "?", "--system", "dci-lite", "--sandbox", "off", "--model", "scout", check=False)
    assert done.returncode == 2 and "needs the sandbox" in done.stderr


def test_a_packed_corpus_does_what_any_other_does(cli: Cli, tmp_path: Path) -> None:
    write_files(tmp_path / "few", {"cats.md": "# Cats\n\nA cat sat on the mat.\n", "dogs.md": "# Dogs\n\nA dog ran.\n"})
    cli("index", "few", "--into", "packed.corpus", "--packed")
    assert sorted(f.name for f in (tmp_path / "packed.corpus/packs/000").iterdir()) == ["shard-000001.txt"]
    assert "cats.md:3" in cli("search", "packed.corpus", "mat").stdout
    assert (
        cli("shell", "packed.corpus", "mat", "-c", "ls; cat cats.md").stdout
        == "cats.md\n# Cats\n\nA cat sat on the mat.\n"
    )
    assert (
        cli("shell", "packed.corpus", "--whole", "-c", "rg -n sat").stdout
        == "000/shard-000001.txt:4:A cat sat on the mat.\n"
    )
    cli("structure", "packed.corpus", "--propose", "headings")
    asked = json.loads(cli("ask", "packed.corpus", "Where did the cat sit?", "--model", "scout", "--json").stdout)
    assert asked["stop_reason"] == "answered"
    assert "2 unchanged" in cli("index", "few", "--into", "packed.corpus").stdout
    assert "up to date" in cli("doctor", "packed.corpus").stdout


@pytest.mark.slow
def test_vectors_are_made_once_and_follow_the_documents(cli: Cli, indexed: Path, tmp_path: Path) -> None:
    with EmbeddingServer() as server:
        model = f"dense=m@{server.base_url}"
        cli("index", tmp_path / "docs", "--into", indexed, "--retriever", model)
        count = len(server.texts)  # type: ignore[attr-defined]
        assert count and "index dense: up to date" in cli("doctor", indexed).stdout
        (tmp_path / "docs/emu.md").write_text("# Emus\n\nAn emu ran.\n")
        cli("index", tmp_path / "docs", "--into", indexed)
        assert len(server.texts) == count + 1, "only what is new"  # type: ignore[attr-defined]
        hits = json.loads(cli("search", indexed, "emus an emu ran", "--retriever", "bm25+dense", "--json").stdout)[
            "hits"
        ]
        assert hits[0]["path"] == "emu.md"
        server.failures = [(401, "no such key")]  # type: ignore[attr-defined]
        refused = cli("search", indexed, "emu", "--retriever", "dense", check=False)
        assert refused.returncode == 3 and "refuses the API key" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--retriever", "nope"], "there is no retriever 'nope'"),
        (["--retriever", "bm25=openai:x"], "the retriever bm25 works without a model"),
        (["--retriever", "dense=m"], "embedding model 'm': write provider:model"),
        (["--retriever", "late"], "the retriever late needs a model"),
    ],
)
def test_a_retriever_that_cannot_be_says_why(cli: Cli, tmp_path: Path, arguments: list[str], said: str) -> None:
    write_files(tmp_path / "few", {"cats.md": "# Cats\n\nA cat sat.\n"})
    done = cli("index", "few", "--into", "few.corpus", *arguments, check=False)
    assert done.returncode == 2 and said in done.stderr and len(done.stderr.splitlines()) == 1
