"""Flags as options of click's commands."""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest
from support import package, run, write

import paddle_flags as pf
from paddle_flags.extend import format_install_command

click = package("click")
testing = package("click.testing", "click")
completion = package("click.shell_completion", "click")


def command(name: str, *patterns: str, **options: Any) -> Any:
    """Return a command that prints the values of the flags whose names begin with the name."""

    @click.command()
    @pf.add_options(only=patterns or f"{name}*", **options)
    def show() -> None:
        for flag in pf.FLAGS.values():
            if flag.name.startswith(name):
                click.echo(f"{flag.name[len(name) :]}={flag.text} from {flag.source}")

    return show


def invoke(made: Any, *args: str) -> Any:
    return testing.CliRunner().invoke(made, args)


def test_a_command_sets_flags_before_its_body_runs(name: str) -> None:
    pf.define(name, 6, "Level", min=1, max=9)
    pf.define(f"{name}_check", False)
    pf.define(f"{name}_names", ["a"])
    result = invoke(command(name), f"--{name}", "7", f"--{name}_check", f"--{name}_names=b,c")
    assert result.output == "=7 from argv\n_check=true from argv\n_names=b,c from argv\n"
    assert result.exit_code == 0


def test_pending_values_are_refused_as_click_refuses_unknown_options(name: str) -> None:
    pf.define(name, 6)
    with pytest.raises(pf.FlagUnsupportedError, match="allow_pending: expected an ArgumentParser"):
        command(name, allow_pending=True)


def test_values_do_not_leak_into_the_next_invocation(name: str) -> None:
    pf.define(name, 6)
    made = command(name)
    assert invoke(made, f"--{name}=7").output == "=7 from argv\n"
    assert invoke(made).output == "=6 from default\n"
    assert pf.FLAGS[name].source == "default"


def test_an_earlier_command_line_counts_again_afterwards(name: str) -> None:
    pf.define(name, 6)
    pf.parse(["prog", f"--{name}=5"])
    assert invoke(command(name), f"--{name}=7").output == "=7 from argv\n"
    assert (pf.FLAGS[name].value, pf.FLAGS[name].source) == (5, "argv")


@pytest.mark.parametrize("token", ["--no{}", "--no-{}", "--no-{dashes}", "--no{dashes}"])
def test_a_bool_is_turned_off_as_on_any_command_line(name: str, token: str) -> None:
    pf.define(name, True)
    result = invoke(command(name), token.format(name, dashes=name.replace("_", "-")))
    assert result.output == "=false from argv\n"


def test_dashes_and_aliases_are_spellings_of_a_name(name: str) -> None:
    pf.define(name, 1, aliases=[f"{name}_other"])
    made = command(name)
    for spelling in (name.replace("_", "-"), f"{name}_other"):
        assert invoke(made, f"--{spelling}=2").output == "=2 from argv\n"


def test_the_last_of_several_spellings_counts(name: str) -> None:
    pf.define(name, False)
    yes, no = f"--{name}", f"--no-{name}"
    assert invoke(command(name), yes, no).output == "=false from argv\n"
    assert invoke(command(name), no, yes).output == "=true from argv\n"


def test_each_use_of_a_multi_flag_adds_to_it(name: str) -> None:
    pf.define(name, ["a"], multi=True)
    pf.define(f"{name}_last", ["a"])
    pf.define(f"{name}_table", {"a": 1}, multi=True)
    line = "--@=x --@ y,z --@_last=x --@_last=y --@_table b=2 --@_table=c=3".replace("@", name)
    result = invoke(command(name), *line.split())
    assert result.output == ("=x,y,z from argv\n_last=y from argv\n_table=b=2,c=3 from argv\n")
    assert pf.FLAGS[name].value == ("a",)
    refused = invoke(command(name), f"--{name}_table=b=2", f"--{name}_table=c")
    assert "item 2: expected KEY=INT" in refused.output


def test_errors_are_usage_errors_and_no_flag_changes(name: str) -> None:
    pf.define(name, 6, min=1, max=9)
    pf.define(f"{name}_mode", "fast", choices=["fast", "best"])
    result = invoke(command(name), f"--{name}=0", f"--{name}_mode=slow")
    assert result.exit_code == 2
    assert result.output.endswith(
        f"Error: --{name}=0: expected an integer in [1, 9]\n"
        f"--{name}_mode=slow: expected one of fast, best\n"
    )
    unknown = invoke(command(name), f"--{name}_mod=fast")
    assert "No such option" in unknown.output
    assert f"--{name}_mode" in unknown.output  # the nearest name


def test_help_shows_the_flags(name: str) -> None:
    pf.define(name, 6, "How far, in %", min=1, max=9)
    pf.define(f"{name}_hidden", 1, hidden=True)
    text = " ".join(invoke(command(name), "--help").output.split())
    assert f"--{name} INT64 How far, in % [1 to 9] [default: 6]" in text
    assert "_hidden" not in text


def test_the_environment_and_files_are_read_too(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    pf.define(name, 1)
    pf.define(f"{name}_file", 1)
    monkeypatch.setenv(f"CLICK_{name}", "2")
    file = write(tmp_path / "x.flags", f"--{name}_file=3\n")
    result = invoke(command(name, env_prefix="CLICK_", config=file))
    assert result.output == "=2 from environment\n_file=3 from file\n"


def test_groups_and_their_commands_share_the_flags(name: str) -> None:
    pf.define(f"{name}_group", 1)
    pf.define(f"{name}_command", 1)
    low = pf.FLAGS[f"{name}_group"]

    @click.group()
    @pf.add_options(only=f"{name}_group")
    def group() -> None:
        click.echo(f"group {low.value}")

    group.add_command(command(name, f"{name}_command"))
    result = invoke(group, f"--{name}_group=2", "show", f"--{name}_command=3")
    assert result.output == "group 2\n_group=2 from argv\n_command=3 from argv\n"
    assert low.value == 1
    failed = invoke(group, f"--{name}_group=x", "show")
    assert (failed.exit_code, "expected a 64-bit integer" in failed.output) == (2, True)


def test_a_group_and_its_command_may_both_add_to_a_multi_flag(name: str) -> None:
    pf.define(name, ["a"], multi=True)

    @click.group()
    @pf.add_options(only=name)
    def group() -> None:
        click.echo(pf.FLAGS[name].text)

    @group.command()
    @pf.add_options(only=name)
    def child() -> None:
        click.echo(pf.FLAGS[name].text)

    line = f"--{name}=x --{name}=y child --{name}=z"
    assert invoke(group, *line.split()).output == "x,y\nx,y,z\n"


def test_required_flags_of_a_command_may_follow_its_group(python: Any) -> None:
    text = (
        "import click\npf.define('a', 0, required=True)\npf.define('b', 0, required=True)\n"
        "@click.group()\n@pf.add_options(only='a')\ndef main(): pass\n"
        "@main.command()\n@pf.add_options(only='b')\n"
        "def go(): print(pf.FLAGS.a, pf.FLAGS.b)\nmain()"
    )
    assert python(text, "--a=1", "go", "--b=2").stdout == "1 2\n"
    failed = python(text, "--a=1", "go", check=False)
    assert (failed.returncode, failed.stderr.splitlines()[-1]) == (
        2,
        "Error: --b: is required, expected a 64-bit integer",
    )


def test_an_existing_command_gets_the_flags(name: str) -> None:
    pf.define(name, 1)

    @click.command()
    @click.option("--own", default=1)
    def show(own: int) -> None:
        click.echo(f"{own} {[pf.FLAGS[each].value for each in pf.FLAGS if each.startswith(name)]}")

    pf.add_options(show, only=f"{name}*")
    pf.define(f"{name}_more", 1)
    pf.add_options(show, only=f"{name}*")  # adds what is new
    assert invoke(show, f"--{name}=2", f"--{name}_more=3", "--own=4").output == "4 [2, 3]\n"


def test_adding_again_renews_the_options_of_a_flag(name: str) -> None:
    pf.define(name, 6, "Level")
    pf.define(f"{name}_gone", 6)
    made = command(name)
    pf.define(name, False, "Loudly", replace=True)
    pf.undefine(f"{name}_gone")
    pf.add_options(made, only=name)
    assert invoke(made, f"--{name}").output == "=true from argv\n"
    text = invoke(made, "--help").output
    assert "Loudly" in text
    assert "Level" not in text
    assert f"{name}_gone" not in text


def test_an_option_of_the_command_is_not_replaced(name: str) -> None:
    pf.define(name, 1)

    @click.command()
    @click.option(f"--{name}")
    def show(**_: Any) -> None: ...

    with pytest.raises(pf.FlagConflictError, match="the command already has this option"):
        pf.add_options(show, only=name)


def test_a_shell_completes_names_and_choices(name: str) -> None:
    pf.define(f"{name}_mode", "fast", choices=["fast", "best"])
    pf.define(f"{name}_list", ["x"], choices=["x", "y"])
    made = completion.ShellComplete(command(name), {}, "show", "_SHOW_COMPLETE")

    def complete(args: list[str], incomplete: str) -> list[str]:
        return [item.value for item in made.get_completions(args, incomplete)]

    assert complete([], f"--{name}_m") == [f"--{name}_mode"]
    assert complete([f"--{name}_mode"], "b") == ["best"]
    assert complete([f"--{name}_list"], "x,") == ["x,x", "x,y"]
    assert pf.FLAGS[f"{name}_mode"].source == "default"


def test_a_direct_call_of_the_function_sets_nothing(name: str) -> None:
    pf.define(name, 1)

    @pf.add_options(only=name)
    def body(value: int) -> int:
        return value + pf.FLAGS[name].value

    assert body(1) == 2


def test_mistakes_in_the_arguments_are_errors(name: str) -> None:
    wrong: Any = 5
    with pytest.raises(
        pf.FlagTypeError, match=r"expected an ArgumentParser, a click\.Command or its"
    ):
        pf.add_options(only=name if name in pf.FLAGS else "*")(wrong)
    with pytest.raises(pf.UndefinedFlagError):
        pf.add_options(only=name)(lambda: None)


def test_the_decorator_needs_no_parentheses(name: str) -> None:
    pf.define(name, 1)

    @click.command()
    @pf.add_options
    def show() -> None:
        click.echo(pf.FLAGS[name].value)

    assert invoke(show, f"--{name}=2").output == "2\n"


def test_a_missing_package_is_named(python: Any) -> None:
    result = python("sys.modules['click'] = None\npf.add_options(print)", check=False)
    assert (
        f"ImportError: add_options of a function requires click: {format_install_command('click')}"
        in (result.stderr)
    )


@pytest.mark.extended  # takes a second or more
def test_uvicorn_has_the_flags_of_the_program(tmp_path: Any) -> None:
    package("uvicorn")
    write(
        tmp_path / "app.py",
        "import sys\nimport paddle_flags as pf\nprint('depth', pf.FLAGS.depth)\nsys.exit(7)\n",
    )
    script = write(
        tmp_path / "serve.py",
        "import paddle_flags as pf\nfrom uvicorn.main import main\n"
        "pf.define('depth', 1, 'Depth', min=1)\n"
        "pf.add_options(main, env_prefix='SERVE_')\nmain()\n",
    )

    def serve(*args: str, **variables: str) -> Any:
        env = {**os.environ, **variables}
        return run(sys.executable, script, *args, check=False, cwd=tmp_path, env=env)

    assert "--depth INT64" in serve("--help").stdout
    assert "depth 3\n" in serve("app:app", "--depth", "3", "--port=0").stdout
    assert "depth 4\n" in serve("app:app", SERVE_depth="4").stdout
    assert "Error: --depth=0: expected an integer >= 1" in serve("app:app", "--depth=0").stderr
