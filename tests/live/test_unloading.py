"""Clients and plugins that are unloaded: what clients have changed, and what is said of it."""

from __future__ import annotations

import pytest
from serving import script as program
from support import build_plugin, write

PLUGIN = """
#include <pd_flags.h>
PD_DEFINE_int64(plug_level, 3, "A level", .runtime = true);
PD_DEFINE_string(plug_name, "x", "A name", .runtime = true);
"""
# Freed memory is overwritten, so that whoever still reads it fails.
ENVIRONMENT = {"MALLOC_PERTURB_": "165", "PYTHONFAULTHANDLER": "1"}


@pytest.fixture
def plugin(tmp_path):
    return build_plugin(tmp_path / "plug.so", write(tmp_path / "plug.c", PLUGIN))


def printed(tmp_path, text, plugin):
    with program(tmp_path, text, str(plugin), **ENVIRONMENT) as made:
        output, _ = made.communicate(timeout=120)
    assert made.returncode == 0
    return output.splitlines()


UNLOADED_MEANWHILE = """
from paddle_flags.live import Client

plugin = pf.load_plugin(sys.argv[1])
armed = []
own = pf.define("own", 1, runtime=True)

@pf.validator(own)
def unload(value):
    if armed:
        armed.pop().unload()
    return True

with pf.serve() as server:
    client = Client(server.address)
    client.change({"own": 2})
    client.change({"plug_level": 5, "plug_name": "n", "own": 3})
    armed.append(plugin)
    try:
        client.undo()
    except pf.FlagError as error:
        for each in error.errors:
            print(each)
    print("plug.so" in open("/proc/self/maps").read())
    print(own.value, client.changes()[-1]["state"])
"""


def test_an_undo_names_the_flags_of_a_plugin_that_a_validator_has_unloaded(tmp_path, plugin):
    assert printed(tmp_path, UNLOADED_MEANWHILE, plugin) == [
        "plug_level: the module that defined it has been unloaded",
        "plug_name: the module that defined it has been unloaded",
        "False",
        "3 kept",
    ]


RACE = """
import threading
from paddle_flags.live import Client

pf.define("own", 1, runtime=True)
loads = 1000

def load():
    for _ in range(loads):
        pf.load_plugin(sys.argv[1]).unload()

def change(address):
    client = Client(address)
    asks = [
        lambda: client.change({"plug_level": 5, "plug_name": "t", "own": 2}, duration=0.05),
        lambda: client.change({"plug_name": "p", "own": 3}),
        lambda: client.undo(),
        lambda: client.change({"plug_name": None, "plug_level": None}),
        lambda: client.undo(),
        lambda: client.flags(),
        lambda: client.changes(),
    ]
    while loader.is_alive():
        for ask in asks:
            try:
                ask()
            except pf.FlagError:
                pass

with pf.serve() as server:
    loader = threading.Thread(target=load)
    clients = [threading.Thread(target=change, args=[server.address]) for _ in range(3)]
    loader.start()
    for each in clients:
        each.start()
    for each in [loader, *clients]:
        each.join()
    client = Client(server.address)
    client.change({"own": None})
    print(client.flag("own")["value"])
"""


@pytest.mark.extended
def test_clients_change_flags_while_their_plugin_is_loaded_and_unloaded(tmp_path, plugin):
    assert printed(tmp_path, RACE, plugin) == ["1"]
