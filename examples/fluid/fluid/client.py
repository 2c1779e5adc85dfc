"""A trainer's side of RPC: what the operator `send` does."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

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
    from collections.abc import Callable

    from fluid.executor import Array
    from fluid.transpiler import Slice

Code = grpc.StatusCode
# The server is starting, has ended, or has started again and lacks what was sent before.
PASSING = {Code.UNAVAILABLE, Code.FAILED_PRECONDITION, Code.CANCELLED}
# Look for a server that is gone every half second, and not ever more seldom.
WAITS = {"initial": 100, "min": 100, "max": 500}
OPTIONS = [(f"grpc.{name}_reconnect_backoff_ms", value) for name, value in WAITS.items()]


class Stub:
    """One server's methods."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self.channel = grpc.insecure_channel(endpoint, options=OPTIONS)
        for name, (_, answer) in METHODS.items():
            path, parse = f"/{SERVICE}/{name}", MESSAGES[answer].FromString
            write = MESSAGES[METHODS[name][0]].SerializeToString
            setattr(self, name, self.channel.unary_unary(path, write, parse))


class Client:
    def __init__(self, trainer: int, slices: list[Slice], *, patience: float = 30) -> None:
        self._trainer = trainer
        self._patience = patience  # seconds that a server may be gone
        self._slices = slices
        self._stubs = [Stub(endpoint) for endpoint in sorted({s.endpoint for s in slices})]
        self._threads = ThreadPoolExecutor(len(self._stubs))
        self.lost: Callable[[str], None] = lambda _: None  # called when a server is gone

    def close(self) -> None:
        self._threads.shutdown()
        for stub in self._stubs:
            stub.channel.close()

    def exchange(self, step: int, gradients: dict[str, Array]) -> dict[str, Array]:
        """Send the gradients of a step to their servers, and return the parameters after it."""
        found: dict[str, Array] = {}
        exchanges = [
            self._threads.submit(self._with_patience, stub, step, gradients) for stub in self._stubs
        ]
        for each in exchanges:
            found.update(each.result())
        return found

    def _with_patience(
        self, stub: Stub, step: int, gradients: dict[str, Array]
    ) -> dict[str, Array]:
        """All of a step again, until the server answers: it takes no gradient twice."""
        end, told = time.monotonic() + self._patience, False
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

    def _exchange(self, stub: Any, step: int, gradients: dict[str, Array]) -> dict[str, Array]:  # noqa: ANN401
        own = [each for each in self._slices if each.endpoint == stub.endpoint]
        for name in (each.gradient.name for each in own):
            stub.SendVariable(packed(name, self._trainer, step, gradients[name]))
        stub.Wait(VoidMessage(trainer=self._trainer, step=step))
        names = [each.variable.name for each in own]
        return {name: unpacked(stub.GetVariable(VariableMessage(name=name))) for name in names}
