"""Reading the flags of a process that serves nothing: what is read is what the process has."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from attaching import PROGRAM, SECRETS, STATIC, build_report, reporting, started
from support import LIBDIR, build, build_plugin, build_program, run, tool, write
from versions import build_library, older

from paddle_flags.live._attach import read

if TYPE_CHECKING:
    from attaching import Running

pytestmark = [
    pytest.mark.extended,  # builds much
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux"),
]

SAME = ("name", "type", "help", "module", "file", "line")
IF_THERE = ("items", "place", "min", "max", "choices", "aliases", "old_names", "unit", "category")
IF_THERE += ("deprecated", "retired", "metavar")
REDACTED = "<redacted>"
DEADLINE = 60.0  # seconds for what must happen at some time


def flags_of(running: Running, **options: Any) -> dict[str, Any]:
    """Read the flags of a process in which nothing changes, by name."""
    document = read(running.pid, **options)
    assert (document["torn"], document["unread"], document["cut"]) == ([], [], [])
    assert document["complete"]
    return {flag["name"]: flag for flag in document["flags"]}


def value_of(reported: dict[str, Any], key: str) -> Any:
    return None if reported[key] == REDACTED else reported[key]


def as_reported(flag: dict[str, Any], reported: dict[str, Any]) -> dict[str, Any]:
    """Return what the report says of a flag, in the form that the reader gives it."""
    marks = [name for name, value in reported.items() if value is True and name not in NO_MARKS]
    expected = {name: reported[name] for name in SAME}
    expected["source"] = reported["source"]
    expected["marks"] = marks
    for name in IF_THERE:
        value = value_of(reported, name)
        if value not in (None, "", []):
            expected[name] = value
    if reported["frozen"]:
        expected["frozen"] = True
    if reported["sensitive"]:
        expected.pop("choices", None)
    else:
        expected.update(value=reported["value"], default=reported["default"])
    expected["history"] = [past_of(past) for past in reported["history"]]
    texts = {name: flag[name] for name in ("text", "default_text") if name in flag}
    return {**expected, **texts, "settable": False, "refusal": "is read from outside"}


NO_MARKS = ("value", "default", "frozen")


def past_of(past: dict[str, Any]) -> dict[str, Any]:
    found = {name: past[name] for name in ("source", "replaced")}
    if past["place"]:
        found["place"] = past["place"]
    if past["value"] != REDACTED:
        found["value"] = past["value"]
    return found


def without_texts(flag: dict[str, Any]) -> dict[str, Any]:
    history = [{k: v for k, v in past.items() if k != "text"} for past in flag["history"]]
    return {**flag, "history": history}


def check_report(running: Running) -> None:
    """Check that the reader finds just what the process reports of itself."""
    found, reported = flags_of(running, history=True), running.flags()
    assert list(found) == list(reported)
    for name, flag in found.items():
        assert without_texts(flag) == as_reported(flag, reported[name])


# ---- What is read ----


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_report(tmp_path_factory.mktemp("report"))


def test_the_flags_are_those_that_the_process_reports(program):
    with reporting(program) as running:
        check_report(running)


@pytest.mark.parametrize(
    "flags",
    [
        pytest.param(("-fPIE", "-pie"), id="pie"),
        pytest.param(("-no-pie",), id="no-pie"),
        pytest.param(("-static",), id="static"),
        pytest.param(("-fPIE", "-static-pie"), id="static-pie"),
        pytest.param(("-s", "-O2", "-Wl,--gc-sections"), id="stripped"),
    ],
)
def test_the_flags_of_a_program_with_its_own_copy_are_found(flags, tmp_path):
    with reporting(build_report(tmp_path, *flags, *STATIC)) as running:
        check_report(running)


@pytest.fixture(scope="module")
def musl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the library for musl."""
    directory = tmp_path_factory.mktemp("musl")
    return build_library(directory / "library", compiler=[tool("musl-gcc")])


@pytest.mark.release
@pytest.mark.parametrize("link", [("-static",), ("-static-pie", "-fPIE"), ("-pie", "-fPIE")])
def test_the_flags_of_a_program_for_musl_are_found(link, musl, tmp_path):
    source, out = write(tmp_path / "program.c", PROGRAM), tmp_path / "program"
    include = f"-I{musl / 'csrc' / 'include'}"
    run("musl-gcc", include, source, musl / "libpd_flags.a", *link, "-o", out)
    with reporting(out) as running:
        check_report(running)


def list_flags(address: Path) -> dict[str, Any]:
    """Ask the server of a program that has just started."""
    end = time.monotonic() + DEADLINE
    while not address.exists():
        assert time.monotonic() < end
        time.sleep(0.01)
    with socket.socket(socket.AF_UNIX) as made:
        made.connect(str(address))
        made.sendall(b'{"jsonrpc": "2.0", "id": 1, "method": "flags.list"}\n')
        answer: dict[str, Any] = json.loads(made.makefile().readline())["result"]
    return answer


def test_the_document_is_that_of_the_live_protocol(program, tmp_path):
    address = tmp_path / "flags.sock"
    preloaded = {"LD_PRELOAD": f"{LIBDIR}/libpd_flags_live.so", "PADDLE_FLAGS_LIVE": str(address)}
    with reporting(program, **preloaded) as running:
        answer = list_flags(address)
        document = read(running.pid)
    assert set(answer) - set(document) == {"next"}
    assert document["complete"] is answer["complete"]
    ours = ("settable", "refusal")
    assert [without(flag, *ours) for flag in document["flags"]] == [
        without(flag, *ours, "revision") for flag in answer["flags"]
    ]


def without(flag: dict[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in flag.items() if key not in names}


def test_text_is_what_sets_the_flag_to_the_same_value_again(program):
    with reporting(program) as running:
        found = flags_of(running)
    assert {name: flag["text"] for name, flag in found.items() if flag.get("text") is not None} == {
        "a_bool": "false",
        "an_int32": "-6",
        "a_uint32": "4000000000",
        "an_int64": str(-(2**63)),
        "a_uint64": str(2**64 - 1),
        "a_double": "1e-07",
        "an_infinity": "-inf",
        "a_string": 'café "x"\n\udcff',
        "a_choice": "fast",
        "a_list": "1,0x2,-3",
        "a_text_list": 'a,"b,""c""",',
        "a_double_list": "1,nan,-inf,5e-324,0x1p3",
        "a_bool_list": "1,no,TRUE",
        "no_items": "",
        "set_again": "once",
        "half_set": "2",
        "overridden": "4",
        "often": "19",
        "new_default": "2",
        "frozen": "false",
        "at_startup": "true",
        "out_of_sight": "false",
        "constant": "3",
        "old": "3",
        "gone": "3",
        "scoped": "3",
        "changeable": "3",
        "risky": "3",
        "from_argv": "5",
        "from_environment": "6",
        "from_file": "7",
    }


def test_a_sensitive_flag_has_no_values(program):
    with reporting(program) as running:
        document = read(running.pid, history=True)
    secret = next(flag for flag in document["flags"] if flag["name"] == "secret_number")
    assert not {"value", "text", "default", "default_text", "min", "max"} & set(secret)
    assert secret["marks"] == ["sensitive"]
    values = str([{**f, "name": "", "help": "", "module": ""} for f in document["flags"]])
    assert not [text for text in SECRETS[1:] if text in values]
    assert "-secret" not in values


def test_the_document_says_whose_flags_they_are(program):
    with reporting(program) as running:
        document = read(running.pid)
        assert document["pid"] == running.pid
    assert document["attached"] is True
    assert document["program"] == "program"
    assert document["version"] == "0.1.0"


# ---- Python ----

PYTHON = """
import sys
import paddle_flags as pf
pf.define("level", 6, help="Level", min=1, max=9, category="Speed")
pf.define("names", ["a", "b"])
pf.define("maybe", None, type=int)
pf.define("password", "very-secret", sensitive=True)
for path in sys.argv[1:]:
    pf.load_plugin(path)
pf.FLAGS.level = 7
print("END", flush=True)
sys.stdin.read()
"""


def test_flags_of_python_and_of_its_plugins_are_found(plugin):
    path = plugin('PD_DEFINE_int32(plugged, 6, "Plugged", .min = 1);\n')
    with started(sys.executable, "-c", PYTHON, path) as running:
        found = flags_of(running)
    assert list(found) == ["level", "names", "maybe", "password", "plugged"]
    assert (found["level"]["value"], found["level"]["source"]) == (7, "run time")
    assert (found["level"]["min"], found["level"]["max"]) == (1, 9)
    assert found["level"]["category"] == "Speed"
    assert (found["names"]["value"], found["names"]["items"]) == (["a", "b"], "string")
    assert (found["maybe"]["value"], found["maybe"]["marks"]) == (None, ["optional"])
    assert "value" not in found["password"]
    assert found["plugged"]["module"] == str(path)
    assert found["plugged"]["min"] == 1


# ---- Copies ----

LOADING = r"""
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    if (!dlopen(argv[i], RTLD_NOW)) return printf("%s\n", dlerror());
  }
  printf("END\n");
  fflush(stdout);
  return getchar();
}
"""
COPIED = """
#include <pd_flags.h>
PD_DEFINE_int32(NAME_level, 6, "Level");
const char *NAME_version(void);
const char *NAME_version(void) { return pd_version(); }
"""


def copies(place: Path, *names: str, libraries: dict[str, Path]) -> list[Path]:
    """Build plugins with a copy of the library each."""
    made = []
    for name in names:
        source = write(place / f"{name}.c", COPIED.replace("NAME", name))
        linked = (str(libraries.get(name, Path(LIBDIR)) / "libpd_flags.a"), "-ldl")
        made.append(build_plugin(place / f"lib{name}.so", source, flags=linked))
    return made


@pytest.mark.release  # builds copies of the library
def test_with_several_copies_the_flags_of_the_one_registry_are_read(tmp_path):
    host = build(tmp_path / "host", write(tmp_path / "host.c", LOADING), flags=("-ldl",))
    old = build_library(tmp_path / "old", [older])
    plugins = copies(tmp_path, "a", "b", "c", libraries={"b": old, "a": old})
    with started(host, *plugins) as running:
        assert list(flags_of(running)) == ["a_level", "b_level", "c_level"]
        assert read(running.pid)["version"] == "0.0.9"
    with started(host, *reversed(plugins)) as running:
        assert list(flags_of(running)) == ["c_level", "b_level", "a_level"]
        assert read(running.pid)["version"] == "0.1.0"


# ---- Processes in other states ----


def state_of(pid: int) -> str:
    text = Path(f"/proc/{pid}/status").read_text("utf-8")
    return next(line.split()[1] for line in text.splitlines() if line.startswith("State:"))


def test_a_stopped_process_is_read_and_stays_stopped(program):
    with reporting(program) as running:
        os.kill(running.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, running.pid, os.WSTOPPED | os.WNOWAIT)
        check_report(running)
        assert state_of(running.pid) == "T"
        os.kill(running.pid, signal.SIGCONT)


def test_a_program_whose_file_was_deleted_is_read(tmp_path):
    program = build_report(tmp_path)
    with reporting(program) as running:
        program.unlink()
        check_report(running)


def test_a_forked_child_is_read():
    code = PYTHON.replace('print("END"', "import os; child = os.fork()\nif child: os.wait()\n")
    code = code.split("\nif child")[0]
    code += "\nif child == 0:\n    pf.FLAGS.level = 8\nelse:\n    print(child)\n    print('END', "
    code += "flush=True)\nsys.stdin.read()\n"
    with started(sys.executable, "-c", code) as running:
        child = int(running.report)
        try:
            assert flags_of(running)["level"]["value"] == 7
            wait_for(lambda: level_of(child) == 8)
        finally:
            os.kill(child, signal.SIGKILL)


def level_of(pid: int) -> int:
    found: int = next(f["value"] for f in read(pid)["flags"] if f["name"] == "level")
    return found


def wait_for(is_there: Any, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not is_there():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.01)


def test_a_process_in_other_namespaces_is_read(program):
    words = ["--pid", "--mount", "--fork", "--mount-proc", "--kill-child"]
    if os.geteuid():
        words += ["--user", "--map-root-user"]
    unshare = [tool("unshare", "util-linux"), *words]
    if run(*unshare, "true", check=False).returncode:
        pytest.skip("namespaces can't be made here")
    with started(*unshare, program) as running:
        children = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text("utf-8")
        inside = int(children.split()[0])
        status = Path(f"/proc/{inside}/status").read_text("utf-8")
        assert f"NSpid:\t{inside}\t1\n" in status
        found = {flag["name"] for flag in read(inside)["flags"]}
        assert found == set(running.flags())


# ---- What changes meanwhile ----

BUSY = r"""
#include <pd_flags.h>
#include <pthread.h>
#include <stdio.h>
PD_DEFINE_int64(counter, 0, "Counts");
PD_DEFINE_string(flapping, "", "Changes its text");
PD_DEFINE_int32(steady, 6, "Stays");
PD_DEFINE_string(steady_text, "the same", "Stays");
static pd_flag *counter, *flapping;
static void *count(void *unused) {
  for (int64_t i = 0;; i++) pd_flag_set_int64(counter, i, NULL);
  return unused;
}
static void *flap(void *unused) {
  for (;;) {
    pd_flag_set_string(flapping, "aaaaaaaa", NULL);
    pd_flag_set_string(flapping, "bbbbbbbb", NULL);
  }
  return unused;
}
int main(void) {
  pthread_t threads[2];
  if (pd_flag_find("counter", &counter, NULL) || pd_flag_find("flapping", &flapping, NULL)) {
    return 1;
  }
  pthread_create(&threads[0], NULL, count, NULL);
  pthread_create(&threads[1], NULL, flap, NULL);
  printf("END\n");
  fflush(stdout);
  return getchar();
}
"""


def test_flags_that_change_all_the_time_are_torn_and_the_process_never_stops(tmp_path):
    source = write(tmp_path / "busy.c", BUSY)
    states, torn, counts = set(), set(), []
    with started(build_program(tmp_path / "busy", source, flags=("-pthread",))) as running:
        end = time.monotonic() + DEADLINE
        while len(counts) < 100 or ("counter" not in torn and time.monotonic() < end):
            document = read(running.pid)
            found = {flag["name"]: flag for flag in document["flags"]}
            states.add(state_of(running.pid))
            torn |= set(document["torn"])
            counts.append(found["counter"]["value"])
            assert found["steady"]["value"] == 6
            assert found["steady_text"]["value"] == "the same"
            assert found["flapping"]["value"] in ("", "aaaaaaaa", "bbbbbbbb")
    assert "counter" in torn
    assert torn <= {"counter", "flapping"}
    assert states <= {"R", "S"}
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]


LOADS = r"""
#include <dlfcn.h>
#include <pd_flags.h>
#include <stdio.h>
PD_DEFINE_int32(steady, 6, "Stays");
int main(int argc, char **argv) {
  printf("END\n");
  fflush(stdout);
  for (;;) {
    pd_module *module = NULL;
    pd_error err;
    if (argc < 2 || pd_module_load(argv[1], NULL, &module, &err) ||
        pd_module_unload(module, &err)) {
      return printf("%s\n", err.message);
    }
  }
}
"""


def test_modules_that_come_and_go_meanwhile_do_no_harm(tmp_path, plugin):
    path = plugin('PD_DEFINE_string(coming, "here", "Comes and goes");\n')
    source = write(tmp_path / "loads.c", LOADS)
    with started(build_program(tmp_path / "loads", source), path) as running:
        for _ in range(100):
            document = read(running.pid)
            flags = {flag["name"]: flag for flag in document["flags"]}
            assert flags["steady"]["value"] == 6
            assert set(document["torn"]) <= {"coming"}
            if "coming" in flags and not document["torn"]:
                assert flags["coming"]["value"] == "here"
        assert running.process.poll() is None


# ---- Variables ----

ASSIGNED = r"""
#include <pd_flags.h>
#include <stdio.h>
static int32_t plain = 1;
static bool truth;
static const char *text = "first";
static double hidden = 1;
static bool load(void *cell, pd_value *value) { value->f64 = *(double *)cell; return true; }
static void store(void *cell, pd_value value) { *(double *)cell = value.f64; }
static int add(pd_type type, const char *name, void *cell, const pd_cell_access *access) {
  pd_flag_def def;
  pd_flag_def_init(&def, sizeof def, type);
  def.name = name;
  def.cell = cell;
  def.access = access;
  def.assignable = true;
  def.module = "here";
  if (type == PD_TYPE_string) def.default_value.str = text;
  return pd_flag_register(&def, NULL, NULL) != PD_OK;
}
int main(void) {
  static const pd_cell_access access = {sizeof access, NULL, NULL, load, store};
  if (add(PD_TYPE_int32, "plain", &plain, NULL) || add(PD_TYPE_bool, "truth", &truth, NULL) ||
      add(PD_TYPE_string, "text", &text, NULL) ||
      add(PD_TYPE_double, "hidden", &hidden, &access)) return 1;
  plain = 5;
  truth = true;
  text = "assigned";
  hidden = 2;
  printf("END\n");
  fflush(stdout);
  return getchar();
}
"""


def test_what_a_program_assigned_to_its_variables_is_read_from_them(tmp_path):
    program = build_program(tmp_path / "assigned", write(tmp_path / "assigned.c", ASSIGNED))
    with started(program) as running:
        document = read(running.pid)
    found = {flag["name"]: flag for flag in document["flags"]}
    assert [found[name]["value"] for name in ("plain", "truth", "text")] == [5, True, "assigned"]
    assert {found[name]["source"] for name in ("plain", "truth", "text")} == {"run time"}
    assert found["plain"]["place"] == "here"
    assert document["unread"] == ["hidden"]


def test_a_text_of_more_than_64_kib_is_cut():
    code = PYTHON.replace("sys.argv[1:]", "()").replace(
        "pf.FLAGS.level = 7", "pf.define('long', 'x' * 65536); pf.define('longer', 'y' * 65537)"
    )
    with started(sys.executable, "-c", code) as running:
        document = read(running.pid)
    found = {flag["name"]: flag for flag in document["flags"]}
    assert found["long"]["value"] == "x" * 65536
    assert found["longer"]["value"] == "y" * 65536
    assert document["cut"] == ["longer"]


def test_blanks_around_the_items_of_a_list_are_no_part_of_them():
    code = PYTHON.replace("sys.argv[1:]", "()").replace(
        "pf.FLAGS.level = 7",
        "pf.define('parts', ['']); pf.FLAGS['parts'].set_from_string(' a , \"b,c\"')",
    )
    with started(sys.executable, "-c", code) as running:
        document = read(running.pid)
    found = {flag["name"]: flag for flag in document["flags"]}
    assert found["parts"]["value"] == ["a", "b,c"]
