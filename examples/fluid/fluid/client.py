"""A trainer's side of RPC: the operator `send`."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Callable

import grpc

from fluid.messages import (
    MESSAGES,
    METHODS,
    SERVICE,
    VariableMessage,
    VoidMessage,
    packed,
    unpacked,
)

if TYPE_CHECKING:
    import numpy as np

    from fluid.transpiler import Slice

# The server is starting, has ended, or has started again and lacks what was sent before.
PASSING = {
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.CANCELLED,
}
OPTIONS = [  # look for a server that is gone after a moment, and not ever more seldom
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 500),
    ("grpc.min_reconnect_backoff_ms", 100),
]


class Stub:
    """One server's methods."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self.channel = grpc.insecure_channel(endpoint, options=OPTIONS)
        for name, (_, answer) in METHODS.items():
            method = self.channel.unary_unary(
                f"/{SERVICE}/{name}",
                request_serializer=lambda message: message.SerializeToString(),
                response_deserializer=MESSAGES[answer].FromString,
            )
            setattr(self, name, method)


class Client:
    def __init__(self, trainer: int, slices: list[Slice], *, patience: float = 30) -> None:
        self._trainer = trainer
        self._patience = patience  # seconds that a server may be gone
        self._slices: dict[str, list[Slice]] = {}
        for each in slices:
            self._slices.setdefault(each.endpoint, []).append(each)
        self._stubs = {endpoint: Stub(endpoint) for endpoint in self._slices}
        self._threads = ThreadPoolExecutor(len(self._stubs))
        self.lost: Callable[[str], None] = lambda _: None  # called when a server is gone

    def close(self) -> None:
        self._threads.shutdown()
        for stub in self._stubs.values():
            stub.channel.close()

    def exchange(
        self, step: int, gradients: dict[str, np.ndarray[Any, Any]]
    ) -> dict[str, np.ndarray[Any, Any]]:
        """Send the gradients of a step to their servers, and return the parameters after it."""

        def one(stub: Stub) -> dict[str, np.ndarray[Any, Any]]:
            return self._with_patience(stub, step, gradients)

        found: dict[str, np.ndarray[Any, Any]] = {}
        for parameters in self._threads.map(one, self._stubs.values()):
            found.update(parameters)
        return found

    def _with_patience(
        self, stub: Stub, step: int, gradients: dict[str, np.ndarray[Any, Any]]
    ) -> dict[str, np.ndarray[Any, Any]]:
        """All of a step again, until the server answers: it takes no gradient twice."""
        end = time.monotonic() + self._patience
        told = False
        while True:
            try:
                return self._exchange(stub, step, gradients)
            except grpc.RpcError as error:
                if error.code() not in PASSING or time.monotonic() > end:
                    raise
                if not told:
                    self.lost(stub.endpoint)
                told = True
                time.sleep(0.1)

    def _exchange(
        self,
        stub: Any,
        step: int,
        gradients: dict[str, np.ndarray[Any, Any]],
    ) -> dict[str, np.ndarray[Any, Any]]:
        own = self._slices[stub.endpoint]
        for each in own:
            name = each.gradient.name
            stub.SendVariable(packed(name, self._trainer, step, gradients[name]))
        stub.Wait(VoidMessage(trainer=self._trainer, step=step))
        names = [each.variable.name for each in own]
        return {name: unpacked(stub.GetVariable(VariableMessage(name=name))) for name in names}
