"""`logging_flags`: the levels of loggers follow a flag."""

from __future__ import annotations

import logging

import pytest

import paddle_flags as pf

pytestmark = pytest.mark.usefixtures("root_level")


def test_levels_follow_the_command_line(name):
    pf.logging_flags(name)
    assert logging.getLogger().level == logging.WARNING
    pf.parse(["prog", f"--{name}=info,{name}.a=DEBUG,{name}.b=35"])
    assert logging.getLogger().level == logging.INFO
    assert logging.getLogger(f"{name}.a").level == logging.DEBUG
    assert logging.getLogger(f"{name}.a.below").isEnabledFor(logging.DEBUG)
    assert logging.getLogger(f"{name}.b").level == 35


def test_a_change_takes_effect_at_once_and_what_is_no_longer_listed_goes_back(name):
    logger = logging.getLogger(f"{name}.a")
    logger.setLevel(logging.ERROR)
    flag = pf.logging_flags(name)
    flag.value = (f"{name}.a=DEBUG",)
    assert logger.level == logging.DEBUG
    with pf.override({name: ["INFO"]}):
        assert (logger.level, logging.getLogger().level) == (logging.ERROR, logging.INFO)
    assert logger.level == logging.DEBUG
    flag.reset()
    assert logger.level == logging.ERROR


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("INFI", "'INFI': expected a level, such as DEBUG, .*; did you mean 'INFO'"),
        ("paddle=loud", "'loud': expected a level"),
        ("=INFO", "=INFO: expected LEVEL, or LOGGER=LEVEL"),
        ("a=", "'': expected a level"),
    ],
)
def test_a_wrong_level_is_refused_and_changes_nothing(name, text, message):
    flag = pf.logging_flags(name)
    before = logging.getLogger().level
    with pytest.raises(pf.FlagParseError, match=message):
        pf.parse(["prog", f"--{name}={text}"], exit=False)
    assert flag.value == ("WARNING",)
    assert logging.getLogger().level == before


def test_levels_of_ones_own_have_names(name):
    logging.addLevelName(15, "Verbose")
    pf.logging_flags(name, ["Verbose", f"{name}=error"])
    assert logging.getLogger().level == 15
    assert logging.getLogger(name).level == logging.ERROR


def test_a_second_call_gives_the_same_flag(name):
    assert pf.logging_flags(name) is pf.logging_flags(name)


def test_a_program_shows_its_logs(python):
    text = """
import logging
pf.logging_flags()
pf.parse()
logging.getLogger("a").info("shown")
logging.getLogger("b").info("hidden")
"""
    ended = python(text, "--log=a=INFO")
    assert ended.stderr == "INFO:a:shown\n"


def test_handlers_are_left_alone_on_request(python):
    text = "import logging\npf.logging_flags(handler=False)\nprint(logging.getLogger().handlers)"
    assert python(text).stdout == "[]\n"
