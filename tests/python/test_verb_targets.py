"""What the verbs of paddle-flags act on: names, kinds of targets, and sockets nobody trusts."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from live_process import Served
from support import IS_ROOT, ROOT, in_url, run, write

from paddle_flags.cli.verbs import VERBS

pytestmark = pytest.mark.extended  # each test starts a process

ERROR = "python -m paddle_flags: error: "


def wrong(served: Served, *words: object) -> list[str]:
    """Return what is wrong with a command line, without its usage."""
    ended = served.cli(*words)
    assert (ended.returncode, ended.stdout) == (2, "")
    lines = [line for line in ended.stderr.splitlines() if " error: " in line]
    return [line.partition(" error: ")[2] for line in lines]


# ---- Names ----


def test_a_name_that_two_processes_have_is_an_error_that_lists_their_pids(served):
    other = Served(served.place)
    try:
        [line] = wrong(served, "get", "trainer", "level")
        pids = sorted([served.pid, other.pid], key=lambda pid: (len(pid), pid))
        assert line == (
            f"trainer: 2 processes have this name: {', '.join(pids)}; name one by its PID"
        )
    finally:
        other.close()


def test_an_unknown_name_suggests_the_nearest_process(served):
    ended = served.cli("get", "trianer.py", "level")
    assert ended.stderr == (
        f"{ERROR}'trianer.py': no process of yours with this name serves its flags;"
        " did you mean 'trainer.py'?\n"
    )
    assert ended.returncode == 3


def test_a_name_is_suggested_without_its_suffix_too(served):
    ended = served.cli("get", "train", "level")
    assert ended.stderr.endswith("serves its flags; did you mean 'trainer'?\n")


def test_a_file_in_place_of_a_name_says_that_no_process_has_it(served, tmp_path):
    write(tmp_path / "server", "")
    ended = served.cli("list", "server", cwd=tmp_path)
    assert ended.stderr.endswith("-p server; no process of yours with this name serves its flags\n")


def test_a_file_of_the_same_name_does_not_hide_a_process(served):
    assert (served.place / "trainer.py").exists()
    assert served.cli("get", "trainer.py", "level", cwd=served.place).stdout == "6\n"
    assert served.cli("diff", "trainer.py", served.pid, cwd=served.place).returncode == 0


def test_a_file_is_no_process(served, tmp_path):
    write(tmp_path / "alpha.txt", "")
    [line] = wrong(served, "list", tmp_path / "alpha.txt")
    assert line.startswith(f"{tmp_path}/alpha.txt: is a file, expected a PID, ")


def test_diff_refuses_other_files(served, tmp_path):
    file = write(tmp_path / "a.json", "{}")
    ended = served.cli("diff", file, served.pid)
    assert ended.stderr == f"{ERROR}{file}: expected what 'list --json' writes\n"
    assert ended.returncode == 2


def test_diff_of_a_file_that_is_missing_says_so(served, tmp_path):
    for missing in ("saved.json", f"{tmp_path}/saved.json"):
        ended = served.cli("diff", missing, served.pid, cwd=tmp_path)
        assert ended.stderr == f"{ERROR}{missing}: No such file or directory\n"
        assert ended.returncode == 2


# ---- What a target can't do ----

CANNOT = {
    "reset {pid} 3": "{pid} is a process, which has no 'reset';"
    " 'python -m paddle_flags undo {pid}' takes a change back",
    "mirror {pid} dir:///mnt/job": "which has no 'mirror'; it needs the URL of a fleet",
    "join {pid} -- true": "which has no 'join'; it needs the URL of a fleet",
    "set {pid} level=3 --role trainer": "--role doesn't go with {pid}, which is a process",
    "list {pid} --all-users": "--all-users doesn't go with {pid}, which is a process",
    "set {pid} level=3 --at-step 0": "--at-step doesn't go with {pid}, which is a process",
    "set --attach {pid} level=3": "which has no 'set'; list, get, explain and diff read it;"
    " if it serves its flags, use 'python -m paddle_flags set {pid}'",
    "watch --attach {pid}": "{pid} is a process that --attach only reads, which has no 'watch'",
    "watch dir:///mnt/job": "dir:///mnt/job is a fleet, which has no 'watch';"
    " 'python -m paddle_flags log dir:///mnt/job' lists its changes",
    "list dir:///mnt/job --settable": "--settable doesn't go with dir:///mnt/job, which is a fleet",
    "diff {pid} dir:///mnt/job": "is a fleet, whose members 'diff' compares if it stands alone",
    "diff {pid}": "expected a second TARGET to compare with {pid}",
}


@pytest.mark.parametrize("words", CANNOT)
def test_a_verb_that_a_target_does_not_have_names_the_one_to_use(words, served):
    [line] = wrong(served, *words.format(pid=served.pid).split())
    assert CANNOT[words].format(pid=served.pid) in line


def test_every_verb_is_done_or_refused_by_every_kind_of_target(served):
    fleet = f"dir://{in_url(served.place)}/fleet"
    assert served.cli("set", fleet, "level=3").returncode == 0
    arguments = {"get": ["level"], "explain": ["level"], "unset": ["level"], "set": ["level=3"]}
    arguments |= {"reset": ["0"], "mirror": [fleet, "--once"], "join": ["--", "true"]}
    for verb in [each for each in VERBS if each not in ("watch", "open")]:
        for target in ([served.pid], ["--attach", served.pid], [fleet]):
            ended = served.cli(verb, *target, *arguments.get(verb, []))
            assert ended.returncode in (0, 1, 2), (verb, target)
            assert "Traceback" not in ended.stderr, (verb, target)


# ---- All that is wrong ----


def test_all_that_is_wrong_with_a_command_line_is_reported_together(served):
    words = ["level", "mode=best", "mode=fast", "--unset", "mode", "--expect", "rate"]
    assert wrong(served, "set", served.pid, *words) == [
        "level: expected NAME=VALUE",
        "mode: is given twice",
        "mode: is given twice",
        "--expect: rate: expected NAME=VALUE",
    ]
    assert served.client().changes() == []


def test_get_reports_all_names_that_are_wrong(served):
    ended = served.cli("get", served.pid, "levle", "mode", "colour")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert [line.partition("'")[2][:6] for line in ended.stderr.splitlines()] == [
        "levle'",
        "colour",
    ]


# ---- The verbs that the old commands had no words for ----


def test_unset_takes_back_what_set_has_changed(served):
    served.cli("set", served.pid, "level=3", "mode=best")
    ended = served.cli("unset", served.pid, "level", "mode", "--reason", "over")
    assert ended.stdout == "level: 3 -> 6\nmode: best -> fast\nchange 2\n"


def test_status_says_what_a_process_is(served):
    lines = served.cli("status", served.pid).stdout.splitlines()
    assert lines[0].split() == ["program:", "trainer.py"]
    assert lines[1].split() == ["pid:", served.pid]
    found = json.loads(served.cli("status", served.pid, "--json").stdout)
    assert found["process"]["pid"] == served.process.pid


def test_set_takes_values_from_a_file(served, tmp_path):
    file = write(tmp_path / "batch.toml", 'level = 4\nmode = "best"\n')
    ended = served.cli("set", served.pid, "--file", file, "rate=1")
    assert ended.stdout.splitlines()[:3] == [
        "level: 6 -> 4",
        "mode: fast -> best",
        "rate: 0.5 -> 1",
    ]


def test_log_lists_only_the_last(served):
    served.cli("set", served.pid, "level=3")
    served.cli("set", served.pid, "level=4")
    assert len(served.cli("log", served.pid, "--last", "1").stdout.splitlines()) == 2


def test_an_attached_process_is_read_by_get_explain_and_diff(served):
    served.run("pf.FLAGS.level = 3; server.close()")
    assert served.cli("get", "--attach", served.pid, "level").stdout == "3\n"
    shown = served.cli("explain", "--attach", served.pid, "level").stdout
    assert shown.startswith("level = 3\n")
    saved = write(
        served.place / "a.json", served.cli("list", "--attach", served.pid, "--json").stdout
    )
    assert served.cli("diff", "--attach", served.pid, saved).returncode == 0


# ---- Text nobody trusts ----


def test_all_that_has_text_of_others_prints_by_one_module():
    for path in (ROOT / "paddle_flags" / "cli").glob("*.py"):
        text = path.read_text("utf-8")
        others = "paddle_flags.live" in text or "paddle_flags.fleet" in text
        assert not (others and "cli.output" in text), path


def test_get_escapes_a_value_on_a_terminal_only(served):
    served.client().change({"note": "\x1b[31m\nred"})
    assert served.cli("get", served.pid, "note").stdout == "\x1b[31m\nred\n"
    leader, follower = os.openpty()
    command = [sys.executable, "-m", "paddle_flags", "get", served.pid, "note"]
    subprocess.run(command, stdout=follower, env=served.env, timeout=60, check=True)
    assert os.read(leader, 1000) == rb"\x1b[31m\nred" + b"\r\n"
    os.close(leader)
    os.close(follower)


# ---- Sockets nobody trusts ----

Act = Callable[[socket.socket], None]


def send_nothing(made: socket.socket) -> None:
    while made.recv(4096):
        pass


class Counted:
    """Sends nothing, and counts the connections that are open at the same time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open = self.most = 0

    def __call__(self, made: socket.socket) -> None:
        with self._lock:
            self._open += 1
            self.most = max(self.most, self._open)
        send_nothing(made)
        with self._lock:
            self._open -= 1


def send_drops(made: socket.socket) -> None:
    while True:
        made.sendall(b" ")
        threading.Event().wait(0.05)


def answer(document: object, end: bytes = b"\n") -> Act:
    """Return what answers a request with a document."""

    def act(made: socket.socket) -> None:
        request = made.recv(4096)
        line = {"jsonrpc": "2.0", "id": json.loads(request)["id"], "result": document}
        made.sendall(json.dumps(line, ensure_ascii=False).encode() + end)
        send_nothing(made)

    return act


ESCAPES = {"pid": 7, "program": "\x1b[2J\x1b]0;x\x07\u202eevil\n4711", "flags": 1, "temporary": 0}
ESCAPES.update(api=1, version="0", you={}, epoch="a", revision=1, host="\x1b[2J")
ESCAPES.update(startup_over=True, dropped=0)


class Hostile:
    """A socket in the directory of the user, which does as it likes."""

    def __init__(self, folder: Path, name: str, act: Act) -> None:
        folder.mkdir(mode=0o700, exist_ok=True)
        self._act = act
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(folder / name))
        self._socket.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                made, _ = self._socket.accept()
                threading.Thread(target=self._answer, args=(made,), daemon=True).start()

    def _answer(self, made: socket.socket) -> None:
        with made, suppress(OSError):
            self._act(made)

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


@pytest.fixture
def hostile() -> Iterator[Callable[[Path, str, Act], None]]:
    made: list[Hostile] = []
    yield lambda *arguments: made.append(Hostile(*arguments))
    for each in made:
        each.close()


def test_hostile_sockets_do_not_hinder_the_list(served, hostile):
    folder = Path(served.address).parent
    hostile(folder, "1.sock", answer(ESCAPES, end=b" " * (2 << 20)))
    hostile(folder, "2.sock", send_nothing)
    hostile(folder, "3.sock", send_drops)
    hostile(folder, "4.sock", answer(["no", "object"]))
    hostile(folder, "5.sock", answer({**ESCAPES, "pid": "7"}))
    counted = Counted()
    for number in range(100):
        hostile(folder, f"1{number}.sock", counted)
    ended = served.cli("list")
    assert ended.returncode == 0
    [row] = ended.stdout.splitlines()[1:]
    assert row.split()[:2] == [served.pid, "trainer.py"]
    left_out = {line.split(": ", 2)[1]: line for line in ended.stderr.splitlines()}
    assert len(left_out) == 105
    assert 1 < counted.most < 64  # 32, and those that this side still has to close
    assert "longer than 1048576 bytes" in left_out[f"{folder}/1.sock"]
    for number in (2, 3):
        assert "no answer in time" in left_out[f"{folder}/{number}.sock"]
    for number in (4, 5):
        assert "isn't one of the live" in left_out[f"{folder}/{number}.sock"]


def test_what_a_hostile_process_says_cannot_control_the_terminal(served, hostile):
    hostile(Path(served.address).parent, "7.sock", answer(ESCAPES))
    ended = served.cli("list")
    assert r"\x1b[2J\x1b]0;x\x07\u202eevil\n4711" in ended.stdout
    assert not {"\x1b", "\x07", "\u202e"} & {*ended.stdout}
    assert len(ended.stdout.splitlines()) == 3


@pytest.mark.skipif(not IS_ROOT, reason="needs root")
def test_the_sockets_of_other_users_are_asked_only_if_all_users_are_meant(served, hostile):
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "paddle_flags-54321")
        hostile(folder, "7.sock", answer({**ESCAPES, "program": "theirs"}))
        for path in (folder, folder / "7.sock"):
            shutil.chown(path, 54321)
        env = {**served.env, "TMPDIR": place}
        assert "theirs" not in served.cli("list", env=env).stdout
        shown = served.cli("list", "--all-users", env=env).stdout
        assert shown.splitlines()[0].split() == ["pid", "program", "flags", "temporary", "user"]
        [row] = [line.split() for line in shown.splitlines() if "theirs" in line]
        assert row[-1] == "54321"


# ---- Help ----


def test_the_help_of_each_verb_is_the_one_that_was_agreed_on():
    shown = []
    for verb in VERBS:
        env = {**os.environ, "COLUMNS": "100"}
        text = run(sys.executable, "-m", "paddle_flags", verb, "--help", env=env).stdout
        own, _, _ = text.partition("\n\nA fleet is at")  # the end is the same for all
        shown.append(own.rstrip() + "\n")
    golden = ROOT / "tests" / "golden" / "verbs.txt"
    assert "\n".join(shown) == golden.read_text("utf-8")


def test_help_of_list_and_explain_has_the_options_for_plugins():
    for verb in ("list", "explain"):
        text = run(sys.executable, "-m", "paddle_flags", verb, "--help").stdout
        assert "--plugin" in text
        assert "exit status: 0 if all is well" in text
