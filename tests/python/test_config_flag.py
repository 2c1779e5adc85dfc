"""parse(config_flag=...): files that the user names, tables of them, and files of variables."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from support import WINDOWS, package, run, write

import paddle_flags as pf
from paddle_flags.extend import format_install_command


@pytest.fixture(autouse=True)
def _no_files():
    """Leave no files and no values of the flag to other tests."""
    yield
    if "config" in pf.FLAGS:
        pf.FLAGS["config"].reset()
    pf.parse(["prog"], config=[], exit=False)


def parse(*words: str, **options) -> list[str]:
    return pf.parse(["prog", *words], config_flag="config", exit=False, **options)


def refusals(*words: str, **options) -> list[str]:
    with pytest.raises(pf.FlagParseError) as refused:
        parse(*words, **options)
    return [str(error) for error in refused.value.errors]


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_flag_is_defined_for_the_program_and_its_help_says_what_it_does(python):
    said = python("pf.parse(config_flag='settings')", "--help").stdout
    assert "script.py:\n  --settings=STRING,...  Read flags from these files" in said
    assert "?FILE may be missing" in said


def test_the_user_names_files_and_their_values_have_places(here, name):
    flag = pf.define(name, 1)
    write(here / "a.toml", f"{name} = 2")
    assert parse("--config=a.toml", "x") == ["x"]
    assert (flag.value, flag.source, flag.place) == (2, "file", f"a.toml:1:{len(name) + 4}")
    assert parse("--config", "a.toml", "x") == ["x"]


@pytest.mark.parametrize(
    "line", [["--config=a.json,b.json"], ["--config=a.json", "--config=b.json"]]
)
def test_a_later_file_wins_however_they_are_named(here, name, line):
    flag = pf.define(name, 1)
    write(here / "a.json", f'{{"{name}": 2}}')
    write(here / "b.json", f'{{"{name}": 3}}')
    parse(*line)
    assert [entry.value for entry in flag.history] == [3, 2, 1]


def test_the_line_and_the_environment_win_wherever_the_file_stands(here, name, monkeypatch):
    flags = [pf.define(f"{name}_{i}", 0) for i in range(3)]
    write(here / "a.json", "{" + ",".join(f'"{name}_{i}": 1' for i in range(3)) + "}")
    monkeypatch.setenv(f"APP_{name}_1", "2")
    parse(f"--{name}_2=3", "--config=a.json", env_prefix="APP_")
    assert [flag.value for flag in flags] == [1, 2, 3]
    parse("--config=a.json", f"--{name}_2=4", env_prefix="APP_")
    assert [flag.value for flag in flags] == [1, 2, 4]


def test_files_of_the_user_win_over_those_of_the_program(here, name):
    flag = pf.define(name, 1)
    write(here / "a.json", f'{{"{name}": 2}}')
    write(here / "b.json", f'{{"{name}": 3}}')
    parse("--config=a.json", config="b.json")
    assert flag.value == 2
    parse(config="b.json", env_prefix="NOBODY_")


def test_the_environment_names_files_unless_the_line_does(here, name, monkeypatch):
    flag = pf.define(name, 1)
    for number in (2, 3):
        write(here / f"{number}.json", f'{{"{name}": {number}}}')
    monkeypatch.setenv("APP_CONFIG", "2.json")
    parse(env_prefix="APP_")
    assert flag.value == 2
    parse("--config=3.json", env_prefix="APP_")
    assert flag.value == 3
    parse("--config=", env_prefix="APP_")
    assert flag.value == 1


def test_a_flagfile_of_the_line_may_name_files(here, name):
    flag = pf.define(name, 1)
    write(here / "a.json", f'{{"{name}": 2}}')
    write(here / "line.flags", "--config=a.json\n")
    parse("--flagfile=line.flags")
    assert flag.value == 2


def test_the_default_of_the_flag_names_files_too(here, python):
    write(here / "a.json", '{"level": 2}')
    said = python(
        "level = pf.define('level', 1)\n"
        "pf.define('conf', ['?a.json', '?none.json'], 'Files')\n"
        "pf.parse(config_flag='conf')\n"
        "print(level.value)",
        cwd=here,
    ).stdout
    assert said == "2\n"


@pytest.mark.parametrize(
    ("definition", "level"),
    [
        ("None, type=str", 1),
        ("None, type=Path", 1),
        ("None, type=List[str]", 1),
        ("Path('a.json')", 2),
        ("[Path('a.json')]", 2),
    ],
)
def test_the_default_of_the_flag_may_be_none_or_paths(here, python, definition, level):
    write(here / "a.json", '{"level": 2}')
    said = python(
        "from pathlib import Path\nfrom typing import List\n"
        "level = pf.define('level', 1)\n"
        f"pf.define('conf', {definition})\n"
        "pf.parse(config_flag='conf')\n"
        "print(level.value)",
        cwd=here,
    ).stdout
    assert said == f"{level}\n"


def test_a_flag_for_one_text_names_one_file(here, python):
    write(here / "a,b.json", '{"level": 2}')
    said = python(
        "level = pf.define('level', 1)\n"
        "pf.define('conf', '', 'File')\n"
        "pf.parse(config_flag='conf')\n"
        "print(level.value)",
        "--conf=a,b.json",
        cwd=here,
    ).stdout
    assert said == "2\n"


def test_a_native_flag_may_name_the_files(here, plugin, python):
    library = plugin(
        'PD_DEFINE_string(alpha_config, "", "Files", .list = PD_TYPE_string);\n'
        'PD_DEFINE_int32(alpha_level, 1, "Level");\n'
    )
    write(here / "a.json", '{"alpha_level": 2}')
    said = python(
        f"pf.load_plugin({str(library)!r})\n"
        "pf.parse(config_flag='alpha_config')\n"
        "print(pf.FLAGS.alpha_level, pf.FLAGS['alpha_level'].place)",
        "--alpha_config=a.json",
        cwd=here,
    ).stdout
    assert said == "2 a.json:1:17\n"


def test_another_type_of_flag_is_a_mistake_of_the_program(name):
    pf.define(name, 1)
    with pytest.raises(pf.FlagArgumentError, match="expected a flag for text"):
        pf.parse(["prog"], config_flag=name, exit=False)
    for wrong, error in ((5, TypeError), ("a\0", ValueError), ("-x", pf.FlagNameError)):
        with pytest.raises(error):
            pf.parse(["prog"], config_flag=wrong, exit=False)


def test_a_dict_or_a_sensitive_flag_cannot_name_files():
    with pf.testing.isolated():
        pf.define("secret", "", sensitive=True)
        pf.define("table", {"a": "b"})
        with pytest.raises(pf.FlagArgumentError, match="secret': is sensitive, and messages"):
            pf.parse(["prog"], config_flag="secret", exit=False)
        with pytest.raises(pf.FlagArgumentError, match="table': expected a flag for text"):
            pf.parse(["prog"], config_flag="table", exit=False)


def test_a_file_may_be_optional(here, name):
    flag = pf.define(name, 1)
    parse("--config=?none.json")
    assert flag.value == 1
    write(here / "none.json", f'{{"{name}": 2}}')
    parse("--config=?none.json")
    assert flag.value == 2
    write(here / "none.json", "{")
    assert refusals("--config=?none.json") == [
        "none.json:1:2: not JSON: Expecting property name enclosed in double quotes"
    ]


@pytest.mark.skipif(WINDOWS, reason="symbolic links need a right that users of Windows lack")
def test_an_optional_file_that_cannot_be_read_is_an_error(here):
    (here / "link.json").symlink_to("nowhere.json")
    assert refusals("--config=?link.json") == ["link.json: no such file"]
    for empty in ("?", "?link.txt,", ",?link.txt"):
        assert "a configuration file has an empty name, expected a path" in refusals(
            f"--config={empty}"
        )


def test_a_missing_file_is_an_error_with_the_nearest_name(here):
    for file in ("serve.toml", "serve.flags"):
        write(here / "conf" / file, "")
    assert refusals("--config=conf/server.toml,conf/serv.flags,none/x.json") == [
        f"conf/server.toml: no such file; did you mean '{Path('conf/serve.toml')}'?",
        f"conf/serv.flags: no such file; did you mean '{Path('conf/serve.flags')}'?",
        "none/x.json: no such file",
    ]


def test_nothing_is_set_after_an_error(here, name):
    good, bad = pf.define(f"{name}_good", 1), pf.define(f"{name}_bad", 1, max=9)
    write(here / "a.json", f'{{"{name}_good": 2, "{name}_bad": 10}}')
    assert refusals(f"--{name}_good=3", "--config=a.json", "--nobody=1") == [
        f"a.json:1:{2 * len(name) + 22}: --{name}_bad=10: expected an integer <= 9",
        "--nobody: no such flag",
    ]
    assert (good.value, bad.value) == (1, 1)
    assert pf.FLAGS["config"].source == "default"


def test_a_configuration_file_cannot_name_others(here):
    write(here / "a.json", '{"config": "a.json"}')
    assert refusals("--config=a.json") == [
        "a.json:1: --config: a configuration file cannot name others"
    ]
    write(here / "a.flags", "\n--config=b.flags\n")
    assert refusals("--config=a.flags") == [
        "a.flags:2: --config: a configuration file cannot name others"
    ]


def test_a_flagfile_that_includes_itself_is_an_error(here):
    write(here / "a.flags", "--flagfile=a.flags\n")
    assert refusals("--config=a.flags") == ["a.flags:1: --flagfile=a.flags: includes itself"]


def test_reload_reads_the_files_of_the_user_again(here, name, monkeypatch):
    flag = pf.define(name, 1)
    path = write(here / "a.json", f'{{"{name}": 2}}')
    parse("--config=a.json")
    monkeypatch.chdir("/")
    path.write_text(f'{{"{name}": 3}}')
    assert [(each.name, each.new) for each in pf.reload()] == [(name, 3)]
    assert flag.value == 3


def test_explain_shows_file_and_line(here, name):
    pf.define(name, 1)
    write(here / "a.toml", f"\n{name} = 2")
    parse("--config=a.toml")
    assert f"a.toml:2:{len(name) + 4}" in pf.explain(name)


# ---- tables ----

PYPROJECT = """
[project]
name = "x"
date = 2024-01-01

[[tool.other.overrides]]
module = ["a"]
matrix = [[1]]
[tool.other.overrides.deep]
a-b = 1
a_b = 2

[tool.prog]
{0} = 5
[tool.prog.deep]
{0} = 6
[tool.empty]
[tool]
inline = {{ {0} = 7 }}
[[author]]
name = "y"
"""


def test_one_table_of_a_file_is_read(here, name):
    flag, deep = pf.define(name, 1), pf.define(f"deep.{name}", 1)
    write(here / "pyproject.toml", PYPROJECT.format(name))
    parse("--config=pyproject.toml#tool.prog")
    assert (flag.value, deep.value) == (5, 6)
    assert flag.place == f"pyproject.toml:14:{len(name) + 4}"
    parse("--config=pyproject.toml#tool.inline")
    assert (flag.value, deep.value) == (7, 1)
    parse("--config=pyproject.toml#tool.empty")
    assert flag.value == 1
    deep.reset()


def test_a_table_that_is_missing_is_an_error_unless_it_is_optional(here, name):
    pf.define(name, 1)
    write(here / "pyproject.toml", PYPROJECT.format(name))
    assert refusals("--config=pyproject.toml#tool.none") == [
        "pyproject.toml: has no table tool.none"
    ]
    assert refusals(f"--config=pyproject.toml#tool.prog.{name}") == [
        f"pyproject.toml: has no table tool.prog.{name}"
    ]
    assert refusals("--config=pyproject.toml#tool.other.overrides") == [
        "pyproject.toml:6:1: [[...]] is an array of tables, expected a table: [name]"
    ]
    parse("--config=?pyproject.toml#tool.none")


def test_the_whole_of_a_pyproject_is_not_for_flags(here):
    write(here / "pyproject.toml", "")
    assert refusals("--config=pyproject.toml") == [
        "pyproject.toml: expected one of its tables, as in pyproject.toml#tool.NAME"
    ]


def test_errors_in_a_table_have_their_lines_and_others_are_left_alone(here, name):
    pf.define(name, 1)
    write(here / "a.toml", f"x = 1979-01-01\n[tool]\n{name} = 'x'\n{name}x = 1979-01-01\n")
    assert refusals("--config=a.toml#tool") == [
        f"a.toml:3:{len(name) + 4}: --{name}=x: expected a 64-bit integer",
        f"a.toml:4:1: {name}x: no such flag; did you mean '{name}'?",
    ]


@pytest.mark.parametrize("suffix", ["json", "yaml"])
def test_json_and_yaml_have_tables_too(here, name, suffix):
    if suffix == "yaml":
        package("ruamel.yaml")
    flag = pf.define(name, 1)
    write(
        here / f"a.{suffix}", f'{{"x": null, "y": [[1]], "a": {{"b": {{"{name}": 2}}, "c": {{}}}}}}'
    )
    parse(f"--config=a.{suffix}#a.b")
    assert flag.value == 2
    parse(f"--config=a.{suffix}#a.c")
    assert flag.value == 1
    assert refusals(f"--config=a.{suffix}#a.x") == [f"a.{suffix}: has no table a.x"]


@pytest.mark.skipif(WINDOWS, reason="names of files with ? are missing on Windows")
def test_a_path_object_is_the_name_of_a_file_alone(here, name):
    flag = pf.define(name, 1)
    write(here / "?a.json", f'{{"{name}": 2}}')
    write(here / "b.json#c.json", f'{{"{name}": 3}}')
    pf.parse(["prog"], config=Path("?a.json"), exit=False)
    assert flag.value == 2
    pf.parse(["prog"], config=os.fsencode("b.json#c.json"), exit=False)
    assert flag.value == 3
    pf.parse(["prog"], config="./?a.json", exit=False)
    assert flag.value == 2


# ---- files of variables ----


@pytest.fixture
def dotenv(here):
    package("dotenv")

    def make(text: str, file: str = ".env") -> Path:
        return write(here / file, text)

    return make


def test_variables_with_the_prefix_are_flags(dotenv, name, monkeypatch):
    level, text, port = pf.define(name, 1), pf.define(f"{name}_t", ""), pf.define(f"{name}.p-q", 1)
    monkeypatch.setenv("OUTSIDE", "there")
    dotenv(
        f"# a comment\nOTHER=1\n\nexport APP_{name}=5 # five\n"
        f"APP_{name.upper()}_T=\"a\\n'b' ${{OUTSIDE}} ${{OTHER}}\"\n"
        f"APP_{name.upper()}_P_Q='7'\n"
    )
    parse("--config=.env", env_prefix="APP_")
    assert (level.value, text.value, port.value) == (5, "a\n'b' there 1", 7)
    assert (level.source, level.place) == ("file", ".env:4:1")


def test_the_real_environment_wins_over_a_file_of_variables(dotenv, name, monkeypatch):
    flag = pf.define(name, 1)
    monkeypatch.setenv(f"APP_{name.upper()}", "2")
    dotenv(f"APP_{name.upper()}=3\n", "prod.env")
    parse("--config=prod.env", env_prefix="APP_")
    assert [entry.value for entry in flag.history] == [2, 3, 1]


def test_what_is_wrong_with_variables_has_its_line(dotenv, name):
    pf.define(name, 1)
    upper = name.upper()
    dotenv(f"\n\nAPP_{upper}=x\nAPP_{upper}=1\nAPP_{upper}X=1\nAPP_A\nx y\n", ".env.local")
    assert refusals("--config=.env.local", env_prefix="APP_") == [
        f".env.local:3:1: --{name}=x: expected a 64-bit integer",
        f".env.local:5:1: {name}x: no such flag; did you mean '{name}'?",
        f".env.local:4:1: --{name}: is given twice, first on line 3",
        ".env.local:6:1: --a: the value is missing, expected NAME=VALUE",
        ".env.local:7:1: expected NAME=VALUE",
    ]


def test_variables_need_the_prefix(dotenv):
    dotenv("A=1\n")
    assert refusals("--config=.env") == [
        ".env: expected parse(env_prefix=...), which says what variables are flags"
    ]


def test_without_its_library_a_file_of_variables_is_an_error(here, python):
    write(here / ".env", "APP_X=1\n")
    ended = python(
        "sys.modules['dotenv.parser'] = None\npf.parse(config_flag='config', env_prefix='APP_')",
        "--config=.env",
        cwd=here,
        check=False,
    )
    assert f"requires python-dotenv: {format_install_command('dotenv')}" in ended.stderr


def test_the_command_line_tool_takes_the_same_names(here, plugin):
    package("dotenv")
    library = plugin('PD_DEFINE_int32(beta_level, 1, "Level");\n')
    write(here / "pyproject.toml", "[tool.beta]\nbeta_level = 2\n")
    write(here / ".env", "B_BETA_LEVEL=3\n")
    start = [sys.executable, "-m", "paddle_flags", "list", "-p", library]
    table = run(*start, "--config=pyproject.toml#tool.beta", "--config=?none.toml", cwd=here)
    assert "2      file" in table.stdout
    variables = run(*start, "--config=.env", "--env-prefix=B_", cwd=here)
    assert "3      file" in variables.stdout
