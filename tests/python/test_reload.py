"""reload(): configuration files read again."""

from __future__ import annotations

import math
import os
import threading
from pathlib import Path

import pytest
from support import write

import paddle_flags as pf

# Tests before these may have left flags of plugins with values of their flagfiles.
pytestmark = pytest.mark.filterwarnings("ignore:reload. .* was named by --flagfile")


def parse(path: Path | list[Path], *words: str, **options) -> None:
    pf.parse(["prog", *words], config=path, exit=False, **options)


def refusals() -> list[str]:
    with pytest.raises(pf.FlagParseError) as refused:
        pf.reload()
    return [str(error) for error in refused.value.errors]


def test_a_reload_takes_the_values_that_a_file_has_now_and_tells_the_changes(tmp_path, name):
    flags = [pf.define(f"{name}_{i}", 0) for i in range(4)]
    path = write(tmp_path / "a.toml", f"{name}_2 = 2\n{name}_1 = 1\n{name}_3 = 3")
    parse(path)
    assert [flag.value for flag in flags] == [0, 1, 2, 3]
    write(path, f"\n{name}_3 = 3\n{name}_2 = 5\n{name}_0 = 4")
    changes = pf.reload()
    assert changes == [(f"{name}_0", 0, 4), (f"{name}_1", 1, 0), (f"{name}_2", 2, 5)]
    assert changes[0] == pf.FlagChange(name=f"{name}_0", old=0, new=4)
    assert [flag.value for flag in flags] == [4, 0, 5, 3]
    assert flags[3].place.startswith(f"{path}:2:")
    assert flags[1].source == "default"
    assert pf.reload() == []


def test_what_was_replaced_by_a_reload_is_no_part_of_the_history(tmp_path, name):
    flag = pf.define(name, 0)
    path = write(tmp_path / "a.toml", f"{name} = 1")
    parse(path)
    for value in (2, 3):
        write(path, f"{name} = {value}")
        pf.reload()
    assert [entry.value for entry in flag.history] == [3, 0]


def test_values_of_higher_rank_stand_and_are_no_changes(tmp_path, name, monkeypatch):
    flags = [pf.define(f"{name}_{i}", 0) for i in range(3)]
    path = write(tmp_path / "a.toml", "".join(f"{name}_{i} = 1\n" for i in range(3)))
    monkeypatch.setenv(f"RELOAD_{name}_0", "7")
    parse(path, f"--{name}_1=8", env_prefix="RELOAD_")
    flags[2].value = 9
    write(path, "".join(f"{name}_{i} = 2\n" for i in range(3)))
    assert pf.reload() == []
    assert [flag.value for flag in flags] == [7, 8, 9]
    assert [entry.value for entry in flags[2].history] == [9, 2, 0]
    del flags[2].value
    assert flags[2].value == 2


def test_a_reload_below_an_override_shows_when_that_ends(tmp_path, name):
    flag = pf.define(name, 0)
    path = write(tmp_path / "a.toml", f"{name} = 1")
    parse(path)
    with pf.override({name: 5}):
        write(path, f"{name} = 2")
        assert pf.reload() == []
        assert flag.value == 5
    assert flag.value == 2


def test_an_error_leaves_everything_as_it_was(tmp_path, name):
    flags = [pf.define(f"{name}_{i}", 0, max=9) for i in range(2)]
    first = write(tmp_path / "a.toml", f"{name}_0 = 1")
    second = write(tmp_path / "b.yaml", f"{name}_1: 1")
    parse([first, second])
    before = [flag.history for flag in flags]
    write(first, f"{name}_0 = 2\nwholly.unheard.of = 1")
    write(second, f"{name}_1: 10")
    assert refusals() == [
        f"{first}:2:1: wholly.unheard.of: no such flag",
        f"{second}:1:{len(name) + 5}: --{name}_1=10: expected an integer <= 9",
    ]
    write(second, "a: [")
    assert any("not YAML" in error for error in refusals())
    first.unlink()
    assert f"{first}: no such file" in refusals()
    assert [flag.history for flag in flags] == before
    write(first, f"{name}_0 = 3")
    write(second, "")
    assert [change.new for change in pf.reload()] == [3, 0]


CLOSED = """
flags = [pf.define("once", 0, startup_only=True), pf.define("frozen", 0), pf.define("free", 0)]
def write(*values):
    with open("a.toml", "w") as file:
        for flag, value in zip(flags, values):
            if value:
                file.write(f"{flag.name} = {value}\\n")
def reload():
    try:
        print([tuple(change) for change in pf.reload()])
    except pf.FlagParseError as refused:
        print(refused)
write(1, 1, 1)
pf.parse(config="a.toml")
flags[1].freeze()
"""


LEFT_OUT = (
    "--once: can be set at startup only, and the file no longer gives its value (a.toml:1:8)\n"
    "--frozen: is frozen, and the file no longer gives its value (a.toml:2:10)\n"
)
REFUSED = """\
a.toml:1:8: --once: can be set at startup only, and the command line has been parsed
a.toml:2:10: --frozen: is frozen
"""


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ("1, 1, 2", "[('free', 1, 2)]\n"),
        (
            "2, 3, 3",
            REFUSED,
        ),
        (
            "None, None, 3",
            LEFT_OUT,
        ),
        ("1, 1, None", "[('free', 1, 0)]\n"),
    ],
)
def test_a_closed_flag_keeps_its_value_and_refuses_another(python, tmp_path, values, told):
    text = CLOSED + f"write({values})\nreload()\nprint([flag.value for flag in flags])"
    shown = python(text, cwd=tmp_path).stdout
    assert shown.startswith(told)
    kept = "[1, 1, 1]" if told.startswith("a.toml") else f"[1, 1, {told[-4]}]"
    assert shown == f"{told}{kept}\n"


def test_sensitive_values_are_not_told(tmp_path, name):
    flag = pf.define(name, "", sensitive=True)
    path = write(tmp_path / "a.toml", f'{name} = "old secret"')
    parse(path)
    write(path, f'{name} = "new secret"')
    (change,) = pf.reload()
    assert "secret" not in repr(change)
    assert change.name == name
    assert flag.value == "new secret"


def test_what_others_set_meanwhile_is_no_change_of_the_files(tmp_path, name):
    flags = [pf.define(f"{name}_{i}", 0) for i in range(2)]
    path = write(tmp_path / "a.toml", f"{name}_0 = 1")
    parse(path)

    def follow(*_: object) -> None:
        flags[1].value = 5

    flags[0].watch(follow)
    write(path, f"{name}_0 = 2")
    assert pf.reload() == [(f"{name}_0", 1, 2)]
    assert flags[1].value == 5


def test_nan_that_stays_is_no_change(tmp_path, name):
    flag = pf.define(name, 0.0)
    parse(write(tmp_path / "a.toml", f"{name} = nan"))
    assert pf.reload() == []
    assert math.isnan(flag.value)


def test_lists_are_told_as_tuples(tmp_path, name):
    pf.define(name, ("a",))
    path = write(tmp_path / "a.json", f'{{"{name}": ["b"]}}')
    parse(path)
    write(path, f'{{"{name}": ["b", "c,d"]}}')
    assert pf.reload() == [(name, ("b",), ("b", "c,d"))]


def test_values_of_a_plugin_that_has_left_wait_for_it(tmp_path, plugin):
    text = 'PD_DEFINE_int32(reload_late, 0, "", .aliases = "reload_alias");\n'
    built = plugin(text, "reload")
    path = write(tmp_path / "a.toml", "reload_alias = 1")
    loaded = pf.load_plugin(built)
    parse(path)
    assert pf.FLAGS.reload_late == 1
    loaded.unload()
    write(path, "\nreload_alias = 2")
    assert pf.reload() == []
    loaded = pf.load_plugin(built)
    assert pf.FLAGS.reload_late == 2
    assert pf.FLAGS["reload_late"].place == f"{path}:2:1"
    write(path, "reload_alias = 2\nreload_nobody = 1")
    assert "reload_nobody: no such flag" in refusals()[0]
    write(path, "")
    assert pf.reload() == [("reload_late", 2, 0)]
    loaded.unload()
    pf.load_plugin(built)
    assert pf.FLAGS.reload_late == 0


def test_what_waits_is_renewed_too(tmp_path, name):
    path = write(tmp_path / "a.toml", f"{name}a = 1\n{name}b = 1")
    parse(path, allow_pending=True)
    write(path, f"{name}b = 2\n{name}c = 2")
    assert pf.reload() == []
    values = [pf.define(name + suffix, 0).value for suffix in "abc"]
    assert values == [0, 2, 2]


def test_files_are_found_after_a_change_of_directory(tmp_path, name, monkeypatch):
    flags = [pf.define(f"{name}_{i}", 0) for i in range(2)]
    monkeypatch.chdir(tmp_path)
    write(Path("a.toml"), f"{name}_0 = 1")
    write(Path("b.flags"), f"--{name}_1=1")
    parse([Path("a.toml"), Path("b.flags")])
    assert [flag.place for flag in flags] == [f"a.toml:1:{len(name) + 6}", "b.flags:1"]
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    write(tmp_path / "a.toml", f"{name}_0 = 2")
    write(tmp_path / "b.flags", f"--{name}_1=2")
    assert [change.new for change in pf.reload()] == [2, 2]


def test_without_files_there_is_nothing_to_reload(python):
    assert python("print(pf.reload())\npf.parse()\nprint(pf.reload())").stdout == "[]\n[]\n"


def test_a_line_that_was_refused_leaves_the_files_of_the_last(tmp_path, name):
    flag = pf.define(name, 0)
    good = write(tmp_path / "a.toml", f"{name} = 1")
    parse(good)
    with pytest.raises(pf.FlagParseError):
        parse(write(tmp_path / "b.toml", f"{name} = x"))
    write(good, f"{name} = 2")
    pf.reload()
    assert flag.value == 2


@pytest.mark.extended  # takes a second or more
def test_readers_on_other_threads_see_whole_reloads(tmp_path, name):
    flag = pf.define(name, 0)
    path = write(tmp_path / "a.toml", f"{name} = 1")
    parse(path)
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(30):
                pf.reload()
                assert flag.value in (1, 2)
        except BaseException as error:  # of any kind
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(30):
        fresh = write(tmp_path / "fresh", f"{name} = {1 + number % 2}")
        os.replace(fresh, path)
    for thread in threads:
        thread.join()
    assert failures == []


def told(recwarn: pytest.WarningsRecorder, path: Path) -> list[str]:
    return [str(one.message) for one in recwarn if str(path) in str(one.message)]


@pytest.mark.filterwarnings("always:reload. ")
def test_a_reload_says_that_files_of_the_line_stay(tmp_path, name, recwarn):
    flag, other = pf.define(name, 0), pf.define(f"{name}_other", 0)
    config = write(tmp_path / "a.toml", f"{name}_other = 1")
    line = write(tmp_path / "line.flags", f"--{name}=1")
    parse(config, f"--flagfile={line}")
    write(line, f"--{name}=2")
    write(config, f"{name}_other = 2")
    assert pf.reload() == [(f"{name}_other", 1, 2)]
    assert (flag.value, other.value) == (1, 2)
    [message] = told(recwarn, line)
    assert message.startswith(f"reload: {line} was named by --flagfile, so its")
    flag.reset()
    pf.reload()
    assert len(told(recwarn, line)) == 1


@pytest.mark.filterwarnings("always:reload. ")
def test_a_flagfile_of_config_is_read_again_without_a_word(tmp_path, name, recwarn):
    flag = pf.define(name, 0)
    config = write(tmp_path / "a.flags", f"--{name}=1")
    parse(config)
    write(config, f"--{name}=2")
    assert pf.reload() == [(name, 1, 2)]
    assert (flag.value, told(recwarn, config)) == (2, [])
