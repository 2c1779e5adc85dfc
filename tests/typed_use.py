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
    assert_type(pf.define("sizes", (1, 2)), pf.Flag[tuple[int, ...]])
    assert_type(pf.define("sizes", [1, 2]).value, tuple[int, ...])
    assert_type(pf.define("rates", (0.5, 1.5)), pf.Flag[tuple[float, ...]])
    assert_type(pf.define("checks", (True, False)), pf.Flag[tuple[bool, ...]])
    assert_type(pf.define("names", ["a"], choices=["a"]), pf.Flag[tuple[str, ...]])
    assert_type(pf.define("names", ()), pf.Flag[tuple[str, ...]])
    assert_type(pf.define("names", []), pf.Flag[tuple[str, ...]])
    assert_type(pf.define("sizes", (), items=int), pf.Flag[tuple[int, ...]])
    assert_type(pf.define("cache", 0, unit="bytes", sensitive=True), pf.Flag[int])
    assert_type(pf.define("wait", 0.5, unit="seconds", old_names=["delay"]), pf.Flag[float])
    assert_type(pf.define("level", 6).unit, Optional[str])
    assert_type(pf.define("level", 6).value, int)
    assert_type(pf.define("level", 6).min, Optional[int])
    assert_type(pf.FLAGS["level"], pf.Flag[Any])
    assert_type(pf.load_plugin("libalpha.so").flags, dict[str, pf.Flag[Any]])
    assert_type(pf.parse(["program"]), list[str])
    assert_type(pf.describe("man"), str)
    level: pf.Flag[int] = pf.define("level", 6)
    mode = pf.define("mode", "fast")
    with level.override(3), pf.override({level: 3, mode: "best"}), pf.override({level: 3}):
        pf.FLAGS.update({level: 1, "mode": "best"})
    with pf.override({level: 3, "mode": "best"}), pf.override({"mode": "best"}, level=1):
        pf.override()

    @level.override(3)
    def decorated(number: int) -> str:
        return str(number)

    assert_type(decorated(1), str)
    names: dict[str, int] = {"level": 1}
    flags: dict[pf.Flag[int], int] = {level: 1}
    pf.override(names)
    pf.override(flags)
    assert_type(pf.dump(), str)
    assert_type(pf.dump("toml", all=True), str)
    assert_type(pf.dump("argv"), list[str])
    assert_type(pf.dump("environment", prefix="X_"), dict[str, str])
