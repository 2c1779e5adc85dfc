"""Native plugins: shared libraries that define flags."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import Any, Self

from paddle_flags._core.flag import Flag, flag_of
from paddle_flags._core.frames import hides_internal_frames
from paddle_flags._core.registry import all_flags
from paddle_flags._core.status import (
    ErrorList,
    address_of,
    check_status,
    get_info,
    iterate_c_handles,
    new_error,
    quote_value,
    raise_deferred,
    to_argument,
    to_text,
)
from paddle_flags._fast import load_module, unload_module
from paddle_flags._native import ffi, lib
from paddle_flags.errors import (
    FlagArgumentError,
    FlagError,
    FlagTypeError,
    PluginValueError,
    UndefinedFlagError,
)


@hides_internal_frames
class Plugin:
    """A shared library that `load_plugin` has loaded. Any thread may use it.

    As a context manager, it is unloaded at the end of the `with` block.
    """

    __slots__ = ("__weakref__", "_handle", "_loaded", "_namespace", "_path")

    def __init__(self) -> None:
        raise TypeError("cannot create a Plugin: use load_plugin()")

    _handle: Any
    _loaded: bool
    _namespace: str
    _path: str

    def __repr__(self) -> str:
        state = f"{len(self.flags)} flags" if self._loaded else "unloaded"
        return f"<Plugin {self._path}: {state}>"

    @property
    def path(self) -> str:
        """The path of the library, as the system's loader reports it."""
        return self._path

    @property
    def namespace(self) -> str:
        """The namespace of its flags, which are named `<namespace>.<name>`, or `""`."""
        return self._namespace

    @property
    def loaded(self) -> bool:
        """Whether it has not been unloaded with `unload`."""
        return self._loaded

    @property
    def flags(self) -> dict[str, Flag[Any]]:
        """The flags that it defines, by name, in the order of its source; none after `unload`."""
        found: dict[str, Flag[Any]] = {}
        handle = ffi.new("pd_flag **")
        index = 0
        while self._loaded and (
            lib.pd_module_get_flag(self._handle, index, handle, ffi.NULL) == lib.PD_OK
        ):
            with suppress(UndefinedFlagError):  # it may leave, on another thread
                flag = flag_of(handle[0])
                found[flag.name] = flag
            index += 1
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._loaded:
            self.unload()

    def unload(self) -> bool:
        """Undo one `load_plugin`; return whether the library has left the process.

        It does not leave if it was also loaded elsewhere (ctypes never closes a library),
        or if it has the copy of paddle_flags that hosts the registry. If it leaves, its
        flags become undefined; their Flag objects work again once the library is loaded
        again. Make sure that no native code is running in the library and that nothing
        points into it: the process would crash. Raises FlagArgumentError if this object
        was unloaded before. Destructors of the library run with the GIL held.
        """
        if not self._loaded:
            raise FlagArgumentError(f"{self._path}: is already unloaded")
        err = new_error()
        check_status(unload_module(address_of(self._handle), address_of(err)), err)
        self._loaded = False
        # Asked before hooks run below, which may load the library again.
        has_left = not _module_info(self._handle).present
        raise_deferred(has_left)
        return has_left


def _module_info(handle: Any) -> Any:
    return get_info("pd_module_info", lib.pd_module_get_info, handle)


def _make_plugin(handle: Any) -> Plugin:
    plugin = object.__new__(Plugin)
    info = _module_info(handle)
    plugin._handle = handle
    plugin._path = to_text(info.path)
    plugin._namespace = to_text(info.name_space)
    plugin._loaded = True
    return plugin


@hides_internal_frames
def load_plugin(path: str | os.PathLike[str], *, namespace: str = "") -> Plugin:
    """Load a shared library and add its flags to the registry.

        load_plugin("libalpha.so")
        load_plugin("libbeta.so", namespace="beta")  # its flags are beta.<name>

    `path` is the path of a file, relative to the current directory; no other directory
    is searched. A namespace lets libraries with flags of the same name be loaded
    together. A library without flags may be loaded too.

    Raises PluginLoadError if the file cannot be loaded, and FlagConflictError or another
    FlagError if one of its definitions is refused; `errors` has all errors. The library
    is closed again then, and none of its flags are defined. Raises PluginValueError if a
    value from the environment or a pending value of one of its flags is rejected: the
    library stays loaded, as the exception's `plugin`, and that flag has its default.

    Any thread may call this. Constructors of the library run with the GIL held.
    """
    return load_plugin_with_remedy(
        path, namespace, 'load_plugin({path!r}, namespace="{namespace}")'
    )


# "beta=libbeta.so" for a plugin in a namespace; a path has no such beginning.
_IN_NAMESPACE = re.compile(r"([A-Za-z_][\w.-]*)=(.+)")


def split_plugin_argument(plugin: str) -> tuple[str, str]:
    """Return namespace and path of FILE or NAMESPACE=FILE."""
    # A file whose own name has an = is that file.
    parts = None if os.path.exists(plugin) else _IN_NAMESPACE.fullmatch(plugin)
    return (parts[1], parts[2]) if parts else ("", plugin)


def load_plugin_with_remedy(path: str | os.PathLike[str], namespace: str, remedy: str) -> Plugin:
    """Load a library; errors write a call with a namespace in the form of `remedy`."""
    try:
        file = os.fsencode(path)
    except TypeError:
        raise FlagTypeError(
            f"path: {quote_value(path)}: expected str, bytes or a path, not {type(path).__name__}"
        ) from None
    if b"\0" in file:
        message = f"path: {quote_value(path)}: contains a NUL character, expected a path"
        raise FlagArgumentError(message)
    handle = ffi.new("pd_module **")
    err = new_error()
    errors = ErrorList()
    name_space = to_argument("namespace", namespace)
    status = load_module(file, name_space, *map(address_of, (errors.pointer, handle, err)))
    # A rejected value leaves the library loaded: then there are both a plugin and an error.
    plugin = _make_plugin(handle[0]) if handle[0] else None
    if status == lib.PD_OK and plugin:
        raise_deferred(plugin)
        return plugin
    if plugin is None:
        refusal = errors.to_exception(err)
        _add_searched_folder(refusal, file)
        if not namespace:
            _suggest_namespace(refusal, os.fspath(path), remedy)
        raise refusal
    refused = errors.to_exception(err, PluginValueError)
    assert isinstance(refused, PluginValueError)  # for the type checkers
    refused.plugin = plugin
    raise refused


def _add_searched_folder(refusal: FlagError, file: bytes) -> None:
    """Add to the error about a file that isn't there in which folder it was looked for."""
    if refusal.status == "PD_ERR_LOAD" and not os.path.isabs(file) and not os.path.lexists(file):
        folder = quote_value(os.path.dirname(os.path.abspath(os.fsdecode(file))))
        why = "as a path is relative to the current directory"
        refusal.args = (f"{refusal}; looked in {folder} only, {why}",)
        refusal._errors = ()


# ---- Conflicts ----


def _suggest_namespace(refusal: FlagError, path: str, remedy: str) -> None:
    """Add to the first conflict how the library can be loaded all the same."""
    conflicts = [each for each in refusal.errors if each.status == "PD_ERR_CONFLICT"]
    namespace = _find_free_namespace(path)
    if any(_is_within_library(str(each)) for each in conflicts):
        return
    if not conflicts or not namespace or _is_loaded(path):
        return
    call = remedy.format(path=path, namespace=namespace)
    conflicts[0].args = (f"{conflicts[0]}; to give its flags other names, use {call}",)
    refusal.args = ("\n".join(map(str, refusal.errors)),)


def _is_within_library(conflict: str) -> bool:
    """Return whether both definitions are in one library: a namespace doesn't separate them."""
    first, _, refused = conflict.partition("; refused: ")
    if not refused:  # one definition has the name twice
        return True
    return f"{refused}:".partition(f" in {first.rpartition(' in ')[2]}:")[1] != ""


def _find_free_namespace(path: str) -> str:
    """Return a namespace for the flags of a library, made of its name; "" if there is none."""
    stem = os.path.basename(os.fsdecode(path)).partition(".")[0].removeprefix("lib")
    namespace = "".join(c if c.isascii() and c.isalnum() else "_" for c in stem)
    names = [flag.name for flag in all_flags()]
    is_taken = any(name.startswith(namespace + ".") for name in names)
    longest = max(map(len, names), default=0)
    is_long = len(namespace) + 1 + longest > lib.PD_NAME_MAX
    return "" if is_taken or is_long or not namespace or namespace[0].isdigit() else namespace


def _is_loaded(path: str) -> bool:
    """Return whether the library is there, in a namespace: then no other can be chosen."""
    for handle in iterate_c_handles(lib.pd_module_next):
        with suppress(OSError):
            info = _module_info(handle)
            if info.present and os.path.samefile(to_text(info.path), path):
                return True
    return False
