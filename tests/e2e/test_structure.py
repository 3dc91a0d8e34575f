"""`corpuscope structure`, `toc`, and `ask --system rise`, as a person runs them."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from ..conftest import write_files
from ..scripted import ScriptedServer, Step, call
from ..structure.proposing import BatchServer, ProposingServer, essay
from .conftest import PROGRAM, Cli, clean_environment

ROOT = Path(__file__).parents[2]
DOCS = {
    "guide.md": "# Guide\n\nIntro.\n\n## Cats\n\nThe cat sat on the mat.\n\n## Dogs\n\nA dog barked.\n",
    "essay.txt": essay("Essay"),
}


@pytest.fixture
def indexed(cli: Cli, tmp_path: Path) -> Path:
    write_files(tmp_path / "docs", DOCS)
    cli("index", "docs", "--into", "my.corpus")
    return tmp_path / "my.corpus"


def provider(server: ScriptedServer) -> dict[str, str]:
    return {"OPENAI_API_KEY": "test", "OPENAI_BASE_URL": server.base_url}


def test_without_a_model_headings_become_tables(cli: Cli, indexed: Path) -> None:
    out = cli("structure", indexed).stdout
    assert "2 documents" in out and "1 by their headings, 0 by the model, 1 without sections" in out
    again = json.loads(cli("structure", indexed, "--json").stdout)
    assert (again["own"], again["without"], again["left"]) == (0, 0, 0)
    assert cli("toc", indexed, "guide.md").stdout == " 8-18  Guide\n12-15    Cats\n16-18    Dogs\n"
    assert cli("toc", indexed, "essay.txt").stdout == "(no sections)\n"
    row = json.loads(cli("toc", indexed, "guide.md", "--json").stdout)["entries"][1]
    assert row == {"title": "Cats", "description": "", "depth": 1, "first": 12, "last": 15}


def test_a_key_in_the_environment_asks_a_model_for_the_rest(cli: Cli, indexed: Path) -> None:
    with ProposingServer() as server:
        done = cli("structure", indexed, **provider(server))
    assert server.requests[0]["model"] == "gpt-5.4-nano"
    assert re.search(r"openai:gpt-5.4-nano for 1 documents, directly: 1 requests, .* about \$0\.00\d\d", done.stderr)
    assert "1 by their headings, 1 by the model, 0 without sections" in done.stdout
    assert re.search(r"1 replies, 100 tokens in, 10 out, \$0\.0000", done.stdout)
    out = cli("toc", indexed, "essay.txt").stdout
    assert re.search(r" 8-9 +Part 0 — Essay and its part\.", out)
    found = cli("structure", indexed, "--stats").stdout
    for row in (r"documents +2 of 2", r"with a table +2 \(100.0%\)", r"by headings +1", r"by gpt-5.4-nano +1",
                r"anchors proposed +3, 100.0% located", r"exact +3", r"cost of gpt-5.4-nano +1 replies, 100 tokens in"):  # fmt: skip
        assert re.search(row, found), row
    stats = json.loads(cli("structure", indexed, "--stats", "--json").stdout)
    assert (stats["proposed"], stats["exact"], stats["lost"], stats["missing"]) == (3, 3, 0, 0)
    assert stats["costs"][0]["requests"] == 1 and stats["entries_per_document"] == 3.0


def test_a_server_of_ones_own(cli: Cli, indexed: Path) -> None:
    with ProposingServer() as server:
        done = cli("structure", indexed, "--base-url", server.base_url)
    assert server.requests[0]["model"] == "scripted" and "price unknown" in done.stderr
    assert "1 by the model" in done.stdout and "price unknown" in done.stdout


def test_a_batch(cli: Cli, indexed: Path) -> None:
    with BatchServer(looks=0) as server:
        done = cli("structure", indexed, "--propose", "openai:gpt-5.4-nano", "--batch", **provider(server))
    assert "2 by the model" in done.stdout or "1 by the model" in done.stdout
    assert "by the batch API" in done.stderr and len(server.batches) == 1 and not server.requests


def test_a_cost_cap_is_an_error_that_says_what_is_left(cli: Cli, tmp_path: Path) -> None:
    write_files(tmp_path / "docs", {f"e{n:02}.txt": essay(f"Essay{n}", size=3_000) for n in range(30)})
    cli("index", "docs", "--into", "c")
    with ProposingServer() as server:
        done = cli("structure", "c", "--max-cost", "0.02", check=False, **provider(server))
    assert done.returncode == 1
    assert re.search(r"corpuscope: --max-cost is reached: \d+ documents are left; run again with more", done.stderr)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("structure", "nowhere"), 2, "is not a corpus"),
        (("structure", "my.corpus", "--propose", "gpt-4"), 2, "write provider:model"),
        (("structure", "my.corpus", "--propose", "headings", "--batch"), 2, "need a model"),
        (("structure", "my.corpus", "--max-cost", "1"), 2, "need a model"),
        (("structure", "my.corpus", "--max-cost", "-1"), 2, "above zero"),
        (("structure", "my.corpus", "--propose", "openai:gpt-5.4-nano"), 3, "OPENAI_API_KEY"),
        (("structure", "my.corpus", "--stats"), 2, "corpuscope structure"),
        (("toc", "my.corpus", "guide.md"), 2, "corpuscope structure"),
        (("ask", "my.corpus", "?", "--system", "rise", "--model", "scout"), 2, "corpuscope structure"),
    ],
)
def test_an_error_is_one_line(cli: Cli, indexed: Path, arguments: tuple[str, ...], code: int, message: str) -> None:
    done = cli(*arguments, check=False)
    assert done.returncode == code and message in done.stderr and done.stderr.count("\n") == 1


def test_a_path_that_is_not_there(cli: Cli, indexed: Path) -> None:
    cli("structure", indexed)
    for path in ("nope.md", "../docs/guide.md", "/etc/passwd"):
        done = cli("toc", indexed, path, check=False)
        assert done.returncode == 2 and f"no document {path}" in done.stderr


@pytest.mark.slow
def test_on_a_terminal_the_cost_is_confirmed_and_shown(indexed: Path) -> None:
    with ProposingServer() as server:
        for answer, asked in (("n\n", 0), ("y\n", 1)):
            leader, follower = pty.openpty()
            process = subprocess.Popen(
                [PROGRAM, "structure", indexed], stdin=follower, stdout=follower, stderr=follower,
                env=clean_environment(**provider(server), TERM="xterm"),
            )  # fmt: skip
            os.close(follower)
            os.write(leader, answer.encode())
            out = read_all(leader)
            assert process.wait(20) == 0, out
            assert "Go on? [y/N]" in out and "about $" in out and len(server.requests) == asked
    assert "asking the model, $0.0000" in out and "1 by the model" in out


def read_all(leader: int) -> str:
    out = b""
    while True:
        try:
            ready, _, _ = select.select([leader], [], [], 30)
            data = os.read(leader, 65536) if ready else b""
        except OSError:
            data = b""
        if not data:
            return out.decode(errors="replace")
        out += data


@pytest.mark.slow
def test_killed_at_any_time_it_goes_on_and_ends_as_if_undisturbed(cli: Cli, tmp_path: Path) -> None:
    files = {f"d{n % 10}/e{n:03}.txt": essay(f"Essay{n}") for n in range(60)}
    files |= {f"h{n:03}.md": f"# H{n}\n\n## Part\n\ntext\n" for n in range(400)}
    write_files(tmp_path / "docs", files)
    for name in ("killed", "calm"):
        cli("index", "docs", "--into", name)
    with ProposingServer() as server:
        cli("structure", "calm", **provider(server))
        calm = len(server.requests)
    with ProposingServer({n: {"slow": 0.2} for n in range(0, 10_000, 7)}) as server:
        environment = clean_environment(**provider(server))
        for tenths in (8, 9, 10, 11, 12, 13, 15):
            process = subprocess.Popen([PROGRAM, "structure", "killed"], cwd=tmp_path, env=environment,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
            time.sleep(tenths / 10)
            process.send_signal(signal.SIGKILL)
            process.wait()
        done = cli("structure", "killed", "--json", **provider(server))
        assert json.loads(done.stdout)["left"] == 0
    trees = [
        {
            str(f.relative_to(tmp_path / name)): f.read_bytes()
            for f in (tmp_path / name / "structured").rglob("*")
            if f.is_file()
        }
        for name in ("killed", "calm")
    ]
    assert {k.replace("killed", ""): v for k, v in trees[0].items()} == trees[1]
    stats = [json.loads(cli("structure", name, "--stats", "--json").stdout) for name in ("killed", "calm")]
    same = ("documents", "with_entries", "entries", "proposers", "fallbacks", "proposed", "exact", "lost", "added")
    assert [stats[0][key] for key in same] == [stats[1][key] for key in same]
    # What was under way when it was killed is asked again, and nothing else.
    assert len(server.requests) <= calm + 7 * 16 and stats[0]["costs"][0]["requests"] <= calm


class ByTable(ScriptedServer):
    """An agent that finds a row of a table, reads just its lines, and cites a line of them.

    `word` finds the row in `path`, `fact` the line in the section.
    """

    def __init__(self, query: str, path: str, word: str, fact: str) -> None:
        super().__init__([])
        self.query, self.path, self.word, self.fact = query, path, word, fact
        self.section = (0, 0)

    def next_step(self, body: dict[str, Any]) -> tuple[Step, int]:
        with self._lock:
            number = len(self.requests)
            self.requests.append(body)
        seen = str(body["messages"][-1].get("content"))
        if number == 0:
            return {"calls": [call("search", {"queries": [self.query]})]}, number
        if number == 1:
            return {"calls": [call("bash", {"command": f"rg -n '^ *- lines .*{self.word}' {self.path}"})]}, number
        if number == 2:
            first, last = map(int, re.search(r"lines (\d+)-(\d+)", seen).groups())  # type: ignore[union-attr]
            self.section = (first, last)
            arguments = {"path": self.path, "offset": first, "limit": last - first + 1}
            return {"calls": [call("read", arguments)]}, number
        line = next(int(row.split("\t")[0]) for row in seen.split("\n") if self.fact in row)
        return {"text": f"Explanation: there [{self.path}:{line}].\nExact Answer: {self.fact}\nConfidence: 90%"}, number


def check_by_table(server: ByTable, run: Path) -> dict[str, Any]:
    """The trajectory read one section and cited inside of it; returns the citation."""
    first, last = server.section
    events = [json.loads(line) for line in next(run.glob("queries/*/events.jsonl")).read_text().splitlines()]
    read = next(event for event in events if event.get("name") == "read")
    assert (read["data"]["first"], read["data"]["last"]) == (first, last) and not read["error"]
    answer = json.loads(next(run.glob("queries/*/answer.json")).read_text())["answer"]
    (citation,) = answer["citations"]
    assert first <= citation["first"] <= citation["last"] <= last and not citation["problem"]
    assert "Table of Contents" in server.requests[0]["messages"][0]["content"], "the prompt tells how to use it"
    return citation  # type: ignore[no-any-return]


def test_ask_by_rise_reads_a_section_and_cites_in_it(cli: Cli, indexed: Path, tmp_path: Path) -> None:
    cli("structure", indexed)
    with ByTable("cat mat", "guide.md", "Cats", "the mat") as server:
        out = cli("ask", indexed, "Where?", "--base-url", server.base_url, "--run", "run").stdout
    assert 'name = "rise"' in (tmp_path / "run/run.toml").read_text(), "the system of a corpus that has tables"
    citation = check_by_table(server, tmp_path / "run")
    assert (citation["first"], citation["original_first"]) == (14, 7)
    assert "guide.md:14  (line 7 of the original)" in out


@pytest.mark.slow
def test_ask_by_rise_on_the_demo_corpus(cli: Cli, tmp_path: Path, django_docs: Path) -> None:
    cli("index", django_docs, "--into", "django", "--include", "*.txt", "--include", "*.rst")
    cli("structure", "django", "--propose", "headings")
    with ByTable("session cache alias", "ref/settings.txt", "SESSION_CACHE_ALIAS", "Default") as server:
        cli("ask", "django", "Which cache?", "--system", "rise", "--base-url", server.base_url, "--run", "run")
    citation = check_by_table(server, tmp_path / "run")
    line = (django_docs / "ref/settings.txt").read_text().split("\n")[citation["original_first"] - 1]
    assert line == "Default: ``'default'``"


@pytest.mark.slow
def test_resume_of_a_run_whose_tables_changed_is_refused(cli: Cli, indexed: Path, tmp_path: Path) -> None:
    cli("structure", indexed, "--limit", "1")
    with ScriptedServer([{"status": 401}]) as server:
        arguments = ("ask", indexed, "?", "--base-url", server.base_url, "--run", "run")
        assert cli(*arguments, check=False).returncode == 3
    cli("structure", indexed)
    done = cli("ask", indexed, "--run", "run", "--resume", check=False)
    assert done.returncode == 2 and "the tables of contents" in done.stderr


@pytest.mark.slow
def test_documents_without_a_current_table_are_told_of(cli: Cli, indexed: Path, tmp_path: Path) -> None:
    cli("structure", indexed)
    assert "ok    tables: every document has its table" in cli("doctor", indexed).stdout
    write_files(tmp_path / "docs", {"new.md": "# New\n\nA new cat.\n"})
    cli("index", "docs", "--into", "my.corpus")
    assert "note  tables: 1 documents have none of their present text" in cli("doctor", indexed).stdout
    done = cli("ask", indexed, "new cat", "--model", "scout")
    assert "documents that are new stand in the workspace without: corpuscope structure" in done.stderr
    cli("structure", indexed)
    assert "without: corpuscope structure" not in cli("ask", indexed, "new cat", "--model", "scout").stderr


def test_a_person_gets_the_tables_that_an_agent_gets(cli: Cli, indexed: Path) -> None:
    assert cli("shell", indexed, "cat", "-c", "head -1 guide.md").stdout == "# Guide\n"
    cli("structure", indexed)
    assert cli("shell", indexed, "cat", "-c", "head -1 guide.md").stdout == "## Table of Contents\n"


def test_ctrl_c_says_how_to_go_on(indexed: Path) -> None:
    with ProposingServer(always={"slow": 20, "text": "{}"}) as server:
        process = subprocess.Popen(
            [PROGRAM, "structure", indexed], stderr=subprocess.PIPE, text=True, env=clean_environment(**provider(server)),
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )  # fmt: skip
        give_up = time.monotonic() + 30
        while not server.requests and time.monotonic() < give_up:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
    assert process.returncode == 130 and "run the same command again to go on" in said and "Traceback" not in said


def test_the_scout_cites_the_text_and_never_a_table(cli: Cli, indexed: Path) -> None:
    cli("structure", indexed)
    answer = json.loads(
        cli("ask", indexed, "Where did the cat of the guide sit?", "--model", "scout", "--json").stdout
    )["answer"]
    assert answer["citations"] and not any(citation["problem"] for citation in answer["citations"])
    assert "- lines" not in answer["explanation"] and "sat on the mat" in answer["explanation"]


def test_help_has_examples() -> None:
    for command in ("structure", "toc"):
        done = subprocess.run([PROGRAM, command, "--help"], capture_output=True, text=True, check=True)
        assert f"corpuscope {command} docs.corpus" in done.stdout
