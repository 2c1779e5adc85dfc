"""Validators, groups of flags, watchers and warnings in Python."""

from __future__ import annotations

import functools
import gc
import re
import subprocess
import sys
import textwrap
import threading
import warnings
from unittest import mock

import pytest
from joining import Maker

import paddle_flags as pf
from paddle_flags._core import hooks


@pytest.fixture(autouse=True)
def _ends_without_hooks():
    before = set(hooks._ours)
    yield
    for number, (hook, _) in list(hooks._ours.items()):
        if number not in before:
            hook.remove()


@pytest.fixture(scope="module")
def maker(tmp_path_factory):
    return Maker(tmp_path_factory.mktemp("plugins"))


@pytest.fixture
def two(name):
    return pf.define(f"{name}_a", 1), pf.define(f"{name}_b", 5)


def refusal(function, *args):
    with pytest.raises(pf.FlagValueError) as caught:
        function(*args)
    return str(caught.value)


def placeless(message):
    """Put a word for the lines of this file, however long its path is."""
    return re.sub(r"\([^()]*test_hooks\.py:\d+\)", "(PLACE)", message)


def run_python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    script = textwrap.dedent(code)
    return subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, timeout=60
    )


# ---- Validators ----


def test_a_validator_sees_the_value_to_be_and_refuses_it_with_its_message(name):
    flag = pf.define(name, 4)
    seen = []

    def is_even(value: int) -> bool:
        seen.append(value)
        return value % 2 == 0

    flag.validate(is_even, "expected an even number")
    flag.value = 6
    assert refusal(setattr, flag, "value", 7) == f"{name}=7: expected an even number"
    assert refusal(flag.set_from_string, "9") == f"{name}=9: expected an even number"
    assert (flag.value, seen) == (6, [6, 7, 9])


def test_a_validator_of_several_flags_gets_their_values_in_its_own_order(two):
    a, b = two

    @pf.validator(b, a.name, message="the second must be below the first")
    def is_ordered(high: int, low: int) -> bool:
        return low < high

    values = f"--{b.name}=5 (default), --{a.name}=5 (PLACE)"
    why = f"{values}: the second must be below the first (validator is_ordered)"
    assert placeless(refusal(setattr, a, "value", 5)) == why
    pf.FLAGS.update({a.name: 7, b.name: 8})
    with pytest.raises(pf.FlagValueError):
        pf.override({b.name: 6}).__enter__()
    assert (a.value, b.value) == (7, 8)
    assert is_ordered(2, 1)


class Limits:
    def below(self, low: int, high: int) -> bool:
        return low < high


def test_a_refusal_of_several_flags_names_the_validator(two):
    a, b = two
    pf.validator(a, b)(Limits().below)
    why = refusal(setattr, a, "value", 50)
    assert why.startswith(f"--{a.name}=50 (")
    assert f"--{b.name}={b.value} (" in why
    assert why.endswith("): rejected by the validator Limits.below")


def test_a_validator_may_say_by_an_exception_what_was_expected(name):
    flag = pf.define(name, 1)

    def check(value: int) -> bool:
        if value > 9:
            message = f"expected at most 9, not {value}"
            raise ValueError(message)
        return {}[value] if value == 5 else True

    flag.validate(check)
    assert refusal(setattr, flag, "value", 10) == f"{name}=10: expected at most 9, not 10"
    failed = f"{name}=5: its validator check failed: KeyError: 5"
    assert refusal(setattr, flag, "value", 5) == failed
    assert flag.value == 1


def test_what_a_failing_validator_raised_is_the_cause_of_the_refusal(name):
    flag = pf.define(name, 1)
    flag.validate(lambda value: 1 // value > 0)
    with pytest.raises(pf.FlagValueError, match="ZeroDivisionError") as caught:
        flag.value = 0
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_an_interrupt_in_a_validator_or_watcher_reaches_the_caller(name):
    flag = pf.define(name, 1)

    def interrupt(_: object) -> bool:
        raise KeyboardInterrupt

    with flag.validate(interrupt), pytest.raises(KeyboardInterrupt):
        flag.value = 2
    with flag.watch(interrupt), pytest.raises(KeyboardInterrupt):
        flag.value = 3
    flag.value = 4
    assert flag.value == 4


def test_the_words_of_a_validator_dont_give_a_sensitive_value_away(name):
    secret, other = pf.define(name, "", sensitive=True), pf.define(f"{name}_other", 1)
    secret.validate(lambda value: int(value) > 0, "expected a number")
    with pytest.raises(pf.FlagValueError) as caught:
        secret.value = "geheim"
    assert str(caught.value) == f"{name}=<redacted>: expected a number"
    assert caught.value.__cause__ is None

    @pf.validator(other, secret)
    def fail(number: int, text: str) -> bool:
        raise ValueError(number, text)

    why = refusal(setattr, other, "value", 3)
    assert why.startswith(f"--{name}_other=3 (")
    assert f"--{name}=<redacted> (" in why
    assert why.endswith("): rejected by the validator fail")


def test_a_validator_that_gives_nothing_refuses(name):
    flag = pf.define(name, 1)
    flag.validate(lambda _: None)  # type: ignore[arg-type,return-value]
    assert "returned None, expected True or False" in refusal(setattr, flag, "value", 2)


def test_a_validator_is_asked_by_parse_about_every_value(name):
    flag = pf.define(name, 1)
    hook = flag.validate(lambda value: value < 10, "expected less than 10")
    with pytest.raises(pf.FlagParseError, match=f"--{name}=10: expected less than 10"):
        pf.parse(["program", f"--{name}=10"], exit=False)
    hook.remove()
    pf.parse(["program", f"--{name}=10"], exit=False)
    assert flag.value == 10


def test_a_validator_may_set_other_flags(two):
    a, b = two

    def double(value: int) -> bool:
        b.value = value * 2
        return True

    with a.validate(double):
        a.value = 21
    assert (a.value, b.value) == (21, 42)


def test_a_removed_validator_isnt_asked_and_its_function_is_let_go(name):
    flag = pf.define(name, 1)

    def refuse(_: int) -> bool:
        return False

    kept = sys.getrefcount(refuse)
    hook = flag.validate(refuse)
    assert sys.getrefcount(refuse) > kept
    hook.remove()
    hook.remove()
    flag.value = 2
    assert sys.getrefcount(refuse) == kept
    assert repr(hook) == "<Hook: removed>"


def test_hooks_that_cant_be_are_refused(name):
    flag = pf.define(name, 1)
    with pytest.raises(pf.FlagTypeError, match="expected a function"):
        flag.validate(3)  # type: ignore[arg-type]
    with pytest.raises(pf.FlagTypeError, match="expected a function"):
        flag.watch(None)  # type: ignore[arg-type]
    with pytest.raises(pf.FlagArgumentError, match="1 or more different flags"):
        pf.required()
    with pytest.raises(pf.UndefinedFlagError):
        pf.required("nobody_has_this")
    with pytest.raises(pf.FlagTypeError, match="expected the name of a flag, not function"):
        pf.validator(lambda value: True)  # type: ignore[arg-type]
    with pytest.raises(pf.FlagTypeError, match="expected the name of a flag, not list"):
        pf.required([name])  # type: ignore[arg-type]
    for flags in ([name], [name, flag]):
        with pytest.raises(pf.FlagArgumentError, match="2 or more different flags"):
            pf.mutually_exclusive(*flags)


# ---- Functions that run later ----


async def accept_later(*_: object) -> bool:
    return True


def accept_in_steps(*_: object):
    yield True


async def accept_in_async_steps(*_: object):
    yield True


class Later:
    async def __call__(self, *_: object) -> bool:
        return True

    async def method(self, *_: object) -> bool:
        return True


LATER = [
    (accept_later, "accept_later: expected a plain function, not an async one"),
    (functools.partial(functools.partial(accept_later), 1), "accept_later: expected a plain "),
    (Later(), "Later object .*: expected a plain function, not an async one"),
    (Later().method, "Later.method: expected a plain function, not an async one"),
    (mock.AsyncMock(), "expected a plain function, not an async one"),
    (accept_in_steps, "accept_in_steps: expected a plain function, not a generator"),
    (accept_in_async_steps, "accept_in_async_steps: expected a plain function, not a generator"),
]


@pytest.mark.parametrize(("function", "message"), LATER)
def test_a_function_that_runs_later_is_no_validator_and_no_watcher(name, function, message):
    flag = pf.define(name, 1)
    for add in (flag.validate, pf.validator(name), flag.watch, pf.watch):
        with pytest.raises(pf.FlagTypeError, match=message):
            add(function)
    flag.value = 2
    function.assert_not_called() if isinstance(function, mock.AsyncMock) else None


@pytest.mark.filterwarnings("error")  # also "coroutine was never awaited"
@pytest.mark.parametrize("function", [accept_later, accept_in_steps, accept_in_async_steps])
def test_a_validator_that_returns_something_to_await_rejects_the_value(name, function):
    flag = pf.define(name, 1)
    made = []

    def check(value: int) -> bool:
        made.append(function(value))
        return made[-1]

    flag.validate(check)
    kind = type(function()).__name__ if function is not accept_later else "coroutine"
    assert refusal(setattr, flag, "value", 2) == (
        f"{name}=2: its validator check returned a value of type {kind}, expected True or False"
    )
    assert flag.value == 1
    gc.collect()


@pytest.mark.filterwarnings("error")
def test_a_coroutine_that_a_watcher_returns_is_reported(name, monkeypatch):
    flag = pf.define(name, 1)
    reported = []
    monkeypatch.setattr(sys, "unraisablehook", lambda what: reported.append(what.exc_value))
    flag.watch(lambda _: 3)
    with flag.watch(lambda _: accept_later()):
        flag.value = 2
    gc.collect()
    assert [str(each) for each in reported] == [
        f"the watcher <lambda> of '{name}' returned a coroutine, which nothing awaits"
    ]
    assert flag.value == 2


# ---- Groups ----


def test_of_mutually_exclusive_flags_one_is_given_at_most(two):
    a, b = two
    hook = pf.mutually_exclusive(a, b)
    a.value = 2
    rule = f"at most one of --{a.name}, --{b.name} can be given"
    given = f"--{a.name}=2 (PLACE), --{b.name}=3 (PLACE)"
    assert placeless(refusal(setattr, b, "value", 3)) == f"{rule}; given: {given}"
    hook.remove()
    b.value = 3


def test_what_must_be_given_is_an_error_of_parse_and_of_check_values(two):
    a, b = two
    for add, why in [
        (lambda: pf.mutually_exclusive(a, b, required=True), "exactly one of"),
        (lambda: pf.at_least_one(a, b), "at least one of"),
        (lambda: pf.required(a), f"--{a.name} must be given"),
    ]:
        with add():
            with pytest.raises(pf.FlagParseError, match=why):
                pf.parse(["program"], exit=False)
            with pytest.raises(pf.FlagValueError, match=why):
                pf.check_values()
            pf.parse(["program", f"--{a.name}=1"], exit=False)
            pf.check_values()
        a.reset()
    with pf.all_or_none(a, b):
        pf.parse(["program", f"--{a.name}=1", f"--{b.name}=1"], exit=False)


# ---- Watchers ----


def test_a_watcher_is_told_after_each_change(name):
    flag = pf.define(name, 1)
    seen = []
    with flag.watch(lambda changed: seen.append((changed, changed.value))):
        flag.value = 2
        flag.value = 2
        with pf.override({name: 3}):
            pass
    flag.value = 4
    assert seen == [(flag, 2), (flag, 3), (flag, 2)]


def test_a_watcher_of_all_flags_is_told_of_later_ones(name):
    seen = []
    with pf.watch(lambda flag: seen.append(flag.name)):
        flag = pf.define(name, 1)
        flag.value = 2
    assert seen == [name]


def test_what_a_watcher_raises_is_reported_and_the_change_stands(name, monkeypatch):
    flag = pf.define(name, 1)
    reported = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: reported.append(args.exc_value))
    told = []

    def fail(_: object) -> None:
        message = "of a watcher"
        raise RuntimeError(message)

    with flag.watch(fail), flag.watch(told.append):
        flag.value = 2
    assert [str(error) for error in reported] == ["of a watcher"]
    assert (flag.value, told) == (2, [flag])


class Listener:
    def __init__(self) -> None:
        self.heard = 0

    def hear(self, _: object) -> None:
        self.heard += 1


def test_a_weakly_held_watcher_goes_with_its_object(name):
    flag = pf.define(name, 1)
    listener = Listener()
    hook = flag.watch(listener.hear, weak=True)
    flag.value = 2
    assert listener.heard == 1
    del listener
    gc.collect()
    flag.value = 3
    assert repr(hook) == "<Hook: removed>"


@pytest.mark.parametrize("keeper", ["sys.modules['__main__']", "early", "sys"])
def test_python_ends_in_silence_with_a_weakly_held_watcher(keeper):
    code = f"""
    import sys, types
    early = sys.modules["early"] = types.ModuleType("early")
    import paddle_flags as pf

    class Listener:
        def __init__(self):
            self.hook = pf.watch(self.hear, weak=True)

        def hear(self, flag):
            pass

    {keeper}.listener = Listener()
    {keeper}.function = lambda flag: None
    {keeper}.function.hook = pf.watch({keeper}.function, weak=True)
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_circle_of_watchers_is_an_error_in_the_one_that_goes_too_far(name, monkeypatch):
    flag = pf.define(name, 1)
    reported = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: reported.append(args.exc_value))

    def add_one(changed: pf.Flag[int]) -> None:
        changed.value += 1

    with flag.watch(add_one):
        flag.value = 2
    assert [type(error) for error in reported] == [pf.FlagDepthError]


def test_many_threads_set_while_watchers_come_and_go(name):
    flag = pf.define(name, 0)
    heard = []

    def work(number: int) -> None:
        for i in range(100):
            with flag.watch(heard.append), flag.validate(lambda value: value >= 0):
                flag.value = number * 1000 + i

    threads = [threading.Thread(target=work, args=(n + 1,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(heard) >= 400


def test_flags_may_be_set_by_native_code_when_python_has_ended(maker):
    plugin = maker.plugin(
        "at_end",
        """
        #include <pd_flags.h>
        #include <stdlib.h>
        static pd_flag *flag;
        static pd_status (*set)(pd_flag *, int64_t, pd_error *);
        static void set_at_exit(void) { set(flag, 77, NULL); }
        PD_DEFINE_bool(at_end, false, "");
        void arm(void *found, void *function);
        void arm(void *found, void *function) {
          flag = found;
          set = (pd_status(*)(pd_flag *, int64_t, pd_error *))function;
          atexit(set_at_exit);
        }
        """,
        flags=("-Wno-pedantic",),
    )
    done = run_python(
        """
        import ctypes, sys
        import paddle_flags as pf
        from paddle_flags._native import ffi, lib
        flag = pf.define("x", 1)
        flag.watch(lambda f: print("heard", f.value))
        flag.validate(lambda v: True)
        library = ctypes.CDLL(pf.load_plugin(sys.argv[1]).path)
        address = lambda p: ctypes.c_void_p(int(ffi.cast("uintptr_t", p)))
        library.arm(address(flag.handle), address(ffi.addressof(lib, "pd_flag_set_int64")))
        flag.value = 2
        """,
        str(plugin),
    )
    assert (done.stdout, done.stderr, done.returncode) == ("heard 2\n", "", 0)


# ---- Warnings ----


def test_a_deprecated_name_warns_once_and_leads_to_the_flag(name):
    flag = pf.define(name, 1, old_names=[f"{name}_old"])
    with pytest.warns(pf.DeprecatedFlagWarning) as caught:
        setattr(pf.FLAGS, f"{name}_old", 2)
    assert [str(warning.message) for warning in caught] == [f"{name}_old is deprecated: use {name}"]
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pf.set(f"{name}_old", 3)
    assert flag.value == 3


def test_a_warning_that_is_to_be_an_error_is_raised_at_the_caller(name):
    flag = pf.define(name, 1, deprecated="use another")
    with pytest.raises(pf.DeprecatedFlagWarning, match="use another"):
        flag.value = 2  # pytest makes warnings errors


def test_the_user_of_a_program_is_warned_without_its_source():
    done = run_python(
        """
        import paddle_flags as pf
        pf.define("level", 1, old_names=["lvl"])
        pf.define("mode", "", deprecated="use --level")
        print(pf.parse(["some/program.py", "--lvl=2", "--mode=x"]))
        """
    )
    assert done.stdout == "[]\n"
    assert done.stderr == (
        "program.py: warning: lvl is deprecated: use level\n"
        "program.py: warning: --mode is deprecated: use --level\n"
    )


def test_a_retired_flag_takes_no_value_and_says_why(name):
    flag = pf.define(name, 1, retired="threads are chosen by themselves")
    with pytest.warns(pf.DeprecatedFlagWarning, match="threads are chosen by themselves"):
        pf.parse(["program", f"--{name}=7"], exit=False)
    assert flag.value == 1
    with pytest.raises(pf.ReadOnlyFlagError, match="is retired: threads are chosen"):
        flag.value = 3
