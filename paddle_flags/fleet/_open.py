"""Open the store that an address names. Engines are imported when they are used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, NamedTuple

from paddle_flags._core.status import shown
from paddle_flags.errors import FlagTypeError
from paddle_flags.fleet._store import FleetError, Store
from paddle_flags.fleet._url import nearest, split

if TYPE_CHECKING:
    from typing_extensions import TypeIs

TIMEOUT = 5.0  # seconds for an engine to answer


class Engine(NamedTuple):
    """Where an engine is implemented."""

    module: str
    name: str  # of its class
    extra: str | None = None  # of paddle_flags, if the engine needs other packages


_HERE = "paddle_flags.fleet"
_ETCD = Engine("_etcd", "EtcdStore", "etcd")
_DASK = Engine("dask", "DaskStore", "dask")
ENGINES = {
    "configmap": Engine("_configmap", "ConfigMapStore"),
    "dask": _DASK,
    "dasks": _DASK,
    "dir": Engine("_directory", "DirectoryStore"),
    "etcd": _ETCD,
    "etcds": _ETCD,
    "ray": Engine("ray", "RayStore", "ray"),
    "tcpstore": Engine("_tcpstore", "TcpStore", "torch"),
}


def is_address(url: str | Store) -> TypeIs[str]:
    """Return whether something is to be opened, or is a store already."""
    return not hasattr(url, "keep_alive")


def open_store(url: str, *, timeout: float = TIMEOUT, create: bool = True) -> Store:
    """Connect to the fleet that `url` names, such as `dir:///mnt/job42`.

    Calls of the store raise `UnreachableError` if the engine has not answered after `timeout`
    seconds. With `create=False`, a folder without a fleet raises FleetError.
    """
    if not isinstance(url, str):
        message = f"url: {shown(url)}: expected the address of a fleet, such as dir:///mnt/job42"
        raise FlagTypeError(message)
    place = split(url)
    engine = ENGINES.get(place.scheme)
    if engine is None:
        place.refuse(f"unknown scheme {place.scheme}{nearest(place.scheme, ENGINES)}")
    try:
        module = importlib.import_module(f"{_HERE}.{engine.module}")
    except ImportError as error:
        if not engine.extra or (error.name or "").startswith(_HERE):
            raise
        message = (
            f"{place.text}: the engine {place.scheme} needs the package {error.name}: "
            f"pip install 'paddle_flags[{engine.extra}]'"
        )
        raise FleetError(message) from error
    store: Store = getattr(module, engine.name)(place, timeout)
    if not create:
        store.check_exists()
    return store
