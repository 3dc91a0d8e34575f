"""A seccomp filter for the sandbox, assembled as classic BPF: kernel doors a text tool never opens.

Namespaces already hide the host. The filter takes away what remains shared with it or escapes the size
caps: memory that belongs to no process (memfd, System V shared memory), the kernel's key ring, and the
interfaces behind most kernel exploits. Refused calls fail with EPERM.
"""

from __future__ import annotations

import errno
import platform
import struct

_ARCHES: dict[str, tuple[int, dict[str, int]]] = {
    "x86_64": (
        0xC000003E,
        {
            "shmget": 29, "socket": 41, "socketpair": 53, "ptrace": 101, "personality": 135, "mount": 165,
            "kexec_load": 246, "add_key": 248, "request_key": 249, "keyctl": 250, "unshare": 272,
            "perf_event_open": 298, "setns": 308, "process_vm_readv": 310, "process_vm_writev": 311,
            "memfd_create": 319, "bpf": 321, "userfaultfd": 323,
        },
    ),
    "aarch64": (
        0xC00000B7,
        {
            "mount": 40, "personality": 92, "unshare": 97, "kexec_load": 104, "ptrace": 117, "shmget": 194,
            "socket": 198, "socketpair": 199, "add_key": 217, "request_key": 218, "keyctl": 219,
            "perf_event_open": 241, "setns": 268, "process_vm_readv": 270, "process_vm_writev": 271,
            "memfd_create": 279, "bpf": 280, "userfaultfd": 282,
        },
    ),
}  # fmt: skip
"""Machine -> (AUDIT_ARCH, call numbers); from 424 on the numbers are the same everywhere."""

_COMMON = {"io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428,
           "move_mount": 429, "fsopen": 430, "fsmount": 432, "memfd_secret": 447}  # fmt: skip
_FAMILIES = (1, 2, 10, 16)
"""AF_UNIX, AF_INET, AF_INET6, AF_NETLINK: harmless in an empty network namespace; the rest is attack surface."""

_LOAD, _JUMP_EQ, _JUMP_GE, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _KILL, _DENY = 0x7FFF0000, 0x80000000, 0x00050000 | errno.EPERM
_NR, _ARCH, _ARG0 = 0, 4, 16
_X32 = 0x40000000


def seccomp_filter(machine: str = "") -> bytes:
    """The program for `bwrap --seccomp`, or b"" on a machine whose call numbers are not known here."""
    known = _ARCHES.get(machine or platform.machine())
    if known is None:
        return b""
    arch, calls = known
    denied = [n for name, n in (calls | _COMMON).items() if name != "socket"]
    program = [(_LOAD, 0, 0, _ARCH), (_JUMP_EQ, 1, 0, arch), (_RETURN, 0, 0, _KILL), (_LOAD, 0, 0, _NR)]
    # The x32 calls alias the others under other numbers.
    program += [(_JUMP_GE, 0, 1, _X32), (_RETURN, 0, 0, _DENY)]
    for number in denied:
        program += [(_JUMP_EQ, 0, 1, number), (_RETURN, 0, 0, _DENY)]
    families = len(_FAMILIES)
    program += [(_JUMP_EQ, 0, families + 2, calls["socket"]), (_LOAD, 0, 0, _ARG0)]
    program += [(_JUMP_EQ, families - i, 0, family) for i, family in enumerate(_FAMILIES)]
    program += [(_RETURN, 0, 0, _DENY), (_RETURN, 0, 0, _ALLOW)]
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in program)
