"""absl's flags and ours as one set of flags."""

from __future__ import annotations

import copy
import datetime as dt
import enum
import io
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from support import package, run, write

import paddle_flags as pf
from paddle_flags.extend import format_install_command

flags = package("absl.flags", "absl-py")
flagsaver = package("absl.testing.flagsaver", "absl-py")
FLAGS = flags.FLAGS


@pytest.fixture(autouse=True, scope="module")
def bridge() -> None:
    pf.bridge(flags.FLAGS, env_prefix="ABSL_")
    FLAGS.mark_as_parsed()


class Color(enum.Enum):
    RED = 1
    BLUE = 2


def test_a_flag_of_absl_is_one_of_ours(name: str) -> None:
    flags.DEFINE_integer(name, 3, "How far", lower_bound=0, upper_bound=9)
    flag = pf.FLAGS[name]
    assert (flag.type, flag.value, flag.min, flag.max) == ("int64", 3, 0, 9)
    assert (flag.help, flag.file, flag.source) == ("How far", __file__, "default")
    FLAGS[name].value = 4
    assert (flag.value, flag.source) == (4, "run time")
    flag.value = 5
    assert getattr(FLAGS, name) == 5
    with pf.override({name: 6}):
        assert getattr(FLAGS, name) == 6
    setattr(FLAGS, name, 7)
    assert flag.value == 7
    assert str(flag.place).startswith(f"{__file__}:")


def test_a_flag_of_ours_is_one_of_absl(name: str) -> None:
    flag = pf.define(name, 6, "Level", min=1, max=9)
    assert getattr(FLAGS, name) == 6
    assert name in FLAGS
    setattr(FLAGS, name, 7)
    assert (flag.value, flag.source) == (7, "run time")
    with pytest.raises(flags.IllegalFlagValueError, match=r"expected an integer in \[1, 9\]"):
        setattr(FLAGS, name, 0)
    assert flag.value == 7
    assert f"--{name}: Level [1 to 9]" in FLAGS.get_help()


def test_a_flag_of_a_plugin_is_one_of_absl(name: str, plugin: Any) -> None:
    path = plugin(f'PD_DEFINE_int32({name}, 6, "Level");\n', name)
    loaded = pf.load_plugin(path)
    assert getattr(FLAGS, name) == 6
    FLAGS(["prog", f"--{name}=7"])
    assert pf.FLAGS[name].value == 7
    loaded.unload()
    assert name not in list(FLAGS)
    pf.load_plugin(path)
    assert getattr(FLAGS, name) == 7


def test_each_kind_of_flag_has_its_values_on_both_sides(name: str) -> None:
    flags.DEFINE_bool(f"{name}_bool", None, "")
    flags.DEFINE_float(f"{name}_float", 1, "")
    flags.DEFINE_string(f"{name}_string", None, "")
    flags.DEFINE_enum(f"{name}_enum", "a", ["a", "b"], "")
    flags.DEFINE_enum_class(f"{name}_class", Color.RED, Color, "")
    flags.DEFINE_list(f"{name}_list", ["a"], "")
    flags.DEFINE_multi_integer(f"{name}_multi", [1], "")
    flags.DEFINE_multi_enum_class(f"{name}_colors", None, Color, "")

    def both() -> dict[str, tuple[Any, Any]]:
        names = [each for each in pf.FLAGS if each.startswith(name)]
        return {each[len(name) + 1 :]: (FLAGS[each].value, pf.FLAGS[each].value) for each in names}

    assert both() == {
        "bool": (None, False),
        "float": (1.0, 1.0),
        "string": (None, ""),
        "enum": ("a", "a"),
        "class": (Color.RED, "red"),
        "list": (["a"], ("a",)),
        "multi": ([1], (1,)),
        "colors": (None, ()),
    }
    line = "--@_bool --@_float=2 --@_string=s --@_enum=b --@_class=BLUE --@_list=b,c --@_multi=2"
    line += " --@_multi=3 --@_colors=red --@_colors=blue"
    FLAGS(["prog", *line.replace("@", name).split()])
    after = {
        "bool": (True, True),
        "float": (2.0, 2.0),
        "string": ("s", "s"),
        "enum": ("b", "b"),
        "class": (Color.BLUE, "blue"),
        "list": (["b", "c"], ("b", "c")),
        "multi": ([2, 3], (2, 3)),
        "colors": ([Color.RED, Color.BLUE], ("red", "blue")),
    }
    assert both() == after
    assert pf.FLAGS[f"{name}_enum"].choices == ("a", "b")
    assert {pf.FLAGS[f"{name}_{key}"].source for key in after} == {"argv"}
    pf.FLAGS.update({f"{name}_class": "red", f"{name}_multi": [9], f"{name}_colors": ["blue"]})
    assert FLAGS[f"{name}_class"].value is Color.RED
    assert FLAGS[f"{name}_multi"].value == [9]
    assert FLAGS[f"{name}_colors"].value == [Color.BLUE]
    with pytest.raises(pf.FlagValueError, match="value should be one of"):
        pf.FLAGS[f"{name}_class"].value = "green"


def test_parse_adds_each_use_of_a_multi_flag_of_absl_and_keeps_spaces_of_lists(name: str) -> None:
    flags.DEFINE_multi_integer(f"{name}_multi", [1], "")
    flags.DEFINE_spaceseplist(f"{name}_spaced", "a b", "")
    line = "prog --@_multi=2 --@_multi=3 --@_spaced=c\td".replace("@", name)
    pf.parse(line.split(" "), exit=False)
    assert FLAGS[f"{name}_multi"].value == [2, 3]
    assert FLAGS[f"{name}_spaced"].value == ["c", "d"]
    FLAGS(["prog", f"--{name}_multi=4", f"--{name}_multi=5", f"--{name}_spaced=e f"])
    assert pf.FLAGS[f"{name}_multi"].value == (4, 5)
    assert pf.FLAGS[f"{name}_spaced"].value == "e f"


def test_a_choice_has_one_spelling_whatever_sets_it(name: str) -> None:
    flags.DEFINE_enum_class(f"{name}_class", Color.RED, Color, "")
    flags.DEFINE_enum(f"{name}_enum", "slow", ["slow", "fast"], "", case_sensitive=False)
    for give in (
        lambda text: FLAGS(["prog", *text]),
        lambda text: pf.parse(["prog", *text], exit=False),
        lambda text: [pf.FLAGS.update(dict([each[2:].split("=")])) for each in text],
    ):
        give([f"--{name}_class=BLUE", f"--{name}_enum=FAST"])
        assert (pf.FLAGS[f"{name}_class"].value, pf.FLAGS[f"{name}_enum"].value) == ("blue", "fast")
        assert (FLAGS[f"{name}_class"].value, FLAGS[f"{name}_enum"].value) == (Color.BLUE, "fast")
        give([f"--{name}_class=red", f"--{name}_enum=slow"])


def test_none_drops_the_value(name: str) -> None:
    flags.DEFINE_integer(name, None, "")
    pf.FLAGS[name].value = 5
    setattr(FLAGS, name, None)
    ours = pf.FLAGS[name]
    assert (getattr(FLAGS, name), ours.value, ours.source) == (None, 0, "default")


def test_a_command_line_sets_flags_of_both_or_none(name: str) -> None:
    flags.DEFINE_integer(f"{name}_theirs", 1, "", short_name=None)
    pf.define(f"{name}_ours", 1, min=1)
    rest = FLAGS(["prog", "x", f"--{name}_theirs", "2", f"--{name}_ours=3", "y"])
    assert rest == ["prog", "x", "y"]
    places = [pf.FLAGS[f"{name}_{each}"].place for each in ("theirs", "ours")]
    assert places == ["argv[2]", "argv[4]"]
    with pytest.raises(flags.IllegalFlagValueError, match="expected an integer >= 1"):
        FLAGS(["prog", f"--{name}_theirs=9", f"--{name}_ours=0"])
    assert (FLAGS[f"{name}_theirs"].value, pf.FLAGS[f"{name}_theirs"].value) == (2, 2)
    with pytest.raises(flags.UnrecognizedFlagError):
        FLAGS(["prog", f"--{name}_theirs=9", f"--{name}_other=0"])
    assert FLAGS[f"{name}_theirs"].value == 2


def test_parse_reads_flags_of_absl(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    flags.DEFINE_enum_class(f"{name}_color", None, Color, "")
    monkeypatch.setenv(f"ABSL_{name}_late", "4")
    flags.DEFINE_integer(f"{name}_late", 1, "")
    pf.parse(["prog", f"--{name}_color=blue"], env_prefix="ABSL_")
    assert FLAGS[f"{name}_color"].value is Color.BLUE
    assert FLAGS[f"{name}_late"].value == 4
    assert FLAGS[f"{name}_late"].using_default_value is False
    with pytest.raises(pf.FlagParseError, match="value should be one of"):
        pf.parse(["prog", f"--{name}_color=green"], exit=False)


def test_validators_of_absl_check_what_our_side_sets(name: str) -> None:
    flags.DEFINE_integer(name, 1, "")
    pf.define(f"{name}_ours", 1)
    for each in (name, f"{name}_ours"):
        flags.register_validator(each, lambda value: value % 2 == 1, message="must be odd")
        with pytest.raises(pf.FlagValueError, match="must be odd"):
            pf.FLAGS[each].value = 2
        with pytest.raises(flags.IllegalFlagValueError, match="must be odd"):
            setattr(FLAGS, each, 2)
        pf.FLAGS[each].value = 3
        assert getattr(FLAGS, each) == 3


def test_our_validators_check_what_absl_sets(name: str) -> None:
    flags.DEFINE_integer(name, 1, "")
    with pf.FLAGS[name].validate(lambda value: value < 5, "must be small"):
        with pytest.raises(flags.IllegalFlagValueError, match="must be small"):
            setattr(FLAGS, name, 9)
        assert pf.FLAGS[name].value == getattr(FLAGS, name) == 1


def test_validators_of_several_flags_see_all_new_values(name: str) -> None:
    low, high = f"{name}_low", f"{name}_high"
    flags.DEFINE_integer(low, 1, "")
    flags.DEFINE_integer(high, 2, "")
    flags.register_multi_flags_validator(
        [low, high], lambda values: values[low] < values[high], message="low must be below high"
    )
    pf.FLAGS.update({low: 5, high: 6})
    with pytest.raises(pf.FlagValueError, match="low must be below high"):
        pf.FLAGS[low].value = 7
    assert (getattr(FLAGS, low), getattr(FLAGS, high)) == (5, 6)


def test_a_flag_that_absl_requires_is_required_by_parse(python: Any) -> None:
    text = (
        "from absl import flags\nflags.DEFINE_string('name', None, '')\n"
        "flags.mark_flag_as_required('name')\npf.bridge(flags.FLAGS)\npf.parse()\n"
        "print(flags.FLAGS.name)"
    )
    assert python(text, "--name=x").stdout == "x\n"
    failed = python(text, check=False)
    assert failed.returncode == 2
    assert "Flag --name must have a value other than None." in failed.stderr


def test_flagsaver_restores_values_and_sources(name: str) -> None:
    flags.DEFINE_integer(f"{name}_theirs", 1, "")
    pf.define(f"{name}_ours", 1)
    pf.FLAGS[f"{name}_ours"].value = 5
    with flagsaver.flagsaver(**{f"{name}_theirs": 2, f"{name}_ours": 3}):
        assert (pf.FLAGS[f"{name}_theirs"].value, pf.FLAGS[f"{name}_ours"].value) == (2, 3)
    assert (pf.FLAGS[f"{name}_theirs"].value, pf.FLAGS[f"{name}_ours"].value) == (1, 5)
    assert pf.FLAGS[f"{name}_theirs"].source == "default"
    with flagsaver.as_parsed(**{f"{name}_theirs": "7"}):
        assert (pf.FLAGS[f"{name}_theirs"].value, pf.FLAGS[f"{name}_theirs"].source) == (7, "argv")
    assert (pf.FLAGS[f"{name}_theirs"].value, pf.FLAGS[f"{name}_theirs"].source) == (1, "default")


def test_defaults_follow_each_other(name: str) -> None:
    flags.DEFINE_integer(name, 1, "")
    FLAGS.set_default(name, 2)
    assert (pf.FLAGS[name].value, pf.FLAGS[name].default) == (2, 2)
    pf.FLAGS[name].set_default(3)
    assert getattr(FLAGS, name) == 3
    flag = pf.define(f"{name}_ours", 1)
    FLAGS.set_default(f"{name}_ours", 4)
    assert (flag.value, flag.source) == (4, "default")


def test_flags_are_unparsed_until_a_command_line_is_read(python: Any) -> None:
    result = python(
        "from absl import flags\nflags.DEFINE_integer('theirs', 1, '')\npf.define('ours', 1)\n"
        "pf.bridge(flags.FLAGS)\nfor name in ('theirs', 'ours'):\n"
        "    try: getattr(flags.FLAGS, name)\n"
        "    except flags.UnparsedFlagAccessError: print('unparsed', pf.FLAGS[name].value)\n"
        "pf.parse([''])\nprint(flags.FLAGS.theirs, flags.FLAGS.ours)\n"
        "flags.FLAGS.unparse_flags()\nprint(flags.FLAGS.is_parsed())"
    )
    assert result.stdout == "unparsed 1\nunparsed 1\n1 1\nFalse\n"


def test_values_from_before_the_bridge_stay(python: Any) -> None:
    result = python(
        "from absl import flags\nF = flags.FLAGS\nflags.DEFINE_integer('a', 1, '')\n"
        "flags.DEFINE_multi_string('b', None, '')\nF(['p', '--a=2', '--b=x', '--b=y'])\n"
        "pf.bridge(flags.FLAGS)\nprint(F.a, F.b, pf.FLAGS.a, pf.FLAGS.b)"
    )
    assert result.stdout == "2 ['x', 'y'] 2 ('x', 'y')\n"


def test_a_name_with_two_meanings_is_a_conflict(name: str) -> None:
    pf.define(name, 1)
    with pytest.raises(flags.DuplicateFlagError):
        flags.DEFINE_string(name, "x", "")
    assert getattr(FLAGS, name) == 1


def test_names_that_our_command_line_uses_are_left_out(python: Any) -> None:
    result = python(
        "from absl import app, flags\napp.define_help_flags()\nleft_out = pf.bridge(flags.FLAGS)\n"
        "print(sorted(left_out))\nassert pf.bridge(flags.FLAGS) is left_out\n"
        "flags.DEFINE_integer('big', 2 ** 70, '')\nprint(left_out['big'].partition(': ')[2])"
    )
    first, second = result.stdout.splitlines()
    assert "'help'" in first
    assert "expected an integer in" in second


def test_a_copy_is_a_set_of_flags_of_absl_alone(name: str) -> None:
    flags.DEFINE_integer(name, 1, "")
    made = copy.deepcopy(FLAGS)
    made[name].value = 5
    assert (pf.FLAGS[name].value, made[name].value, type(made)) == (1, 5, flags.FlagValues)


def test_a_deleted_flag_of_absl_is_gone_here(name: str) -> None:
    flags.DEFINE_integer(name, 1, "")
    theirs = FLAGS[name]
    delattr(FLAGS, name)
    theirs.value = 5
    assert (name in pf.FLAGS, theirs.value) == (False, 5)


def test_a_sensitive_value_is_not_shown(name: str) -> None:
    pf.define(name, "hunter2", sensitive=True)
    assert "hunter2" not in FLAGS.get_help()


def test_a_sensitive_value_is_not_written(name: str) -> None:
    flag = pf.define(name, "hunter1", sensitive=True)
    FLAGS(["prog", f"--{name}=hunter2"])
    xml = io.StringIO()
    FLAGS.write_help_in_xml_format(xml)
    assert name in xml.getvalue()
    for text in (xml.getvalue(), FLAGS.flags_into_string(), FLAGS[name].serialize()):
        assert "hunter" not in text
    assert "redacted" not in FLAGS.flags_into_string()
    assert "hunter" not in FLAGS[name].serializer.serialize(flag.value)
    flags.register_validator(name, lambda value: value != "hunter3", message="too short")
    with pytest.raises(flags.IllegalFlagValueError, match=f"--{name}=<redacted>: too short"):
        setattr(FLAGS, name, "hunter3")


def test_each_use_of_a_multi_flag_adds_to_it(name: str) -> None:
    pf.define(name, ["a"], multi=True)
    pf.define(f"{name}_dict", {"a": 1}, multi=True)
    pf.define(f"{name}_last", ["a"])
    line = "--@=x --@ y,z --@_dict=b=2 --@_dict=c=3 --@_last=x --@_last=y".replace("@", name)
    FLAGS(["prog", *line.split()])
    assert FLAGS[name].value == ["x", "y", "z"]
    assert FLAGS[f"{name}_dict"].value == pf.FLAGS[f"{name}_dict"].value == {"b": 2, "c": 3}
    assert pf.FLAGS[f"{name}_last"].value == ("y",)
    places = {entry.place for entry in pf.FLAGS[name].history[:-1]}
    assert places <= {"argv[1]", "argv[2]"}


def test_what_absl_writes_can_be_read_again(name: str, tmp_path: Any) -> None:
    values = {
        "color": (Color.RED, Color.BLUE),
        "colors": ([Color.RED], (Color.BLUE, Color.RED)),
        "table": ({"a": 1}, {"b": 2, "c": 3}),
        "pause": (dt.timedelta(1), dt.timedelta(hours=2, seconds=0.5)),
        "names": (["a"], ("b,c", "d")),
        "loud": (True, False),
        "text": ("", "x y"),
    }
    for key, (default, _) in values.items():
        pf.define(f"{name}_{key}", default)
    pf.define(f"{name}_fixed", 1, read_only=True)
    pf.define(f"{name}_count", None, type=int)
    pf.FLAGS.update({f"{name}_{key}": value for key, (_, value) in values.items()})
    lines = [each for each in FLAGS.flags_into_string().splitlines() if name in each]
    assert f"--{name}_color=BLUE" in lines
    for key in values:
        pf.FLAGS[f"{name}_{key}"].reset()
    FLAGS(["prog", f"--flagfile={write(tmp_path / 'saved', chr(10).join(lines))}"])
    assert {key: pf.FLAGS[f"{name}_{key}"].value for key in values} == {
        key: value for key, (_, value) in values.items()
    }


def test_absl_reads_a_value_as_our_side_has_stored_it(name: str) -> None:
    pf.define(name, Color.RED)
    assert FLAGS[name].default is Color.RED
    setattr(FLAGS, name, "BLUE")
    assert getattr(FLAGS, name) is pf.FLAGS[name].value is Color.BLUE


def test_a_flag_that_is_undefined_leaves_absl_too(name: str) -> None:
    pf.define(f"{name}_ours", 1)
    flags.DEFINE_enum_class(f"{name}_theirs", Color.RED, Color, "")
    for each in (f"{name}_ours", f"{name}_theirs"):
        assert each in FLAGS
        flags.register_validator(each, bool)
        pf.undefine(each)
        assert each not in FLAGS
        assert each not in FLAGS.get_help()
        assert each not in FLAGS.flags_into_string()
        with pytest.raises(AttributeError):
            getattr(FLAGS, each)
        with pytest.raises(flags.UnrecognizedFlagError):
            FLAGS(["prog", f"--{each}=2"])
        flags.DEFINE_string(each, "x", "")
        assert getattr(FLAGS, each) == pf.FLAGS[each].value == "x"


def test_a_flag_that_is_replaced_has_its_new_definition_in_absl(name: str) -> None:
    pf.define(f"{name}_ours", Color.RED)
    flags.DEFINE_list(f"{name}_theirs", ["a"], "")
    for each in (f"{name}_ours", f"{name}_theirs"):
        assert each in FLAGS
        flags.register_validator(each, lambda value: value is not None)
        flag = pf.define(each, False, "Loudly", replace=True)
        assert f"--[no]{each}: Loudly" in FLAGS.get_help()
        FLAGS(["prog", f"--{each}"])
        assert getattr(FLAGS, each) is flag.value is True
        setattr(FLAGS, each, False)
        assert flag.value is False


def test_isolated_leaves_no_definition_in_absl(name: str) -> None:
    with pf.testing.isolated():
        pf.define(f"{name}_ours", 1)
        assert f"{name}_ours" in FLAGS
        flags.DEFINE_string(f"{name}_theirs", "a", "")
        assert pf.FLAGS[f"{name}_theirs"].value == "a"
    assert f"{name}_ours" not in FLAGS
    assert f"{name}_theirs" not in FLAGS
    flags.DEFINE_string(f"{name}_theirs", "b", "")
    assert getattr(FLAGS, f"{name}_theirs") == "b"


def test_isolated_brings_definitions_of_absl_back(name: str) -> None:
    flags.DEFINE_enum_class(f"{name}_theirs", Color.RED, Color, "")
    pf.define(f"{name}_ours", 1)
    for each in (f"{name}_theirs", f"{name}_ours"):
        flags.register_validator(each, lambda value: value not in ("x", 2), message="no 2")
        theirs = FLAGS[each]
        with pf.testing.isolated():
            pf.undefine(each)
            assert each not in FLAGS
        assert FLAGS[each] is theirs
        with pf.testing.isolated():
            pf.define(each, 3, replace=True)
            assert getattr(FLAGS, each) == 3
        assert FLAGS[each] is theirs
    assert getattr(FLAGS, f"{name}_theirs") is Color.RED
    assert theirs in FLAGS.get_flags_for_module(__name__)
    FLAGS(["prog", f"--{name}_theirs=blue", f"--{name}_ours=4"])
    assert getattr(FLAGS, f"{name}_theirs") is Color.BLUE
    with pytest.raises(pf.FlagValueError, match="no 2"):
        pf.FLAGS[f"{name}_ours"].value = 2


APP = (
    "from absl import app, flags\nimport paddle_flags as pf\n"
    "flags.DEFINE_string('echo', None, 'Text to echo.')\n"
    "pf.define('times', 1, 'How often', min=1)\n"
    "def main(argv):\n    print(argv[1:], flags.FLAGS.echo, flags.FLAGS.times, pf.FLAGS.echo)\n"
    "if __name__ == '__main__':\n    pf.bridge(flags.FLAGS, env_prefix='ECHO_')\n"
    "    app.run(main)\n"
)


@pytest.mark.extended  # takes a second or more
def test_app_run_reads_flags_of_both(tmp_path: Any) -> None:
    script = write(tmp_path / "echo.py", APP)

    def start(*args: str, **variables: str) -> Any:
        env = {**os.environ, **variables}
        return run(sys.executable, script, *args, check=False, env=env)

    assert start("--echo=a", "--times", "3", "x").stdout == "['x'] a 3 a\n"
    assert start("--times=2", ECHO_echo="b").stdout == "[] b 2 b\n"
    assert start("--echo=a", ECHO_echo="b").stdout == "[] a 1 a\n"
    text = start("--help").stdout
    assert "--times: How often [at least 1]" in text
    assert "--echo: Text to echo." in text
    failed = start("--times=0")
    assert failed.returncode == 1
    assert "FATAL Flags parsing error: --times=0: expected an integer >= 1" in failed.stderr
    assert "Did you mean: times" in start("--tims=1").stderr


CONFIGS = {
    "dict": ["--my_config_dict.field1=8", "--my_config_dict.nested.field=2.5"],
    "file": ["--my_config={config}", "--my_config.field1=8", "--my_config.nested.field=2.1"],
}


@pytest.mark.extended  # takes a second or more
@pytest.mark.parametrize("kind", CONFIGS)
def test_examples_of_ml_collections_run_with_a_line_more(tmp_path: Any, kind: str) -> None:
    place = package("ml_collections", "ml-collections").__file__ or ""
    examples = Path(place).parent / "config_flags" / "examples"
    example = examples / f"define_config_{kind}_basic.py"
    source = example.read_text(encoding="utf-8")
    assert source.count("  app.run(main)\n") == 1
    line = (
        "  from absl import flags\n  import paddle_flags as pf\n"
        "  pf.bridge(flags.FLAGS, env_prefix='ML_')\n  app.run(main)\n"
    )
    script = write(tmp_path / "example.py", source.replace("  app.run(main)\n", line))
    args = [each.format(config=examples / "config.py") for each in CONFIGS[kind]]
    shown = run(sys.executable, example, *args).stdout
    assert "field1: 8\n" in shown
    assert run(sys.executable, script, *args).stdout == shown
    env = {**os.environ, "ML_verbosity": "high"}
    assert "ML_verbosity=high" in run(sys.executable, script, *args, check=False, env=env).stderr


def test_absltest_runs_with_flags_of_both(tmp_path: Any) -> None:
    script = write(
        tmp_path / "some_test.py",
        "from absl import flags\nfrom absl.testing import absltest, flagsaver\n"
        "import paddle_flags as pf\n"
        "level = pf.define('level', 1)\n"
        "class SomeTest(absltest.TestCase):\n"
        "    @flagsaver.flagsaver(level=5)\n"
        "    def test_a(self): self.assertEqual(level.value, 5)\n"
        "    def test_b(self): self.assertEqual(level.value, 2)\n"
        "    def test_c(self): self.assertEqual(pf.FLAGS.test_random_seed, 7)\n"
        "if __name__ == '__main__':\n    pf.bridge(flags.FLAGS)\n    absltest.main()\n",
    )
    ended = run(sys.executable, script, "--level=2", "--test_random_seed=7")
    assert "Ran 3 tests" in ended.stderr


def test_a_missing_package_is_named(python: Any) -> None:
    result = python("sys.modules['absl'] = None\npf.bridge('absl-py')", check=False)
    assert f"ImportError: bridge requires absl-py: {format_install_command('absl')}" in (
        result.stderr
    )
