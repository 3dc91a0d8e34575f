"""Commands side by side in one run: these machines are noisy, so only ratios between neighbours mean anything."""

from __future__ import annotations

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
