"""Implementations of operations that are Python functions."""

from __future__ import annotations

import os
from _thread import RLock
from typing import Any, NamedTuple

from paddle_flags._core.assign import caller_place
from paddle_flags._core.frames import hides_internal_frames
from paddle_flags._core.status import (
    call_checked,
    check_status,
    get_info,
    iterate_c_handles,
    new_error,
    new_struct,
    queue_warning,
    quote_value,
    raise_deferred,
    store_callback_error,
    to_argument,
    to_text,
)
from paddle_flags._fast import call_holding_environment
from paddle_flags._native import ffi, lib
from paddle_flags._op.codes import (
    Signature,
    count_parameters,
    parse_signature,
    signature_of_function,
)
from paddle_flags.errors import (
    FlagArgumentError,
    FlagConflictError,
    FlagError,
    FlagTypeError,
    FlagWarning,
)

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeVar

    F = TypeVar("F", bound=Callable[..., Any])


class PythonImpl(NamedTuple):
    """A Python function that implements an operation."""

    number: int
    function: Callable[..., Any]
    signature: Signature
    identity: tuple[str, str, str]
    """Where it is from: the same again replaces it."""


# While a thread has it, C and the dictionaries agree. Also those who choose what to call take it.
lock = RLock()
by_number: dict[int, PythonImpl] = {}
_by_key: dict[tuple[str, str, str], PythonImpl] = {}  # operation, signature, name
_classes: dict[tuple[str, str], tuple[tuple[type, ...], ...]] = {}  # operation, signature
_kept: list[Any] = []  # for good: another thread may be asking what has left


def iterate_signatures(start: Any = None) -> Iterator[tuple[Any, Any]]:
    """Yield each signature of all operations, from `start` on, as pd_op * and its pd_op_info *."""
    for handle in iterate_c_handles(lib.pd_op_next, start):
        yield handle, get_info("pd_op_info", lib.pd_op_get_info, handle)


def iter_implemented_signatures(name: bytes) -> Iterator[tuple[Any, Any]]:
    """Yield each signature of an operation that something implements."""
    first = ffi.new("pd_op **")
    if lib.pd_op_find(name, ffi.NULL, first, ffi.NULL) != lib.PD_OK:
        return
    for handle, info in iterate_signatures(first[0]):
        if ffi.string(info.name) != name:
            return
        if info.impls:
            yield handle, info


def get_parameter_classes(operation: str, signature: str) -> tuple[tuple[type, ...], ...]:
    """Return the classes of the parameters that the latest implementation annotates."""
    return _classes.get((operation, signature), ())


def _find_signature(operation: str, name: str, function: Callable[..., Any]) -> Signature:
    """Return the signature of a function that is registered without one."""
    found = []
    count = count_parameters(function) if name != "native" else None
    if count is not None:
        for _, info in iter_implemented_signatures(operation.encode()):
            types = ffi.string(ffi.cast("char *", info.types))
            each = Signature(to_text(info.signature), types)
            if len(each.parameters) == count:
                found.append(each)
    if len(found) > 1:
        texts = ", ".join(quote_value(each.text) for each in found)
        raise FlagArgumentError(
            f"operation '{operation}': implementation '{name}': several signatures take "
            f"{count} argument{'s' if count != 1 else ''}: expected signature=, one of {texts}"
        )
    return found[0] if found else signature_of_function(function)


def _locate_function(function: Callable[..., Any]) -> tuple[str, int]:
    code = getattr(function, "__code__", None)
    if code is None:
        file, line = caller_place(1)
        return os.fsdecode(file), line
    return code.co_filename, code.co_firstlineno


def _identity_of(function: Callable[..., Any]) -> tuple[str, str, str]:
    module, name = getattr(function, "__module__", ""), getattr(function, "__qualname__", "")
    return module or "", name or repr(function), _locate_function(function)[0]


def _make_usable_callback(usable: Callable[[], object]) -> Any:
    """Return a C function that asks the Python one."""

    def call_usable() -> Any:
        try:
            why = usable()
        except BaseException as error:  # the reason is shown
            why = f"usable() raised {type(error).__name__}: {error}"
            if not isinstance(error, Exception):
                store_callback_error(error)  # the function that has called C raises it
        if why is None or why is True:
            return ffi.NULL
        text = why if isinstance(why, str) else f"usable() returned {quote_value(why)}"
        _kept.append(ffi.new("char[]", text.replace("\0", " ").encode("utf-8", "replace")))
        return _kept[-1]

    callback = ffi.callback("const char *(*)(void)", call_usable)
    _kept.append(callback)
    return callback


def _register_in_c(
    operation: str,
    name: str,
    function: Callable[..., Any],
    signature: Signature,
    about: dict[str, Any],
) -> PythonImpl:
    file, line = _locate_function(function)
    kept: list[Any] = []

    def new_c_text(what: str, value: str) -> Any:
        kept.append(ffi.new("char[]", to_argument(what, value)))
        return kept[-1]

    def new_c_text_or_null(what: str, value: str) -> Any:
        return new_c_text(what, value) if value else ffi.NULL

    usable = about["usable"]
    of = ffi.new("pd_op_signature *")
    of.name, of.text = new_c_text("operation", operation), new_c_text("signature", signature.text)
    of.types = signature.codes + bytes(ffi.sizeof(of.types) - len(signature.codes))
    definition = new_struct("pd_op_def")
    definition.line, definition.file = line, new_c_text("file", file)
    definition.kind = lib.PD_KIND_OP if name == "native" else lib.PD_KIND_IMPL
    definition.name, definition.signature = new_c_text("name", name), of
    definition.choice.rank = about["rank"]
    definition.choice.usable = _make_usable_callback(usable) if usable else ffi.NULL
    definition.about.help = new_c_text_or_null("help", about["help"])
    definition.about.arrays = new_c_text_or_null("arrays", about["arrays"])
    err, out = new_error(), ffi.new("pd_impl *")
    status = call_holding_environment(lib.pd_impl_register, definition, out, err)
    if out[0] and status != lib.PD_OK:  # it is registered, and its flag has refused a value
        queue_warning(FlagWarning(to_text(err.message)))
    elif status != lib.PD_OK:
        check_status(status, err)
    return PythonImpl(out[0], function, signature, _identity_of(function))


def _record_impl(made: PythonImpl, key: tuple[str, str, str]) -> None:
    by_number[made.number] = _by_key[key] = made
    if made.signature.classes:
        _classes[key[:2]] = made.signature.classes


def _unregister(made: PythonImpl) -> None:
    call_checked(lib.pd_impl_unregister, made.number)
    by_number.pop(made.number, None)


def _register_or_replace(
    operation: str,
    name: str,
    function: Callable[..., Any],
    signature: Signature,
    about: dict[str, Any],
) -> None:
    """Register; the same function from the same place, as of a notebook's cell, replaces itself."""
    key = (operation, signature.text, name)
    former = _by_key.get(key)
    identity = _identity_of(function)
    if former and former.identity == identity:
        unregister_impl(operation, name, signature.text)
    elif former:
        raise FlagConflictError(
            f"operation '{operation}', {signature.text}: implementation '{name}' is already there, "
            f"{former.identity[1]}() of {former.identity[2]}; refused: {identity[1]}() of "
            f"{identity[2]}"
        )
    try:
        _record_impl(_register_in_c(operation, name, function, signature, about), key)
    except FlagError:
        if former and former.identity == identity:
            _record_impl(_register_in_c(operation, name, former.function, signature, about), key)
        raise


@hides_internal_frames
def impl(
    operation: str,
    name: str,
    *,
    signature: str | None = None,
    rank: int = 0,
    usable: Callable[[], str | None] | None = None,
    help: str = "",
    arrays: str = "",
) -> Callable[[F], F]:
    """Decorate a function that implements an operation for calls by `op`.

        @impl("matmul", "numpy", rank=50)
        def matmul(out, a, b): numpy.matmul(a, b, out=out)

    The flag `impl.<operation>` chooses by the name. The name `"native"` defines the operation, as
    PD_DEFINE_OP does in C, here with a signature that need not be one of C.

    `signature` is text as in C, `"double (double, int32_t)"`, or with `object` for what isn't of C.
    Without it, an implementation has the only signature of the operation with as many parameters;
    if there is none, its annotations say it: float is double, int is int64_t, str is
    ``const char *``, other classes are checked as by `isinstance`, and any object fits where
    nothing is said.

    `usable` is called once, before the implementation is first chosen, on any thread: it returns
    None, or why it can't run here. `arrays` is as in C, `"f32[m,n], f32[m,k]"`, for parameters of
    type ``DLTensor *``. The same function of the same module, defined again, replaces itself.

    Raises FlagConflictError if the operation has another implementation of that name, FlagTypeError
    if it has other signatures only, FlagNameError, FlagArgumentError.
    """
    if usable is not None and not callable(usable):
        raise FlagTypeError(f"usable: {quote_value(usable)}: expected a function")
    if isinstance(rank, bool) or not isinstance(rank, int) or not -(2**31) <= rank < 2**31:
        raise FlagTypeError(f"rank: {quote_value(rank)}: expected an int of 32 bits")
    about = {"rank": rank, "usable": usable, "help": help, "arrays": arrays}
    given = None if signature is None else parse_signature(signature)
    to_argument("operation", operation)
    to_argument("name", name)

    def decorate(function: F) -> F:
        if not callable(function):
            raise FlagTypeError(f"impl decorates functions: {quote_value(function)}")
        with lock:
            found = given or _find_signature(operation, name, function)
            _register_or_replace(operation, name, function, found, about)
        raise_deferred()
        return function

    return decorate


def unregister_impl(operation: str, name: str, signature: str | None = None) -> int:
    """Unregister the implementations in Python of a name; return how many there were."""
    with lock:
        keys = [
            key
            for key in _by_key
            if key[0] == operation and key[2] == name and signature in (None, key[1])
        ]
        for key in keys:
            _unregister(_by_key.pop(key))
        return len(keys)


def unregister_all() -> None:
    """Unregister everything: the interpreter ends, and C must not ask its functions any more."""
    with lock:
        for key in list(_by_key):
            lib.pd_impl_unregister(_by_key.pop(key).number, ffi.NULL)
        by_number.clear()
