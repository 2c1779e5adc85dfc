"""Why the kernel doesn't let us read a process, and what to do about that."""

from __future__ import annotations

import errno
import os
from typing import NamedTuple

_PTRACE = 19  # CAP_SYS_PTRACE, of <linux/capability.h>
_ROOT = 0
_YAMA_CHILDREN, _YAMA_ADMIN, _YAMA_NOBODY = 1, 2, 3


class Facts(NamedTuple):
    """What decides whether a process may be read."""

    pid: int
    error: int
    """The errno of the call that failed; 0: the process has no memory."""
    state: str = ""
    """Of the process: `"R"`, `"Z"`; "" if there is no such process."""
    owner: int | None = None
    """Its user; None if that can't be read."""
    user: int = 0
    """Who reads."""
    capable: bool = False
    """The reader has CAP_SYS_PTRACE."""
    shielded: bool = False
    """The process isn't dumpable."""
    yama: int | None = None
    """`kernel.yama.ptrace_scope`; None: the kernel has no Yama."""


def describe_read_error(pid: int, error: int) -> str:
    """Return what is wrong when reading a process failed with this errno."""
    return explain(_gather_facts(pid, error))


def explain(facts: Facts) -> str:
    """Return what is wrong, and what to do."""
    who = f"process {facts.pid}"
    if not facts.state or facts.error in (errno.ESRCH, errno.ENOENT):
        return f"there is no {who}"
    if facts.state in ("Z", "X"):
        return f"{who} has ended; its parent hasn't waited for it yet"
    if facts.error == 0:
        return f"{who} has no memory of its own: it is a thread of the kernel, or just ending"
    if facts.error == errno.ENOSYS:
        return f"{who} can't be read: this kernel, or a sandbox around us, has no process_vm_readv"
    if facts.error not in (errno.EPERM, errno.EACCES):
        return f"{who} can't be read: {os.strerror(facts.error)}"
    return f"{who} may not be read: {_explain_permission_error(facts)}"


_SUDO = "run this as root"
_NOBODY = (
    "kernel.yama.ptrace_scope is 3, so no process may read another one until the machine is "
    "started again with a lower value"
)
_BARE_ROOT = (
    "we are root without CAP_SYS_PTRACE, as in a container; start the container with "
    "--cap-add=SYS_PTRACE, or read the process from outside of it"
)
_FORBIDDEN = (
    "a security module, a sandbox or another user namespace forbids it although we have "
    "CAP_SYS_PTRACE; read the process from outside of the container"
)
_ADMIN = f"kernel.yama.ptrace_scope is 2, so only root may read other processes; {_SUDO}"
_SHIELDED = f"it has changed its user, or has asked not to be read (PR_SET_DUMPABLE); {_SUDO}"
_CHILDREN = (
    f"kernel.yama.ptrace_scope is 1, so only a parent may read a process; {_SUDO}, or allow it "
    "until the next start: sysctl kernel.yama.ptrace_scope=0"
)
_OTHERWISE = f"it has capabilities that we don't have, or a sandbox forbids it; {_SUDO}"


def _explain_permission_error(facts: Facts) -> str:
    foreign = facts.owner is not None and facts.owner != facts.user
    whose = f"it belongs to user {facts.owner}, and we are user {facts.user}; {_SUDO}"
    causes = (
        (facts.yama == _YAMA_NOBODY, _NOBODY),
        (facts.user == _ROOT and not facts.capable, _BARE_ROOT),
        (facts.capable, _FORBIDDEN),
        (foreign, whose),
        (facts.yama == _YAMA_ADMIN, _ADMIN),
        (facts.shielded, _SHIELDED),
        (facts.yama == _YAMA_CHILDREN, _CHILDREN),
    )
    return next((text for applies, text in causes if applies), _OTHERWISE)


# ---- From /proc ----


def _gather_facts(pid: int, error: int) -> Facts:
    status = _read_status(f"/proc/{pid}/status")
    mine = _read_status("/proc/self/status")
    owner = status.get("Uid", "").split()
    facts = Facts(pid, error, status.get("State", "")[:1], user=os.geteuid())
    try:
        shown = os.stat(f"/proc/{pid}/maps").st_uid
    except OSError:
        shown = -1
    return facts._replace(
        owner=int(owner[1]) if owner[1:] else None,
        capable=bool(int(mine.get("CapEff", "0"), 16) >> _PTRACE & 1),
        # The files of a process that isn't dumpable belong to root.
        shielded=bool(owner[1:]) and shown == _ROOT != int(owner[1]),
        yama=_read_number("/proc/sys/kernel/yama/ptrace_scope"),
    )


def _read_status(path: str) -> dict[str, str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read(65536).splitlines()
    except OSError:
        return {}
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def _read_number(path: str) -> int | None:
    try:
        with open(path, encoding="ascii") as file:
            return int(file.read(16))
    except (OSError, ValueError):
        return None
