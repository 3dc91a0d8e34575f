"""Where a model's commands run: the system's programs and W read-only, a capped scratch, nothing else.

bubblewrap gives the command its own user, process, network, IPC, UTS and mount namespaces without
capabilities. Limits come from rlimits where they bind, and from a watch over the process tree where
they do not (a host root is exempt from RLIMIT_NPROC; memory has to be counted over all processes).
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .programs import bubblewrap, front, kernel, namespaces, ripgrep, system
from .seccomp import seccomp_filter

W = "/w"
"""Where a command finds the workspace."""

SCRATCH = "/tmp"
"""Where it may write."""

PROMPT = "W:\\w\\$ "
"""Of a person's shell."""

_PROGRAMS = "/opt/corpuscope"
_PATH = f"{_PROGRAMS}:/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"


@dataclass(frozen=True, slots=True)
class Limits:
    """What one command may use."""

    seconds: float = 60.0
    """RISE: one minute a command."""
    memory_bytes: int = 2 << 30
    """Resident, over all processes."""
    processes: int = 256
    scratch_bytes: int = 256 << 20
    """Also the largest single file."""
    scratch_files: int = 10_000
    output_bytes: int = 16 << 20
    """A command that prints more is stopped: nobody will read it."""
    kept_bytes: int = 1 << 20
    """How much of its output is held."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """One workspace's jail. `hidden` folders are covered where a system folder would show them. `index` is the socket on which
    `rg` and `grep -r` are told the files that can match; without one they look at all."""

    workspace: Path
    scratch: Path
    hidden: Sequence[Path] = ()
    index: Path | None = None
    enabled: bool = True
    limits: Limits = field(default_factory=Limits)

    def start(self, command: str) -> Started:
        """Start `bash -c command` with stdout and stderr on one pipe.

        Raises `ValueError` for a command no program can be given, `SetupError` when no sandbox can be made.
        """
        line = f"{self._rlimits()}; {command}".encode(errors="replace")
        if b"\0" in line:
            raise ValueError("the command holds a NUL byte")
        if not self.enabled:
            argv: list[str | bytes] = ["bash", "--norc", "-c", line]
            return Started(self._popen(argv, "bash", self.environment, cwd=self.workspace))
        with Descriptors() as descriptors:
            told, info = os.pipe()
            descriptors.numbers.append(info)
            argv = [*self.argv(descriptors, info=info), "/bin/bash", "--norc", "-c", line]
            return Started(self._popen(argv, bubblewrap(), {}, pass_fds=descriptors.numbers), told)

    def argv(self, descriptors: Descriptors, *, terminal: str = "", info: int | None = None) -> list[str | bytes]:
        """bubblewrap with its options in a descriptor, where neither `ps` nor the sandbox can read host paths.

        `terminal` is the TERM of a person's shell, which keeps its session; a model's command has none. On `info`
        bubblewrap tells the pid of the sandbox's first process.
        """
        options = [*namespaces(), *([] if terminal else ["--new-session"])]
        for name, value in (self.environment | ({"TERM": terminal, "PS1": PROMPT} if terminal else {})).items():
            options += ["--setenv", name, value]
        options += system()
        for folder in self.hidden:
            if any(folder.is_relative_to(bound) for bound in ("/usr", "/bin", "/sbin", "/lib", "/lib64")):
                options += ["--tmpfs", str(folder), "--remount-ro", str(folder)]
        options += [*self._searchers(), "--dir", _PROGRAMS]
        options += ["--ro-bind", str(self.workspace), W, "--bind", str(self.scratch), SCRATCH]
        options += ["--ro-bind-data", str(descriptors.holding(_RIPGREPRC)), f"{_PROGRAMS}/ripgreprc"]
        options += ["--remount-ro", "/", "--chdir", W]
        if program := seccomp_filter():
            options += ["--seccomp", str(descriptors.holding(program))]
        if info is not None:
            options += ["--info-fd", str(info)]
        arguments = descriptors.holding(b"\0".join(os.fsencode(option) for option in options) + b"\0")
        # The sandbox can read its first process's command line, so that names no host path either.
        return ["bwrap", "--args", str(arguments), "--"]

    def _searchers(self) -> list[str]:
        program = front()
        if not self.index or not program:
            return ["--ro-bind", ripgrep(), f"{_PROGRAMS}/rg"]
        bound = {"real/rg": ripgrep(), "rg": program, "grep": program, "index": self.index}
        return [word for name, file in bound.items() for word in ("--ro-bind", str(file), f"{_PROGRAMS}/{name}")]

    @property
    def environment(self) -> dict[str, str]:
        home = SCRATCH if self.enabled else str(self.scratch)
        path = _PATH if self.enabled else f"{Path(ripgrep()).parent}:{_PATH}"
        rc = f"{_PROGRAMS}/ripgreprc" if self.enabled else str(self._rc_file())
        return {
            "PATH": path,
            "HOME": home,
            "TMPDIR": home,
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "RIPGREP_CONFIG_PATH": rc,
        }

    def _rlimits(self) -> str:
        """On the command's own first line, so that bash's error messages count lines as the model does."""
        limits = self.limits
        file_blocks = limits.scratch_bytes >> 10
        # Twice what the watch allows, for it says why. Before Linux 5.14 all of the user's processes count.
        processes = limits.processes * (2 if kernel() >= (5, 14) else 16)
        return f"ulimit -c 0 -f {file_blocks} -u {processes} -v {(limits.memory_bytes * 2) >> 10} -n 1024"

    def _popen(
        self,
        argv: list[str | bytes],
        program: str,
        environment: dict[str, str],
        *,
        cwd: Path | None = None,
        pass_fds: Sequence[int] = (),
    ) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            argv, executable=program, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=environment, cwd=cwd, pass_fds=pass_fds, start_new_session=True,
        )  # fmt: skip

    def _rc_file(self) -> Path:
        file = self.scratch / ".ripgreprc"
        if not file.exists():
            file.write_bytes(_RIPGREPRC)
        return file


_RIPGREPRC = b"--no-ignore\n--hidden\n"
"""Ignore files and dot files inside a corpus are content, not configuration (case C1)."""


class Descriptors:
    """Anonymous files handed to one child; closed in the parent when it runs."""

    def __init__(self) -> None:
        self.numbers: list[int] = []

    def holding(self, data: bytes) -> int:
        """A descriptor that reads `data` from its start."""
        number = os.memfd_create("corpuscope")
        os.write(number, data)
        os.lseek(number, 0, os.SEEK_SET)
        self.numbers.append(number)
        return number

    def __enter__(self) -> Descriptors:
        return self

    def __exit__(self, *_: object) -> None:
        for number in self.numbers:
            os.close(number)


@dataclass(slots=True)
class Started:
    """A command at work. `told` is where bubblewrap tells the pid of the sandbox's first process."""

    process: subprocess.Popen[bytes]
    told: int | None = None

    def end(self) -> None:
        """Kill the command and all it started, and wait until they are gone."""
        first = self._first_process()
        if first:
            _kill_first(first, self.process.pid)
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            self.process.kill()
        self.process.wait()
        if first:
            _wait_until_gone(first)

    def _first_process(self) -> int | None:
        if self.told is None:
            return None
        os.set_blocking(self.told, False)
        try:
            told = os.read(self.told, 4096)
        except BlockingIOError:
            told = b""
        os.close(self.told)
        self.told = None
        found = re.search(rb'"child-pid": *(\d+)', told)
        return int(found[1]) if found else None


def _kill_first(first: int, bubblewrap_pid: int) -> None:
    """Kill the first process of the sandbox's pid namespace, with which the kernel kills all others.

    It has to run once more to die; before a fork bomb it would wait long for its turn. Its death stops all forking.
    """
    try:
        with open(f"/proc/{first}/stat", "rb") as stat:
            parent = int(stat.read().rpartition(b")")[2].split()[1])
        if parent != bubblewrap_pid:  # it is dead, and its number may be another's
            return
        if os.geteuid() == 0:
            os.sched_setscheduler(first, os.SCHED_RR, os.sched_param(1))
        os.kill(first, signal.SIGKILL)
    except OSError:
        return


def _wait_until_gone(first: int) -> None:
    """Until the first process of a pid namespace is dead, which it is only after all the others."""
    give_up = time.monotonic() + 5.0
    while time.monotonic() < give_up:
        try:
            with open(f"/proc/{first}/stat", "rb") as stat:
                state = stat.read().rpartition(b")")[2].split()[0]
        except (OSError, IndexError):
            return
        if state in (b"Z", b"X"):
            return
        time.sleep(0.0002)
