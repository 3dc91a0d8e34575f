"""Run one command in a sandbox to its end, its time-out or its limit, and keep the beginning of its output."""

from __future__ import annotations

import os
import selectors
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from .output import Head
from .sandbox import Limits, Sandbox

_WATCH_SECONDS = 0.025
"""Between two looks at the process tree; a fork bomb makes a few hundred processes meanwhile."""

_SCRATCH_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Outcome:
    """`output` is the beginning of stdout and stderr, or their end where that was asked for; `total_bytes` and `total_lines` count all of it.

    `exit_code` is None when the command was stopped, and `stopped` then says why.
    """

    output: bytes
    total_bytes: int
    total_lines: int
    exit_code: int | None
    stopped: str
    seconds: float


def execute(
    sandbox: Sandbox,
    command: str,
    seconds: float,
    cancelled: threading.Event | None = None,
    keep: type[Head] = Head,
) -> Outcome:
    """Run `command`; nothing it started is left when this returns. Blocks; raises as `Sandbox.start`.

    `keep` says which part of a long output is kept: its `Head`, or its `Tail`.
    """
    started = time.monotonic()
    command_line = sandbox.start(command)
    process = command_line.process
    head = keep(sandbox.limits.kept_bytes)
    with _undisturbed():
        try:
            stopped = _follow(process, sandbox, head, started + seconds, seconds, cancelled)
        finally:
            command_line.end()
            assert process.stdout is not None
            process.stdout.close()
    if _too_much(sandbox):
        _empty(sandbox)
        stopped = stopped or f"scratch grew beyond {_megabytes(sandbox.limits)}"
        stopped += "; everything in it was deleted"
    code = process.returncode
    return Outcome(
        bytes(head.kept),
        head.total,
        head.lines,
        None if stopped else code,
        stopped,
        time.monotonic() - started,
    )


@contextmanager
def _undisturbed() -> Iterator[None]:
    """For a host root: a thread that no command can starve, for it alone stops a fork bomb there.

    RLIMIT_NPROC does not bind root's processes, and thousands of them leave an ordinary thread no time.
    """
    if os.geteuid() != 0:
        yield
        return
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))
    except OSError:  # containers may forbid it
        yield
        return
    try:
        yield
    finally:
        os.sched_setscheduler(0, *before)


def _follow(
    process: subprocess.Popen[bytes],
    sandbox: Sandbox,
    head: Head,
    deadline: float,
    seconds: float,
    cancelled: threading.Event | None,
) -> str:
    """Read until the command ends; returns why it has to be stopped, or ''."""
    limits = sandbox.limits
    assert process.stdout is not None
    pipe = process.stdout.fileno()
    os.set_blocking(pipe, False)
    next_scratch = time.monotonic() + _SCRATCH_SECONDS
    next_watch = time.monotonic() + _WATCH_SECONDS
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while True:
            if selector.select(_WATCH_SECONDS):
                try:
                    chunk = os.read(pipe, 1 << 16)
                except BlockingIOError:
                    continue
                if not chunk:
                    return _wait(process, deadline, seconds)
                head.feed(chunk)
                if head.total > limits.output_bytes:
                    return f"it printed more than {limits.output_bytes >> 20} MB"
            elif process.poll() is not None:
                # It may have printed and ended since the look. Without a sandbox, something in the background may still
                # hold the pipe open, so its end is not waited for.
                _drain(pipe, head, limits)
                return ""
            now = time.monotonic()
            if cancelled is not None and cancelled.is_set():
                return "interrupted"
            if now > deadline:
                return f"not finished after {seconds:g} s"
            if now > next_watch:
                next_watch = now + _WATCH_SECONDS
                if reason := _overuse(process.pid, limits):
                    return reason
            if now > next_scratch:
                next_scratch = now + _SCRATCH_SECONDS
                if _too_much(sandbox):
                    return f"scratch grew beyond {_megabytes(limits)}"


def _drain(pipe: int, head: Head, limits: Limits) -> None:
    """What is in the pipe now."""
    while head.total <= limits.output_bytes:
        try:
            chunk = os.read(pipe, 1 << 16)
        except BlockingIOError:
            return
        if not chunk:
            return
        head.feed(chunk)


def _wait(process: subprocess.Popen[bytes], deadline: float, seconds: float) -> str:
    """After the last output: a command that closed its output may still be running."""
    try:
        process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return f"not finished after {seconds:g} s"
    return ""


def _overuse(root: int, limits: Limits) -> str:
    """Why the tree below process `root` has to go, or ''."""
    count, pages, todo = 0, 0, [root]
    while todo:
        pid = todo.pop()
        try:
            with open(f"/proc/{pid}/task/{pid}/children", "rb") as file:
                todo += map(int, file.read().split())
            with open(f"/proc/{pid}/statm", "rb") as file:
                pages += int(file.read().split()[1])
        except (OSError, IndexError):
            continue
        count += 1
        if count > limits.processes:
            return f"more than {limits.processes} processes"
    if pages * os.sysconf("SC_PAGE_SIZE") > limits.memory_bytes:
        return f"more than {limits.memory_bytes >> 20} MB of memory"
    return ""


def _too_much(sandbox: Sandbox) -> bool:
    size = count = 0
    folders = [str(sandbox.scratch)]
    while folders:
        try:
            with os.scandir(folders.pop()) as found:
                for entry in found:
                    info = entry.stat(follow_symlinks=False)
                    size, count = size + info.st_blocks * 512, count + 1
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    if count > sandbox.limits.scratch_files or size > sandbox.limits.scratch_bytes + (1 << 20):
                        return True
        except OSError:
            continue
    return False


def _empty(sandbox: Sandbox) -> None:
    for entry in os.scandir(sandbox.scratch):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path, ignore_errors=True)
        else:
            os.unlink(entry.path)


def _megabytes(limits: Limits) -> str:
    return f"{limits.scratch_bytes >> 20} MB or {limits.scratch_files:,} files"
