"""One registry of run-time flags for Python and all native libraries of a process.

import paddle_flags as pf

port = pf.define("port", 8080, "Port to listen on", min=1, max=65535)
pf.load_plugin("build/plugins/libalpha.so")
arguments = pf.parse()
pf.FLAGS.alpha_level = 9
"""

from os import environ as _environ

try:
    import paddle_flags._fast  # its library may be missing
    from paddle_flags._native import lib as _lib
except ImportError as error:
    from paddle_flags._core.missing import explain_import

    raise explain_import(error, __path__[0]) from None

import paddle_flags._core.define
import paddle_flags._core.registry  # noqa: F401 - every program uses both
from paddle_flags._core.frames import hides_internal_frames as _public_function
from paddle_flags._core.lazy import collect_import_names as _find_names
from paddle_flags._core.lazy import import_name as _import_name
from paddle_flags._core.status import to_text as _to_text

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    from paddle_flags._public import *
else:  # hidden from type checkers, which would accept any name of a module that has this
    # Now, as every program uses one: later, it may no longer be allowed to read the file.
    _places = _find_names(f"{__name__}._public", __spec__.submodule_search_locations)

    @_public_function
    def __getattr__(name: str) -> object:
        if name == "__all__":
            names = [*_places, "__version__"]
            names.remove("set")  # `import *` would hide the built-in one
            return names
        if name not in _places:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = globals()[name] = _import_name(_places[name], __name__)
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *__getattr__("__all__"), "set"})


__version__: str = _to_text(_lib.PD_VERSION)

if "PADDLE_FLAGS_PARENT" in _environ:  # of propagate() in the parent process
    from paddle_flags._integrations.propagate import apply_parent_environment as _receive

    _receive()

if "PADDLE_FLAGS_LIVE" in _environ:
    from paddle_flags.live._environment import serve_from_environment as _serve_from_environment

    _serve_from_environment()
