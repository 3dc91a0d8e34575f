"""Commands end, leave nothing behind and stay within their limits (M3)."""

from __future__ import annotations

import os
import selectors
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from corpuscope.errors import SetupError
from corpuscope.workspace import Limits, Workspace, execute, programs

from ..conftest import MakeCorpus

SMALL = Limits(memory_bytes=300 << 20, processes=64, scratch_bytes=8 << 20, scratch_files=200, output_bytes=1 << 20)


@pytest.fixture(params=[True, False], ids=["sandboxed", "off"])
def workspace(request: pytest.FixtureRequest, make_corpus: MakeCorpus) -> Iterator[Workspace]:
    with Workspace(make_corpus({"a.md": "alpha\n"}), sandboxed=request.param, limits=SMALL) as made:
        made.add(["a.md"])
        yield made


@pytest.fixture
def sandboxed(make_corpus: MakeCorpus) -> Iterator[Workspace]:
    with Workspace(make_corpus({"a.md": "alpha\n"}), limits=SMALL) as made:
        made.add(["a.md"])
        yield made


def processes_with(mark: str) -> list[str]:
    """Command lines of live processes that hold `mark`."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            command = Path("/proc", pid, "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if mark in command and int(pid) != os.getpid():
            found.append(command)
    return found


def gone(mark: str) -> bool:
    for _ in range(40):
        if not processes_with(mark):
            return True
        time.sleep(0.05)
    return False


def test_output_exit_code_and_both_streams(workspace: Workspace) -> None:
    outcome = execute(workspace.sandbox, "cat a.md; echo oops >&2; exit 3", 10)
    assert (outcome.output, outcome.exit_code, outcome.stopped) == (b"alpha\noops\n", 3, "")


def test_a_background_process_does_not_hold_the_command(workspace: Workspace) -> None:
    outcome = execute(workspace.sandbox, "sleep 6174 & echo done", 30)
    assert outcome.output == b"done\n" and outcome.exit_code == 0 and outcome.seconds < 10
    assert not workspace.sandbox.enabled or not processes_with("sleep 6174"), "nothing is left when it returns"
    assert gone("sleep 6174")


def test_a_time_out_keeps_what_was_printed_and_kills_all(workspace: Workspace) -> None:
    outcome = execute(workspace.sandbox, "echo begun; (trap '' TERM INT HUP; sleep 6175 & wait)", 0.5)
    assert outcome.output == b"begun\n" and outcome.exit_code is None and "0.5 s" in outcome.stopped
    assert gone("sleep 6175")


def test_a_command_that_closes_its_output_is_still_timed_out(workspace: Workspace) -> None:
    outcome = execute(workspace.sandbox, "exec >&- 2>&-; sleep 6176", 0.5)
    assert "0.5 s" in outcome.stopped and gone("sleep 6176")


def test_a_daemon_dies_with_its_sandbox(sandboxed: Workspace) -> None:
    execute(sandboxed.sandbox, "setsid nohup sleep 6177 >/dev/null 2>&1 & disown; echo", 10)
    assert gone("sleep 6177")


@pytest.mark.parametrize("command", ["yes", "cat /dev/zero", "head -c 100M /dev/urandom"])
def test_an_output_flood_is_stopped_and_bounded(workspace: Workspace, command: str) -> None:
    outcome = execute(workspace.sandbox, command, 30)
    assert "printed more than" in outcome.stopped and outcome.seconds < 20
    assert len(outcome.output) <= SMALL.kept_bytes


def test_a_fork_bomb_is_stopped(sandboxed: Workspace) -> None:
    outcome = execute(sandboxed.sandbox, "bomb() { bomb | bomb & }; bomb; sleep 20", 25)
    assert "processes" in outcome.stopped and outcome.seconds < 20
    assert not processes_with("bomb | bomb")


def test_many_processes_are_counted_together(sandboxed: Workspace) -> None:
    outcome = execute(sandboxed.sandbox, "for i in $(seq 100); do sleep 20 & done; wait", 25)
    assert outcome.stopped == "more than 64 processes"


def test_memory_is_counted_over_all_processes(sandboxed: Workspace) -> None:
    hog = "python3 -c \"import time; x = b'x' * (200 << 20); time.sleep(20)\""
    outcome = execute(sandboxed.sandbox, f"{hog} & {hog} & wait", 25)
    assert outcome.stopped == "more than 300 MB of memory"


def test_one_greedy_process_cannot_take_it_all(sandboxed: Workspace) -> None:
    outcome = execute(sandboxed.sandbox, "python3 -c \"x = b'x' * (4 << 30)\"", 25)
    assert outcome.exit_code != 0


def test_shared_memory_is_capped(sandboxed: Workspace) -> None:
    outcome = execute(sandboxed.sandbox, "head -c 50M /dev/zero > /dev/shm/x; stat -c %s /dev/shm/x", 25)
    assert int(outcome.output.split()[-1]) <= 1 << 20


def test_one_file_is_capped(sandboxed: Workspace) -> None:
    execute(sandboxed.sandbox, "head -c 5G /dev/zero > /tmp/x", 25)
    assert sum(f.stat().st_size for f in sandboxed.scratch.iterdir()) <= SMALL.scratch_bytes


@pytest.mark.parametrize(
    "command",
    ["for i in $(seq 50); do head -c 4M /dev/zero > /tmp/$i; done; sleep 5", "cd /tmp; touch $(seq 5000); sleep 5"],
)
def test_the_scratch_as_a_whole_is_capped(sandboxed: Workspace, command: str) -> None:
    outcome = execute(sandboxed.sandbox, command, 25)
    assert "scratch grew beyond" in outcome.stopped and "deleted" in outcome.stopped
    assert list(sandboxed.scratch.iterdir()) == []
    assert execute(sandboxed.sandbox, "echo ok > /tmp/x; cat /tmp/x", 5).output == b"ok\n"


def test_the_scratch_lasts_from_one_command_to_the_next(workspace: Workspace) -> None:
    execute(workspace.sandbox, "echo kept > $HOME/note", 5)
    assert execute(workspace.sandbox, "cat $HOME/note", 5).output == b"kept\n"


def test_a_cancelled_command_is_killed(sandboxed: Workspace) -> None:
    cancelled = threading.Event()
    threading.Timer(0.3, cancelled.set).start()
    outcome = execute(sandboxed.sandbox, "sleep 6178", 30, cancelled)
    assert outcome.stopped == "interrupted" and outcome.seconds < 5 and gone("sleep 6178")


def test_the_sandbox_dies_with_its_parent(make_corpus: MakeCorpus) -> None:
    corpus = make_corpus({"a.md": "x"})
    script = (
        "import sys\nfrom corpuscope.corpus import Corpus\nfrom corpuscope.workspace import Workspace, execute\n"
        "with Workspace(Corpus.open(sys.argv[1])) as w:\n    print('ready', flush=True)\n    execute(w.sandbox, 'sleep 6179', 60)\n"
    )
    import sys

    parent = subprocess.Popen([sys.executable, "-c", script, str(corpus.root)], stdout=subprocess.PIPE)
    assert parent.stdout is not None and parent.stdout.readline() == b"ready\n"
    while not processes_with("sleep 6179"):
        time.sleep(0.02)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert gone("sleep 6179")


def test_bash_counts_the_models_lines(sandboxed: Workspace) -> None:
    outcome = execute(sandboxed.sandbox, "true\nif nonsense; then echo; fi", 5)
    assert b"line 2" in outcome.output


@pytest.mark.parametrize("command", ["echo \ud800", "echo '\u00e9'", "#only a comment", "cat <<EOF\nx\nEOF"])
def test_odd_commands_run(sandboxed: Workspace, command: str) -> None:
    assert execute(sandboxed.sandbox, command, 5).exit_code == 0


def test_without_a_working_bwrap_the_message_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "_candidates", lambda: ["/bin/false"])
    programs.bubblewrap.cache_clear()
    try:
        with pytest.raises(SetupError, match="--sandbox=off"):
            programs.bubblewrap()
    finally:
        programs.bubblewrap.cache_clear()


def test_what_is_printed_between_the_last_look_and_the_end_is_not_lost(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine a command may print and end while its pipe is not looked at."""

    class Late(selectors.DefaultSelector):
        def select(self, timeout: float | None = None) -> list[Any]:
            time.sleep(0.5)
            return []

    monkeypatch.setattr(selectors, "DefaultSelector", Late)
    outcome = execute(workspace.sandbox, "echo all of it; seq 5000", 10)
    assert (
        outcome.exit_code == 0 and outcome.output.startswith(b"all of it\n1\n") and outcome.output.endswith(b"5000\n")
    )
