"""Public names: each is imported when it is first used, and has one place."""

import argparse
import subprocess
import sys

import pytest

import paddle_flags as pf

QUIET = """
before = set(sys.modules)
assert "parse" in pf.__all__ and "parse" in dir(pf)
print(sorted(each for each in set(sys.modules) - before if each.startswith("paddle_flags")))
pf.explain
print("paddle_flags._report.explain" in sys.modules, "paddle_flags.cli.parse" in sys.modules)
"""


def test_the_names_are_known_before_their_modules_are_imported(python):
    assert python(QUIET).stdout == "[]\nTrue False\n"


def test_a_star_imports_every_public_name():
    names: dict[str, object] = {}
    exec("from paddle_flags import *", names)  # noqa: S102 - the statement is what is tested
    assert names.keys() >= set(pf.__all__)
    assert "set" not in names  # the built-in one stays
    assert "set" in dir(pf)
    assert len(pf.__all__) == len(set(pf.__all__))


def test_a_name_that_does_not_exist_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'paddle_flags' has no attribute 'parze'"):
        getattr(pf, "parze")  # noqa: B009 - a type checker reports `pf.parze`


CHECKED = """
pf.parse(["program", "--levle=3"], allow_pending=True, exit=False)
pf.add_group(pf.define("level", 1), rule="all")
for subjects in ((), ("values",), ("pending",), ("modules",)):
    try:
        pf.check(*subjects)
        print("none")
    except pf.FlagError as error:
        print(*(type(each).__name__ for each in error.errors))
"""


def test_check_raises_the_errors_of_all_subjects_or_of_those_given(python):
    both = "UndefinedFlagError FlagValueError"
    lines = [both, "FlagValueError", "UndefinedFlagError", "none"]
    assert python(CHECKED).stdout.splitlines() == lines


@pytest.mark.parametrize("wrong", ["value", "", None, ["values"]])
def test_check_names_the_subjects_that_it_knows(wrong):
    with pytest.raises(pf.FlagArgumentError, match="expected 'modules', 'pending', 'values'"):
        pf.check(wrong)


@pytest.mark.parametrize("wrong", ["any", "ALL", None, ["all"]])
def test_a_group_names_the_rules_that_it_knows(name, wrong):
    flag = pf.define(name, 1)
    with pytest.raises(pf.FlagArgumentError, match=r"rule: .*: expected 'at_most_one', "):
        pf.add_group(flag, rule=wrong)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ('pf.check("value")', "did you mean 'values'?"),
        ('pf.add_group("a", "b", rule="atleast_one")', "did you mean 'at_least_one'?"),
        ("pf.bridge(parser, nmaespace='x')", "bridge() got an unexpected keyword argument"),
        ("pf.bridge(parser, nmaespace='x')", "did you mean 'namespace'?"),
        ("pf.bridge('c10', config='x')", "bridge() got an unexpected keyword argument 'config'"),
        ("pf.add_options(parser, env_prefx='X')", "add_options() got an unexpected keyword"),
    ],
)
def test_a_wrong_word_is_named_with_the_nearest_known_one(call, message):
    with pytest.raises((pf.FlagArgumentError, TypeError)) as caught:
        eval(call, {"pf": pf, "parser": argparse.ArgumentParser()})  # noqa: S307 - our own code
    assert message in str(caught.value)


FOUND = """
import sys


class Finder:
    def find_spec(self, name, path, target):
        return None


sys.meta_path.insert(0, Finder())
import paddle_flags as pf

print(pf.define("level", 3).value)
"""


def test_the_names_are_found_beside_a_finder_whose_arguments_have_no_defaults():
    ended = subprocess.run([sys.executable, "-c", FOUND], capture_output=True, text=True)
    assert (ended.stdout, ended.stderr) == ("3\n", "")
