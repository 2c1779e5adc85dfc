"""A host of the library's C functions, for modules and libraries that were built before.

    python host.py COMMAND ...

It does the same as tests/c/join_host.c, without a compiler: registry PATH, open MODES PATH,
close PATH, load PATH, unload PATH, call PATH SYMBOL, text PATH SYMBOL, set NAME VALUE, get NAME,
define NAME NUMBER, mapped PATH, modules, json. Each prints a line.
"""

from __future__ import annotations

import ctypes
import os
import sys
from typing import ClassVar


class Error(ctypes.Structure):
    """pd_error."""

    _fields_: ClassVar = [("status", ctypes.c_int), ("message", ctypes.c_char * 1020)]


class Help(ctypes.Structure):
    """pd_help."""

    _fields_: ClassVar = [
        ("size", ctypes.c_size_t),
        ("kind", ctypes.c_int),
        ("pattern", ctypes.c_char_p),
    ]


class FlagDef(ctypes.Structure):
    """pd_flag_def of an int64, up to its limits."""

    _fields_: ClassVar = [
        ("first", ctypes.c_uint8 * 16),
        ("name", ctypes.c_char_p),
        ("texts", ctypes.c_char_p * 7),
        ("default_value", ctypes.c_int64),
        ("limits", ctypes.c_int64 * 2),
    ]


class ReportOptions(ctypes.Structure):
    """pd_report_options, up to `color`."""

    _fields_: ClassVar = [
        ("size", ctypes.c_size_t),
        ("help", ctypes.POINTER(Help)),
        ("program", ctypes.c_char_p),
        ("usage", ctypes.c_char_p),
        ("version", ctypes.c_char_p),
        ("width", ctypes.c_uint32),
        ("color", ctypes.c_bool),
    ]


class ModuleInfo(ctypes.Structure):
    """pd_module_info."""

    _fields_: ClassVar = [
        ("size", ctypes.c_size_t),
        ("path", ctypes.c_char_p),
        ("present", ctypes.c_bool),
        ("flags", ctypes.c_size_t),
        ("status", ctypes.c_int),
        ("name_space", ctypes.c_char_p),
    ]


HELP_FULL = 1
TYPE_INT64 = 4
WRITER = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
LOADER = ctypes.CDLL(None)
LOADER.dlclose.argtypes = [ctypes.c_void_p]


class Host:
    """What is open in this process, and the commands."""

    def __init__(self) -> None:
        self.opened: dict[str, ctypes.CDLL] = {}
        self.modules: dict[str, ctypes.c_void_p] = {}

    def do_registry(self, path: str) -> str:
        self.registry = ctypes.CDLL(path)
        for name in ("pd_status_name", "pd_module_next"):
            getattr(self.registry, name).restype = ctypes.c_void_p
        return "ok"

    def tell(self, name: str, *arguments: object) -> str:
        """Call a function that returns a status, with an error last."""
        error = Error()
        status = getattr(self.registry, name)(*arguments, ctypes.byref(error))
        if status == 0:
            return "ok"
        text = ctypes.string_at(self.registry.pd_status_name(status)).decode()
        return f"{text}: {error.message.decode()}"

    def do_open(self, modes: str, path: str) -> str:
        self.opened[path] = ctypes.CDLL(path, getattr(os, f"RTLD_{modes.upper()}") | os.RTLD_NOW)
        return "ok"

    def do_close(self, path: str) -> str:
        return "no" if LOADER.dlclose(self.opened.pop(path)._handle) else "ok"

    def do_load(self, path: str) -> str:
        module = ctypes.c_void_p()
        told = self.tell("pd_module_load", path.encode(), None, ctypes.byref(module))
        if module:
            self.modules[path] = module
            self.opened[path] = ctypes.CDLL(path, os.RTLD_NOLOAD | os.RTLD_NOW)
            LOADER.dlclose(self.opened[path]._handle)
        return told

    def do_unload(self, path: str) -> str:
        return self.tell("pd_module_unload", self.modules.pop(path))

    def do_mapped(self, path: str) -> str:
        try:
            LOADER.dlclose(ctypes.CDLL(path, os.RTLD_NOLOAD | os.RTLD_NOW)._handle)
        except OSError:
            return "no"
        return "yes"

    def do_call(self, path: str, symbol: str) -> str:
        return str(self.opened[path][symbol]())

    def do_text(self, path: str, symbol: str) -> str:
        function = self.opened[path][symbol]
        function.restype = ctypes.c_char_p
        return function().decode()

    def find(self, name: str) -> tuple[ctypes.c_void_p, str]:
        flag = ctypes.c_void_p()
        return flag, self.tell("pd_flag_find", name.encode(), ctypes.byref(flag))

    def do_set(self, name: str, text: str) -> str:
        flag, told = self.find(name)
        return self.tell("pd_flag_set_from_string", flag, text.encode()) if flag else told

    def do_get(self, name: str) -> str:
        flag, told = self.find(name)
        if not flag:
            return told
        buffer = ctypes.create_string_buffer(4096)
        size = ctypes.c_size_t(len(buffer))
        told = self.tell("pd_flag_get_text", flag, buffer, size, None)
        return buffer.value.decode() if told == "ok" else told

    def do_define(self, name: str, number: str) -> str:
        definition = FlagDef()
        self.registry.pd_flag_def_init(
            ctypes.byref(definition), ctypes.c_size_t(ctypes.sizeof(FlagDef)), TYPE_INT64
        )
        definition.name, definition.default_value = name.encode(), int(number)
        return self.tell("pd_flag_register", ctypes.byref(definition), None)

    def do_modules(self) -> str:
        count, module = 0, None
        while module := self.registry.pd_module_next(ctypes.c_void_p(module)):
            info = ModuleInfo(size=ctypes.sizeof(ModuleInfo))
            self.tell("pd_module_get_info", ctypes.c_void_p(module), ctypes.byref(info))
            count += info.present and info.flags > 0
        return str(count)

    def do_json(self) -> str:
        kind = Help(size=ctypes.sizeof(Help), kind=HELP_FULL, pattern=b"")
        options = ReportOptions(size=ctypes.sizeof(ReportOptions), help=ctypes.pointer(kind))
        parts: list[bytes] = []
        writer = WRITER(lambda text, length, _: parts.append(ctypes.string_at(text, length)))
        told = self.tell("pd_report_json", ctypes.byref(options), writer, None)
        return b"".join(parts).decode() if told == "ok" else told


def main(words: list[str]) -> None:
    """Do the commands, each with as many words as its method has parameters."""
    host = Host()
    while words:
        method = getattr(Host, f"do_{words.pop(0)}")
        count = method.__code__.co_argcount - 1
        print(method(host, *words[:count]), flush=True)
        del words[:count]


if __name__ == "__main__":
    main(sys.argv[1:])
