"""parse(config=...): TOML, YAML, JSON and flagfiles, their places and their errors."""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path

import pytest
from support import ROOT, make_fifo, package, run, write

import paddle_flags as pf
from paddle_flags._input import files
from paddle_flags._input.reading import Reading
from paddle_flags.extend import format_install_command

NULL = "null is not a value; to keep the default, leave the name out"
GOLDEN = ROOT / "tests" / "golden"
package("ruamel.yaml")


def parse(path: Path | list[Path], *words: str, **options) -> list[str]:
    return pf.parse(["prog", *words], config=path, exit=False, **options)


def refusals(path: Path | list[Path], *words: str, **options) -> list[str]:
    """Give the errors of a line, without the directory of the file."""
    with pytest.raises(pf.FlagParseError) as refused:
        parse(path, *words, **options)
    first = path[0] if isinstance(path, list) else path
    return [str(error).replace(f"{first.parent}{os.sep}", "") for error in refused.value.errors]


def test_toml_gives_flags_their_values_and_places(tmp_path, name):
    number, text = pf.define(name, 1), pf.define(f"{name}.port.text", "")
    path = write(tmp_path / "a.toml", f'{name} = 0x10 # hex\n["{name}.port"]\ntext = "a\\nb"\n')
    assert parse(path, "x") == ["x"]
    assert (number.value, number.source, number.place) == (16, "file", f"{path}:1:{len(name) + 4}")
    assert (text.value, text.place) == ("a\nb", f"{path}:3:8")


def test_yaml_gives_flags_their_values_and_places(tmp_path, name):
    number, text = pf.define(f"{name}.port", 1), pf.define(f"{name}.text", "")
    path = write(tmp_path / "a.yaml", f"{name}:\n  port: 0o17\n  text: |\n    a\n    b\n")
    parse(path)
    assert (number.value, number.place) == (15, f"{path}:2:9")
    assert (text.value, text.place) == ("a\nb\n", f"{path}:3:9")


def test_json_gives_flags_their_values_and_places(tmp_path, name):
    number, text = pf.define(f"{name}.port", 1), pf.define(f"{name}.text", "")
    path = write(tmp_path / "a.json", f'{{"{name}":\n {{"port": 15, "text": "\\u00e4"}}}}')
    parse(path)
    assert (number.value, number.place) == (15, f"{path}:2:11")
    assert (text.value, text.place) == ("ä", f"{path}:2:23")


def test_a_flagfile_is_a_configuration_file_too(tmp_path, name):
    flag = pf.define(name, 1)
    for suffix in (".flags", ".flagfile", ".conf"):
        path = write(tmp_path / f"a{suffix}", f"# a comment\n--{name}=5\n")
        parse(path)
        assert (flag.value, flag.source, flag.place) == (5, "file", f"{path}:2")
        flag.reset()
    write(path, f"--{name}=x\n--nobody\n")
    assert [error.partition(": ")[0] for error in refusals(path, "--nobody2")] == [
        "a.conf:1",
        "a.conf:2",
        "--nobody2",
    ]


def test_a_path_is_text_bytes_or_a_path_object(tmp_path, name):
    flag = pf.define(name, 1)
    path = write(tmp_path / "a.json", f'{{"{name}": 2}}')
    for config in (path, str(path), os.fsencode(path), [path], (str(path), path)):
        pf.parse(["prog"], config=config, exit=False)
        assert flag.value == 2
        flag.reset()
    for config in (5, [5], [None], "", ["", path]):
        with pytest.raises((TypeError, ValueError), match="expected the path of a file"):
            pf.parse(["prog"], config=config, exit=False)
    with pytest.raises(pf.FlagArgumentError, match=r"^config: .* NUL"):
        pf.parse(["prog"], config="a\0b.toml", exit=False)


def test_the_later_file_wins_and_history_shows_both(tmp_path, name):
    flag = pf.define(name, 1)
    first = write(tmp_path / "a.toml", f"{name} = 2")
    second = write(tmp_path / "b.json", f'{{"{name}": 3}}')
    parse([first, second])
    assert [entry.value for entry in flag.history] == [3, 2, 1]
    assert flag.place == f"{second}:1:{len(name) + 6}"


def test_files_rank_below_the_environment_and_the_command_line(tmp_path, name, monkeypatch):
    flags = [pf.define(f"{name}_{i}", 0) for i in range(3)]
    path = write(tmp_path / "a.toml", "".join(f"{name}_{i} = 1\n" for i in range(3)))
    monkeypatch.setenv(f"CONFIG_{name}_1", "2")
    monkeypatch.setenv(f"CONFIG_{name}_2", "2")
    parse(path, f"--{name}_2=3", env_prefix="CONFIG_")
    assert [flag.value for flag in flags] == [1, 2, 3]
    assert [entry.source for entry in flags[2].history] == [
        "argv",
        "environment",
        "file",
        "default",
    ]


def test_errors_of_files_environment_and_line_come_together(tmp_path, name, monkeypatch):
    flag = pf.define(name, 1, max=9)
    broken = write(tmp_path / "a.toml", "x = \n")
    wrong = write(tmp_path / "b.yaml", f"{name}: 10\nwholly.unheard.of: 1\n{name}y: ~\n")
    monkeypatch.setenv(f"CONFIG_{name}", "11")
    found = refusals([broken, wrong], f"--{name}=12", "--nobody=1", env_prefix="CONFIG_")
    assert found == [
        f"environment: CONFIG_{name}=11: expected an integer <= 9",
        "a.toml:1:5: not TOML: Invalid value",
        f"b.yaml:1:{len(name) + 3}: --{name}=10: expected an integer <= 9",
        "b.yaml:2:1: wholly.unheard.of: no such flag",
        f"b.yaml:3:{len(name) + 4}: --{name}y: {NULL}",
        f"--{name}=12: expected an integer <= 9",
        "--nobody: no such flag",
    ]
    assert (flag.value, flag.source) == (1, "default")


def test_a_broken_file_changes_nothing_at_all(tmp_path, name):
    flag = pf.define(name, 1)
    good = write(tmp_path / "a.toml", f"{name} = 2")
    broken = write(tmp_path / "b.toml", "=")
    assert refusals([good, broken], f"--{name}=3") == ["b.toml:1:1: not TOML: Invalid statement"]
    assert flag.source == "default"


def test_help_is_given_whatever_the_file_says(tmp_path):
    broken = write(tmp_path / "b.toml", "=")
    with pytest.raises(pf.HelpRequested):
        parse(broken, "--help")


def test_an_array_gives_a_list_and_suits_no_other_flag(tmp_path, name):
    texts, numbers = pf.define(f"{name}t", ("",)), pf.define(f"{name}n", (1,))
    one = pf.define(name, 1)
    items = ["a", "b,c", ' "d" ', "", "e\nf"]
    path = write(tmp_path / "a.json", json.dumps({f"{name}t": items, f"{name}n": [1, 2]}))
    parse(path)
    assert texts.value == tuple(items)
    assert numbers.value == (1, 2)
    write(path, json.dumps({f"{name}t": [""], f"{name}n": []}))
    parse(path)
    assert texts.value == ("",)
    assert numbers.value == ()
    write(path, json.dumps({name: [1], f"{name}t": ["a", 1.5], f"{name}n": [True]}))
    assert [error.partition(": ")[2] for error in refusals(path)] == [
        f"--{name}=1: expected one value, not a list",
        f"--{name}t=a,1.5: expected items of text; write them in quotes",
        f"--{name}n=true: item 1: expected a 64-bit integer",
    ]
    assert one.value == 1


@pytest.mark.parametrize(
    ("suffix", "value"),
    [
        (".toml", "1.10"),
        (".toml", "5"),
        (".toml", "true"),
        (".yaml", "1.10"),
        (".yaml", "no"),
        (".yaml", "On"),
        (".yaml", "1_000"),
        (".json", "5"),
        (".json", "false"),
    ],
)
def test_text_must_be_written_as_text(tmp_path, name, suffix, value):
    flag = pf.define(name, "")
    text = {".toml": "{} = {}", ".yaml": "{}: {}", ".json": '{{"{}": {}}}'}[suffix]
    path = write(tmp_path / f"a{suffix}", text.format(name, value))
    (error,) = refusals(path)
    assert error.endswith(": expected text; write it in quotes")
    write(path, text.format(name, f'"{value}"'))
    parse(path)
    assert flag.value == value


@pytest.mark.parametrize("word", ["true", "True", "yes", "on", "ON", '"true"', "1", "'yes'"])
def test_a_bool_flag_takes_the_words_of_all_versions_of_yaml(tmp_path, name, word):
    flag = pf.define(name, False)
    parse(write(tmp_path / "a.yml", f"{name}: {word}"))
    assert flag.value is True


@pytest.mark.parametrize(
    ("suffix", "text", "value"),
    [
        (".toml", "+1_000.5e1", 10005.0),
        (".toml", "-inf", float("-inf")),
        (".toml", "7", 7.0),
        (".yaml", "-.INF", float("-inf")),
        (".yaml", "+.5", 0.5),
        (".yaml", "1e-3", 0.001),
        (".json", "-1.5E2", -150.0),
        (".json", '"inf"', float("inf")),
    ],
)
def test_numbers_are_read_as_each_format_writes_them(tmp_path, name, suffix, text, value):
    flag = pf.define(name, 0.0)
    form = {".toml": "{} = {}", ".yaml": "{}: {}", ".json": '{{"{}": {}}}'}[suffix]
    parse(write(tmp_path / f"a{suffix}", form.format(name, text)))
    assert flag.value == value


def test_a_number_too_large_for_its_flag_is_told_as_elsewhere(tmp_path, name):
    pf.define(name, 1)
    for digits in (30, 900):
        path = write(tmp_path / "a.json", f'{{"{name}": {"9" * digits}}}')
        assert "expected a 64-bit integer" in refusals(path)[0]
    for number in ("1e999", "1e-999"):
        pf.define(f"{name}f", 1.0)
        path = write(tmp_path / "a.toml", f"{name}f = {number}")
        assert "expected a number" in refusals(path)[0]


def test_namespaces_of_plugins_are_tables(tmp_path, plugin):
    path = write(tmp_path / "a.toml", '[late_ns]\nport = 80\n[late_ns.deep]\ntext = "x"\n')
    with pytest.raises(pf.FlagParseError):
        parse(path)
    parse(path, allow_pending=True)
    built = plugin('PD_DEFINE_int32(port, 1, "");\n', "late_ns")
    loaded = pf.load_plugin(built, namespace="late_ns")
    assert (pf.FLAGS["late_ns.port"].value, pf.FLAGS["late_ns.port"].place) == (80, f"{path}:2:1")
    with pytest.raises(pf.UndefinedFlagError, match=r"a\.toml:4:1: --late_ns\.deep\.text"):
        pf.check("pending")
    write(path, "")
    parse(path)
    loaded.unload()


def test_values_for_late_flags_are_typed_as_strictly(tmp_path, name):
    path = write(tmp_path / "a.yaml", f"{name}a: 1.10\n{name}b: [1]\n{name}c: 5\n")
    parse(path, allow_pending=True)
    for suffix, default in (("a", ""), ("b", 1)):
        with pytest.raises(pf.FlagError, match=rf"a\.yaml:.*--{name}{suffix}=.*expected"):
            pf.define(name + suffix, default)
    assert pf.define(f"{name}c", 1).value == 5
    assert pf.FLAGS[f"{name}c"].place == f"{path}:3:1"


BAD = {
    "missing.toml": None,
    "directory.toml": "directory",
    "fifo.json": "fifo",
    "noformat.ini": b"a=1",
    "bare": b"a=1",
    "garbage.toml": bytes(range(256)) * 4,
    "garbage.yaml": b"\x01\x02\x7f",
    "garbage.json": b"\x80abc",
    "utf16.json": '{"level": 1}'.encode("utf-16"),
    "latin.toml": "level = 1\nname = 'käse'\n".encode("latin-1"),
    "large.toml": "large",
    "tables.toml": b"[[server]]\nport = 1\n",
    "twice.toml": b"level = 1\n\nlevel = 2\n",
    "dashes.toml": b'net-port = 1\nnet_port = 1\n"net"."port" = 1\n"net.port" = 1\n',
    "unclosed.toml": b"names = ['a',\n",
    "nested.toml": b"names = [['a'], ['b']]\nlevel = { a = [{b = 1}] }\n",
    "dates.toml": b"name = 2024-05-01\nnames = [07:30:00]\n",
    "parts.toml": b".".join([b"a"] * 5000) + b" = 1\n",
    "deep.toml": b"level = " + b"[" * 100000,
    "inline.toml": b"a = {" * 50 + b"b = 1" + b"}" * 50,
    "digits.toml": b"level = " + b"9" * 100000,
    "types.toml": b'level = "x"\nverbose = 3\nname = 1.5\nnames = 1\nrate = "fast"\n',
    "secret.toml": b"secret = 1\n",
    "unknown.toml": b"levle = 1\n[beta]\nport = 1\n",
    "names.toml": b'"" = 1\n"two words" = 1\n"--level" = 1\n"nul\\u0000" = "a\\u0000"\n',
    "top.json": b"[1, 2]",
    "scalar.json": b'"level"',
    "twice.json": b'{"level": 1, "net": {"a-b": 1},\n "level": 2, "net": {}, "net.a_b": 3}',
    "null.json": b'{"level": null}',
    "nan.json": b'{"rate": NaN}',
    "half.json": b'{"name": "\\ud83d"}',
    "deep.json": b'{"a":' * 50 + b"1" + b"}" * 50,
    "deeper.json": b"[" * 1000000,
    "tab.yaml": b"net:\n\tport: 1\n",
    "alias.yaml": b"a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n",
    "merge.yaml": b"level: 1\nnet:\n  <<: {port: 1}\n",
    "tag.yaml": b"name: !!python/object/apply:os.system ['true']\n",
    "documents.yaml": b"level: 1\n---\nlevel: 2\n",
    "version.yaml": b"%YAML 1.1\n---\nlevel: 010\n",
    "top.yaml": b"- level\n",
    "keys.yaml": b"? [a, b]\n: 1\n",
    "twice.yaml": b"level: 1\nnet: {port: 1, port: 2}\nlevel: 2\n",
    "deep.yaml": b"level: " + b"[" * 100000,
    "deeper.yaml": b"- " * 100000,
    "digits.yaml": b"level: " + b"9" * 5000,
    "date.yaml": b"name: 2024-05-01\n",
}


def make(path: Path, content: bytes | str | None) -> None:
    if content == "directory":
        path.mkdir()
    elif content == "fifo":
        make_fifo(path)
    elif content == "large":
        with path.open("wb") as file:
            file.truncate(100 << 20)
    elif isinstance(content, bytes):
        path.write_bytes(content)


@pytest.mark.extended  # takes a second or more
def test_every_bad_file_is_told_as_was_agreed_on(tmp_path):
    for file_name, content in BAD.items():
        make(tmp_path / file_name, content)
    said = run(sys.executable, GOLDEN / "config.py", *BAD, cwd=tmp_path).stdout
    assert said == (GOLDEN / "config.txt").read_text("utf-8")


def test_a_fifo_is_never_waited_for(tmp_path, monkeypatch):
    """Also one that takes the place of a file after we have looked."""
    fifo, file = tmp_path / "a.toml", os.stat(write(tmp_path / "file", ""))
    make_fifo(fifo)
    found: list[str] = []
    with monkeypatch.context() as patched:
        patched.setattr(os, "stat", lambda _: file)
        reader = threading.Thread(
            target=lambda: found.extend(
                files.read_config_file(str(fifo), Reading("a.toml")).problems
            ),
            daemon=True,
        )
        reader.start()
        reader.join(60)
    assert found == ["a.toml: is a FIFO, expected a regular file"]


def test_the_errors_of_a_file_have_an_end(tmp_path):
    path = write(tmp_path / "a.yaml", "".join(f"a{i}: ~\n" for i in range(1000)))
    found = refusals(path)
    assert len(found) == 101
    assert found[-1].endswith("more errors are not shown")


def test_a_byte_order_mark_and_windows_lines_are_no_part_of_the_text(tmp_path, name):
    flag = pf.define(name, "")
    for file_name, text in {
        "a.toml": f'\n{name} = """\nx\ny"""\n',
        "a.yaml": f"\n{name}: |-\n  x\n  y\n",
        "a.json": f'\n{{"{name}": "x\\ny"}}\n',
    }.items():
        path = tmp_path / file_name
        path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
        parse(path)
        assert flag.value == "x\ny"
        assert f"{file_name}:2:" in flag.place
        flag.reset()


def test_columns_count_characters(tmp_path, name):
    flag = pf.define(name, 1)
    parse(write(tmp_path / "a.json", f'{{"{name}x": "käse💾", "{name}": 2}}'), allow_pending=True)
    assert flag.place.endswith(f":1:{2 * len(name) + 20}")


def test_empty_files_and_empty_lists_of_files_give_nothing(tmp_path, name):
    flag = pf.define(name, 1)
    parse(write(tmp_path / "a.toml", f"{name} = 2"))
    assert flag.value == 2
    empty = [write(tmp_path / f"b{end}", text) for end, text in ((".toml", ""), (".yaml", "# x"))]
    parse(empty)
    assert flag.value == 1
    parse([])
    assert flag.source == "default"


def test_a_line_without_files_leaves_their_values(tmp_path, name):
    flag = pf.define(name, 1)
    parse(write(tmp_path / "a.toml", f"{name} = 2"))
    pf.parse(["prog"], exit=False)
    assert (flag.value, flag.source) == (2, "file")


def test_importing_the_package_imports_no_reader(python):
    text = "print([m for m in sys.modules if m.split('.')[0] in ('tomllib', 'ruamel')])"
    assert python(text).stdout == "[]\n"


def test_a_reader_that_is_missing_is_named_with_its_remedy(python, tmp_path):
    write(tmp_path / "a.yaml", "x: 1")
    text = "sys.modules['ruamel.yaml'] = None\npf.parse(config='a.yaml')"
    ended = python(text, cwd=tmp_path, check=False)
    assert ended.returncode == 2
    assert ended.stderr.splitlines()[0] == (
        "script.py: error: a.yaml: reading YAML requires ruamel.yaml:"
        f" {format_install_command('yaml')}"
    )


def test_the_command_line_takes_configuration_files(tmp_path, plugin):
    built = plugin('PD_DEFINE_int32(cli_level, 1, "", .max = 9);\n', "cli")
    path = write(tmp_path / "a.toml", "cli_level = 7\n")
    cli = [sys.executable, "-m", "paddle_flags"]
    shown = run(*cli, "explain", "-p", built, "--config", path, "cli_level").stdout
    assert "cli_level = 7" in shown
    assert f"{path}:1:13" in shown
    write(path, "cli_level = 17\n")
    ended = run(*cli, "list", "-p", built, f"--config={path}", check=False)
    assert ended.returncode == 2
    assert f"{path}:1:13: --cli_level=17: expected an integer <= 9" in ended.stderr
    write(path, "cli_level = 7\nlate = 1\n")
    shown = run(*cli, "run", "-p", built, "--config", path, "--allow-pending", "--show").stdout
    assert "cli_level" in shown


@pytest.mark.extended  # takes a second or more
def test_a_file_of_many_settings_is_read(tmp_path):
    values = {f"many.of.them{i}": i for i in range(20000)}
    path = write(tmp_path / "a.json", json.dumps(values))
    parse(path, allow_pending=True)
    parse(write(path, "{}"))
