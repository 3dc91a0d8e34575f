"""Commands side by side in one run: these machines are noisy, so only ratios between neighbours mean anything."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Measured:
    """Wall seconds and peak resident megabytes: medians over the rounds."""

    seconds: float
    megabytes: float


@dataclass(frozen=True)
class Row:
    """One line of the report: ours against a peer. `limit` is what `ratio` must not pass, where there is one."""

    name: str
    ours: str
    peer: str
    ratio: float
    limit: float | None = None

    @property
    def kept(self) -> bool:
        return self.limit is None or self.ratio <= self.limit


def run_once(command: Sequence[str], cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Measured:
    """Run to the end; raises `CalledProcessError` with what it printed if it fails."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=cwd, env=env)
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command, output)
    return Measured(seconds, usage.ru_maxrss / 1024)


def side_by_side(commands: Mapping[str, Sequence[str]], rounds: int, **options: Any) -> dict[str, Measured]:
    """Each command once a round, in turn; `{round}` in an argument is the round's number.

    A round that needs a new folder takes one of its own: ext4 without a journal is slow to create files just
    after others were deleted, and that would be measured instead.
    """
    runs: dict[str, list[Measured]] = {name: [] for name in commands}
    for number in range(rounds):
        for name, command in commands.items():
            runs[name].append(run_once([part.replace("{round}", str(number)) for part in command], **options))
    return {
        name: Measured(statistics.median(m.seconds for m in found), statistics.median(m.megabytes for m in found))
        for name, found in runs.items()
    }


def report(rows: Sequence[Row], file: Path) -> None:
    """Print the table, and write it to `file` as JSON."""
    print(f"\n{'what':<72}{'ours':>14}{'peer':>14}{'ratio':>8}{'limit':>8}")
    for row in rows:
        limit = "" if row.limit is None else f"{row.limit:.2f}"
        print(f"{row.name:<72}{row.ours:>14}{row.peer:>14}{row.ratio:>8.2f}{limit:>8}{'' if row.kept else '  MISSED'}")
    file.write_text(json.dumps([vars(row) for row in rows], indent=2) + "\n")


def keep_history(rows: Sequence[Row], file: Path) -> None:
    """Add this run to those before, and tell which ratios moved by a third or more since the last that had them."""
    last: dict[str, float] = {}
    for line in file.read_text().splitlines() if file.exists() else ():
        last |= json.loads(line)["ratios"]
    ratios = {row.name: row.ratio for row in rows}
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True).stdout.strip()
    run = {"when": time.strftime("%Y-%m-%dT%H:%M:%S"), "commit": commit, "ratios": ratios}
    with file.open("a") as out:
        out.write(json.dumps(run) + "\n")
    for name in ratios.keys() & last.keys():
        if last[name] and not 0.75 < ratios[name] / last[name] < 4 / 3:
            print(f"moved since the last run: {name}: {last[name]:.2f} -> {ratios[name]:.2f}")
