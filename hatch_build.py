"""Compiles the one program that is not Python: what stands before rg and grep in the sandbox.

By the machine's C compiler, else by the one in the package `ziglang`. Linux only, as the sandbox is.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FRONT = "src/corpuscope/workspace/narrowing/front"
FLAGS = ("-O2", "-s", "-Wall", "-Wextra")


class CompileFront(BuildHookInterface):  # type: ignore[type-arg]
    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        return [] if _compiler() or not _wanted() else ["ziglang>=0.13"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if not _wanted():
            return
        _compile(Path(self.root, f"{FRONT}.c"), Path(self.root, FRONT))
        build_data["artifacts"].append(FRONT)
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def _wanted() -> bool:
    return sys.platform == "linux"


def _compiler() -> list[str]:
    named = os.environ.get("CC", "").split()
    found = next((program for program in ("cc", "gcc", "clang") if shutil.which(program)), "")
    return named or ([found] if found else [])


def _compile(source: Path, program: Path) -> None:
    """Statically where that can be: the program then starts in half of the time. Whole or not at all."""
    made = program.with_name(f"front.{os.getpid()}")
    command = [*(_compiler() or [sys.executable, "-m", "ziglang", "cc"]), *FLAGS, "-o", str(made), str(source)]
    if subprocess.run([*command, "-static"], capture_output=True, check=False).returncode:
        subprocess.run(command, check=True)
    made.replace(program)
