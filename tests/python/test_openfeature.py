"""The flags of the process through the SDK of OpenFeature, as its specification asks."""

from __future__ import annotations

import asyncio
import datetime as dt
import enum
import json
import queue
import sys
import threading
from collections.abc import Iterator
from contextvars import Context
from pathlib import Path
from typing import Any

import pytest
from support import package, run

import paddle_flags as pf
from paddle_flags.extend import format_install_command

api = package("openfeature.api", "openfeature-sdk")

from openfeature.client import OpenFeatureClient  # noqa: E402 - may be missing
from openfeature.evaluation_context import EvaluationContext  # noqa: E402
from openfeature.event import EventDetails, ProviderEvent  # noqa: E402
from openfeature.exception import ErrorCode  # noqa: E402
from openfeature.flag_evaluation import FlagEvaluationDetails, Reason  # noqa: E402
from openfeature.hook import Hook, HookContext  # noqa: E402
from openfeature.provider import ProviderStatus  # noqa: E402
from openfeature.telemetry import TelemetryAttribute, create_evaluation_event  # noqa: E402

from paddle_flags.openfeature import PaddleFlagsProvider  # noqa: E402

WAIT = 30  # seconds, at most, for what another thread does


class Color(enum.Enum):
    RED = 1
    BLUE = 2


@pytest.fixture
def client() -> Iterator[OpenFeatureClient]:
    api.set_provider_and_wait(PaddleFlagsProvider())
    yield api.get_client()
    api.shutdown()


def evaluate(client: OpenFeatureClient, kind: str, name: str, default: Any) -> Any:
    """Evaluate a flag, and check that the async function gives the same."""
    found = getattr(client, f"get_{kind}_details")(name, default)
    assert asyncio.run(getattr(client, f"get_{kind}_details_async")(name, default)) == found
    value = getattr(client, f"get_{kind}_value")(name, default)
    assert value == found.value
    assert type(value) is type(found.value)
    return found


# ---- Values ----

SCALARS = {
    "boolean": [(False, True, "true"), (True, False, "false")],
    "string": [("bye", "hi", None), ("hi", "", None)],
    "integer": [(1, 10, "10"), (1, 0, "0")],
    "float": [(0.1, 0.5, "0.5"), (0.1, 0.0, "0.0")],
}


@pytest.mark.parametrize(("kind", "case"), [(k, c) for k, cases in SCALARS.items() for c in cases])
def test_a_flag_has_its_value_with_its_key_variant_and_reason(client, name, kind, case):
    default, value, variant = case
    pf.define(name, value, "Any")
    found = evaluate(client, kind, name, default)
    assert found.value == value
    assert type(found.value) is type(value)
    assert (found.flag_key, found.variant, found.reason) == (name, variant, Reason.STATIC)
    assert (found.error_code, found.error_message) == (None, None)


STRUCTURES = [
    ([], []),
    ([1, 2], [1, 2]),
    (["a,b", "c"], ["a,b", "c"]),
    ([0.5], [0.5]),
    ([True, False], [True, False]),
    ([Path("tmp")], ["tmp"]),
    ({"a": 1, "b": 2}, {"a": 1, "b": 2}),
    ({"on": True}, {"on": True}),
    ({"day": dt.date(2026, 1, 31)}, {"day": "2026-01-31"}),
]


@pytest.mark.parametrize(("value", "plain"), STRUCTURES)
def test_lists_and_dicts_are_objects_of_plain_values(client, name, value, plain):
    pf.define(name, value, "Any", **({} if value else {"type": list[str]}))
    found = evaluate(client, "object", name, {"other": 1})
    assert (found.value, found.variant, found.reason) == (plain, None, Reason.STATIC)
    found.value.clear()  # it is the reader's own
    assert client.get_object_value(name, {}) == plain


def test_a_type_that_parses_json_makes_objects_of_any_depth(client, name):
    value = {"show": True, "title": "Pictures", "sizes": [1, {"wide": 0.5, "high": None}]}
    pf.define(name, value, "Template", type=pf.Type(json.loads, json.dumps))
    found = evaluate(client, "object", name, {"other": 1})
    assert (found.value, found.reason) == (value, Reason.STATIC)
    found.value["sizes"].clear()
    assert client.get_object_value(name, {}) == value
    pairs = pf.Type(lambda text: {"pairs": tuple(zip(text[::2], text[1::2]))}, lambda _: "abcd")
    pf.define(f"{name}_pairs", {"pairs": ()}, "Pairs", type=pairs)
    found = evaluate(client, "object", f"{name}_pairs", {})
    assert found.value == {"pairs": [["a", "b"], ["c", "d"]]}
    assert client.get_string_value(name, "") == json.dumps(value)
    pf.FLAGS[name].set_from_string("3")
    assert evaluate(client, "object", name, {}).error_code is ErrorCode.TYPE_MISMATCH


def test_a_quantity_is_a_number_and_an_object_with_its_unit(client, name):
    pf.define(name, 1024, "Size", unit="bytes")
    assert evaluate(client, "integer", name, 1).value == 1024
    assert evaluate(client, "object", name, {}).value == {"value": 1024, "unit": "bytes"}
    pf.define(f"{name}_wait", dt.timedelta(seconds=90), "Wait")
    assert evaluate(client, "float", f"{name}_wait", 0.1).value == 90.0
    wait = evaluate(client, "object", f"{name}_wait", {}).value
    assert wait == {"value": 90.0, "unit": "seconds"}


def test_types_of_python_are_their_text(client, name):
    pf.define(name, Color.RED, "Color")
    found = evaluate(client, "string", name, "none")
    assert (found.value, found.variant) == ("RED", "RED")
    pf.define(f"{name}_day", dt.date(2026, 1, 31), "Day")
    assert evaluate(client, "string", f"{name}_day", "").value == "2026-01-31"


def test_an_optional_flag_without_a_value_has_the_default_of_the_call(client, name):
    flag = pf.define(name, None, "Level", type=int)
    found = evaluate(client, "integer", name, 7)
    assert (found.value, found.variant, found.reason) == (7, None, Reason.DEFAULT)
    assert found.error_code is None
    wrong = evaluate(client, "string", name, "x")
    assert (wrong.value, wrong.error_code) == ("x", ErrorCode.TYPE_MISMATCH)
    flag.value = 3
    found = evaluate(client, "integer", name, 7)
    assert (found.value, found.reason) == (3, Reason.STATIC)


def test_an_alias_and_a_hyphen_find_the_flag(client, name):
    pf.define(name, 3, "Level", aliases=[f"{name}_short"])
    assert client.get_integer_value(name.replace("_", "-"), 1) == 3
    assert client.get_integer_value(f"{name}_short", 1) == 3


def test_a_scoped_value_is_that_of_the_thread_or_task_that_asks(client, name):
    pf.define(name, 3, "Level", scoped=True)

    @pf.scoped({name: 5})
    async def ask() -> Any:
        return await client.get_integer_details_async(name, 1)

    with pf.scoped({name: 4}):
        here = client.get_integer_details(name, 1)
        # Not in this context, which a free-threaded Python would hand on.
        there = run_in_thread(lambda: Context().run(client.get_integer_details, name, 1))
    assert (here.value, here.reason) == (4, Reason.TARGETING_MATCH)
    assert (there.value, there.reason) == (3, Reason.STATIC)
    task = asyncio.run(ask())
    assert (task.value, task.reason) == (5, Reason.TARGETING_MATCH)


def run_in_thread(function: Any) -> Any:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join(WAIT)
    return found[0]


def test_the_metadata_say_where_the_value_comes_from(client, name):
    flag = pf.define(name, 3, "Level")
    found = dict(client.get_integer_details(name, 1).flag_metadata)
    found.pop("revision", None)  # a test before this one has served flags
    assert found == {"source": "default", "type": "int64", "module": __name__, "place": flag.place}
    flag.value = 4
    found = client.get_integer_details(name, 1).flag_metadata
    assert found["source"] == "run time"
    assert found["place"].startswith(f"{__file__}:")
    assert all(isinstance(value, (bool, str, int, float)) for value in found.values())


def test_the_context_changes_nothing(client, name):
    pf.define(name, 3, "Level")
    context = EvaluationContext("user", {"email": "x@example.org", name: 9})
    assert client.get_integer_value(name, 1, context) == 3


# ---- Refusals ----


@pytest.mark.parametrize("kind", ["boolean", "string", "integer", "float", "object"])
def test_a_flag_of_another_type_is_a_mismatch_that_names_its_type(client, name, kind):
    defaults = {"boolean": True, "string": "x", "integer": 1, "float": 0.1, "object": {"a": 1}}
    values = {"boolean": True, "string": "hi", "integer": 10, "float": 0.5, "object": [1, 2]}
    types = {"boolean": "bool", "string": "string", "integer": "int64", "float": "double"}
    for other, value in values.items():
        if other == kind:
            continue
        pf.define(f"{name}_{other}", value, "Any")
        found = evaluate(client, kind, f"{name}_{other}", defaults[kind])
        assert (found.value, found.reason) == (defaults[kind], Reason.ERROR)
        assert found.error_code is ErrorCode.TYPE_MISMATCH
        assert found.error_message == f"{name}_{other} is {types.get(other, 'a list of int64')}"
        assert found.variant is None


def test_an_unknown_flag_is_not_found_and_the_nearest_is_named(client, name):
    pf.define(f"{name}_level", 3, "Level")
    found = evaluate(client, "integer", f"{name}_levl", 7)
    assert (found.value, found.reason) == (7, Reason.ERROR)
    assert found.error_code is ErrorCode.FLAG_NOT_FOUND
    assert f"did you mean '{name}_level'?" in found.error_message


@pytest.mark.parametrize("key", ["", "a\0b", "\udc80", "x" * 100_000, "--name", "a b"])
def test_a_key_that_names_nothing_is_an_error_and_no_exception(client, key):
    found = evaluate(client, "integer", key, 7)
    assert (found.value, found.reason) == (7, Reason.ERROR)
    assert found.error_code in (ErrorCode.FLAG_NOT_FOUND, ErrorCode.GENERAL)


def test_a_sensitive_flag_is_refused_without_its_value(client, name):
    flag = pf.define(name, "", "Token", sensitive=True)
    flag.value = "s3cret"
    found = evaluate(client, "string", name, "none")
    assert (found.value, found.error_code) == ("none", ErrorCode.GENERAL)
    assert "sensitive" in found.error_message
    assert "s3cret" not in repr(found)
    numbers = evaluate(client, "integer", name, 1)
    assert (numbers.value, numbers.error_code) == (1, ErrorCode.GENERAL)


def test_a_flag_that_was_undefined_is_not_found(client, name):
    flag = pf.define(name, 3, "Level")
    assert client.get_integer_value(name, 1) == 3
    pf.undefine(flag)
    assert evaluate(client, "integer", name, 1).error_code is ErrorCode.FLAG_NOT_FOUND


# ---- The provider's life ----


@pytest.fixture
def changes(client: OpenFeatureClient) -> Iterator[queue.Queue[EventDetails]]:
    seen: queue.Queue[EventDetails] = queue.Queue()
    client.add_handler(ProviderEvent.PROVIDER_CONFIGURATION_CHANGED, seen.put)
    yield seen
    client.remove_handler(ProviderEvent.PROVIDER_CONFIGURATION_CHANGED, seen.put)


def test_the_provider_has_a_name_and_is_ready(client):
    assert client.provider.get_metadata().name == "paddle_flags"
    assert client.provider.get_provider_hooks() == []
    assert client.get_provider_status() is ProviderStatus.READY


def test_a_change_of_any_flag_is_an_event_that_names_it(changes, name):
    flag = pf.define(name, 3, "Level")
    flag.value = 4
    seen = changes.get(timeout=WAIT)
    assert (seen.provider_name, seen.flags_changed) == ("paddle_flags", [name])
    flag.value = 4  # no change
    other = pf.define(f"{name}_other", "a", "Late")
    other.value = "b"
    assert changes.get(timeout=WAIT).flags_changed == [f"{name}_other"]


def test_a_handler_reads_the_new_value(client, name):
    flag = pf.define(name, 3, "Level")
    seen: queue.Queue[int] = queue.Queue()

    def read(_: EventDetails) -> None:
        seen.put(client.get_integer_value(name, 1))

    client.add_handler(ProviderEvent.PROVIDER_CONFIGURATION_CHANGED, read)
    flag.value = 5
    assert seen.get(timeout=WAIT) == 5
    client.remove_handler(ProviderEvent.PROVIDER_CONFIGURATION_CHANGED, read)


def test_a_change_of_a_sensitive_flag_is_no_event(changes, name):
    secret = pf.define(f"{name}_secret", "", "Token", sensitive=True)
    flag = pf.define(name, 3, "Level")
    secret.value = "s3cret"
    flag.value = 4
    assert changes.get(timeout=WAIT).flags_changed == [name]


def test_no_event_comes_after_the_shutdown_and_the_provider_may_begin_again(name):
    flag = pf.define(name, 3, "Level")
    provider = PaddleFlagsProvider()
    seen: list[Any] = []
    provider.attach(lambda _, event, details: seen.append((event, details.flags_changed)))
    provider.initialize(EvaluationContext())
    provider.initialize(EvaluationContext())
    flag.value = 4
    assert seen == [(ProviderEvent.PROVIDER_CONFIGURATION_CHANGED, [name])]
    provider.shutdown()
    provider.shutdown()
    flag.value = 5
    assert len(seen) == 1
    assert provider.resolve_integer_details(name, 1).value == 5
    provider.initialize(EvaluationContext())
    provider.detach()
    flag.value = 6
    provider.attach(lambda *_: seen.append("again"))
    flag.value = 7
    assert seen[1:] == ["again"]
    provider.shutdown()


def test_a_provider_that_the_api_has_shut_down_may_be_registered_again(client, name):
    flag = pf.define(name, 3, "Level")
    provider = client.provider
    api.shutdown()
    flag.value = 4
    assert client.get_integer_value(name, 1) == 1  # by the SDK's own provider
    api.set_provider_and_wait(provider)
    seen: queue.Queue[EventDetails] = queue.Queue()
    client.add_handler(ProviderEvent.PROVIDER_CONFIGURATION_CHANGED, seen.put)
    flag.value = 5
    assert client.get_integer_value(name, 1) == 5
    assert seen.get(timeout=WAIT).flags_changed == [name]


def test_one_provider_serves_several_domains(name):
    flag = pf.define(name, 3, "Level")
    provider = PaddleFlagsProvider()
    for domain in ("a", "b"):
        api.set_provider_and_wait(provider, domain)
    seen: queue.Queue[EventDetails] = queue.Queue()
    api.get_client("a").add_handler(ProviderEvent.PROVIDER_CONFIGURATION_CHANGED, seen.put)
    flag.value = 4
    assert seen.get(timeout=WAIT).flags_changed == [name]
    assert api.get_client("b").get_integer_value(name, 1) == 4
    api.shutdown()


class Recorder(Hook):
    """Keeps what the SDK gives to hooks."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.stages: list[str] = []

    def before(self, hook_context: HookContext, hints: Any) -> None:
        self.stages.append("before")

    def after(
        self, hook_context: HookContext, details: FlagEvaluationDetails[Any], hints: Any
    ) -> None:
        self.stages.append("after")

    def error(self, hook_context: HookContext, exception: Exception, hints: Any) -> None:
        self.stages.append(f"error {type(exception).__name__}")

    def finally_after(
        self, hook_context: HookContext, details: FlagEvaluationDetails[Any], hints: Any
    ) -> None:
        self.events.append(create_evaluation_event(hook_context, details))


def test_hooks_and_telemetry_see_what_was_evaluated(client, name):
    pf.define(name, 3, "Level")
    hook = Recorder()
    client.add_hooks([hook])
    client.get_integer_value(name, 1)
    client.get_string_value(name, "x")
    client.get_integer_value(f"{name}_none", 1)
    errors = ["before", "error TypeMismatchError", "before", "error FlagNotFoundError"]
    assert hook.stages == ["before", "after", *errors]
    first, second, _ = (event.attributes for event in hook.events)
    assert first[TelemetryAttribute.KEY] == name
    assert first[TelemetryAttribute.VARIANT] == "3"
    assert first[TelemetryAttribute.EVALUATION_REASON] == "static"
    assert first[TelemetryAttribute.PROVIDER_NAME] == "paddle_flags"
    assert second[TelemetryAttribute.ERROR_TYPE] == "type_mismatch"


AT_EXIT = """
import atexit, threading
import paddle_flags as pf
flag = pf.define("level", 1, "Level")
flag.watch(print).remove()  # watchers end after what is registered now
atexit.register(lambda: setattr(pf.FLAGS, "level", 3))  # runs after the SDK's own
from openfeature import api
from openfeature.event import ProviderEvent
from paddle_flags.openfeature import PaddleFlagsProvider
api.set_provider_and_wait(PaddleFlagsProvider())
api.add_handler(ProviderEvent.PROVIDER_CONFIGURATION_CHANGED, lambda d: print(d.flags_changed))
flag.value = 2
"""


def test_a_change_while_the_interpreter_ends_is_quiet():
    ended = run(sys.executable, "-c", AT_EXIT)
    assert (ended.stdout, ended.stderr) == ("['level']\n", "")


def test_without_the_sdk_the_message_says_what_to_install():
    blocked = "import sys; sys.modules['openfeature.event'] = None; import paddle_flags.openfeature"
    ended = run(sys.executable, "-c", blocked, check=False)
    assert format_install_command("openfeature") in ended.stderr


def test_importing_the_package_does_not_import_the_sdk():
    code = "import sys, paddle_flags; print('openfeature' in sys.modules)"
    assert run(sys.executable, "-c", code).stdout == "False\n"
