"""Metrics about flags, as parsers of Prometheus and OpenMetrics read them."""

from __future__ import annotations

import ctypes
import gc
import math
import os
import re
import subprocess
import sys
import threading
import urllib.request
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
from support import build_plugin, in_url, package, run, tool, write

import paddle_flags as pf
from paddle_flags.extend import format_install_command

prometheus_client = package("prometheus_client")

from prometheus_client import CollectorRegistry, generate_latest  # noqa: E402
from prometheus_client.openmetrics import exposition as openmetrics_exposition  # noqa: E402
from prometheus_client.openmetrics import parser as openmetrics_parser  # noqa: E402
from prometheus_client.parser import text_string_to_metric_families  # noqa: E402

from paddle_flags import metrics  # noqa: E402

KEY = b"a key of 16 bytes or more"


class Scraped:
    """The samples of one scrape, which both formats agree on."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.text = generate_latest(registry).decode()
        self.open = openmetrics_exposition.generate_latest(registry).decode()
        self.samples = self._read(text_string_to_metric_families(self.text))
        families = list(openmetrics_parser.text_string_to_metric_families(self.open))
        self.types = {family.name: family.type for family in families}
        # Not by themselves: flags of other tests may be NaN.
        assert {key: repr(value) for key, value in self._read(families).items()} == {
            key: repr(value) for key, value in self.samples.items()
        }

    @staticmethod
    def _read(families: Any) -> dict[Any, float]:
        return {
            (sample.name, *sample.labels.values()): sample.value
            for family in families
            for sample in family.samples
        }

    def __getitem__(self, key: Any) -> float:
        return self.samples[key if isinstance(key, tuple) else (key,)]

    def values(self) -> dict[str, float]:
        return {key[1]: v for key, v in self.samples.items() if key[0] == "paddle_flags_value"}


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry(auto_describe=True)


@pytest.fixture
def collector(registry: CollectorRegistry, name: str) -> Iterator[metrics.Collector]:
    made = metrics.register(registry, values=[f"{name}*"], key=KEY)
    yield made
    made.close()


@pytest.mark.usefixtures("collector")
def test_each_metric_has_its_type_and_follows_the_rules_for_names(registry, name):
    pf.define(name, 3, "Level")
    scraped = Scraped(registry)
    served = {"paddle_flags_revision": "gauge", "paddle_flags_temporary_changes": "gauge"}
    types = {
        "paddle_flags": "info",
        "paddle_flags_defined": "gauge",
        "paddle_flags_changed": "gauge",
        "paddle_flags_digest": "gauge",
        "paddle_flags_changes": "counter",
        "paddle_flags_value": "gauge",
    }
    assert scraped.types in (types, {**types, **served})
    assert scraped["paddle_flags_info", pf.__version__] == 1


@pytest.mark.usefixtures("collector")
def test_flags_and_those_not_by_default_are_counted(registry, name):
    before = Scraped(registry)
    flag = pf.define(name, 3, "Level")
    flag.value = 4
    pf.define(f"{name}_other", 3, "Level")
    after = Scraped(registry)
    assert after["paddle_flags_defined"] == before["paddle_flags_defined"] + 2
    assert after["paddle_flags_defined"] == len(pf.FLAGS)
    assert after["paddle_flags_changed"] == before["paddle_flags_changed"] + 1
    flag.reset()
    assert Scraped(registry)["paddle_flags_changed"] == before["paddle_flags_changed"]


@pytest.mark.usefixtures("collector")
def test_changes_are_counted_by_their_source(registry, name):
    flag = pf.define(name, 3, "Level")
    key = "paddle_flags_changes_total"
    before = Scraped(registry)
    flag.value = 4
    flag.value = 4  # no change
    with flag.override(5):
        pass
    with pytest.warns(pf.FlagWarning, match="=6 has no effect"):
        pf.parse(["program", f"--{name}=6"], exit=False)
    flag.value = 7
    after = Scraped(registry)
    gained = {k[1]: v - before[k] for k, v in after.samples.items() if k[0] == key}
    # The end of the override brings back the value from run time.
    assert gained["run time"] == 3
    assert gained["override"] == 1
    sources = {"default", "file", "environment", "argv", "fleet", "run time", "live", "override"}
    assert set(gained) == sources


@pytest.mark.usefixtures("collector")
def test_changes_on_other_threads_are_all_counted(registry, name):
    flags = [pf.define(f"{name}_{i}", 0, "Level") for i in range(4)]

    def change(flag: pf.Flag[int]) -> None:
        for value in range(1, 501):
            flag.value = value

    before = Scraped(registry)["paddle_flags_changes_total", "run time"]
    threads = [threading.Thread(target=change, args=(flag,)) for flag in flags]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Scraped(registry)["paddle_flags_changes_total", "run time"] == before + 2000


SOURCE = """
#include <pd_flags/assignable.hpp>
PD__ASSIGNABLE(int32, FLAGS_counted_level, "counted_level", , , 3, "Level")
extern "C" void raise_level() { FLAGS_counted_level = 7; }
"""


def test_a_value_that_native_code_assigns_is_exported_as_it_is_now(registry, tmp_path):
    source = write(tmp_path / "counted.cpp", SOURCE)
    path = build_plugin(tmp_path / "counted.so", source, flags=("-std=c++11",))
    plugin = pf.load_plugin(path)
    collector = metrics.register(registry, values="counted-*")
    before = Scraped(registry)
    assert before.values() == {"counted_level": 3}
    ctypes.CDLL(str(path)).raise_level()
    after = Scraped(registry)
    assert after.values() == {"counted_level": 7}
    assert after["paddle_flags_digest"] != before["paddle_flags_digest"]
    assert after["paddle_flags_changed"] == before["paddle_flags_changed"] + 1
    plugin.unload()
    collector.close()


# ---- Values ----


@pytest.mark.usefixtures("collector")
def test_numbers_and_bools_are_exported_if_a_pattern_matches(registry, name):
    pf.define(f"{name}_int", 3, "Any")
    pf.define(f"{name}_on", True, "Any")
    pf.define(f"{name}_off", False, "Any")
    pf.define(f"{name}_double", 0.5, "Any")
    pf.define(f"{name}_inf", math.inf, "Any")
    pf.define(f"{name}_bytes", 1024, "Any", unit="bytes")
    pf.define(f"{name}_text", "x", "Any")
    pf.define(f"{name}_list", [1], "Any")
    pf.define(f"{name}_none", None, "Any", type=int)
    pf.define(f"other_{name}", 3, "Any")
    found = {key[len(name) + 1 :]: v for key, v in Scraped(registry).values().items()}
    assert found == {"int": 3, "on": 1, "off": 0, "double": 0.5, "inf": math.inf, "bytes": 1024}


def test_without_patterns_no_value_is_exported(registry, name):
    pf.define(name, 3, "Level")
    collector = metrics.register(registry)
    scraped = Scraped(registry)
    assert scraped.values() == {}
    assert name not in scraped.text
    collector.close()


def test_the_values_of_at_most_so_many_flags_are_exported(registry, name):
    for number in range(metrics.MOST_VALUES + 5):
        pf.define(f"{name}_{number:04}", number, "Level")
    collector = metrics.register(registry, values=["*"])
    values = Scraped(registry).values()
    assert len(values) == metrics.MOST_VALUES
    collector.close()


def test_without_values_a_scrape_has_as_many_lines_for_many_flags(registry, name):
    collector = metrics.register(registry)
    before = Scraped(registry).text.count("\n")
    for number in range(2000):
        pf.define(f"{name}_{number}", number, "Level")
    assert Scraped(registry).text.count("\n") == before
    collector.close()


@pytest.mark.usefixtures("collector")
def test_a_scoped_value_is_not_that_of_the_process(registry, name):
    pf.define(name, 3, "Level", scoped=True)
    before = Scraped(registry)
    with pf.scoped({name: 5}):
        inside = Scraped(registry)
    assert inside.values() == {name: 3}
    assert inside.samples == before.samples


@pytest.mark.usefixtures("collector")
def test_a_sensitive_value_is_nowhere(registry, name):
    number = pf.define(name, 0, "Pin", sensitive=True)
    number.value = 918273645
    text = pf.define(f"{name}_token", "", "Token", sensitive=True)
    text.value = "s3cret"
    scraped = Scraped(registry)
    for seen in (scraped.text, scraped.open):
        assert name not in seen
        assert "918273645" not in seen
        assert "s3cret" not in seen


# ---- The digest ----


def digest(registry: CollectorRegistry) -> int:
    value = Scraped(registry)["paddle_flags_digest"]
    assert value == int(value)
    assert 0 <= value < 2**48
    return int(value)


@pytest.mark.usefixtures("collector")
def test_the_digest_is_of_the_values_and_comes_back_with_them(registry, name):
    flag = pf.define(name, 3, "Level")
    first = digest(registry)
    assert digest(registry) == first
    flag.value = 4
    assert digest(registry) != first
    flag.value = 3  # from another source: the same value
    assert digest(registry) == first


@pytest.mark.usefixtures("collector")
@pytest.mark.parametrize(("one", "two"), [("a", "b"), ("", "\n"), ("ab\n", "ab"), ("é", "è")])
def test_different_texts_have_different_digests(registry, name, one, two):
    flag = pf.define(name, one, "Text")
    other = pf.define(f"{name}_x", two, "Text")
    first = digest(registry)
    flag.value, other.value = two, one
    assert digest(registry) != first


@pytest.mark.usefixtures("collector")
def test_no_value_differs_from_an_empty_one(registry, name):
    flag = pf.define(name, None, "Text", type=str)
    first = digest(registry)
    flag.value = ""
    assert digest(registry) != first


def secret_digests(registry: CollectorRegistry, name: str, key: bytes | None) -> tuple[int, int]:
    """The digests with two secrets."""
    flag = pf.FLAGS[name]
    collector = metrics.register(registry, key=key)
    found = []
    for secret in ("s3cret", "other"):
        flag.value = secret
        found.append(digest(registry))
    collector.close()
    registry.unregister(collector)
    return found[0], found[1]


def test_sensitive_values_are_in_the_digest_only_by_a_key(registry, name):
    pf.define(name, "", "Token", sensitive=True)
    one, two = secret_digests(registry, name, None)
    assert one == two
    with_key = secret_digests(registry, name, KEY)
    with_other = secret_digests(registry, name, KEY[::-1])
    assert len({one, *with_key, *with_other}) == 5


PROGRAM = """
import sys
import paddle_flags as pf, paddle_flags.metrics
from prometheus_client import CollectorRegistry
names = sys.argv[1].split(",")
for name in names:
    pf.define(name, len(name), "Any")
pf.define("text", "é\\n\\0"[:2], "Any")
pf.define("ratio", 0.1, "Any")
registry = CollectorRegistry()
paddle_flags.metrics.register(registry)
print(registry.get_sample_value("paddle_flags_digest"))
"""


@pytest.mark.extended  # takes a second or more
def test_processes_with_the_same_values_have_the_same_digest():
    def of(names: str, seed: str) -> str:
        env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"}
        return run(sys.executable, "-c", PROGRAM, names, env=env).stdout

    assert of("a,bb,ccc", "1") == of("ccc,a,bb", "2")
    assert of("a,bb,ccc", "1") != of("a,bb,cccc", "1")
    assert of("a,bb,ccc", "1") != of("a,bb,ddd", "1")  # with the same values


# ---- Registering ----


def test_the_default_registry_serves_it_over_http(name):
    pf.define(name, 3, "Level")
    server, thread = prometheus_client.start_http_server(0, "127.0.0.1")
    collector = metrics.register(values=[name])
    try:
        url = f"http://127.0.0.1:{server.server_port}/metrics"
        with urllib.request.urlopen(url, timeout=30) as answer:
            text = answer.read().decode()
        assert f'paddle_flags_value{{name="{name}"}} 3.0\n' in text
    finally:
        prometheus_client.REGISTRY.unregister(collector)
        collector.close()
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_second_collector_in_one_registry_is_refused(registry):
    collector = metrics.register(registry)
    with pytest.raises(ValueError, match="Duplicated"):
        metrics.register(registry)
    collector.close()


def test_a_closed_collector_counts_no_more(registry, name):
    flag = pf.define(name, 3, "Level")
    collector = metrics.register(registry)
    flag.value = 4
    collector.close()
    flag.value = 5
    assert Scraped(registry)["paddle_flags_changes_total", "run time"] == 1


def test_a_collector_that_nobody_has_is_gone(name):
    flag = pf.define(name, 3, "Level")
    gone = weakref.ref(metrics.Collector())
    gc.collect()
    assert gone() is None
    flag.value = 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"values": [3]}, "values: 3: expected the name of a flag, not int"),
        ({"key": "text of 16 chars"}, "key: expected bytes, not str"),
        ({"key": b"short"}, "key: expected at least 16 bytes, not 5"),
    ],
)
def test_wrong_arguments_are_refused(registry, arguments, message):
    with pytest.raises(pf.FlagError, match=re.escape(message)):
        metrics.register(registry, **arguments)
    assert "paddle_flags" not in generate_latest(registry).decode()


def test_without_prometheus_client_the_message_says_what_to_install():
    blocked = "import sys; sys.modules['prometheus_client'] = None; import paddle_flags.metrics"
    ended = run(sys.executable, "-c", blocked, check=False)
    assert format_install_command("metrics") in ended.stderr


@pytest.mark.extended
def fleet_metrics(registry: CollectorRegistry) -> dict[str, float]:
    head = "paddle_flags_fleet_"
    found = Scraped(registry).samples
    return {each[0][len(head) :]: value for each, value in found.items() if head in each[0]}


@pytest.mark.usefixtures("collector")
def test_a_process_that_is_no_member_of_a_fleet_has_no_metrics_of_one(registry):
    assert not fleet_metrics(registry)


FLEET = """
import sys, time
import paddle_flags as pf
import paddle_flags.metrics
from prometheus_client import REGISTRY

pf.define("level", 6, runtime=True)
pf.parse([])
paddle_flags.metrics.register()
pf.fleet.join(sys.argv[1], role="trainer", rank=0)

def get(name):
    return REGISTRY.get_sample_value(f"paddle_flags_fleet_{name}")

def wait(name, value):
    end = time.monotonic() + 60
    while get(name) != value:
        assert time.monotonic() < end, (name, get(name))
        time.sleep(0.05)

began = time.monotonic()
assert get("revision") == 0
fleet = pf.fleet.Fleet(sys.argv[1])
fleet.set({"level": 5}, wait=60)
wait("revision", 2)  # the question, and the change
wait("members", 1)
wait("differing_flags", 0)
wait("members_with_problems", 0)
assert get("stale_seconds") == 0
store = pf.fleet.open_store(sys.argv[1])
[(document, _)] = store.members().values()
other = document.replace(b'"level":["5"', b'"level":["4"').replace(b"trainer-0", b"trainer-1")
assert other != document
store.announce("trainer-1", other, 60.0)
wait("members", 2)
wait("differing_flags", 1)
fleet.set({"level": "many"}, force=True)
wait("members_with_problems", 2)  # one has rejected it, and the other doesn't read
pf.fleet.leave()
assert get("revision") is None
print("done")
"""


def test_a_member_of_a_fleet_exports_revision_members_and_differences(tmp_path):
    run(sys.executable, "-c", FLEET, f"dir://{in_url(tmp_path)}/job")


STALE = """
import pathlib, sys, time
import paddle_flags as pf
import paddle_flags.metrics
from prometheus_client import REGISTRY

place = pathlib.Path(sys.argv[1])
paddle_flags.metrics.register()
pf.fleet.join(f"dir://{place}")
place.rename(place.with_name("away"))
place.write_text("no folder")
end = time.monotonic() + 60
while not REGISTRY.get_sample_value("paddle_flags_fleet_stale_seconds"):
    assert time.monotonic() < end
    time.sleep(0.05)
print("done")
"""


def test_an_engine_that_is_out_of_reach_is_told_as_seconds(tmp_path):
    run(sys.executable, "-c", STALE, tmp_path / "job")


@pytest.mark.usefixtures("collector")
def test_promtool_finds_nothing_to_say(registry, name):
    promtool = tool("promtool", "prometheus")
    pf.define(name, 3, "Level").value = 4
    ended = subprocess.run(
        [promtool, "check", "metrics"],
        input=generate_latest(registry),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")
