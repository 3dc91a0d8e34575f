"""The real Claude Code and the real Pi, their providers scripted on loopback: as loops of ours, and as clients of our server."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from corpuscope.agent import Event, Result, StopReason, read_events
from corpuscope.corpus import Corpus
from corpuscope.errors import SetupError, UsageError
from corpuscope.systems import System, ask, load_system, query_id

from ..conftest import MakeCorpus
from ..scripted import ByHistory, ScriptedServer, Step, call
from .conftest import PROGRAM

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
FILES = {"cats.md": "# Cats\n\nA cat sat.\u2028It sat on the mat.\n", "dogs.md": "# Dogs\n\nA dog ran.\n"}
QUESTION = "Where did the cat sit?"
FOUND = "cats.md:3:A cat sat.\u2028It sat on the mat."
ANSWER = "Explanation: It says so [cats.md:3].\nExact Answer: on the mat\nConfidence: 90%"
PI = "@earendil-works/pi-coding-agent@0.74.2"


@pytest.fixture(scope="session")
def claude() -> str:
    import claude_agent_sdk

    return str(Path(claude_agent_sdk.__file__).parent / "_bundled/claude")


@pytest.fixture(scope="session")
def pi() -> str:
    """Installed once for all workers and runs."""
    if shutil.which("npm") is None:
        pytest.skip("no npm on this machine")
    folder = ROOT / ".demo/pi"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "node_modules/.bin/pi").exists():
            subprocess.run(
                ["npm", "install", "--silent", "--no-fund", "--no-audit", "--prefix", folder, PI], check=True
            )
    return str(folder / "node_modules/.bin/pi")


@pytest.fixture
def corpus(make_corpus: MakeCorpus) -> Corpus:
    return make_corpus(FILES)


@pytest.fixture
def claude_home(claude: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (
        ("CLAUDE_CONFIG_DIR", str(tmp_path / "claude")),
        ("IS_SANDBOX", "1"),
        ("ANTHROPIC_API_KEY", "x"),
    ):
        monkeypatch.setenv(name, value)


@pytest.fixture
def pi_program(pi: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CORPUSCOPE_PI", pi)


def steps(prefix: str = "") -> list[Step]:
    return [
        {"text": "I look.", "reasoning": "hm", "calls": [call(prefix + "bash", {"command": "rg -n sat; pwd"})]},
        {"calls": [call(prefix + "read", {"path": "dogs.md"}), call(prefix + "read", {"path": "../../secret"}),
                   call("WebSearch" if prefix else "write", {"query": "cat", "path": "x", "content": "y"})]},
        {"text": ANSWER},
    ]  # fmt: skip


def tried(
    corpus: Corpus, system: str | System, server: ScriptedServer, run: Path, model: str
) -> tuple[Result, list[Event]]:
    result = ask(corpus, QUESTION, system=system, model=model, base_url=server.base_url, run=run)
    return result, list(read_events(run / "queries" / query_id(QUESTION) / "events.jsonl"))


CLAUDE, SCRIPTED = "anthropic:claude-sonnet-4-6", "scripted"


@pytest.fixture(params=["claude-code", "pi"])
def harness(request: pytest.FixtureRequest) -> Iterator[tuple[str, str, str]]:
    """(system, model, what it puts before the names of our tools)."""
    if request.param == "pi":
        request.getfixturevalue("pi_program")
        yield "pi", SCRIPTED, ""
    else:
        request.getfixturevalue("claude_home")
        yield "dci-cc", CLAUDE, "mcp__corpus__"


def checked(corpus: Corpus, result: Result, events: list[Event]) -> None:
    """The same events as our loop writes, and the right values in them."""
    kinds = [event["type"] for event in events]
    assert kinds == ["start", "response", "tool", "response", *["tool"] * 3, "response", "answer", "stop"]
    tools = sorted((event for event in events if event["type"] == "tool"), key=lambda event: event["id"])
    assert [tool["name"] for tool in tools[:3]] == ["bash", "read", "read"]
    assert tools[0]["text"] == f"{FOUND}\n/w" and tools[0]["data"]["exit_code"] == 0 and not tools[0]["error"]
    assert tools[1]["data"]["docid"] == "dogs.md" and "A dog ran." in tools[1]["text"]
    assert tools[2]["error"] and "outside the workspace" in tools[2]["text"]
    assert tools[3]["error"], "the harness has no such tool"
    assert result.stop_reason is StopReason.ANSWERED and result.answer is not None
    assert result.answer.exact_answer == "on the mat"
    assert [(c.path, c.first, c.problem) for c in result.answer.citations] == [("cats.md", 3, "")]
    assert (result.spent.model_calls, result.spent.tool_calls) == (3, 4)
    assert not list((corpus.root / "workspaces").iterdir())


def test_a_question_through_it(corpus: Corpus, tmp_path: Path, harness: tuple[str, str, str]) -> None:
    system, model, prefix = harness
    with ByHistory(steps(prefix)) if not prefix else ScriptedServer(steps(prefix)) as server:
        result, events = tried(corpus, system, server, tmp_path / "run", model)
    checked(corpus, result, events)
    request = server.requests[0]
    offered = {tool.get("name") or tool["function"]["name"] for tool in request["tools"]}
    assert offered == {prefix + name for name in load_system(system).tools}, "nothing of its own"
    assert "Exact Answer" in json.dumps(request), "our prompt is there"
    results = json.dumps(server.requests[-1]["messages"])
    assert "A cat sat." in results and "A dog ran." in results
    # By hand: the scripted servers bill 100 input tokens and 10 output tokens a reply; Anthropic's has 50 of them cached.
    assert (result.spent.input_tokens, result.spent.output_tokens) == (300, 30)
    assert result.spent.cached_tokens == (150 if prefix else 0)
    if prefix:  # $3 a million tokens, $0.30 cached, $3.75 written to the cache, $15 out (Anthropic's list)
        money = 3 * (40 * 3 + 50 * 0.3 + 10 * 3.75 + 10 * 15) / 1e6
        assert result.spent.dollars == pytest.approx(money)


def test_its_budget_is_kept(corpus: Corpus, tmp_path: Path, harness: tuple[str, str, str]) -> None:
    system, model, prefix = harness
    again: list[Step] = [{"calls": [call(prefix + "bash", {"command": "ls"})]}]
    few = load_system(system).changed(budget={"model_calls": 2, "seconds": 60.0})
    with ScriptedServer(again) as server:
        result, _ = tried(corpus, few, server, tmp_path / "calls", model)
    assert result.stop_reason is StopReason.MODEL_CALLS and result.answer is None and len(server.requests) <= 3
    short = load_system(system).changed(budget={"model_calls": 50, "seconds": 6.0})
    with ScriptedServer([{**again[0], "slow": 0.5}]) as server:
        result, events = tried(corpus, short, server, tmp_path / "seconds", model)
    assert result.stop_reason is StopReason.WALL_CLOCK and events[-1]["type"] == "stop"


def test_a_failing_server_is_told(corpus: Corpus, tmp_path: Path, harness: tuple[str, str, str]) -> None:
    system, model, _ = harness
    error = {"status": 400, "error": {"type": "invalid_request_error", "message": "scripted refusal"}}
    with ScriptedServer([error]) as server:
        result, _ = tried(corpus, system, server, tmp_path / "run", model)
    assert result.stop_reason is StopReason.MODEL_ERROR and "scripted refusal" in result.detail


def test_a_run_that_was_cut_off_begins_anew_and_keeps_what_it_cost(
    corpus: Corpus, tmp_path: Path, harness: tuple[str, str, str]
) -> None:
    system, model, prefix = harness
    with ByHistory(steps(prefix)) if not prefix else ScriptedServer([*steps(prefix), *steps(prefix)]) as server:
        first, events = tried(corpus, system, server, tmp_path / "run", model)
        folder = tmp_path / "run/queries" / query_id(QUESTION)
        lines = (folder / "events.jsonl").read_bytes().splitlines(keepends=True)
        (folder / "events.jsonl").write_bytes(b"".join(lines[:3]))
        (folder / "answer.json").unlink()
        again = ask(corpus, run=tmp_path / "run", resume=True)
    assert again.answer == first.answer and (folder / "events.1.jsonl").exists()
    assert again.spent.input_tokens == first.spent.input_tokens + 100
    assert [e["type"] for e in read_events(folder / "events.jsonl")] == [e["type"] for e in events]


def test_what_is_missing_is_said(corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CORPUSCOPE_PI", "/nowhere/pi")
    with pytest.raises(SetupError, match="npm install"):
        ask(corpus, "?", system="pi", model="openai:x", run=tmp_path / "a")
    with pytest.raises(UsageError, match="Anthropic's models"):
        ask(corpus, "?", system="dci-cc", model="openai:x", run=tmp_path / "b")
    with pytest.raises(UsageError, match="a loop of its own"):
        load_system("pi").changed(force_answer=True)


def test_claude_code_as_a_client_of_the_server(corpus: Corpus, tmp_path: Path, claude: str, claude_home: None) -> None:
    """As the README says: one entry in .mcp.json, and the tools are there."""
    subprocess.run(
        [PROGRAM, "mcp", corpus.root, "--install", "claude-code", "--name", "docs", "--yes"], cwd=tmp_path, check=True
    )
    script: list[Step] = [
        {"calls": [call("mcp__docs__search", {"queries": ["cat"]})]},
        {"calls": [call("mcp__docs__bash", {"command": "rg -n sat"}), call("mcp__docs__read", {"path": "dogs.md"})]},
        {"text": ANSWER},
    ]
    with ScriptedServer(script) as server:
        done = subprocess.run(
            [claude, "-p", QUESTION, "--mcp-config", ".mcp.json", "--allowedTools", "mcp__docs", "--tools", "", "--output-format", "json"],
            cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
            env=os.environ | {"ANTHROPIC_BASE_URL": server.base_url.removesuffix("/v1"), "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"},
        )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["result"] == ANSWER
    results = tool_results(server.requests[-1])
    assert results["toolu_0_0"].startswith("[1] cat: 1 documents") and '"queries"' not in results["toolu_0_0"]
    assert results["toolu_1_0"] == FOUND, "the text, and not the data in its place"
    assert "no file dogs.md in the workspace" in results["toolu_1_1"]
    assert not list((corpus.root / "workspaces").iterdir())


def test_the_line_of_the_readme_for_claude_code(corpus: Corpus, tmp_path: Path, claude: str, claude_home: None) -> None:
    assert "claude mcp add docs -- corpuscope mcp /path/to/my.corpus" in (ROOT / "README.md").read_text()
    added = [claude, "mcp", "add", "docs", "--", str(PROGRAM), "mcp", str(corpus.root)]
    subprocess.run(added, cwd=tmp_path, check=True, capture_output=True, timeout=60)
    told = subprocess.run(
        [claude, "mcp", "get", "docs"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert "Connected" in told.stdout and str(corpus.root) in told.stdout, told.stdout + told.stderr


def tool_results(request: dict[str, Any]) -> dict[str, str]:
    """id -> text, in Anthropic's protocol."""
    blocks = [b for m in request["messages"] if isinstance(m["content"], list) for b in m["content"]]
    found = {}
    for block in blocks:
        if block["type"] == "tool_result":
            content = block["content"]
            found[block["tool_use_id"]] = content if isinstance(content, str) else "\n".join(p["text"] for p in content)
    return found


def test_pi_as_a_client_of_the_server(corpus: Corpus, tmp_path: Path, pi: str) -> None:
    """With the extension that --install writes; Pi's own tools stay."""
    home = tmp_path / "home"
    home.mkdir()
    environment = os.environ | {"PI_CODING_AGENT_DIR": str(home), "PI_OFFLINE": "1"}
    install = [PROGRAM, "mcp", corpus.root, "--install", "pi", "--name", "docs", "--yes"]
    subprocess.run(install, env=environment, check=True)
    script: list[Step] = [
        {"calls": [call("docs_search", {"queries": ["cat"]})]},
        {"calls": [call("docs_bash", {"command": "rg -n sat"}), call("docs_read", {"path": "dogs.md"})]},
        {"text": ANSWER},
    ]
    with ByHistory(script) as server:
        models = {
            "scripted": {
                "baseUrl": server.base_url,
                "api": "openai-completions",
                "apiKey": "x",
                "models": [{"id": "scripted"}],
            }
        }
        (home / "models.json").write_text(json.dumps({"providers": models}))
        done = subprocess.run(
            [pi, "--provider", "scripted", "--model", "scripted", "--no-session", "-p", QUESTION], cwd=tmp_path,
            env=environment, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
    assert done.returncode == 0 and "Exact Answer: on the mat" in done.stdout, done.stderr
    offered = [tool["function"]["name"] for tool in server.requests[0]["tools"]]
    assert {"docs_search", "docs_bash", "docs_read", "bash", "read"} <= set(offered)
    system = json.dumps(server.requests[0]["messages"][0])
    assert "search is docs_search" in system and "You have a workspace folder" in system
    results = [m["content"] for m in server.requests[-1]["messages"] if m["role"] == "tool"]
    assert results[0].startswith("[1] cat: 1 documents") and results[1] == FOUND
    assert "no file dogs.md" in results[2]
    assert not list((corpus.root / "workspaces").iterdir())
