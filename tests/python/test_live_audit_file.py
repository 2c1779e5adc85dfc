"""The audit of changes from outside in a file: rights, rotation, faults, several processes."""

from __future__ import annotations

import json
import logging
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from audited import SET, lines_of, numbers_of, recording, text_of
from support import missing, run, tool, write

import paddle_flags as pf
from paddle_flags.live._audit import AuditFile, make_sink

if not sys.platform.startswith("linux"):
    pytest.skip("flags are served on Linux only", allow_module_level=True)


@pytest.fixture
def logged() -> Iterator[list[logging.LogRecord]]:
    with recording() as records:
        yield records


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


def put(file: AuditFile, *numbers: int) -> None:
    for number in numbers:
        file.write(text_of(SET, change=number))


def test_each_event_is_a_line_of_a_file_that_only_its_owner_reads(path):
    former = os.umask(0)
    try:
        sink = make_sink([path, str(path), AuditFile(path)])
    finally:
        os.umask(former)
    sink(text_of(SET))
    assert lines_of(path) == [SET, SET, SET]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_lines_are_appended_to_what_is_there(path):
    path.write_text('{"change": 1}\n', "utf-8")
    put(AuditFile(path), 2)
    put(AuditFile(path), 3)
    assert numbers_of(path) == [1, 2, 3]


def test_the_file_stays_the_same_in_another_directory(path, monkeypatch):
    monkeypatch.chdir(path.parent)
    file = AuditFile(path.name)
    monkeypatch.chdir("/")
    path.rename(path.with_suffix(".1"))
    put(file, 1)
    assert (file.path, numbers_of(path)) == (str(path), [1])


def test_a_renamed_file_is_left_and_a_new_one_begun(path):
    file = AuditFile(path)
    put(file, 1)
    path.rename(path.with_suffix(".1"))
    put(file, 2, 3)
    assert numbers_of(path.with_suffix(".1")) == [1]
    assert numbers_of(path) == [2, 3]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_removed_file_is_begun_again(path):
    file = AuditFile(path)
    put(file, 1)
    path.unlink()
    put(file, 2)
    assert numbers_of(path) == [2]
    assert file.lost == 0


def test_a_file_that_another_has_put_there_is_appended_to(path):
    file = AuditFile(path)
    put(file, 1)
    path.rename(path.with_suffix(".1"))
    path.touch(0o640)  # as logrotate's `create`
    put(file, 2)
    assert numbers_of(path) == [2]


def test_a_truncated_file_is_filled_from_its_beginning(path):
    file = AuditFile(path)
    put(file, 1, 2)
    os.truncate(path, 0)  # as logrotate's `copytruncate`
    put(file, 3)
    assert numbers_of(path) == [3]


def descriptors_of(path: Path) -> list[str]:
    found = []
    for link in Path("/proc/self/fd").iterdir():
        try:
            target = os.readlink(link)
        except OSError:
            continue
        if target.startswith(str(path)):
            found.append(target)
    return found


def test_one_descriptor_is_open_however_often_the_file_is_opened_again(path):
    file = AuditFile(path)
    for number in range(5):
        put(file, number)
        path.unlink()
        file.reopen()
    put(file, 5)
    assert descriptors_of(path) == [str(path)]
    file.close()
    assert descriptors_of(path) == []
    put(file, 6)
    assert numbers_of(path) == [5, 6]


def test_reopen_opens_the_file_again_even_if_it_is_the_same(path):
    file = AuditFile(path)
    put(file, 1)
    (link,) = [each for each in Path("/proc/self/fd").iterdir() if each.resolve() == path]
    former = os.dup(int(link.name))
    end = os.lseek(former, 0, os.SEEK_CUR)
    file.reopen()
    put(file, 2)
    assert os.lseek(former, 0, os.SEEK_CUR) == end  # the former opening has not moved
    os.close(former)
    assert numbers_of(path) == [1, 2]


SIGNALS = """
import os, signal, sys
from paddle_flags.live._audit import AuditFile
file = AuditFile(sys.argv[1])
signal.signal(signal.SIGHUP, lambda *_: file.reopen())
signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGHUP))
signal.setitimer(signal.ITIMER_REAL, 1e-4, 1e-4)
for number in range(5000):
    file.write(b'{"change": %d}' % number)
signal.setitimer(signal.ITIMER_REAL, 0)
print(file.lost)
"""


def test_a_signal_may_reopen_the_file_at_any_time(path):
    ended = run(sys.executable, "-c", SIGNALS, path)
    assert ended.stdout == "0\n"
    assert numbers_of(path) == list(range(5000))


def test_a_symbolic_link_is_refused_and_its_target_untouched(path, logged):
    target = path.with_name("target")
    target.write_text("precious", "utf-8")
    path.symlink_to(target)
    with pytest.raises(pf.FlagFileError, match=r"audit.jsonl: .* it is a symbolic link"):
        AuditFile(path)
    path.unlink()
    file = AuditFile(path)
    former = path.with_suffix(".1")
    path.rename(former)
    path.symlink_to(target)
    put(file, 1, 2)
    assert target.read_text("utf-8") == "precious"
    assert numbers_of(former) == [1, 2]
    assert [record.levelname for record in logged] == ["ERROR"]
    path.unlink()
    put(file, 3)
    assert numbers_of(path) == [3]


def test_a_file_that_cannot_be_opened_is_an_error_at_once(path):
    with pytest.raises(pf.FlagFileError, match="can't be opened: No such file or directory"):
        make_sink(path / "in" / "nothing")
    with pytest.raises(pf.FlagFileError, match="can't be opened: Is a directory"):
        make_sink(path.parent)


def test_a_pipe_that_nobody_reads_blocks_nothing(path):
    os.mkfifo(path)
    with pytest.raises(pf.FlagFileError, match="can't be opened: No such device or address"):
        AuditFile(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    file = AuditFile(path, fsync=True)  # of which a pipe knows nothing
    put(file, 1)
    assert file.lost == 0
    assert json.loads(os.read(reader, 4096))["change"] == 1
    for _ in range(1000):  # more than a pipe holds
        file.write(text_of(SET))
    assert file.lost > 0
    os.close(reader)
    put(file, 1)  # no SIGPIPE


# ---- What can't be written ----


def test_events_that_cannot_be_written_are_counted_and_logged_once(logged):
    file = AuditFile("/dev/full", fsync=True)
    sink = make_sink(file)
    for _ in range(3):
        sink(text_of(SET))
    assert file.lost == 3
    errors = [record.getMessage() for record in logged if record.levelname == "ERROR"]
    why = "events of the audit may be lost: No space left on device"
    assert errors == [f"/dev/full: {why}"]


def test_the_file_says_how_many_events_are_missing(path, logged):
    file = AuditFile(path)
    put(file, 1)
    path.unlink()
    path.parent.rename(path.parent.with_name("away"))
    put(file, 2, 3)
    assert file.lost == 2
    path.parent.mkdir()
    put(file, 4)
    gap, line = lines_of(path)
    assert (gap["event"], gap["lost"], sorted(gap)) == ("lost", 2, ["at", "event", "lost"])
    assert line["change"] == 4
    path.unlink()
    path.parent.rmdir()
    put(file, 5)
    assert file.lost == 3
    assert [record.levelname for record in logged] == ["ERROR", "ERROR"]


FULL = """
import json, logging, os, sys
logging.basicConfig()
from paddle_flags.live._audit import AuditFile, make_sink
file = AuditFile(sys.argv[1])
sink = make_sink(file)
filler = sys.argv[2]
with open(filler, "wb", buffering=0) as out:
    try:
        while True:
            out.write(b"x" * 4096)
    except OSError:
        pass
event = json.dumps({"event": "set", "reason": "r" * 6000}).encode()
for _ in range(3):
    sink(event)
print(file.lost)
os.unlink(filler)
sink(b'{"event": "set", "change": 9}')
print(open(sys.argv[1]).read())
"""


def test_a_full_disk_loses_lines_but_never_a_change(tmp_path):
    command = [tool("unshare", "util-linux"), "--mount", "--map-root-user", "sh", "-c"]
    mount = f"mount -t tmpfs -o size=64k none {tmp_path} && exec "
    probe = run(*command, mount + "true", check=False)
    if probe.returncode:
        missing("a mount namespace", "allow users to make namespaces")
    script = write(tmp_path.with_suffix(".py"), FULL)
    inner = f"{sys.executable} {script} {tmp_path}/audit.jsonl {tmp_path}/filler"
    ended = run(*command, mount + inner)
    lost, *lines = ended.stdout.splitlines()
    assert lost == "3"
    gap, last = (json.loads(line) for line in lines[-3:-1])
    assert (gap["event"], gap["lost"], last["change"]) == ("lost", 3, 9)
    assert ended.stderr.count("No space left on device") == 1


TORN = """
import resource, sys
from paddle_flags.live._audit import AuditFile
file = AuditFile(sys.argv[1])
file.write(b'{"change": 1}')
resource.setrlimit(resource.RLIMIT_FSIZE, (20, resource.RLIM_INFINITY))
file.write(b'{"change": 2}')
file.write(b'{"change": 3}')
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
file.write(b'{"change": 4}')
"""


def test_half_a_line_spoils_only_itself(path):
    run(sys.executable, "-c", TORN, path)
    first, torn, gap, last = path.read_text("utf-8").splitlines()
    assert (first, torn, last) == ('{"change": 1}', '{"chan', '{"change": 4}')
    assert json.loads(gap)["lost"] == 2


# ---- Processes ----

WRITER = """
import json, sys
from paddle_flags.live._audit import AuditFile
file = AuditFile(sys.argv[1])
sys.stdin.read(1)
for number in range(500):
    reason = "r" * (number * 37 % 20000)
    file.write(json.dumps({"change": number, "writer": sys.argv[2], "reason": reason}).encode())
print(file.lost)
"""


def test_lines_of_several_processes_do_not_mix(path):
    command = [sys.executable, "-c", WRITER, path]
    writers = [
        subprocess.Popen(
            [*command, str(number)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for number in range(4)
    ]
    for writer in writers:
        assert writer.stdin
        writer.stdin.write("x")
        writer.stdin.flush()
    for writer in writers:
        assert writer.communicate(timeout=60)[0] == "0\n"
    lines = lines_of(path)
    for number in range(4):
        own = [line for line in lines if line["writer"] == str(number)]
        assert [line["change"] for line in own] == list(range(500))
        assert all(len(line["reason"]) == line["change"] * 37 % 20000 for line in own)


FORK = """
import os, sys, threading
from paddle_flags.live._audit import AuditFile
file = AuditFile(sys.argv[1])
file.write(b'{"change": 1}')
broken = AuditFile("/dev/full")
broken.write(b"{}")
held, leave = threading.Event(), threading.Event()
def hold():
    with file._lock:
        held.set()
        leave.wait()
thread = threading.Thread(target=hold)
thread.start()
held.wait()
child = os.fork()
if child == 0:
    open_now = [f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd")]
    assert sys.argv[1] not in [os.readlink(link) for link in open_now if os.path.exists(link)]
    assert broken.lost == 0
    os.rename(sys.argv[1], sys.argv[1] + ".1")
    file.write(b'{"change": 2}')
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
leave.set()
thread.join()
assert broken.lost == 1
file.write(b'{"change": 3}')
"""


def test_a_forked_child_opens_the_file_for_itself(path):
    run(sys.executable, "-W", "ignore", "-c", FORK, path)
    assert numbers_of(path.with_name("audit.jsonl.1")) == [1]
    assert numbers_of(path) == [2, 3]


def test_a_program_that_is_started_does_not_inherit_the_file(path):
    file = AuditFile(path)
    put(file, 1)
    names = run("sh", "-c", "ls -l /proc/self/fd", close_fds=False).stdout
    assert path.name not in names


# ---- With other programs ----


@pytest.mark.extended
def test_logrotate_needs_no_signal(path):
    logrotate = tool("logrotate")
    text = f"{path} {{\n  rotate 3\n  create 0600\n  nocompress\n}}"
    configuration = write(path.with_name("logrotate.conf"), text)
    configuration.chmod(0o600)
    path.parent.chmod(0o755)
    file = AuditFile(path)
    for number in range(3):
        put(file, number)
        state = path.with_name("state")
        run(logrotate, "--force", "--state", state, configuration)
    put(file, 3)
    assert numbers_of(path) == [3]
    for age, number in ((1, 2), (2, 1), (3, 0)):
        assert numbers_of(Path(f"{path}.{age}")) == [number]


SYNCED = """
import sys
from paddle_flags.live._audit import AuditFile
file = AuditFile(sys.argv[1], fsync=True)
file.write(b'{"change": 1}')
file.write(b'{"change": 2}')
"""


@pytest.mark.extended
def test_with_fsync_each_event_is_on_the_disk(path):
    strace = tool("strace")
    log = path.with_name("trace")
    command = [strace, "-y", "-e", "trace=write,fsync", "-o", log]
    run(*command, sys.executable, "-c", SYNCED, path)
    calls = [line.partition("(")[0] for line in log.read_text().splitlines() if str(path) in line]
    assert calls == ["write", "fsync", "write", "fsync"]
