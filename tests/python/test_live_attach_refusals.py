"""Reading a process that can't be read: what is said of it, and what to do."""

from __future__ import annotations

import errno
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from attaching import started
from support import IS_ROOT, LIBDIR, build, build_program, run, tool, write
from versions import build_library, change

from paddle_flags.errors import FlagError
from paddle_flags.live._attach import read
from paddle_flags.live._attach_memory import AttachError
from paddle_flags.live._attach_refusal import Facts, explain

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux")
root_only = pytest.mark.skipif(not IS_ROOT, reason="needs root, to become another user")

WAITING = r"""
#include <pd_flags.h>
#include <stdio.h>
PD_DEFINE_int32(level, 6, "Level");
int main(void) {
  printf("%s\nEND\n", pd_version());
  fflush(stdout);
  return getchar();
}
"""
READ = """
import sys
import tempfile
from paddle_flags.live._attach import read
try:
    print([flag["name"] for flag in read(int(sys.argv[1]))["flags"]])
except OSError as error:
    print(error)
"""


@pytest.fixture(scope="module")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program with a flag."""
    place = tmp_path_factory.mktemp("waiting")
    return build_program(place / "waiting", write(place / "waiting.c", WAITING))


def refused(pid: int) -> str:
    with pytest.raises(AttachError) as caught:
        read(pid)
    assert isinstance(caught.value, FlagError)
    assert isinstance(caught.value, OSError)
    return str(caught.value)


# ---- Processes without flags ----


def test_a_process_that_is_not_there_is_an_error():
    with subprocess.Popen(["true"]) as process:
        process.wait()
    assert refused(process.pid) == f"there is no process {process.pid}"


def test_a_process_that_has_ended_is_an_error():
    with subprocess.Popen(["true"]) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert refused(process.pid) == (
            f"process {process.pid} has ended; its parent hasn't waited for it yet"
        )


def test_a_process_without_a_registry_is_an_error():
    with subprocess.Popen(["sleep", "600"]) as process:
        try:
            assert refused(process.pid).startswith("there is no registry of paddle_flags in")
        finally:
            process.kill()


def without_index(tree: Path) -> None:
    """Make it a version whose records of copies end before the index."""
    change(tree / "include" / "pd_flags.h", r'(PD_VERSION) "[^"]*"', r'\1 "0.0.8"')
    record = tree / "include" / "pd_flags" / "record.h"
    change(record, r"  const struct pd_index \*index;[^\n]*\n", "")
    change(record, r"offsetof\(pd_copy_record, index\)", "sizeof(pd_copy_record)")
    copies = tree / "src" / "module" / "copies.c"
    change(copies, r"  pd__copy_v1\.index = &pd__index;\n", "")
    change(copies, r"PD__VERSION, 0, NULL\}", "PD__VERSION, 0}")


def other_abi(tree: Path) -> None:
    """Make it a version with another ABI."""
    change(tree / "include" / "pd_flags.h", r"define PD_ABI_VERSION 1", "define PD_ABI_VERSION 2")


def newer_index(tree: Path) -> None:
    """Make it a version whose index has another version."""
    change(tree / "include" / "pd_flags.h", r'(PD_VERSION) "[^"]*"', r'\1 "7.0.0"')
    index = tree / "include" / "pd_flags" / "index.h"
    change(index, r"define PD_INDEX_VERSION 1", "define PD_INDEX_VERSION 2")


def whole(library: Path) -> list[str]:
    """Return how to link a copy that nothing refers to."""
    return ["-Wl,--whole-archive", str(library / "libpd_flags.a"), "-Wl,--no-whole-archive"]


@pytest.mark.release  # builds a library
@pytest.mark.parametrize(
    ("version", "words"),
    [
        pytest.param(without_index, "is paddle_flags 0.0.8, which has no index", id="older"),
        pytest.param(other_abi, "has ABI version 2, and this paddle_flags reads", id="abi"),
        pytest.param(newer_index, "use the paddle_flags of the process, which is 7.0", id="newer"),
    ],
)
def test_a_registry_of_another_version_is_named(version, words, tmp_path):
    made = build_library(tmp_path / "version", [version])
    source = write(tmp_path / "waiting.c", WAITING)
    include = f"-I{made / 'csrc' / 'include'}"
    run("cc", include, source, *whole(made), "-ldl", "-o", tmp_path / "waiting")
    with started(tmp_path / "waiting") as running:
        assert words in refused(running.pid)


@pytest.mark.release  # builds a library
def test_an_older_copy_beside_a_host_with_an_index_does_no_harm(tmp_path):
    made = build_library(tmp_path / "older", [without_index])
    include = f"-I{made / 'csrc' / 'include'}"
    source = write(tmp_path / "waiting.c", WAITING)
    program = tmp_path / "waiting"
    linked = (f"-L{LIBDIR}", f"-Wl,-rpath,{LIBDIR}", "-Wl,--no-as-needed", "-lpd_flags")
    run("cc", include, source, *whole(made), *linked, "-ldl", "-o", program)
    with started(program) as running:
        assert [flag["name"] for flag in read(running.pid)["flags"]] == ["level"]


NARROW = r"""
void _start(void);
void _start(void) {
  static const char text[] = "END\n";
  __asm__ volatile("int $0x80" : : "a"(4), "b"(1), "c"(text), "d"(4) : "memory");
  for (;;) __asm__ volatile("int $0x80" : : "a"(29) : "memory");
}
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="needs a 64-bit and a 32-bit mode")
def test_a_program_of_another_kind_is_named(tmp_path):
    source = write(tmp_path / "narrow.c", NARROW)
    flags = ("-m32", "-nostdlib", "-static", "-fno-stack-protector")
    program = build(tmp_path / "narrow", source, flags=flags)
    if run("timeout", "-s", "KILL", "1", program, check=False).returncode not in (-9, 137):
        pytest.skip("the kernel runs no 32-bit programs")
    with started(program) as running:
        assert "is a 32-bit i386, little-endian program" in refused(running.pid)


# ---- Not allowed ----


@pytest.fixture
def copied() -> dict[str, str]:
    """The variables by which another user finds the package."""
    ours = Path(read.__code__.co_filename).parents[2]
    return {**os.environ, "PYTHONPATH": str(ours), "PYTHONDONTWRITEBYTECODE": "1"}


def read_as(pid: int, words: list[str], variables: dict[str, str]) -> str:
    """Read a process from another one, started by some command."""
    ended = run(*words, sys.executable, "-c", READ, pid, env=variables, check=False, cwd="/")
    if ended.returncode:
        pytest.skip(f"the other user can't run Python here: {ended.stderr.splitlines()[-1:]}")
    return ended.stdout.strip()


@root_only
def test_another_user_is_told_whose_process_it_is(waiting, copied):
    words = [tool("setpriv", "util-linux"), "--reuid=65534", "--regid=65534", "--clear-groups"]
    with started(waiting) as running:
        assert read_as(running.pid, words, copied) == (
            f"process {running.pid} may not be read: it belongs to user 0, and we are user 65534; "
            "run this as root"
        )


@root_only
def test_root_in_a_container_is_told_what_it_lacks(waiting, copied):
    if not has_ptrace():
        pytest.skip("we don't have CAP_SYS_PTRACE ourselves")
    words = [tool("setpriv", "util-linux"), "--bounding-set=-sys_ptrace"]
    words += ["--inh-caps=-sys_ptrace"]
    with started(waiting) as running:
        said = read_as(running.pid, words, copied)
    assert "we are root without CAP_SYS_PTRACE, as in a container" in said
    assert "--cap-add=SYS_PTRACE" in said


def has_ptrace() -> bool:
    text = Path("/proc/self/status").read_text("utf-8")
    mine = next(line.split()[1] for line in text.splitlines() if line.startswith("CapEff:"))
    return bool(int(mine, 16) >> 19 & 1)


@pytest.fixture
def public() -> Iterator[Path]:
    """A directory that all users can enter; pytest closes its own to them."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@root_only
def test_a_process_that_shields_itself_is_named(copied, public):
    source = WAITING.replace("int main(void) {", "int main(void) {\n  prctl(PR_SET_DUMPABLE, 0);")
    source = source.replace("#include <stdio.h>", "#include <stdio.h>\n#include <sys/prctl.h>")
    program = build_program(public / "shielded", write(public / "shielded.c", source))
    words = [tool("setpriv", "util-linux"), "--reuid=65534", "--regid=65534", "--clear-groups"]
    if run(*words, program, input="", check=False, cwd="/").returncode not in (255, 0):
        pytest.skip("the other user can't run the program here")
    with started(*words, program, cwd="/") as running:
        said = read_as(running.pid, words, copied)
        assert "it has changed its user, or has asked not to be read (PR_SET_DUMPABLE)" in said
        assert [flag["name"] for flag in read(running.pid)["flags"]] == ["level"]


ALLOWED = Facts(7, errno.EPERM, "S", owner=5, user=5)


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (ALLOWED._replace(yama=1), ["ptrace_scope is 1", "kernel.yama.ptrace_scope=0", "as root"]),
        (ALLOWED._replace(yama=2), ["ptrace_scope is 2", "only root", "as root"]),
        (ALLOWED._replace(yama=3, user=0, capable=True), ["ptrace_scope is 3", "started again"]),
        (ALLOWED._replace(yama=1, owner=6), ["belongs to user 6, and we are user 5", "as root"]),
        (ALLOWED._replace(user=0), ["root without CAP_SYS_PTRACE", "--cap-add=SYS_PTRACE"]),
        (ALLOWED._replace(user=0, capable=True), ["although we have CAP_SYS_PTRACE"]),
        (ALLOWED._replace(shielded=True, yama=1), ["PR_SET_DUMPABLE", "as root"]),
        (ALLOWED, ["capabilities that we don't have", "as root"]),
        (ALLOWED._replace(error=errno.EACCES, yama=0), ["may not be read"]),
        (ALLOWED._replace(error=errno.ENOSYS), ["no process_vm_readv", "sandbox"]),
        (ALLOWED._replace(error=errno.EIO), [os.strerror(errno.EIO)]),
        (ALLOWED._replace(error=errno.ESRCH), ["there is no process 7"]),
        (ALLOWED._replace(error=0), ["thread of the kernel"]),
    ],
)
def test_each_cause_is_told_with_its_remedy(facts, words):
    text = explain(facts)
    assert [word for word in words if word not in text] == []
    assert "\n" not in text
