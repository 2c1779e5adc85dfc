"""LD_PRELOAD=libpd_flags_live.so: programs whose own code serves nothing."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from live_module import Host, ask, build_host, module, running, wait_for
from support import CC, build_plugin, preload, run, write

pytestmark = [
    pytest.mark.extended,
    pytest.mark.skipif(sys.platform != "linux", reason="live serves on Linux"),
]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a program with a copy of the library, which starts after preloaded libraries."""
    place = tmp_path_factory.mktemp("program")
    return build_host(place / "program", static=True, served=False)


def variables(place: Path, **more: str) -> dict[str, str]:
    return {**preload(module()), "XDG_RUNTIME_DIR": str(place), **more}


def threads_of(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


def socket_of(host: Host, place: Path) -> str:
    path = place / "paddle_flags" / f"{host.process.pid}.sock"
    wait_for(path.exists)
    return str(path)


@pytest.mark.parametrize("static", [True, False])
def test_a_preloaded_module_serves_the_program_when_the_variable_says_so(
    tmp_path: Path, static: bool
):
    program = build_host(tmp_path / "program", static=static, served=False)
    audit = tmp_path / "audit"
    told = {"PADDLE_FLAGS_LIVE_SETTABLE": "clos*", "PADDLE_FLAGS_LIVE_AUDIT": str(audit)}
    with running(program, **variables(tmp_path, PADDLE_FLAGS_LIVE="1", **told)) as host:
        assert host.first == "level 6"
        address = socket_of(host, tmp_path)
        status, change = ask(address, "/v1/changes", {"set": {"closed": 2}})
        assert (status, change["flags"][0]["new"]) == (200, "2")
        assert json.loads(audit.read_text())
    assert not os.path.exists(address)


SLOW = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>
int pthread_create(pthread_t *made, const pthread_attr_t *how, void *(*run)(void *), void *with) {
  int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  *(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
  int status = next(made, how, run, with);
  usleep(1000000);
  return status;
}
"""


def test_a_program_that_ends_while_its_server_is_still_starting_leaves_no_socket(tmp_path: Path):
    program = build_host(tmp_path / "program", static=True, served=False)
    slow = build_plugin(tmp_path / "slow.so", write(tmp_path / "slow.c", SLOW))
    told = variables(tmp_path, PADDLE_FLAGS_LIVE="1")
    told["LD_PRELOAD"] += f":{slow}"
    with running(program, **told) as host:
        address = socket_of(host, tmp_path)
        assert ask(address, "/v1/process")[0] == 200
    assert not os.path.exists(address)


@pytest.mark.parametrize("value", [None, "", "0"])
def test_without_the_variable_it_does_nothing(program: Path, tmp_path: Path, value: str | None):
    more = {} if value is None else {"PADDLE_FLAGS_LIVE": value}
    with running(program, **variables(tmp_path, **more)) as host:
        assert host.first == "level 6"
        assert threads_of(host.process.pid) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_path_is_where_it_listens_and_a_second_process_has_its_own(program: Path, tmp_path: Path):
    place = tmp_path / "run"
    place.mkdir(mode=0o700)
    told = variables(tmp_path, PADDLE_FLAGS_LIVE=f"{place}/s.sock")
    with running(program, **told) as host:
        wait_for((place / "s.sock").exists)
        with running(program, **told) as second:
            own = f"{place}/s.sock.{second.process.pid}"
            wait_for(lambda: os.path.exists(own))
            assert ask(own, "/v1/process")[1]["pid"] == second.process.pid
        assert ask(f"{place}/s.sock", "/v1/process")[1]["pid"] == host.process.pid


def test_a_wrong_value_is_a_warning_of_the_registry_and_nothing_is_printed(
    program: Path, tmp_path: Path
):
    host = Host(program, **variables(tmp_path, PADDLE_FLAGS_LIVE="yes"))
    assert host.line().startswith(
        "warning environment: PADDLE_FLAGS_LIVE: the flags are not served"
    )
    assert host.end() == ""


def test_a_program_without_a_registry_has_its_thread_back_soon(tmp_path: Path):
    source = (
        '#include <stdio.h>\nint main(void) { puts("here"); fflush(stdout); return getchar(); }'
    )
    run(*CC, write(tmp_path / "main.c", source), "-o", tmp_path / "main")
    host = Host(tmp_path / "main", **variables(tmp_path, PADDLE_FLAGS_LIVE="1"))
    assert host.first == "here"
    wait_for(lambda: threads_of(host.process.pid) == 1)
    assert host.end() == ""
    assert not (tmp_path / "paddle_flags").exists()


def test_a_registry_that_is_opened_later_is_served(tmp_path: Path):
    plugin = build_host(tmp_path / "later.so", "-shared", "-fPIC", static=True, served=False)
    source = """
    #include <dlfcn.h>
    #include <stdio.h>
    #include <unistd.h>
    int main(int count, char **words) {
      usleep(50000);
      void *library = dlopen(words[count - 1], RTLD_NOW | RTLD_LOCAL);
      puts(library ? "opened" : dlerror());
      fflush(stdout);
      return getchar() == 0;
    }
    """
    run(*CC, write(tmp_path / "main.c", source), "-o", tmp_path / "main", "-ldl")
    told = variables(tmp_path, PADDLE_FLAGS_LIVE="1")
    with running(tmp_path / "main", plugin, **told) as host:
        assert host.first == "opened"
        assert ask(socket_of(host, tmp_path), "/v1/process")[1]["flags"] == 3


def test_a_forked_child_is_served_too(program: Path, tmp_path: Path):
    command = f"exec 3<&0; {program} <&3 & wait"  # the shell forks while it waits for a registry
    told = {**os.environ, **variables(tmp_path, PADDLE_FLAGS_LIVE="1")}
    with subprocess.Popen(
        ["/bin/sh", "-c", command], stdout=subprocess.PIPE, stdin=subprocess.PIPE, env=told
    ) as shell:
        found = wait_for(lambda: list((tmp_path / "paddle_flags").glob("*.sock")))
        pid = ask(str(found[0]), "/v1/process")[1]["pid"]
        assert pid != shell.pid
        os.kill(pid, signal.SIGTERM)


@pytest.mark.parametrize("pause", [0, 0.3])  # between the library and the rest of the package
def test_in_python_the_package_serves_and_the_module_does_not(tmp_path: Path, pause: float):
    code = """if True:
        import sys, time

        class Slow:
            def find_spec(self, name, path=None, target=None):
                if name == "paddle_flags._native":
                    time.sleep(float(sys.argv[1]))

        sys.meta_path.insert(0, Slow())
        import paddle_flags as pf
        time.sleep(0.5)
        names = [t for t in open("/proc/self/maps") if "libpd_flags_live" in t]
        import pathlib
        tasks = pathlib.Path("/proc/self/task").iterdir()
        named = [(t / "comm").read_text().strip() for t in tasks]
        print(bool(names), named.count("pd_live"))
        """
    told = {**os.environ, **variables(tmp_path, PADDLE_FLAGS_LIVE="1")}
    ended = run(sys.executable, "-W", "ignore", "-c", code, str(pause), env=told)
    assert ended.stdout.split() == ["True", "0"]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_setuid_program_ignores_the_variable(program: Path, tmp_path: Path):
    shutil.copy(program, tmp_path / "setuid")
    os.chown(tmp_path / "setuid", 12345, 12345)
    os.chmod(tmp_path / "setuid", 0o6755)  # noqa: S103 - that is what is tested
    with running(tmp_path / "setuid", **variables(tmp_path, PADDLE_FLAGS_LIVE="1")) as host:
        assert host.first == "level 6"
        assert threads_of(host.process.pid) == 1
