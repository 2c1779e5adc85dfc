"""paddle-flags and python -m paddle_flags: run, list, explain and config."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import run, write

import paddle_flags as pf

pytestmark = pytest.mark.extended  # each test starts a process

PLUGIN = """
PD_DEFINE_bool(alpha_check, false, "Stop at the first NaN or Inf");
PD_DEFINE_int32(alpha_level, 6, "Compression level", .min = 1, .max = 9);
PD_DEFINE_string(alpha_mode, "fast", "How to search", .choices = "fast|best", .hidden = true);
"""


@pytest.fixture
def alpha(plugin) -> Path:
    return plugin(PLUGIN, "alpha")


def cli(*words: object, **options: object) -> subprocess.CompletedProcess[str]:
    return run(sys.executable, "-m", "paddle_flags", *words, **{"check": False, **options})


def test_list_shows_the_flags_of_plugins(alpha):
    assert cli("list", "-p", alpha).stdout == (
        "flag         type   value  source   module\n"
        "alpha_check  bool   false  default  libalpha.so\n"
        "alpha_level  int32  6      default  libalpha.so\n"
    )


def test_list_and_explain_show_the_flags_of_a_python_module(tmp_path):
    module = write(tmp_path / "app_flags.py", "import paddle_flags as pf\npf.define('speed', 3)")
    assert cli("list", "-m", "app_flags", "--speed=4", cwd=tmp_path).stdout == (
        "flag   type   value  source  module\nspeed  int64  4      argv    app_flags\n"
    )
    assert f"{module}:2" in cli("explain", "speed", "-mapp_flags", cwd=tmp_path).stdout
    ended = cli("list", "-m", "app_flag", cwd=tmp_path)
    assert ended.stderr.endswith("error: -m app_flag: No module named 'app_flag'\n")


def test_list_shows_values_of_the_line_and_of_the_environment(alpha):
    env = {**os.environ, "X_alpha_check": "1", "X_alpha_level": "2"}
    words = ["--plugin", alpha, "--env-prefix=X_", "--all", "--alpha-level", "3"]
    ended = cli("list", *words, env=env)
    assert ended.stdout == (
        "flag         type    value  source       module\n"
        "alpha_check  bool    true   environment  libalpha.so\n"
        "alpha_level  int32   3      argv         libalpha.so\n"
        "alpha_mode   string  fast   default      libalpha.so\n"
    )


def test_list_writes_any_value_on_one_line(plugin):
    path = plugin('PD_DEFINE_string(x, "", "");\nPD_DEFINE_string(y, "a\\nb\\x1b[31m\\xff", "");\n')
    ended = cli("list", "-p", path)
    assert [line.split()[2] for line in ended.stdout.splitlines()[1:]] == [
        '""',
        "a\\nb\\x1b[31m\\udcff",
    ]


def test_explain_tells_all_about_one_flag(alpha):
    env = {**os.environ, "X_alpha_level": "2"}
    words = ["-p", alpha, "--env-prefix", "X_", "--alpha_level=3", "alpha-level"]
    assert cli("explain", *words, env=env).stdout == (
        "alpha_level = 3\n"
        "\n"
        "  type:       int32\n"
        "  help:       Compression level\n"
        "  allowed:    1 to 9\n"
        f"  module:     {alpha}\n"
        f"  defined at: {alpha.parent}/alpha.c:4\n"
        "\n"
        "values, highest precedence first:\n"
        "  value  state           source       place\n"
        "  3      in effect       argv         argv[1]\n"
        "  2      hidden by argv  environment  X_alpha_level\n"
        f"  6      hidden by argv  default      {alpha.parent}/alpha.c:4\n"
    )


def test_run_without_a_script_shows_the_flags(alpha):
    ended = cli("run", "-p", alpha, "--alpha_level=3")
    assert "alpha_level  int32  3      argv" in ended.stdout


SCRIPT = """
import sys
import paddle_flags as pf
pf.define("own", 1, startup_only=True)
rest = pf.parse()
print(__name__, sys.argv[1:], rest, pf.FLAGS.alpha_level, pf.FLAGS.own)
"""


def test_run_gives_a_script_its_arguments_and_the_plugins_flags(alpha, tmp_path):
    script = write(tmp_path / "script.py", SCRIPT)
    ended = cli("run", "-p", alpha, "--alpha_level", "3", script, "--own=2", "x", "--alpha_check")
    assert ended.stdout == "__main__ ['--own=2', 'x', '--alpha_check'] ['x'] 3 2\n"


def test_run_shows_the_flags_behind_the_script_on_request(alpha, tmp_path):
    script = write(tmp_path / "script.py", SCRIPT + "sys.exit(4)\n")
    ended = cli("run", "-p", alpha, "--show", script)
    assert ended.returncode == 4
    assert "alpha_level  int32  6" in ended.stdout.split("6 1\n")[1]


def test_run_runs_a_module(alpha, tmp_path):
    write(tmp_path / "some_module.py", SCRIPT)
    words = ["-p", alpha, "--alpha_level=3", "-m", "some_module", "--own=2"]
    ended = cli("run", *words, cwd=tmp_path)
    assert ended.stdout == "__main__ ['--own=2'] [] 3 2\n", ended.stderr


def test_run_leaves_the_options_of_a_script_and_a_module_alone(alpha, tmp_path):
    script = write(tmp_path / "script.py", "import sys; print(sys.argv[1:])\n")
    assert cli("run", "-p", alpha, script, "-m", "--help").stdout == "['-m', '--help']\n"
    shown = cli("run", "-p", alpha, "-m", "script", "--help", "-p", cwd=tmp_path).stdout
    assert shown == "['--help', '-p']\n"
    words = ["-p", alpha, "--alpha_level", "3", script, "--config=x", "--show", "-p"]
    assert cli("run", *words).stdout == "['--config=x', '--show', '-p']\n"


def test_run_keeps_values_for_the_plugins_of_the_script_on_request(alpha, tmp_path):
    text = f"import paddle_flags as pf; pf.load_plugin({str(alpha)!r}); print(pf.FLAGS.alpha_level)"
    script = write(tmp_path / "script.py", text)
    assert cli("run", "--allow-pending", "--alpha_level=3", script).stdout == "3\n"
    assert "no such flag" in cli("run", "--alpha_level=3", script).stderr


def test_a_plugin_may_have_a_namespace_and_stand_at_its_option(alpha):
    ended = cli("list", f"-pbeta={alpha}", "--beta.alpha_level=3")
    assert "beta.alpha_level  int32  3 " in ended.stdout


def test_list_can_show_what_flags_are_for(alpha):
    shown = cli("list", "-p", alpha, "--long").stdout
    assert shown.startswith("libalpha.so:\n  --[no]alpha_check")
    assert "Compression level [1 to 9] [default: 6]" in shown


def test_who_reads_the_output_may_stop_early(plugin):
    flags = "".join(f'PD_DEFINE_bool(long_name_{n}, true, "{"x" * 60}");\n' for n in range(2000))
    line = f"{sys.executable} -m paddle_flags list -p {plugin(flags)} --long | head -n 1"
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    ended = subprocess.run(line, shell=True, capture_output=True, text=True, env=env)  # noqa: S602
    assert ended.stdout == "libplugin.so:\n"
    assert ended.stderr == ""


def test_letters_that_the_terminal_does_not_know_are_escaped(plugin):
    path = plugin('PD_DEFINE_string(x, "", "");\n')
    env = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    ended = cli("list", "-p", path, "--x=Ü", env=env)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "\\xdc" in ended.stdout


def test_an_error_of_the_script_is_its_own(alpha, tmp_path):
    script = write(tmp_path / "script.py", "import paddle_flags as pf\npf.FLAGS['nothing']\n")
    ended = cli("run", "-p", alpha, script)
    assert ended.returncode == 1
    assert "Traceback" in ended.stderr
    assert "script.py" in ended.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["list", "-p", "none.so"], "none.so: no such file"),
        (["list", "-p", "{alpha}", "--alpha_level=10"], "--alpha_level=10: expected an integer in"),
        (["list", "-p", "{alpha}", "--alpha_levl=1"], "did you mean '--alpha_level'?"),
        (["list", "{alpha}"], "or a fleet; to load a plugin, use -p {alpha}"),
        (["list", "-p", ""], "-p: expected the path of a shared library, not an empty argument"),
        (["run", "--plugin="], "-p: expected the path of a shared library, not an empty argument"),
        (["explain", "-p", "{alpha}"], "expected the name of one flag, not 0 arguments"),
        (["explain", "-p", "{alpha}", "alpha_lvl"], "no flag is named 'alpha_lvl'"),
        (["run", "-p", "{alpha}", "nothing.py"], "nothing.py: no such file"),
        (["run", "-m"], "-m: expected the name of a module"),
        (["run", "-m", "nothing.there"], "-m nothing.there: no such module"),
        (["run", "-m", "."], "-m .: expected the name of a module, as in package.module"),
        (["run", "-m", "tests"], "-m tests: is a package without __main__.py, expected"),
        (["run", "{alpha.parent}"], "is a directory without __main__.py, expected a Python script"),
        (["run", "{alpha}"], "{alpha}: is a native binary, expected a Python script"),
        (["list", "-p", "x.py"], "use 'python -m paddle_flags run --show x.py'"),
        (["explain", "-p", "n=x.py", "y"], "use 'python -m paddle_flags run --explain NAME x.py'"),
        (
            ["run", "-p", "{alpha}", "--alpha_mode", "--show", "x.py"],
            "--alpha_mode: expected a value before --show, as in --alpha_mode=VALUE",
        ),
        (
            ["explain", "--alpha_mode", "-p", "{alpha}", "alpha_level"],
            "--alpha_mode: expected a value before -p, as in --alpha_mode=VALUE",
        ),
        (
            ["run", "-p", "{alpha}", "--alpha_mode", "-m", "x"],
            "--alpha_mode: expected a value before -m, as in --alpha_mode=VALUE",
        ),
        (["list", "--plugn={alpha}"], "no such option --plugn; did you mean --plugin?"),
        (["run", "--shw", "x.py"], "no such option --shw; did you mean --show?"),
        (["list", "-p"], "-p/--plugin: expected one argument"),
        (["config"], "--includedir"),
        (["xyzzy"], "no such command xyzzy; expected one of run, list, "),
        (["confg"], "no such command confg; did you mean config?"),
        (["newp"], "no such command newp; did you mean new?"),
        (["--verison"], "no such option --verison; did you mean --version?"),
        (["-p", "{alpha}", "list"], "-p comes after a command, as in 'python -m paddle_flags run"),
        (["config", "--cflag"], "no such option --cflag; did you mean --cflags?"),
        (["config", "--nothing"], "no such option --nothing\n"),
        (["config", "x"], "unexpected argument x\n"),
        (["completion", "bash", "--xyzzy=x"], "no such option --xyzzy\n"),
        (["completion", "bsh"], "'bsh': expected one of bash, zsh, fish; did you mean bash?"),
        (["list", "--format=jsn"], "argument --format: 'jsn': expected one of table, text, "),
        (["list", ""], "or a fleet, not an empty argument\n"),
        (["run", ""], "expected the path of a Python script, not an empty argument"),
        (["new", "--lng", "c"], "no such option --lng; did you mean --lang?"),
        (["gen", "--langs=c"], "no such option --langs; did you mean --lang?"),
        (["gen", "--dump", "--chek", "x"], "no such option --chek; did you mean --check?"),
        (["gen", "flags.yaml", "more"], "unexpected argument more\n"),
        (["gen", "dif"], "no such file or command dif; did you mean 'diff'?"),
        (["gen", "import", "plugn"], "no such kind plugn; did you mean plugin?"),
        (["gen", "import", "plugn"], "; did you mean plugin?"),
        (["gen", "import", "plugin", "--nme=x"], "no such option --nme; did you mean --name?"),
        ([], "COMMAND"),
    ],
)
def test_mistakes_are_named_and_end_with_2(alpha, words, message):
    write(alpha.parent / "tests" / "__init__.py", "")
    ended = cli(*(word.format(alpha=alpha) for word in words), cwd=alpha.parent)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert message.format(alpha=alpha) in ended.stderr
    assert "Traceback" not in ended.stderr


SIZES = """
PD_DEFINE_bool(verbose, false, "", .aliases = "v");
PD_DEFINE_bool(q, false, "");
PD_DEFINE_string(sizes, "1", "", .list = PD_TYPE_int32);
PD_DEFINE_string(token, "", "", .sensitive = true);
PD_DEFINE_bool(old, false, "", .deprecated = "use --verbose");
"""
A_BOOL = "a bool takes its value after =, as in --verbose=true"
A_LIST = "items of a list are separated by commas, as in --sizes=1,2,3"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["list", "--verbose", "true"], f"unexpected argument true; {A_BOOL}"),
        (["list", "--sizes", "1", "2", "3"], f"unexpected argument 2; {A_LIST}"),
        (["list", "--sizes=1", "x"], "unexpected argument x; to load a plugin, use -p x"),
        (["list", "--token=my", "secret"], "argv[2]: expected no argument"),
        (
            ["explain", "--verbose", "true", "verbose"],
            f"expected the name of one flag, not 2 arguments; {A_BOOL}",
        ),
        (
            ["explain", "verbose", "--sizes", "1", "2", "3"],
            f"expected the name of one flag, not 3 arguments; {A_LIST}",
        ),
        (["explain", "--verbose", "true"], f"unexpected argument true; {A_BOOL}"),
        (["impls", "--verbose", "true"], f"unexpected argument true; {A_BOOL}"),
        (["explain", "verbose", "x"], "expected the name of one flag, not 2 arguments"),
        (["run", "--verbose", "true"], f"true: no such file; {A_BOOL}"),
        (["run", "--sizes", "1", "2", "3", "--x"], f"2: no such file; {A_LIST}"),
        (["run", "--verbose", "x.py"], "x.py: no such file"),
        (
            ["list", "-vq"],
            "-vq: no such flag; each flag is written by itself, did you mean '-v -q'",
        ),
    ],
)
def test_an_argument_that_looks_like_a_part_of_a_value_gets_a_suggestion(plugin, words, message):
    command, *flags = words
    path = plugin(SIZES)
    ended = cli(command, "-p", path, *flags, cwd=path.parent)
    assert (ended.returncode, ended.stdout) == (2, "")
    lines = ended.stderr.splitlines()
    assert any(each.startswith(f"python -m paddle_flags: error: {message}") for each in lines)
    assert sum(A_BOOL in each for each in lines) == (A_BOOL in message)


def test_a_warning_is_printed_once_although_the_line_is_refused(plugin):
    ended = cli("explain", "-p", plugin(SIZES), "--old", "a", "b")
    assert ended.stderr.count("use --verbose") == 1
    assert "not 2 arguments" in ended.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["alpha_level", "-p", "{alpha}", "--alpha_level=3"],
        ["alpha_level", "--alpha_level", "3", "--plugin={alpha}"],
        ["--alpha_level", "3", "alpha_level", "-p{alpha}"],
    ],
)
def test_options_may_follow_flags_and_names(alpha, words):
    ended = cli("explain", *(word.format(alpha=alpha) for word in words))
    assert ended.stdout.startswith("alpha_level = 3\n"), ended.stderr


def test_options_of_run_may_follow_flags_up_to_the_script(alpha, tmp_path):
    script = write(tmp_path / "script.py", "import sys; print(sys.argv[1:])\n")
    ended = cli("run", "-p", alpha, "--alpha_level", "3", "--show", script, "--show", "-p", "x")
    assert ended.stdout.startswith("['--show', '-p', 'x']\nflag"), ended.stderr
    assert "alpha_level  int32  3" in ended.stdout


def test_run_explains_flags_when_the_script_has_ended(alpha, tmp_path):
    script = write(tmp_path / "script.py", "import paddle_flags as pf\npf.FLAGS.alpha_level = 7\n")
    ended = cli("run", "-p", alpha, "--explain", "alpha_level", script)
    assert ended.stdout.startswith("alpha_level = 7\n"), ended.stderr
    assert f"{script}:2" in ended.stdout
    ended = cli("run", "-p", alpha, "--explain=alpha_lvl", script)
    assert ended.returncode == 2
    assert "error: --explain: no flag is named 'alpha_lvl'; did you mean" in ended.stderr


def test_run_explains_only_flags_that_are_defined_when_a_script_has_failed(alpha, tmp_path):
    script = write(tmp_path / "script.py", "raise RuntimeError('early')\n")
    ended = cli("run", "-p", alpha, "--explain=alpha_level", "--explain=later", script)
    assert ended.stdout.startswith("alpha_level = 6\n"), ended.stderr
    assert ended.stderr.startswith("Traceback")
    assert ended.stderr.endswith("RuntimeError: early\n")
    assert "no flag is named" not in ended.stderr


def test_run_runs_a_directory_with_a_main_module(tmp_path):
    write(tmp_path / "app" / "__main__.py", "print('ran')\n")
    assert cli("run", tmp_path / "app").stdout == "ran\n"
    write(tmp_path / "app" / "__init__.py", "")
    assert cli("run", "-m", "app", cwd=tmp_path).stdout == "ran\n"


def test_warnings_are_printed_before_an_error(plugin):
    path = plugin('PD_DEFINE_int32(gone, 1, "", .deprecated = "use x");\n')
    ended = cli("explain", "-p", path, "--gone=2", "nothing")
    assert ended.returncode == 2
    warning, error = ended.stderr.splitlines()
    assert "warning: " in warning
    assert "error: no flag is named 'nothing'" in error


def test_a_conflict_of_plugins_suggests_the_option_for_a_namespace(alpha, plugin):
    other = plugin('PD_DEFINE_string(alpha_level, "", "");\n', "other")
    ended = cli("list", "-p", alpha, "-p", other)
    assert ended.returncode == 2
    assert ended.stderr.endswith(f"; to give its flags other names, use -p other={other}\n")
    assert cli("list", "-p", alpha, "-p", f"other={other}").returncode == 0


def test_without_a_command_the_help_is_an_error():
    ended = cli(check=False)
    assert ended.returncode == 2
    assert not ended.stdout
    assert ended.stderr == cli("--help").stdout


def test_the_console_script_names_itself(alpha):
    script = Path(sys.executable).with_name("paddle-flags")
    assert run(script, "list", "-p", alpha).stdout == cli("list", "-p", alpha).stdout
    assert run(script, "run", "--help").stdout.startswith("usage: paddle-flags run ")
    ended = run(script, "lst", check=False)
    assert "paddle-flags: error: no such command lst; did you mean list?" in ended.stderr
    assert "python -m" not in run(script, "new", "--help").stdout + ended.stderr


@pytest.mark.parametrize(
    "command", ["run", "list", "explain", "doctor", "config", "completion", "gen", "new"]
)
def test_help_does_not_need_docstrings(command):
    full, stripped = (
        run(sys.executable, *options, "-m", "paddle_flags", command, "--help").stdout
        for options in ([], ["-OO"])
    )
    assert stripped == full
    assert "None" not in full


@pytest.mark.parametrize("command", ["run", "list", "explain", "doctor"])
def test_help_of_a_command_needs_no_plugin(command):
    shown = cli(command, "-p", "nothing.so", "--help")
    assert shown.returncode == 0
    assert shown.stdout.startswith(f"usage: python -m paddle_flags {command} ")


def test_a_command_imports_nothing_that_only_others_need():
    code = "m.main(['config', '--libdir']); print(*sys.modules)"
    code = f"import sys, paddle_flags.__main__ as m; {code}"
    loaded = set(run(sys.executable, "-c", code).stdout.split())
    others = {"paddle_flags.live._find", "paddle_flags._op.operation", "socket", "inspect"}
    assert "paddle_flags.cli.main" in loaded
    assert others & loaded == set()


def test_help_tells_each_command(alpha):
    assert cli("--help").returncode == 0
    for command in ("run", "list", "explain", "config"):
        assert f"    {command} " in cli("--help").stdout
        assert cli(command, "--help").stdout.startswith(f"usage: python -m paddle_flags {command} ")
    flags = cli("list", "-p", alpha, "--alpha_check", "--help").stdout
    assert "--[no]alpha_check" in flags


def test_config_prints_what_exists():
    include = cli("config", "--includedir").stdout.strip()
    assert include == pf.get_include()
    assert Path(include, "pd_flags.h").is_file()
    assert cli("config", "--cflags").stdout == f"-I{include}\n"
    assert Path(cli("config", "--static").stdout.strip()).is_file()
    assert Path(cli("config", "--cmakedir").stdout.strip(), "paddle_flags-config.cmake").is_file()
    assert Path(cli("config", "--pkgconfigdir").stdout.strip(), "paddle_flags.pc").is_file()
    assert "-lpd_flags" in cli("config", "--libs").stdout


def test_version_is_that_of_the_package():
    assert cli("--version").stdout == f"paddle_flags {pf.__version__}\n"


def test_explain_tells_the_fate_of_every_value(alpha, tmp_path):
    flags = write(tmp_path / "values.flags", "--alpha_level=2\n--alpha_level=3\n")
    script = (
        "import paddle_flags as pf\n"
        f"pf.load_plugin({str(alpha)!r})\n"
        f"pf.parse(['prog', '--alpha_level=4', '--flagfile={flags}'], env_prefix='X_')\n"
        "pf.FLAGS.alpha_level = 7\n"
        "with pf.override(alpha_level=8), pf.override(alpha_level=9):\n"
        "    print(pf.explain('alpha_level'))\n"
    )
    path = write(tmp_path / "script.py", script)
    env = {**os.environ, "X_alpha_level": "5"}
    shown = run(sys.executable, path, env=env, cwd=tmp_path).stdout
    assert shown.split("first:\n")[1] == (
        "  value  state                        source       place\n"
        f"  9      in effect                    override     {path}:5\n"
        f"  8      hidden by an override above  override     {path}:5\n"
        f"  7      hidden by an override        run time     {path}:4\n"
        f"  3      hidden by an override        argv         {flags}:2\n"
        f"  2      replaced by a later one      argv         {flags}:1\n"
        "  4      replaced by a later one      argv         argv[1]\n"
        "  5      hidden by an override        environment  X_alpha_level\n"
        f"  6      hidden by an override        default      {alpha.parent}/alpha.c:4\n"
    )


def test_sensitive_values_are_in_no_output(plugin):
    path = plugin('PD_DEFINE_string(token, "hunter2", "x", .sensitive = true);\n')
    forms = ["table", "text", "json", "markdown", "man", "xml", "flagfile", "argv", "environment",
             "toml", "json-config"]  # fmt: skip
    words = ["-p", path, "--token=hunter3"]
    for form in forms:
        ended = cli("list", f"--format={form}", "--all", *words)
        assert ended.returncode == 0
        assert "hunter" not in ended.stdout + ended.stderr
    shown = cli("explain", *words, "token").stdout
    assert "token = <redacted>\n" in shown
    assert shown.count("<redacted>") == 3
    assert "hunter" not in shown


def test_an_argument_that_may_be_the_rest_of_a_secret_is_not_shown(plugin):
    path = plugin('PD_DEFINE_string(token, "", "x", .sensitive = true);\n')
    for command in ("explain", "run", "list"):
        ended = cli(command, "-p", path, "--token=my", "secret")
        assert ended.returncode == 2
        assert "secret'" not in ended.stderr
        assert "secret:" not in ended.stderr
    shown = cli("explain", "-p", path, "--token=my", "secret").stderr
    assert "the argument is not shown, as it may be a part of a secret\n" in shown
    shown = cli("run", "-p", path, "--token=my", "secret").stderr
    assert "no such file; its path is not shown, as it may be a part of a secret\n" in shown
    assert "'missing'" in cli("explain", "-p", path, "missing", "--token=my").stderr


def test_list_cuts_long_values_and_counts_columns(plugin):
    path = plugin('PD_DEFINE_string(x, "", "");\nPD_DEFINE_string(y, "日本", "");\n')
    lines = cli("list", "-p", path, f"--x={'v' * 1000}").stdout.splitlines()
    assert lines[1].split()[2] == "v" * 57 + "..."
    assert lines[2].index("default") == lines[1].index("argv") - 2
