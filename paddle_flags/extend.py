"""What packages use that extend paddle_flags: bridges to other parsers, servers, generators.

A program needs none of this: what it needs is in `paddle_flags` itself. The packages `live`,
`fleet`, `gateway` and `gen`, the bridges and the doctor use these names and the public ones, and
no other part of paddle_flags; so can yours.

`lib` and `ffi` are those of cffi for the library that all modules of the process share. Of `lib`,
everything that `pd_flags.h` declares may be used, as the header says; nothing else is promised.
A call whose last parameter is a `pd_error *` goes with `new_error` and `check_call`:

    err = new_error()
    check_call(lib.pd_flag_reset(flag.handle, err), err)

Names are imported on first use.
"""

from __future__ import annotations

from sys import modules as _modules

from paddle_flags._core.lazy import collect_import_names as _find_names
from paddle_flags._core.lazy import import_name as _import_name

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    from paddle_flags._extend import *
else:  # hidden from type checkers, which would accept any name of a module that has this
    _places = _find_names("paddle_flags._extend", _modules["paddle_flags"].__path__)
    __all__ = list(_places)

    def __getattr__(name: str) -> object:
        if name not in _places:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = globals()[name] = _import_name(_places[name], "paddle_flags")
        return found

    def __dir__() -> list[str]:
        return sorted(__all__)
