"""Programs that PyInstaller makes from Python code with flags."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from packages import BUILD_ENVIRONMENT
from support import ROOT, build_plugin, missing, run, write

pytestmark = pytest.mark.release

PROGRAM = """
import sys
import paddle_flags as pf

port = pf.define("port", 8080, "Port to listen on", min=1)
port.validate(lambda value: value != 13, "expected another port")
plugin = pf.load_plugin(sys.argv.pop())
rest = pf.parse(config=["port.toml", "level.yaml", "mode.json", "more.flags"])
print(port.value, *(pf.FLAGS[name].value for name in plugin.flags), rest)
print(pf.dump("toml"), end="")
"""

PLUGIN = """#include <pd_flags.h>
PD_DEFINE_int32(alpha_level, 6, "Level");
PD_DEFINE_string(alpha_mode, "fast", "Mode");
PD_DEFINE_bool(alpha_check, false, "Check");
"""

FILES = {
    "port.toml": "port = 81\n",
    "level.yaml": "alpha_level: 3\n",
    "mode.json": '{"alpha_mode": "best"}\n',
    "more.flags": "--alpha_check\n",
}


@pytest.fixture(scope="module")
def program(wheel, tmp_path_factory) -> Path:
    """The program in one file, built in an environment that has no paddle_flags but the wheel."""
    folder = tmp_path_factory.mktemp("frozen")
    environment = {**BUILD_ENVIRONMENT, "PYINSTALLER_CONFIG_DIR": str(folder / "cache")}
    run(sys.executable, "-m", "venv", "--symlinks", folder / "home")
    python = folder / "home" / "bin" / "python"
    pip = (python, "-m", "pip", "install", "--quiet", f"{wheel}[config]", "pyinstaller>=6")
    if run(*pip, cwd=folder, env=environment, check=False).returncode != 0:
        missing("PyInstaller", "pip install pyinstaller")
    write(folder / "serve.py", PROGRAM)
    command = (python, "-m", "PyInstaller", "--onefile", "--log-level", "WARN", "serve.py")
    run(*command, cwd=folder, env=environment)
    return folder / "dist" / "serve"


@pytest.fixture
def here(tmp_path) -> Path:
    """A directory with a plugin and configuration files, without the package."""
    build_plugin(tmp_path / "libalpha.so", write(tmp_path / "alpha.c", PLUGIN))
    for name, text in FILES.items():
        write(tmp_path / name, text)
    return tmp_path


def test_a_program_in_one_file_reads_all_files_and_loads_a_plugin(program, here):
    ended = run(program, "first", "--alpha_level=4", "./libalpha.so", cwd=here)
    assert ended.stdout.splitlines() == [
        "81 4 best True ['first']",
        "port = 81",
        "alpha_level = 4",
        'alpha_mode = "best"',
        "alpha_check = true",
    ]


def test_a_program_in_one_file_has_help_errors_and_completion(program, here):
    asked = run(program, "--help", "./libalpha.so", cwd=here, check=False)
    assert "--alpha_mode=STRING  Mode" in asked.stdout
    assert "--port=INT64         Port to listen on [at least 1]" in asked.stdout
    refused = run(program, "--port=13", "./libalpha.so", cwd=here, check=False)
    assert refused.stderr.startswith("serve: error: --port=13: expected another port\n")
    broken = write(here / "level.yaml", "alpha_level: x\n")
    refused = run(program, "./libalpha.so", cwd=here, check=False)
    assert refused.stderr.startswith(f"serve: error: {broken.name}:1:14: --alpha_level=x: expected")


def test_the_hooks_are_found_by_their_entry_point():
    import paddle_flags._pyinstaller as hooks

    (folder,) = map(Path, hooks.get_hook_dirs())
    assert folder == ROOT / "paddle_flags" / "_pyinstaller"
    assert {path.stem for path in folder.glob("hook-*.py")} >= {"hook-paddle_flags"}
