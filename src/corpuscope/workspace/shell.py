"""A person's shell in the bounded workspace, on a terminal of its own (`corpuscope shell`)."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import sys
import termios
import tty
from collections.abc import Callable

from .programs import bubblewrap
from .sandbox import PROMPT, Descriptors
from .workspace import Workspace

_STRINGS = re.compile(rb"\x1b[\]PX^_].*?(?:\x1b\\|\x07)", re.DOTALL)
_UNFINISHED = re.compile(rb"\x1b(?:[\]PX^_][^\x07\x1b]*\x1b?)?\Z", re.DOTALL)
_MAX_HELD = 1 << 16


def interactive_shell(workspace: Workspace) -> int:
    """Run bash in the sandbox until the person leaves it; returns its exit code.

    Control strings (window titles, clipboard, links) that documents print do not reach the terminal.
    """
    sandbox = workspace.sandbox
    terminal = os.environ.get("TERM") or "dumb"
    with Descriptors() as descriptors:
        if sandbox.enabled:
            argv = [*sandbox.argv(descriptors, terminal=terminal), "/bin/bash", "--norc", "-i"]
            program, folder, environment = bubblewrap(), "/", {}
        else:
            argv, program, folder = ["bash", "--norc", "-i"], "/bin/bash", str(workspace.path)
            environment = sandbox.environment | {"TERM": terminal, "PS1": PROMPT}
        for number in descriptors.numbers:
            os.set_inheritable(number, True)
        pid, master = pty.fork()
        if pid == 0:
            os.chdir(folder)
            os.execve(program, argv, environment)
    return _converse(pid, master)


def _converse(pid: int, master: int) -> int:
    on_terminal = sys.stdin.isatty()
    saved = termios.tcgetattr(sys.stdin) if on_terminal else None

    def resize(*_: object) -> None:
        termios.tcsetwinsize(master, termios.tcgetwinsize(sys.stdin))

    try:
        if on_terminal:
            resize()
            signal.signal(signal.SIGWINCH, resize)
            tty.setraw(sys.stdin)
        _copy(master)
    finally:
        if saved is not None:
            signal.signal(signal.SIGWINCH, signal.SIG_DFL)
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, saved)
        os.close(master)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _copy(master: int) -> None:
    """Between the person and the shell's terminal until that closes."""
    keep = _control_string_filter()
    person = sys.stdin.fileno()
    sources = [master, person]
    while True:
        ready = select.select(sources, [], [])[0]
        if master in ready:
            try:
                chunk = os.read(master, 1 << 14)
            except OSError:  # Linux says EIO when the last process has left the terminal
                chunk = b""
            if not chunk:
                return
            os.write(sys.stdout.fileno(), keep(chunk))
        if person in ready:
            typed = os.read(person, 1 << 14)
            if typed:
                os.write(master, typed)
            else:
                os.write(master, b"\x04")  # end of input, as a terminal says it
                sources.remove(person)


def _control_string_filter() -> Callable[[bytes], bytes]:
    held = b""

    def keep(chunk: bytes) -> bytes:
        nonlocal held
        data = _STRINGS.sub(b"", held + chunk)
        unfinished = _UNFINISHED.search(data)
        if unfinished and len(data) - unfinished.start() < _MAX_HELD:
            held = data[unfinished.start() :]
            return data[: unfinished.start()]
        held = b""
        return data.replace(b"\x1b]", b"").replace(b"\x1bP", b"")

    return keep
