"""Scopes and executors of the native runtime, for Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from fluid.native import ffi, runtime

if TYPE_CHECKING:
    from fluid.program import Operator, Program

Array = np.ndarray[Any, Any]
DTYPES: dict[str, Any] = {"f32": np.dtype(np.float32), "f64": np.dtype(np.float64)}
NAMES = {dtype: name for name, dtype in DTYPES.items()}


class FluidError(Exception):
    """An operator can't run, or failed."""


class NotFiniteError(FluidError):
    """Found by check_nan_inf."""

    def __init__(self, error: Any, operator: Operator) -> None:  # noqa: ANN401 - cffi's
        super().__init__(ffi.string(error.message).decode())
        self.op: int = error.op
        self.operator = operator
        self.variable: str = ffi.string(error.variable).decode()
        self.index: tuple[int, int] = (error.row, error.column)


class Scope:
    """Variables by name. A scope of a scope finds its variables too."""

    def __init__(self, parent: Scope | None = None) -> None:
        self._parent = parent  # lives as long
        self.handle: Any = runtime().fluid_scope_new(parent.handle if parent else ffi.NULL)

    def new_scope(self) -> Scope:
        return Scope(self)

    def close(self) -> None:
        """End this scope and those within."""
        runtime().fluid_scope_free(self.handle)
        self.handle = ffi.NULL

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __contains__(self, name: str) -> bool:
        return bool(runtime().fluid_scope_find(self.handle, name.encode(), _new("tensor")))

    def __getitem__(self, name: str) -> Array:
        """A copy of a variable of this scope or of one around it."""
        tensor = _new("tensor")
        if not runtime().fluid_scope_find(self.handle, name.encode(), tensor):
            raise KeyError(f"{name}: no such variable")
        return _view(tensor).copy()

    def __setitem__(self, name: str, value: Array) -> None:
        """Make or replace a variable of this very scope."""
        tensor, error = _new("tensor"), _new("error")
        of = name.encode(), NAMES.get(value.dtype, value.dtype.name).encode(), *value.shape
        if not runtime().fluid_scope_var(self.handle, *of, tensor, error):
            raise FluidError(ffi.string(error.message).decode())
        _view(tensor)[:] = value


def _new(kind: str) -> Any:  # noqa: ANN401
    return ffi.new(f"fluid_{kind} *")


def _view(tensor: Any) -> Array:  # noqa: ANN401
    dtype = DTYPES["f64" if tensor.is_f64 else "f32"]
    memory = ffi.buffer(tensor.data, tensor.rows * tensor.columns * dtype.itemsize)
    view: Array = np.frombuffer(memory, dtype)
    return view.reshape(tensor.rows, tensor.columns)


Hosts = dict[str, Callable[["Operator", Scope], None]]  # run operators, by their type


class Executor:
    """Runs a block of a program. Kernels are found when it is made, and chosen while it runs."""

    def __init__(
        self, program: Program, block: int = 0, hosts: Hosts | None = None, library: str = ""
    ) -> None:
        self._runtime = runtime(*([library] if library else []))
        self._ops = program.blocks[block].ops
        self._hosts = hosts or {}
        self._raised: Exception | None = None
        self._scope: Any = None  # of the run
        self._host = ffi.callback("fluid_host", self._run_in_python)
        text, hosted, error = program.serialized(), " ".join(self._hosts), _new("error")
        self._handle = self._runtime.fluid_executor_new(
            text.encode(), block, hosted.encode(), self._host, error
        )
        if not self._handle:
            raise FluidError(ffi.string(error.message).decode())
        self._handle = ffi.gc(self._handle, self._runtime.fluid_executor_free)

    def _run_in_python(self, op: int) -> int:
        try:
            self._hosts[self._ops[op].type](self._ops[op], self._scope)
        except Exception as raised:  # it passes through native code
            self._raised = raised
            return 0
        return 1

    def run(self, scope: Scope, batch: int = 0) -> None:
        """Run the operators in order; variables of the batch are made in this very scope."""
        error, self._scope, self._raised = _new("error"), scope, None
        if self._runtime.fluid_executor_run(self._handle, scope.handle, batch, error):
            return
        if error.not_finite:
            raise NotFiniteError(error, self._ops[error.op])
        raise self._raised or FluidError(ffi.string(error.message).decode())

    def run_batch(self, scope: Scope, feed: dict[str, Array], fetch: list[str]) -> list[Array]:
        """Feed variables to a scope of this run, run, and return some of its variables."""
        with scope.new_scope() as local:
            for name, value in feed.items():
                local[name] = value
            self.run(local, len(next(iter(feed.values()))))
            return [local[name] for name in fetch]
