"""parse(plugins=..., plugin_flag=...): plugins whose flags the line and its help know."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support import write

import paddle_flags as pf

ALPHA = 'PD_DEFINE_int32(alpha_level, 6, "Compression level", .min = 1, .max = 9);\n'
MODULE = "import paddle_flags as pf\npf.define('steps.rate', 0.5, 'Rate of steps')\n"
NAMED = "print(pf.parse(plugin_flag='plugins'), sorted(pf.FLAGS), pf.FLAGS.alpha_level)"


pytestmark = pytest.mark.usefixtures("here")


@pytest.fixture
def here(plugin, tmp_path, monkeypatch) -> Path:
    """The folder of libalpha.so and steps.py, as the current directory."""
    plugin(ALPHA, "alpha")
    write(tmp_path / "steps.py", MODULE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_help_lists_the_flags_of_the_plugins_that_parse_loads(python):
    listed = python("pf.parse(plugins=['libalpha.so', 'steps'])", "--help").stdout
    assert "--alpha_level=INT32" in listed
    assert "--steps.rate=DOUBLE" in listed


def test_help_lists_the_flags_of_the_plugins_that_the_user_names(python):
    listed = python(NAMED, "--help", "--plugins=./libalpha.so,steps").stdout
    assert "--alpha_level=INT32" in listed
    assert "--steps.rate=DOUBLE" in listed
    assert "--plugins=STRING,...  Load these plugins first" in listed


def test_a_flag_of_a_named_plugin_may_stand_before_the_name(python):
    ran = python(NAMED, "--alpha_level", "9", "file", "--plugins=libalpha.so")
    assert ran.stdout == "['file'] ['alpha_level', 'plugins'] 9\n"


def test_a_variable_and_a_file_can_name_plugins(python, here):
    text = "pf.parse(plugin_flag='plugins', env_prefix='APP_', config=sys.argv.pop())\n"
    show = "print(pf.FLAGS.alpha_level, pf.FLAGS['alpha_level'].place)"
    write(here / "app.toml", 'plugins = ["libalpha.so"]\nalpha_level = 3\n')
    write(here / "plain.toml", "alpha_level = 4\n")
    assert python(text + show, "app.toml").stdout == "3 app.toml:2:15\n"
    named = {"APP_plugins": "libalpha.so", "PATH": ""}
    assert python(text + show, "plain.toml", env=named).stdout == "4 plain.toml:1:15\n"


def test_a_named_plugin_can_be_in_a_namespace(python):
    text = "pf.parse(plugins='a=libalpha.so'); print(pf.FLAGS['a.alpha_level'].value)"
    assert python(text, "--a.alpha_level=2").stdout == "2\n"


def test_a_plugin_that_cannot_be_loaded_is_an_error_of_the_line(python):
    ran = python(NAMED, "--plugins=libgone.so,gone.module,libalpha.so", check=False)
    assert ran.returncode == 2
    assert "script.py: error: --plugins: libgone.so: " in ran.stderr
    assert re.search("; looked in '(/|[A-Z]:)", ran.stderr)
    assert "script.py: error: --plugins: gone.module: no such module" in ran.stderr


def test_the_import_of_a_named_module_raises_what_the_module_raises(python, here):
    write(here / "broken.py", "import nowhere_to_be_found")
    ran = python(NAMED, "--plugins=broken", check=False)
    assert "ModuleNotFoundError: No module named 'nowhere_to_be_found'" in ran.stderr


def test_a_plugin_of_the_program_that_cannot_be_loaded_raises():
    with pytest.raises(pf.PluginLoadError, match=r"libgone\.so"):
        pf.parse(["prog"], plugins=["libgone.so"], exit=False)
    with pytest.raises(pf.FlagArgumentError, match="gone: no such module"):
        pf.parse(["prog"], plugins="gone", exit=False)


@pytest.mark.parametrize("plugins", [3, object()])
def test_plugins_must_be_paths_or_names(plugins):
    with pytest.raises(pf.FlagTypeError, match=r"plugins is .*: expected a library or a module"):
        pf.parse(["prog"], plugins=plugins, exit=False)


def test_each_plugin_must_be_a_path_or_a_name():
    with pytest.raises(pf.FlagTypeError, match="expected str"):
        pf.parse(["prog"], plugins=[3], exit=False)


def test_commands_load_plugins_too(python):
    text = "pf.commands({'run': lambda: print(pf.FLAGS.alpha_level)}, plugin_flag='plugins')"
    assert python(text, "--plugins=libalpha.so", "run", "--alpha_level", "7").stdout == "7\n"


def test_a_shell_is_offered_the_flags_of_named_plugins(python, here):
    line = "script.py --plugins=libalpha.so --alp"
    asked = f"bash 1 {len('--alp')} {line}"
    answer = here / "answer"
    text = (
        f"import os; os.dup2(os.open({str(answer)!r}, os.O_CREAT | os.O_WRONLY), 8)\n"
        f"os.environ['_PD_FLAGS_COMPLETE'] = {asked!r}\n{NAMED}"
    )
    python(text)
    assert "--alpha_level=" in answer.read_text()
