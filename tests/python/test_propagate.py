"""`propagate`: child processes begin with the values of their parent."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request

import pytest
from fleet_config import IMPORT
from support import package, run, write

pytestmark = pytest.mark.extended  # each test starts processes

START = f"""{IMPORT}
import multiprocessing, subprocess, sys
from concurrent.futures import ProcessPoolExecutor
import paddle_flags as pf

pf.define("level", 1)
pf.define("mode", "fast", startup_only=True)
pf.define("token", "", sensitive=True)
pf.define("size", None, type=int)
pf.define("rate", 1.5)
pf.parse()

def work(_):
    return pf.FLAGS.level, pf.FLAGS.mode, pf.FLAGS.token

def late(_):
    return pf.define("late", 1).value

def state(name):
    return pf.FLAGS[name].value, pf.FLAGS[name].source

def ended(_):
    apply_values([])
    return pf.FLAGS.level, pf.FLAGS.late

def secret(_):
    return pf.define("secret", "", sensitive=True).value

def late_size(_):
    return pf.define("late_size", None, type=int).value

def child(text):
    ended = subprocess.run([sys.executable, "-c", "import paddle_flags as pf\\n" + text],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return ended.stdout.decode().strip()

"""


def program(tmp_path, text, *words, **options):
    indented = "".join(f"    {line}\n" for line in text.strip().splitlines())
    write(tmp_path / "main.py", f'{START}if __name__ == "__main__":\n{indented}')
    command = (sys.executable, "-W", "error", "main.py", *words)
    return run(*command, cwd=tmp_path, **options).stdout


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_value_of_the_fleet_stays_one_in_a_child_which_the_fleet_may_change(method, tmp_path):
    text = f"""
apply_values([FleetValue("level", 7, "dir:///x", 3), FleetValue("late", 8, "dir:///x", 3)])
pf.FLAGS.rate = 2.5
pf.propagate()
with multiprocessing.get_context({method!r}).Pool(1) as pool:
    print(pool.map(state, ["level", "rate"]), pool.map(late, [0]), pool.map(ended, [0]))
print(child("print(pf.define('level', 1).value, pf.FLAGS['level'].source)"))
"""
    found = program(tmp_path, text).splitlines()
    assert found == [
        "[(7, 'fleet'), (2.5, 'run time')] [8] [(1, 1)]",
        "7 environment",
    ]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_children_of_multiprocessing_have_the_values_of_their_start(method, tmp_path):
    text = f"""
pf.FLAGS.token = "hunter2"
pf.propagate()
context = multiprocessing.get_context("{method}")
for level in (5, 6):
    pf.FLAGS.level = level
    with context.Pool(2) as pool:
        print(set(pool.map(work, range(4))))
pf.FLAGS["level"].reset()
with ProcessPoolExecutor(1, mp_context=context) as executor:
    print(executor.submit(work, 0).result())
"""
    shown = program(tmp_path, text, "--mode=best", "--level=4").splitlines()
    expected = [f"{{({level}, 'best', 'hunter2')}}" for level in (5, 6)]
    assert shown == [*expected, "(1, 'best', 'hunter2')"]


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
@pytest.mark.parametrize("parts", [("pf.propagate()", ""), ("", "pf.propagate()")])
def test_a_child_takes_back_the_values_that_its_parent_took_back(method, parts, tmp_path):
    text = f"""
{parts[0]}
pf.FLAGS["level"].reset()
pf.FLAGS.size = None
pf.FLAGS["rate"].set_default(2.5)
{parts[1]}
with multiprocessing.get_context("{method}").Pool(1) as pool:
    print(pool.map(state, ["level", "size", "rate"]))
"""
    shown = program(tmp_path, text, "--level=4", "--size=7")
    assert shown == "[(1, 'default'), (None, 'default'), (2.5, 'run time')]\n"


def test_a_flag_without_a_value_has_none_when_a_child_defines_it_later(tmp_path):
    text = """
pf.parse(["", "--late_size=7"], allow_pending=True)
pf.propagate()
size = pf.define("late_size", None, type=int)
size.value = None
with multiprocessing.get_context("spawn").Pool(1) as pool:
    print(size.value, pool.map(late_size, [0]))
"""
    assert program(tmp_path, text) == "None [None]\n"


def test_values_of_flags_that_were_undefined_wait_in_a_child(tmp_path):
    text = """
pf.define("late", 1).value = 7
pf.define("secret", "", sensitive=True).value = "hunter2"
pf.undefine("late")
pf.undefine("secret")
print(pf.propagate())
with multiprocessing.get_context("spawn").Pool(1) as pool:
    print(pool.map(late, [0]), pool.map(secret, [0]))
print(child("print(pf.define('late', 1).value, pf.define('secret', '').value)"))
"""
    shown = program(tmp_path, text).splitlines()
    assert shown == ["{'secret': 'is sensitive'}", "[7] ['hunter2']", "7"]


def test_other_programs_have_the_default_of_set_default(tmp_path):
    text = """
pf.FLAGS["level"].set_default(5)
pf.propagate()
print(child("print(pf.define('level', 1).value, pf.define('size', None, type=int).value)"))
"""
    assert program(tmp_path, text) == "5 None\n"


def test_values_for_flags_that_a_child_defines_later_wait(tmp_path):
    text = """
pf.propagate()
for method in ("spawn", "forkserver"):
    with multiprocessing.get_context(method).Pool(1) as pool:
        print(pool.map(late, [0]))
print(child("print(pf.define('late', 1).value)"))
"""
    write(tmp_path / "pending.flags", "--late=7\n")
    text = text.replace(
        "pf.propagate()", "pf.parse(['', '--late=7'], allow_pending=True)\npf.propagate()"
    )
    assert program(tmp_path, text) == "[7]\n[7]\n7\n"


def test_other_programs_have_the_values_of_the_call_below_their_own_line(tmp_path):
    text = """
pf.FLAGS.token = "hunter2"
print(pf.propagate())
show = "print(flag.value, flag.source, pf.define('token', '', sensitive=True).value)"
print(child("flag = pf.define('level', 1)\\n" + show))
print(child("flag = pf.define('level', 1)\\npf.parse(['', '--level=9'])\\n" + show))
"""
    shown = program(tmp_path, text, "--level=4").splitlines()
    assert shown == ["{'token': 'is sensitive'}", "4 environment", "9 argv"]


def test_a_value_that_a_child_refuses_is_an_error_of_its_definition(tmp_path):
    text = """
pf.propagate()
print(child("level = pf.define('level', 1)\\nprint(level.value)"))
print(child("pf.define('mode', 'a', choices=['a'])"))
"""
    shown = program(tmp_path, text, "--level=4", "--mode=best")
    assert shown.startswith("4\n")
    assert "environment: PADDLE_FLAGS_PARENT (mode)=best: expected one of a" in shown


def test_a_variable_that_is_not_ours_is_reported():
    ended = subprocess.run(
        [sys.executable, "-c", "import paddle_flags as pf\npf.define('x', 1)"],
        env={**os.environ, "PADDLE_FLAGS_PARENT": "[1]"},
        check=True,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert "PADDLE_FLAGS_PARENT is not what propagate() writes, and is ignored" in ended.stderr


def test_values_of_any_text_arrive(tmp_path):
    write(tmp_path / "m.py", "import paddle_flags as pf\npf.define('text', '')\n")
    odd = 'two words\n"ä\U0001f600\udcff'
    text = f"""
pf.define("text", "")
pf.FLAGS.text = {odd!a}
pf.propagate()
print(child("print(ascii(pf.define('text', '').value))"))
"""
    assert program(tmp_path, text) == f"{odd!a}\n"


# ---- Servers ----

APP = """
import os
import paddle_flags as pf

level = pf.define("level", 1)

def app(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [f"{level.value} {level.source}".encode()]

async def asgi(scope, receive, send):
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": f"{level.value} {level.source}".encode()})
"""
SERVERS = {
    "gunicorn": "import os, sys\n"
    "os.execv(sys.executable,"
    " [sys.executable, '-m', 'gunicorn', '-w2', '-b', f'127.0.0.1:{port}', 'served:app'])",
    "uvicorn": "import uvicorn\nuvicorn.run('served:asgi', port=port, workers=2, lifespan='off')",
}


def _free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


def _answer(port: int, server: subprocess.Popen[bytes]) -> str:
    for _ in range(300):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=30) as answer:
                return str(answer.read().decode())
        except OSError:
            assert server.poll() is None
            time.sleep(0.1)
    return pytest.fail("the server does not answer")


def test_values_that_no_variable_can_hold_are_left_out(tmp_path):
    text = """
pf.define("long", "")
pf.define("longer", "")
pf.FLAGS.update(level=5, long="x" * 70_000, longer="y" * 70_000 + "z")
print(pf.propagate())
print(child("print(pf.define('level', 1).value, len(pf.define('long', '').value))"))
"""
    text += """
for number in range(20_000):
    pf.define(f"n{number}", "").value = "x" * 100  # which takes no time in proportion to its square
left_out = pf.propagate()
print(len(left_out) > 15_000, "level" in left_out)
"""
    reason = "is too long for an environment variable"
    assert program(tmp_path, text) == f"{{'longer': '{reason}'}}\n5 70000\nTrue False\n"


@pytest.mark.extended
@pytest.mark.parametrize("name", SERVERS)
def test_workers_of_a_server_have_the_values_of_the_program_that_started_it(name, tmp_path):
    package(name)
    write(tmp_path / "served.py", APP)
    port = _free_port()
    lines = ("pf.parse()\npf.propagate()\n" + SERVERS[name]).replace("\n", "\n    ")
    start = f'import served\nport = {port}\nif __name__ == "__main__":\n    {lines}\n'
    write(tmp_path / "start.py", f"import paddle_flags as pf\n{start}")
    server = subprocess.Popen([sys.executable, "start.py", "--level=7"], cwd=tmp_path)
    try:
        answers = {_answer(port, server) for _ in range(10)}
    finally:
        server.terminate()
        server.wait()
    assert {answer.split()[0] for answer in answers} == {"7"}
