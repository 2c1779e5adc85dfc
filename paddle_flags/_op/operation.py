"""Operations as objects: calls from Python, which pick a signature by the arguments."""

from __future__ import annotations

from atexit import register as register_exit
from contextlib import contextmanager
from typing import Any, NamedTuple, NoReturn

from paddle_flags._core.flag import Flag, flag_of
from paddle_flags._core.frames import hides_internal_frames
from paddle_flags._core.status import (
    address_of,
    call_and_raise_deferred,
    call_checked,
    get_info,
    new_struct,
    raise_deferred,
    to_argument,
    to_text,
)
from paddle_flags._fast import call_holding_environment, has_ended
from paddle_flags._native import ffi, lib
from paddle_flags._op import codes, converters
from paddle_flags._op.codes import Signature
from paddle_flags._op.python_impls import (
    by_number,
    get_parameter_classes,
    iter_implemented_signatures,
    iterate_signatures,
    lock,
    unregister_all,
    unregister_impl,
)
from paddle_flags._op.tensors import Array, check_arrays, is_tensor_parameter
from paddle_flags.errors import FlagArgumentError, FlagTypeError, UndefinedFlagError

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterator

_revision = lib.pd_op_revision() or ffi.new("uint64_t *")  # NULL if the host has no operations


class Implementation(NamedTuple):
    """One implementation of a signature of an operation."""

    name: str
    rank: int
    module: str
    """Path of the native module; "" of Python code."""
    file: str
    line: int
    """0 where unknown."""
    is_native: bool
    """It came with the definition of the operation."""
    is_python: bool
    chosen: bool
    """It runs when Python calls."""
    chosen_by_native: bool
    """It runs when native code calls, which never runs Python code."""
    why: str
    """What speaks for it or against it, such as "chosen"."""


class OpSignature(NamedTuple):
    """One signature of an operation."""

    text: str
    help: str
    arrays: str
    file: str
    """Of the definition; "" where unknown."""
    line: int
    impls: tuple[Implementation, ...]


class _Signature:
    """A signature, as calls need it. It imports the operation, which keeps its code loaded."""

    def __init__(self, handle: Any, info: Any) -> None:
        self.handle = handle
        self.number = 0  # of the import
        self.text = to_text(info.signature)
        self._operation = to_text(info.name)
        self._said = get_parameter_classes(self._operation, self.text)
        self.codes = ffi.string(ffi.cast("char *", info.types))
        self.scoped = bool(info.scoped)
        self.flag = info.flag
        self._slot = ffi.new("pd_scoped_slot *")
        self._returns = converters.make_result_converter(self.codes[0])
        self._is_of_c = codes.OBJECT not in self.codes
        parameters = Signature(self.text, self.codes).parameters
        self._classes = self._said or ((),) * len(parameters)
        self._arrays = [is_tensor_parameter(code, text) for code, text in parameters]
        self._constant = [code > codes.CONST_POINTER for code, _ in parameters]
        self._converters = [self._make_converter(i, code) for i, (code, _) in enumerate(parameters)]
        self._types = [code for code, _ in parameters]
        self._decided = [converters.is_decided_by_class(each) for each in self._classes]
        if self._is_of_c:
            self._register_native_import(info)
            names = [_format_c_type(each) for each in (self.codes[0], *self._types)]
            function = f"{names[0]}(*)({', '.join(names[1:]) or 'void'})"
            self._function_type = ffi.typeof(function)

    def _make_converter(self, index: int, code: int) -> Any:
        if self._arrays[index]:
            constant = self._constant[index]
            return lambda value: Array(value, constant=constant)
        if code == codes.OBJECT:
            return converters.make_object_converter(self._classes[index])
        return converters.make_argument_converter(code)

    def has_current_classes(self) -> bool:
        """Return whether the parameters have the same classes as when this was made."""
        return self._said == get_parameter_classes(self._operation, self.text)

    def _register_native_import(self, info: Any) -> None:
        of = ffi.new("pd_op_signature *", {"name": info.name, "text": info.signature})
        of.types = self.codes + bytes(ffi.sizeof(of.types) - len(self.codes))
        kept = ffi.new("char[]", b"python")
        definition = new_struct("pd_op_def")
        definition.kind, definition.scoped = lib.PD_KIND_OP_IMPORT, self.scoped
        definition.name, definition.signature = kept, of
        definition.slot = ffi.cast("void(**)(void)", self._slot)
        out = ffi.new("pd_impl *")
        call_checked(call_holding_environment, lib.pd_impl_register, definition, out)
        self.number = out[0]

    def unregister_native_import(self) -> None:
        """Nothing implements it any more."""
        if self.number:
            lib.pd_impl_unregister(self.number, ffi.NULL)

    # ---- Calls ----

    def convert(self, arguments: tuple[Any, ...]) -> list[Any]:
        """Return what the parameters get; raises Unfit."""
        if len(arguments) != len(self._converters):
            count = len(self._converters)
            message = f"takes {count} argument{'s' if count != 1 else ''}, not {len(arguments)}"
            raise converters.WrongType(message)
        converted = []
        for index, value in enumerate(arguments):
            try:
                converted.append(self._converters[index](value))
            except converters.Unfit as why:
                message = f"argument {index} {why}"
                raise type(why)(message) from None
        if any(self._arrays):
            check_arrays(self.handle, [each for each in converted if isinstance(each, Array)])
        return converted

    def find_chosen_impl(self) -> Any:
        """Return a pd_impl_info of what runs for this thread."""
        return get_info("pd_impl_info", lib.pd_op_choose, self.handle)

    def find_native_function(self) -> Any:
        """Return the native function that runs for this thread, or NULL."""
        slot = self._slot
        found = slot.find(slot) if slot.find else slot.function
        return ffi.cast(self._function_type, found) if found else ffi.NULL

    def call(self, function: Any, converted: list[Any]) -> Any:
        """Call a native function."""
        values = [
            ffi.cast("void *", each.address) if isinstance(each, Array) else each
            for each in converted
        ]
        result = function(*values)
        return self._returns(result) if self._returns else result

    def fits_by_type(self, arguments: tuple[Any, ...], is_python_impl: bool) -> bool:
        """Return whether arguments of these classes always fit, or cffi checks the rest."""
        return (is_python_impl or not self._returns) and all(
            each is True if code == codes.OBJECT else type(value) in _KINDS.get(code, ())
            for code, value, each in zip(self._types, arguments, self._decided)
        )

    def with_range_checks(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a Python function that also checks the ranges of its integers."""
        ranges = [converters.range_of_type(code) for code in self._types]
        if not any(ranges):
            return function
        checks = [(index, *each) for index, each in enumerate(ranges) if each]

        def call(*arguments: Any) -> Any:
            for index, low, high in checks:
                if not low <= arguments[index] <= high:
                    raise converters.OutOfRange
            return function(*arguments)

        return call


_KINDS: dict[int, tuple[type, ...]] = {
    **dict.fromkeys(range(codes.INT8, codes.UINT64 + 1), (int,)),
    codes.DOUBLE: (float, int),
    codes.BOOL: (bool,),
}


def _format_c_type(code: int) -> str:
    if code < codes.POINTER:
        return codes.C_NAMES[code]
    constant = "const " if code > codes.CONST_POINTER else ""
    return f"{constant}{codes.C_NAMES[code % codes.POINTER]} *"


@hides_internal_frames
class Op:
    """An operation, which `op` returns. Any thread may call it.

    A call runs the implementation that the flag `impl.<name>` chooses, native or of Python. The
    arguments pick the signature: the first that they fit, in the order of definition. Numbers must
    fit the type without loss of range; bool is no number. A pointer to numbers takes a buffer, such
    as an array of NumPy, `array.array` or a memoryview, of that item type, contiguous, and writable
    unless the pointer is const; ``const char *`` takes text too, and a pointer to a struct one of
    cffi. ``DLTensor *`` takes any array that exports DLPack, in memory of the CPU. Native code runs
    without the GIL.

    A call raises FlagTypeError, which says of each signature why the arguments don't fit it, and
    UndefinedFlagError if nothing implements the operation.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._encoded = to_argument("name", name)
        self._signatures: list[_Signature] = []
        self._known: dict[tuple[int, bool], _Signature] = {}
        self._plans: dict[tuple[type, ...], tuple[Any, bool]] = {}
        self._counts: Counter[str] | None = None
        self._seen = 0
        self._refresh_signatures()
        if not self._signatures:
            self._raise_not_defined()

    def _raise_not_defined(self) -> NoReturn:
        call_checked(lib.pd_op_find, self._encoded, ffi.NULL, ffi.new("pd_op **"))
        raise UndefinedFlagError(f"operation '{self._name}' is not defined")

    @property
    def name(self) -> str:
        """The name of the operation."""
        return self._name

    @property
    def flag(self) -> Flag[Any]:
        """The flag that chooses."""
        self._refresh_signatures()
        if not self._signatures:
            self._raise_not_defined()
        return flag_of(self._signatures[0].flag)

    @property
    def signatures(self) -> tuple[OpSignature, ...]:
        """What is defined, in the order in which calls try it, and what implements it."""
        self._refresh_signatures()
        return tuple(_describe_signature(each.handle) for each in self._signatures)

    def __repr__(self) -> str:
        """Return the name and the signatures."""
        texts = ", ".join(each.text for each in self._signatures)
        return f"<Op {self._name}: {texts}>"

    def __reduce__(self) -> tuple[Callable[[str], Op], tuple[str]]:
        """Pickle the name: another process has operations of its own."""
        return op, (self._name,)

    # ---- Calls ----

    def __call__(self, /, *arguments: Any) -> Any:
        """Call the implementation that is chosen."""
        if _revision[0] != self._seen:
            self._refresh_signatures()
        plan = self._plans.get(tuple(map(type, arguments)))
        if plan is None:
            return self._call(arguments)
        function, is_native = plan
        try:
            return function(*arguments)
        except OverflowError:
            if not is_native:
                raise
        except converters.OutOfRange:
            pass
        return self._call(arguments)

    def _call(self, arguments: tuple[Any, ...]) -> Any:
        """Pick the signature, call, and remember what needs no checks."""
        misses: list[converters.Unfit] = []
        signatures = self._signatures
        for each in signatures:
            try:
                converted = each.convert(arguments)
            except converters.Unfit as why:
                misses.append(why)
                continue
            by_type = all(isinstance(miss, converters.WrongType) for miss in misses)
            return self._call_signature(each, arguments, converted, by_type=by_type)
        if not misses:
            self._raise_not_defined()
        kinds = ", ".join(type(each).__name__ for each in arguments)
        lines = [
            f"*{index}: {_signature_with_place(each.handle)}: {why}"
            for index, (each, why) in enumerate(zip(signatures, misses))
        ]
        raise FlagTypeError(f"{self._name}(): no signature takes ({kinds}):\n" + "\n".join(lines))

    def _call_signature(
        self,
        signature: _Signature,
        arguments: tuple[Any, ...],
        converted: list[Any],
        *,
        by_type: bool,
    ) -> Any:
        """Call; `by_type` says that arguments of the same classes have no other signature."""
        plans = self._plans
        with lock:
            info = signature.find_chosen_impl()
            python_impl = by_number.get(info.number)
        raise_deferred()
        function = python_impl.function if python_impl else signature.find_native_function()
        if not function:  # its module is leaving
            if _revision[0] != self._seen:
                return self(*arguments)
            self._raise_not_defined()
        if self._counts is not None:
            self._counts[to_text(info.name)] += 1
        elif (
            by_type
            and not signature.scoped
            and signature.fits_by_type(arguments, bool(python_impl))
        ):
            plan = signature.with_range_checks(function) if python_impl else function
            plans[tuple(map(type, arguments))] = (plan, not python_impl)
        return function(*arguments) if python_impl else signature.call(function, converted)

    def _refresh_signatures(self) -> None:
        """Look up what is there; the imports of new signatures change the revision themselves."""
        with lock:
            seen = -1
            while seen != _revision[0]:
                seen = _revision[0]
                self._collect_signatures()
            self._plans = {}
            self._seen = seen
        raise_deferred()

    def _collect_signatures(self) -> None:
        found = {}
        for handle, info in iter_implemented_signatures(self._encoded):
            key = address_of(handle), bool(info.scoped)
            if key in self._known and not self._known[key].has_current_classes():
                self._known.pop(key).unregister_native_import()
            if key not in self._known:
                made = _Signature(handle, info)  # may ask what is usable, and so come back here
                if self._known.setdefault(key, made) is not made:
                    made.unregister_native_import()
            found[key] = self._known[key]
        for key in set(self._known) - set(found):
            self._known.pop(key).unregister_native_import()
        self._signatures = list(found.values())

    def _unregister_all_imports(self) -> None:
        """Forget what C holds of this: the interpreter ends."""
        with lock:
            for each in self._known.values():
                each.unregister_native_import()
            self._known, self._signatures, self._plans = {}, [], {}

    # ---- Counting, and implementations in Python ----

    @contextmanager
    def count_calls(self) -> Iterator[Counter[str]]:
        """Count the calls by Python, of all threads, by the name of the implementation.

        Native callers jump through a pointer, which nobody can count.
        """
        from collections import Counter

        if self._counts is not None:
            raise FlagArgumentError(f"{self._name}: its calls are being counted")
        counts: Counter[str] = Counter()
        self._counts = counts
        self._plans = {}
        try:
            yield counts
        finally:
            self._counts = None

    def remove(self, name: str) -> None:
        """Unregister the implementations in Python of a name."""
        if not unregister_impl(self._name, name):
            message = f"{self._name}: Python code has registered no implementation '{name}'"
            raise FlagArgumentError(message)
        raise_deferred()

    def check_again(self) -> None:
        """Ask every implementation again whether it can run here, and choose again."""
        self._refresh_signatures()
        for each in self._signatures:
            call_and_raise_deferred(lib.pd_op_check_again, each.handle)


def _signature_with_place(handle: Any) -> str:
    info = get_info("pd_op_info", lib.pd_op_get_info, handle)
    file = to_text(info.file).rpartition("/")[2]
    return to_text(info.signature) + (f" at {file}:{info.line}" if file else "")


def _describe_signature(handle: Any) -> OpSignature:
    info = get_info("pd_op_info", lib.pd_op_get_info, handle)
    chosen = new_struct("pd_impl_info")
    found = lib.pd_op_choose(handle, chosen, ffi.NULL) == lib.PD_OK
    index = chosen.index if found else info.impls
    impls = tuple(_describe_impl(handle, i, index) for i in range(info.impls))
    signature, help_, arrays, file = map(
        to_text, (info.signature, info.help, info.arrays, info.file)
    )
    return OpSignature(signature, help_, arrays, file, info.line, impls)


def _describe_impl(handle: Any, index: int, chosen: int) -> Implementation:
    info = get_info("pd_impl_info", lib.pd_op_get_impl, handle, index)
    by_python, by_native = index == chosen, bool(info.chosen)
    why = to_text(info.why)
    if by_python != by_native:
        why = f"chosen for calls by {'Python' if by_python else 'native code'}"
    return Implementation(
        to_text(info.name),
        info.rank,
        _module_path(info.module),
        to_text(info.file),
        info.line,
        bool(info.native),
        info.number in by_number,
        by_python,
        by_native,
        why,
    )


def _module_path(module: Any) -> str:
    if not module:
        return ""
    return to_text(get_info("pd_module_info", lib.pd_module_get_info, module).path)


_ops: dict[str, Op] = {}


@hides_internal_frames
def op(name: str) -> Op:
    """Return an operation by its name, the same object each time.

    Raises UndefinedFlagError, which names the nearest operation.
    """
    found = _ops.get(name)
    if found is None:
        found = _ops.setdefault(name, Op(name))
    return found


@register_exit
def _release_all_ops() -> None:
    if has_ended():  # the GIL is kept, and C may ask functions that take it
        return
    for each in list(_ops.values()):
        each._unregister_all_imports()
    unregister_all()


@hides_internal_frames
def ops() -> tuple[Op, ...]:
    """Return the operations that have an implementation, sorted by name."""
    names = {to_text(info.name) for _, info in iterate_signatures() if info.impls}
    return tuple(op(name) for name in sorted(names))
