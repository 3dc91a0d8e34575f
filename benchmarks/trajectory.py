"""Sixty scripted `rg` calls with a zero-latency server: our agent against the Pi harness, on the same commands."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.scripted import ByHistory, Step, call

from .measure import Row, side_by_side

PI = "@earendil-works/pi-coding-agent@0.74.2"
CALLS = 60
WORDS = ("session", "cache", "middleware", "migration", "queryset", "template", "signal", "locale", "csrf", "admin")


def script(first: list[Step]) -> list[Step]:
    commands = [f"rg -n -i {WORDS[i % len(WORDS)]} | head -{10 + i}" for i in range(CALLS)]
    return [
        *first,
        *({"calls": [call("bash", {"command": command})]} for command in commands),
        {"text": "Exact Answer: done"},
    ]


def measure(django_corpus: Path, documents: Path, work: Path, rounds: int) -> list[Row]:
    pi = install_pi(work / "pi")
    if pi is None:
        print("trajectory: no npm here, so nothing to compare with; skipped", file=sys.stderr)
        return []
    program = str(Path(sys.executable).parent / "corpuscope")
    search = {"calls": [call("search", {"queries": ["django"]})]}
    with ByHistory(script([search])) as ours, ByHistory(script([])) as theirs:
        home = work / "pi-home"
        home.mkdir(parents=True, exist_ok=True)
        provider = {
            "baseUrl": theirs.base_url,
            "api": "openai-completions",
            "apiKey": "x",
            "models": [{"id": "scripted"}],
        }
        (home / "models.json").write_text(json.dumps({"providers": {"scripted": provider}}))
        runs = tempfile.mkdtemp(dir=work)
        commands = {
            "ours": [program, "ask", str(django_corpus), "What?", "--base-url", ours.base_url, "--model", "scripted", "--run", runs + "/{round}"],
            "peer": [str(pi), "--provider", "scripted", "--model", "scripted", "--no-session", "-p", "What?"],
        }  # fmt: skip
        environment = os.environ | {"PI_CODING_AGENT_DIR": str(home), "PI_OFFLINE": "1"}
        rg = Path(sys.executable).parent
        environment["PATH"] = f"{rg}:{environment['PATH']}"
        found = side_by_side(commands, rounds, cwd=documents, env=environment)
        for name, server in (("ours", ours), ("peer", theirs)):
            results = sum(message["role"] == "tool" for message in server.requests[-1]["messages"])
            assert results >= CALLS, f"{name} ran {results} of {CALLS} commands"
    a, b = found["ours"], found["peer"]
    return [
        Row(
            f"{CALLS}-call trajectory: time, against Pi",
            f"{a.seconds:.2f} s",
            f"{b.seconds:.2f} s",
            a.seconds / b.seconds,
        ),
        Row(
            f"{CALLS}-call trajectory: memory, against Pi",
            f"{a.megabytes:.0f} MB",
            f"{b.megabytes:.0f} MB",
            a.megabytes / b.megabytes,
        ),
    ]


def install_pi(folder: Path) -> Path | None:
    program = folder / "node_modules/.bin/pi"
    if not program.exists():
        if shutil.which("npm") is None:
            return None
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            ["npm", "install", "--silent", "--no-fund", "--no-audit", "--prefix", str(folder), PI], check=True
        )
    return program
