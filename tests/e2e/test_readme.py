"""Every command and every example of the README is run."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from ..conftest import write_files
from ..embedding import EmbeddingServer
from ..scripted import ANSWER, ScriptedServer, call
from .conftest import PROGRAM, clean_environment

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
DOCS = {
    "sessions.md": "# Sessions\n\nThe session backend keeps sessions in a cache.\nSESSION_CACHE_ALIAS chooses the cache.\n",
    "drafts/old.md": "# Old\n\nAn old draft about the session cache.\n",
}
ROWS = [{"id": 1, "name": "One", "body": "anything goes"}, "not JSON", {"id": 2, "name": "Two", "body": "other"}]


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_files(tmp_path / "docs", DOCS)
    write_files(tmp_path, {"rows.jsonl": "\n".join(r if isinstance(r, str) else json.dumps(r) for r in ROWS) + "\n"})
    write_files(tmp_path, {"questions.jsonl": blocks("json")[0]})
    return tmp_path


@pytest.mark.slow
def test_the_commands_of_the_readme_run_in_their_order(folder: Path) -> None:
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    assert len(lines) >= 13
    steps = [{"calls": [call("search", {"queries": ["session cache"]})]}, ANSWER] * 8
    verdict = {"text": "extracted_final_answer: none\nreasoning: none\ncorrect: no\nconfidence: 100"}
    with EmbeddingServer(steps) as server, ScriptedServer([verdict]) as judge:
        environment = clean_environment(
            OPENAI_API_KEY="x", ANTHROPIC_API_KEY="x", OPENAI_BASE_URL=server.base_url,
            ANTHROPIC_BASE_URL=server.base_url.removesuffix("/v1"), HOME=str(folder), PATH=f"{PROGRAM.parent}:/usr/bin:/bin",
        )  # fmt: skip
        for line in lines:
            command = shlex.split(line.replace("http://127.0.0.1:8000/v1", server.base_url))
            if command[1] == "ask" and not {"--model", "--base-url", "--resume", "bm25", "scout"} & set(command):
                command += ["--model", "scout"]
            if "--install" in command:
                command.append("--yes")
            asked = {"OPENAI_BASE_URL": judge.base_url} if "judge" in command else {}
            done = subprocess.run(
                command, cwd=folder, env=environment | asked, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"


def test_the_python_examples_run(folder: Path) -> None:
    subprocess.run([PROGRAM, "index", "docs", "--into", "my.corpus"], cwd=folder, check=True, capture_output=True)
    steps = [
        {"calls": [call("search", {"queries": ["session cache"]})]},
        {"text": "SESSION_CACHE_ALIAS, by sessions.md"},
    ]
    said = []
    with ScriptedServer(steps) as server:
        for example in blocks("python"):
            assert len(example.strip().splitlines()) <= 12
            done = subprocess.run([sys.executable, "-c", example], cwd=folder, capture_output=True, text=True, check=False,
                                  env=clean_environment(OPENAI_API_KEY="x", OPENAI_BASE_URL=server.base_url))  # fmt: skip
            assert done.returncode == 0, done.stderr
            said.append(done.stdout)
    assert len(said) == 2 and all("SESSION_CACHE_ALIAS" in text and "sessions.md" in text for text in said)
    assert "files in" in said[1]
    assert [tool["name"] for tool in server.requests[0]["tools"]] == ["search", "bash", "read"]


@pytest.mark.slow
def test_the_figures_of_our_benchmark_are_measured(tmp_path: Path, django_docs: Path) -> None:
    """As the README rounds them, on the corpus that the demo makes."""
    paragraph = README[README.index("The scout brings") :].split("\n\n")[0]
    run = ["bench", "run", "django-hops", "--corpus", "c", "--json"]
    texts = ["--include", "*.txt", "--include", "*.rst"]
    for arguments in (["index", django_docs, "--into", "c", *texts], ["structure", "c", "--propose", "headings"]):
        subprocess.run([PROGRAM, *arguments], cwd=tmp_path, check=True, capture_output=True)
    figures = {}
    for system in ("scout", "bm25"):
        done = subprocess.run(
            [PROGRAM, *run, "--system", system, "--run", system], cwd=tmp_path, check=True, capture_output=True
        )
        figures[system] = json.loads(done.stdout)
    scout, bm25 = figures["scout"], figures["bm25"]
    assert f"brings {scout['coverage_mean']:.0%} of the documents" in paragraph
    assert f"has {scout['exact_match']:.0%} of the answers" in paragraph
    assert f"an nDCG@10 of {bm25['nDCG@10']:.2f}." in paragraph


@pytest.mark.slow
def test_the_figures_of_the_engines_are_measured(tmp_path: Path, django_docs: Path) -> None:
    """Those that need no model; recall@1000 and nDCG@10 as the README rounds them."""
    subprocess.run(
        [sys.executable, "-m", "benchmarks.quality", "--work", tmp_path], cwd=ROOT, check=True, capture_output=True
    )
    measured = json.loads((tmp_path / "quality.json").read_text())
    assert f"on {measured['documents']:,} passages" in README and measured["queries"] == 87
    names = {
        "peer: the library bm25s": "the library bm25s by itself",
        "bm25": "`bm25`",
        "bm25s": "`bm25s`",
        "rm3": "`rm3`",
    }
    for engine, means in measured["engines"].items():
        assert f"| {names[engine]} | {means['nDCG@10']:.3f} | {means['R@1000']:.3f} |" in README
    # The engine of the paper ranks like the library: only line ends and titles stand elsewhere.
    assert (
        abs(measured["engines"]["bm25s"]["nDCG@10"] - measured["engines"]["peer: the library bm25s"]["nDCG@10"]) < 0.01
    )


def test_the_stop_reasons_are_the_ones_there_are() -> None:
    from corpuscope.agent import StopReason

    paragraph = README[README.index("A trajectory ends with") :].split("\n\n")[0]
    assert re.findall(r"`(\w+)`", paragraph) == [reason.value for reason in StopReason]


@pytest.mark.slow
def test_make_demo_from_a_fresh_clone(tmp_path: Path) -> None:
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(tmp_path / "clone")], check=True)
    environment = {k: v for k, v in clean_environment().items() if k != "VIRTUAL_ENV"}
    environment["PATH"] = ":".join(p for p in environment["PATH"].split(":") if ".venv" not in p)
    done = subprocess.run(
        ["make", "demo"], cwd=tmp_path / "clone", env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "641 documents" in done.stdout
    assert done.stdout.count("  cited: ") == 6 and "NOT CITED" not in done.stdout
    assert "Exact answer: 3.1\n" in done.stdout, "as the README shows it"
