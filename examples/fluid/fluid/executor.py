"""Scopes and executors of the native runtime, for Python."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from fluid import native

if TYPE_CHECKING:
    from fluid.program import Operator, Program

DTYPES = {"f32": np.dtype(np.float32), "f64": np.dtype(np.float64)}
NAMES = {dtype: name for name, dtype in DTYPES.items()}


class FluidError(Exception):
    """An operator can't run, or failed."""


class NotFiniteError(FluidError):
    """Found by check_nan_inf."""

    def __init__(self, error: native.Error, operator: Operator) -> None:
        super().__init__(error.message.decode())
        self.op: int = error.op
        self.operator = operator
        self.variable: str = error.variable.decode()
        self.index: tuple[int, int] = (error.row, error.column)


class Scope:
    """Variables by name. A scope of a scope finds its variables too."""

    def __init__(self, parent: Scope | None = None) -> None:
        self._runtime = native.runtime()
        self._parent = parent  # lives as long
        self.handle: int | None = self._runtime.scope_new(parent.handle if parent else None)

    def new_scope(self) -> Scope:
        return Scope(self)

    def close(self) -> None:
        """End this scope and those within."""
        if self.handle is not None:
            self._runtime.scope_free(self.handle)
            self.handle = None

    def __enter__(self) -> Scope:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __contains__(self, name: str) -> bool:
        return bool(self._runtime.scope_find(self.handle, name.encode(), native.Tensor()))

    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        """A copy of a variable of this scope or of one around it."""
        tensor = native.Tensor()
        if not self._runtime.scope_find(self.handle, name.encode(), tensor):
            raise KeyError(f"{name}: no such variable")
        return _view(tensor).copy()

    def __setitem__(self, name: str, value: np.ndarray[Any, Any]) -> None:
        """Make or replace a variable of this very scope."""
        tensor, error = native.Tensor(), native.Error()
        dtype = NAMES.get(value.dtype, value.dtype.name).encode()
        if not self._runtime.scope_var(
            self.handle, name.encode(), dtype, *value.shape, tensor, error
        ):
            raise FluidError(error.message.decode())
        _view(tensor)[:] = value


def _view(tensor: native.Tensor) -> np.ndarray[Any, Any]:
    dtype = DTYPES["f64" if tensor.is_f64 else "f32"]
    count = tensor.rows * tensor.columns
    memory = (ctypes.c_char * (count * dtype.itemsize)).from_address(tensor.data)
    return np.frombuffer(memory, dtype).reshape(tensor.rows, tensor.columns)


Hosts = dict[str, Callable[["Operator", Scope], None]]  # run operators, by their type


class Executor:
    """Runs a block of a program. Kernels are found when it is made, and chosen while it runs."""

    def __init__(
        self, program: Program, block: int = 0, hosts: Hosts | None = None, library: str = ""
    ) -> None:
        self._runtime = native.runtime(*([library] if library else []))
        self._ops = program.blocks[block].ops
        self._hosts = hosts or {}
        self._raised: Exception | None = None
        self._scope: Scope | None = None  # of the run
        self._host = native.Host(self._run_in_python)
        self._program = self._describe(program)
        error = native.Error()
        hosted = " ".join(self._hosts).encode()
        self._handle = self._runtime.executor_new(self._program, block, hosted, self._host, error)
        if not self._handle:
            raise FluidError(error.message.decode())

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._runtime.executor_free(self._handle)
        if getattr(self, "_program", None):
            self._runtime.program_free(self._program)

    def _describe(self, program: Program) -> int:
        handle: int = self._runtime.program_new()
        for block in program.blocks:
            parent = -1 if block.parent is None else block.parent.index
            self._runtime.program_block(handle, parent)
            for each in block.vars.values():
                name, dtype = each.name.encode(), each.dtype.encode()
                self._runtime.program_var(
                    handle, block.index, name, dtype, *each.shape, each.persistable
                )
            for op in block.ops:
                names = [name.encode() for name in (*op.outputs.values(), *op.inputs.values())]
                values = list(op.attributes.values())
                self._runtime.program_op(
                    *(handle, block.index, op.type.encode(), op.place.encode()),
                    *((ctypes.c_char_p * len(names))(*names), len(op.outputs), len(op.inputs)),
                    *((ctypes.c_double * len(values))(*values), len(values)),
                )
        return handle

    def _run_in_python(self, op: int, _: int) -> bool:
        try:
            self._hosts[self._ops[op].type](self._ops[op], self._scope)
        except Exception as raised:  # noqa: BLE001 - it passes through native code
            self._raised = raised
            return False
        return True

    def run(self, scope: Scope, batch: int = 0) -> None:
        """Run the operators in order; variables of the batch are made in this very scope."""
        error = native.Error()
        self._scope = scope
        if self._runtime.executor_run(self._handle, scope.handle, batch, error):
            return
        if error.not_finite:
            raise NotFiniteError(error, self._ops[error.op])
        if error.of_host and self._raised:
            raise self._raised
        raise FluidError(error.message.decode())

    def run_batch(
        self, scope: Scope, feed: dict[str, np.ndarray[Any, Any]], fetch: list[str]
    ) -> list[np.ndarray[Any, Any]]:
        """Feed variables to a scope of this run, run, and return some of its variables."""
        with scope.new_scope() as local:
            for name, value in feed.items():
                local[name] = value
            self.run(local, len(next(iter(feed.values()))))
            return [local[name] for name in fetch]
