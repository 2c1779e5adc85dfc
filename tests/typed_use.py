"""What type checkers make of the package: they read this file, nobody runs it."""

from typing import TYPE_CHECKING, Any, Optional

import paddle_flags as pf

if TYPE_CHECKING:
    from typing_extensions import assert_type

    assert_type(pf.define("check", default=False), pf.Flag[bool])
    assert_type(pf.define("level", 6, min=1, max=9), pf.Flag[int])
    assert_type(pf.define("seed", 6, type="uint32"), pf.Flag[int])
    assert_type(pf.define("rate", 0.5), pf.Flag[float])
    assert_type(pf.define("share", 1, type="double"), pf.Flag[float])
    assert_type(pf.define("mode", "fast", choices=["fast", "best"]), pf.Flag[str])
    assert_type(pf.define("level", 6).value, int)
    assert_type(pf.define("level", 6).min, Optional[int])
    assert_type(pf.FLAGS["level"], pf.Flag[Any])
    assert_type(pf.load_plugin("libalpha.so").flags, dict[str, pf.Flag[Any]])
    assert_type(pf.parse(["program"]), list[str])
