"""Attempts to get out of the sandbox. Each must fail, and the corpus must be byte-identical after all of them."""

from __future__ import annotations

import hashlib
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from corpuscope.corpus import Corpus, SourceSettings
from corpuscope.structure import Structured, structure
from corpuscope.workspace import Limits, Workspace, execute

from ..conftest import write_files

SECRET = "HOST-SECRET-7c1f"


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A host with secrets: a file beside the corpus, one in the environment, one served on loopback."""
    root = tmp_path_factory.mktemp("host")
    write_files(
        root, {"secret.txt": SECRET, "source/a.md": "alpha\n", "source/sub/b.md": "beta\n", "source/kept.md": SECRET}
    )
    return root


@pytest.fixture(scope="module", params=["imported", "structured", "whole"])
def workspace(request: pytest.FixtureRequest, host: Path) -> Iterator[Workspace]:
    """What RISE-BM25, RISE and DCI work in."""
    whole = request.param == "whole"
    settings = SourceSettings(exclude=("kept.md",) if whole else ())
    corpus, _ = Corpus.build(host / "source", host / f"corpus-{request.param}", settings)
    structure(corpus)
    structured = Structured(corpus) if request.param == "structured" else None
    before = digest(corpus.root / "text"), digest(corpus.root / "structured")
    os.environ["CORPUSCOPE_TEST_KEY"] = SECRET
    with Workspace(corpus, structured=structured, whole=whole, limits=Limits(seconds=10)) as workspace:
        workspace.add(["a.md", "sub/b.md"])  # kept.md is in the corpus and not in W
        yield workspace
        after = digest(corpus.root / "text"), digest(corpus.root / "structured")
        assert after == before, "the corpus must be byte-identical after every attempt"
    del os.environ["CORPUSCOPE_TEST_KEY"]


def digest(folder: Path) -> dict[str, tuple[str, int]]:
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    return {str(f.relative_to(folder)): (hashlib.sha256(f.read_bytes()).hexdigest(), f.stat().st_mode) for f in files}


def attempt(workspace: Workspace, command: str) -> tuple[int | None, str]:
    outcome = execute(workspace.sandbox, command, 10)
    return outcome.exit_code, outcome.output.decode(errors="replace")


READS = {
    "the password file": "cat /etc/passwd",
    "the shadow file": "cat /etc/shadow",
    "the host's name": "cat /etc/hostname",
    "the root's home": "ls /root/",
    "homes": "ls /home/",
    "the secret beside the corpus": "cat {host}/secret.txt",
    "the corpus itself": "ls {corpus}",
    "a document outside W": "cat {corpus}/text/kept.md",
    "the manifest": "cat {corpus}/manifest.sqlite",
    "the host's other temporary files": "ls {host}",
    "a symbolic link to the root": "ln -s / /tmp/root && cat /tmp/root/etc/shadow",
    "a symbolic link through dots": "cat /w/../../../../etc/passwd",
    "a hard link to a secret": "ln {host}/secret.txt /tmp/linked",
    "the first process's root": "cat /proc/1/root{host}/secret.txt",
    "its own root": "ls /proc/self/root/home",
    "the host's variables": "ls /var/log",
    "system services": "ls /run/ /sys/ /boot/",
    "disks": "cat /dev/sda || cat /dev/vda || cat /dev/nvme0n1",
    "memory": "cat /dev/mem || cat /dev/kmem || head -c 10 /proc/kcore",
    "the kernel's log": "dmesg || cat /dev/kmsg",
    "an open descriptor of ours": "for fd in /proc/1/fd/*; do ls -lL $fd; done | grep -v null | grep -E 'host|corpus'",
}


@pytest.mark.parametrize("what", READS)
def test_cannot_read(workspace: Workspace, host: Path, what: str) -> None:
    code, output = attempt(workspace, READS[what].format(host=host, corpus=workspace.corpus.root))
    assert code != 0, output
    assert SECRET not in output and "root:" not in output


WRITES = {
    "a file of W": "echo x >> /w/a.md",
    "a new file in W": "echo x > /w/new.md",
    "a file's mode": "chmod 777 /w/a.md",
    "a file's time": "touch /w/a.md",
    "a file's name": "mv /w/a.md /w/z.md",
    "a removal": "rm -f /w/a.md",
    "a hard link out of W that is then written": "ln /w/a.md /tmp/a.md && chmod u+w /tmp/a.md && echo x >> /tmp/a.md",
    "a mapping written in place": "python3 -c \"import mmap; f=open('/w/a.md','r+b'); mmap.mmap(f.fileno(),0)[0]=0\"",
    "truncation": "truncate -s 0 /w/a.md",
    "the system's programs": "echo x > /usr/bin/rg",
    "our ripgrep": "echo x > /opt/corpuscope/rg",
    "the root folder": "touch /x || mkdir /y",
    "a setting of the kernel": "echo 1 > /proc/sys/kernel/core_pattern || echo c > /proc/sysrq-trigger",
    "a remount": "mount -o remount,rw /w",
    "a mount of its own": "mount -t tmpfs none /tmp || mount --bind / /tmp",
    "a device node": "mknod /tmp/disk b 8 0 && cat /tmp/disk",
    "another user": "chown 0 /tmp || su - || setpriv --reuid 0 true",
    "a new user namespace": "unshare -U true || unshare -m true || unshare -r id",
    "another namespace": "nsenter -t 1 -m ls / || nsenter -t 1 -n true",
    "a new root": "chroot /tmp true",
}


@pytest.mark.parametrize("what", WRITES)
def test_cannot_write_or_gain(workspace: Workspace, what: str) -> None:
    code, output = attempt(workspace, WRITES[what])
    assert code != 0, output
    assert (workspace.path / "a.md").read_text().endswith("alpha\n")


def test_the_environment_is_empty_of_ours(workspace: Workspace) -> None:
    _, output = attempt(workspace, "env; cat /proc/*/environ | tr '\\0' '\\n'; set")
    assert SECRET not in output and "CORPUSCOPE_TEST_KEY" not in output


def test_no_command_line_names_a_host_path(workspace: Workspace, host: Path) -> None:
    _, output = attempt(workspace, "cat /proc/*/cmdline | tr '\\0' ' '")
    assert str(host) not in output and "bwrap" in output


def test_only_its_own_processes_are_seen_and_signalled(workspace: Workspace) -> None:
    _, output = attempt(
        workspace, f"ls /proc | grep -E '^[0-9]+$' | wc -l; kill -9 {os.getpid()} 2>&1; kill -9 -1; echo alive"
    )
    assert int(output.split()[0]) < 10
    assert os.getpid() > 0  # we are still here


@pytest.mark.parametrize("family", ["AF_INET", "AF_INET6", "AF_UNIX"])
def test_there_is_no_network(workspace: Workspace, host: Path, family: str) -> None:
    kind = getattr(socket, family)
    server = socket.socket(kind)
    address: object = {"AF_INET": ("127.0.0.1", 0), "AF_INET6": ("::1", 0), "AF_UNIX": f"\0corpuscope-{os.getpid()}"}[
        family
    ]
    try:
        server.bind(address)  # type: ignore[arg-type]
    except OSError:
        assert family == "AF_INET6"  # a host without IPv6 has nothing to reach
        return
    server.listen()
    server.settimeout(2)
    reached: list[object] = []
    thread = threading.Thread(target=lambda: reached.append(accepted(server)))
    thread.start()
    bound = server.getsockname()
    target = tuple(bound[:2]) if isinstance(bound, tuple) else bound
    code, output = attempt(
        workspace,
        f'python3 -c "import socket; s=socket.socket(socket.{family}); s.settimeout(1); s.connect({target!r})"',
    )
    thread.join()
    server.close()
    assert code != 0 and reached == [None], output


def accepted(server: socket.socket) -> object:
    try:
        return server.accept()
    except TimeoutError:
        return None


def test_there_is_no_route_and_no_name(workspace: Workspace) -> None:
    code, _ = attempt(
        workspace, "curl -s -m 2 http://1.1.1.1 || getent hosts example.org || exec 3<>/dev/tcp/1.1.1.1/80"
    )
    assert code != 0


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ("memfd_create", "os.memfd_create('x')"),
        ("another address family", "__import__('socket').socket(38, 5, 0)"),
        (
            "perf events",
            "(lambda r: (_ for _ in ()).throw(OSError(r)) if r < 0 else r)(libc.syscall(298, 0, 0, -1, -1, 0))",
        ),
        ("ptrace", "(lambda r: (_ for _ in ()).throw(OSError(r)) if r < 0 else r)(libc.syscall(101, 0, 0, 0, 0))"),
        ("keyctl", "(lambda r: (_ for _ in ()).throw(OSError(r)) if r < 0 else r)(libc.syscall(250, 0, -3, 1))"),
        ("io_uring", "(lambda r: (_ for _ in ()).throw(OSError(r)) if r < 0 else r)(libc.syscall(425, 1, 0))"),
        ("bpf", "(lambda r: (_ for _ in ()).throw(OSError(r)) if r < 0 else r)(libc.syscall(321, 0, 0, 0))"),
    ],
)
def test_kernel_doors_are_shut(workspace: Workspace, call: str, code: str) -> None:
    exit_code, output = attempt(workspace, f'python3 -c "import ctypes, os; libc = ctypes.CDLL(None); {code}"')
    assert exit_code != 0 and "Error" in output, call


def test_no_terminal_to_type_into(workspace: Workspace) -> None:
    code, _ = attempt(workspace, "echo x > /dev/tty")
    assert code != 0
    code, _ = attempt(workspace, "python3 -c \"import fcntl,termios; fcntl.ioctl(0, termios.TIOCSTI, b'x')\"")
    assert code != 0


def test_no_privilege_from_a_setuid_program(workspace: Workspace) -> None:
    _, output = attempt(workspace, "id -u; grep -E 'NoNewPrivs|CapEff|CapPrm|CapBnd' /proc/self/status")
    assert output.split()[0] == "1000" and "NoNewPrivs:\t1" in output
    assert all(line.endswith("0" * 16) for line in output.splitlines() if line.startswith("Cap"))


def test_two_workspaces_do_not_see_each_other(workspace: Workspace) -> None:
    with Workspace(workspace.corpus) as other:
        other.add(["kept.md"])
        execute(other.sandbox, f"echo {SECRET} > /tmp/mine", 10)
        code, output = attempt(
            workspace,
            f"ls {other.root}; cat /tmp/mine; rg -uuu -l {SECRET} $(ls -d /* | grep -vE '^/(usr|lib.*|s?bin|proc|dev)$')",
        )
        assert SECRET not in output and code != 0


def test_what_is_hidden_below_a_system_folder_is_covered(workspace: Workspace, host: Path) -> None:
    from dataclasses import replace

    covered = replace(workspace.sandbox, hidden=(Path("/usr/share"),))
    assert execute(covered, "ls -A /usr/share | wc -l", 10).output == b"0\n"
    assert execute(workspace.sandbox, "ls -A /usr/share | wc -l", 10).output != b"0\n"
