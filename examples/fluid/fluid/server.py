"""A parameter server: the operator `listen_and_serve`."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import grpc
import numpy as np

from fluid.executor import Array, Executor, FluidError, Scope
from fluid.messages import MESSAGES, METHODS, SERVICE, VoidMessage, packed, unpacked

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fluid.program import Program

POLL = 0.5  # seconds between looks whether a trainer that waits is still there


class ParameterServer:
    """Slices of parameters, and the gradients of the batch that trainers are sending.

    A batch ends when all trainers wait: the server then runs its optimizers once. Its parameters
    go to a file after each batch, so that it can start again where it was.
    """

    def __init__(
        self, program: Program, startup: Program, trainers: int, file: Path | None = None
    ) -> None:
        (op,) = (op for op in program.block.ops if op.type == "listen_and_serve")
        self._program = program
        self._trainers = trainers
        self._slices = op.python["slices"]
        self._gradients = {each.gradient.name: each for each in self._slices}
        self._optimize = Executor(program, op.python["block"])
        self._changed = threading.Condition()
        self._received: dict[tuple[int, str], Array] = {}
        self._waiting: set[int] = set()
        self._file = file
        self.scope = Scope()
        self.step = 0  # batches that have ended
        Executor(startup).run(self.scope)
        if file and file.exists():
            self._load(file)

    def run(self, start: Callable[[], None]) -> None:
        """Run the program: `start` serves, and returns when the server is to end."""
        hosts = {"listen_and_serve": lambda *_: start()}
        Executor(self._program, hosts=hosts).run(self.scope)

    def SendVariable(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802, ANN401
        with self._changed:
            if request.name not in self._gradients:
                context.abort(grpc.StatusCode.NOT_FOUND, f"{request.name}: not a gradient of mine")
            if request.step == self.step:
                self._received[request.trainer, request.name] = unpacked(request)
        return VoidMessage()

    def Wait(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802, ANN401
        with self._changed:
            if request.step == self.step:
                own = {name for trainer, name in self._received if trainer == request.trainer}
                lacking = sorted(self._gradients.keys() - own)
                if lacking:  # this server has started again since they were sent
                    context.abort(grpc.StatusCode.FAILED_PRECONDITION, f"send {lacking} again")
                self._waiting.add(request.trainer)
                if len(self._waiting) == self._trainers:
                    self._end_batch(context)
            while request.step >= self.step and context.is_active():
                self._changed.wait(POLL)
        return VoidMessage()

    def GetVariable(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802, ANN401
        with self._changed:
            if request.name not in self.scope:
                context.abort(grpc.StatusCode.NOT_FOUND, f"{request.name}: no such variable")
            return packed(request.name, 0, self.step, self.scope[request.name])

    def _end_batch(self, context: grpc.ServicerContext) -> None:
        try:
            with self.scope.new_scope() as batch:
                for (trainer, name), value in self._received.items():
                    batch[self._gradients[name].sent_by(trainer)] = value
                self._optimize.run(batch)
        except FluidError as error:
            context.abort(grpc.StatusCode.INTERNAL, str(error))
        finally:
            self._received.clear()
            self._waiting.clear()
        self.step += 1
        if self._file:
            self._save(self._file)
        self._changed.notify_all()

    def _save(self, file: Path) -> None:
        """Replace the file at once: a server that is killed leaves the old or the new one."""
        values: Any = {each.variable.name: self.scope[each.variable.name] for each in self._slices}
        with file.with_suffix(".new").open("wb") as out:
            np.savez(out, step=self.step, **values)
        file.with_suffix(".new").replace(file)

    def _load(self, file: Path) -> None:
        with np.load(file) as saved:
            self.step = int(saved["step"])
            for each in self._slices:
                self.scope[each.variable.name] = saved[each.variable.name]


def serve(server: ParameterServer, endpoint: str) -> grpc.Server:
    """Start to answer on an endpoint; each trainer may wait in a thread of its own."""
    grpc_server = grpc.server(ThreadPoolExecutor(16), options=[("grpc.so_reuseport", 0)])
    handlers = {
        name: grpc.unary_unary_rpc_method_handler(
            getattr(server, name), MESSAGES[request].FromString, MESSAGES[answer].SerializeToString
        )
        for name, (request, answer) in METHODS.items()
    }
    generic = grpc.method_handlers_generic_handler(SERVICE, handlers)
    grpc_server.add_generic_rpc_handlers((generic,))
    if grpc_server.add_insecure_port(endpoint) == 0:
        raise OSError(f"{endpoint}: can't listen here")
    grpc_server.start()
    return grpc_server
