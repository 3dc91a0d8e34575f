"""The installed program, run as a person runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Cli = Callable[..., subprocess.CompletedProcess[str]]
PROGRAM = Path(sys.executable).parent / "corpuscope"


def clean_environment(**more: str) -> dict[str, str]:
    """Ours without any provider's key."""
    return {k: v for k, v in os.environ.items() if not k.endswith("_API_KEY")} | more


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """`cli("index", ..., check=True)` in an empty folder, without keys."""

    def run(*arguments: object, check: bool = True, **environment: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [PROGRAM, *map(str, arguments)], capture_output=True, text=True, cwd=tmp_path, check=False, timeout=120,
            env=clean_environment(**environment),
        )  # fmt: skip
        assert not check or done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr, done.stderr
        return done

    return run
