"""What type checkers make of the package: they read this file, nobody runs it."""

import argparse
import concurrent.futures
import datetime as dt
import enum
import ipaddress
import uuid
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NewType

import absl.flags
import click

import paddle_flags as pf


class Mode(enum.Enum):
    """Ways to search."""

    FAST = "fast"
    BEST = "best"


class Level(enum.IntEnum):
    """Levels."""

    LOW = 1


class Colour(str, enum.Enum):  # noqa: UP042 - as older programs have it
    """Colours, as text."""

    RED = "red"


Port = NewType("Port", int)
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

if TYPE_CHECKING:
    from typing import assert_type

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
    assert_type(pf.define("level", 6, replace=True), pf.Flag[int])
    assert_type(pf.define("names", ["a"], replace=True), pf.Flag[tuple[str, ...]])
    # A flag that may have no value, and lists that are set from lists.
    assert_type(pf.define("n", 1, optional=True), pf.Flag[int | None])
    assert_type(pf.define("n", 1, optional=False), pf.Flag[int])
    assert_type(pf.define("n", 1, optional=True, type="int32").value, int | None)
    assert_type(pf.define("n", 1, optional=True, hidden=True, min=0), pf.Flag[int | None])
    assert_type(pf.define("rate", 0.5, optional=True), pf.Flag[float | None])
    assert_type(pf.define("rate", 1, type=float, optional=True), pf.Flag[float | None])
    assert_type(pf.define("rate", 1, type="double", optional=True), pf.Flag[float | None])
    assert_type(pf.define("check", default=True, optional=True), pf.Flag[bool | None])
    assert_type(pf.define("name", "a", optional=True).value, str | None)
    assert_type(pf.define("mode", Mode.FAST, optional=True), pf.Flag[Mode | None])
    assert_type(pf.define("out", Path("a"), optional=True), pf.Flag[Path | None])
    assert_type(pf.define("out", None, type=Path, optional=True), pf.Flag[Path | None])
    assert_type(pf.define("sizes", [1], optional=True), pf.Flag[tuple[int, ...] | None])
    assert_type(pf.define("options", {"a": 1}, optional=True), pf.Flag[dict[str, int] | None])
    sizes = pf.define("sizes", [1, 2])
    sizes.value = [4, 8]
    assert_type(sizes.value, tuple[int, ...])
    sizes.value = (4, 8)
    maybe_sizes = pf.define("sizes", None, type=list[int])
    maybe_sizes.value = [1]
    maybe_sizes.value = None
    sizes.value = ["a"]  # type: ignore[list-item]  # pyright: ignore[reportAttributeAccessIssue]
    sizes.value = 1  # type: ignore[call-overload]  # pyright: ignore[reportAttributeAccessIssue]
    del sizes.value
    pf.undefine("level")
    pf.undefine(pf.FLAGS["level"])
    assert_type(pf.define("level", 6).unit, str | None)
    assert_type(pf.define("level", 6).value, int)
    assert_type(pf.define("level", 6).min, int | None)
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

    # Types of Python, of the default or by `type`.
    assert_type(pf.define("level", 1, type=int), pf.Flag[int])
    assert_type(pf.define("rate", 1, type=float), pf.Flag[float])
    assert_type(pf.define("mode", Mode.FAST), pf.Flag[Mode])
    assert_type(pf.define("mode", Mode.FAST, type=Mode, case_sensitive=False).value, Mode)
    assert_type(pf.define("mode", Level.LOW), pf.Flag[Level])
    assert_type(pf.define("mode", Colour.RED), pf.Flag[Colour])
    assert_type(pf.define("out", Path("a")), pf.Flag[Path])
    assert_type(pf.define("when", dt.datetime.now(dt.UTC)), pf.Flag[dt.datetime])
    assert_type(pf.define("day", dt.date(2026, 1, 1)), pf.Flag[dt.date])
    assert_type(pf.define("wait", dt.timedelta(0), max=dt.timedelta(1)), pf.Flag[dt.timedelta])
    assert_type(pf.define("price", Decimal(1)).value, Decimal)
    assert_type(pf.define("paths", [Path("a")]), pf.Flag[tuple[Path, ...]])
    assert_type(pf.define("paths", [], items=Path), pf.Flag[tuple[Path, ...]])
    pf.define("copies", Path("a"), choices=[Path("a"), "b//c"])
    pf.define("chosen", None, type=Mode, choices=[Mode.FAST, "BEST"])
    assert_type(pf.define("modes", (Mode.FAST,), items=Mode), pf.Flag[tuple[Mode, ...]])
    assert_type(pf.define("sizes", [], type=list[int], multi=True), pf.Flag[tuple[int, ...]])
    assert_type(pf.define("options", {"a": 1}), pf.Flag[dict[str, int]])
    assert_type(pf.define("options", {}, type=dict[str, float]), pf.Flag[dict[str, float]])
    assert_type(pf.define("count", None, type=int), pf.Flag[int | None])
    assert_type(pf.define("check", None, type=bool), pf.Flag[bool | None])
    assert_type(pf.define("count", None, type="int32"), pf.Flag[int | None])
    assert_type(pf.define("name", None, type=str).value, str | None)
    assert_type(pf.define("out", None, type=Path), pf.Flag[Path | None])
    assert_type(pf.define("mode", None, type=Mode), pf.Flag[Mode | None])
    assert_type(pf.define("sizes", None, type=list[int]), pf.Flag[tuple[int, ...] | None])
    address: pf.Type[Address] = pf.Type(ipaddress.ip_address)
    assert_type(pf.define("host", None, type=address), pf.Flag[Address | None])
    assert_type(pf.define("host", ipaddress.ip_address("::1"), type=address), pf.Flag[Address])
    assert_type(pf.Type(int, str), pf.Type[int])
    kind: pf.Flag[Literal["a", "b"]]
    kind = pf.define("kind", "a", type=Literal["a", "b"])
    assert_type(kind.value, Literal["a", "b"])
    pf.FLAGS["out"].value = Path("b")

    # Other parsers, and commands.
    parser = argparse.ArgumentParser()
    pf.add_options(parser, only="alpha.*", env_prefix="APP_", config=Path("app.toml"))
    pf.add_options(parser, only=["level", "mode"], config=["a.toml", Path("b.toml")])
    assert_type(pf.bridge(parser, env_prefix="APP_"), dict[str, str])
    assert_type(pf.bridge(absl.flags.FLAGS, config="app.toml"), dict[str, str])

    @pf.add_options(only="level", env_prefix="APP_")
    def body(number: int) -> str:
        return str(number)

    assert_type(body(1), str)

    @click.command()
    @pf.add_options
    def command() -> None: ...

    assert_type(command, click.Command)
    pf.add_options(command, only=("level",))
    assert_type(pf.add_options()(command), click.Command)

    def train(*arguments: str) -> int:
        return len(arguments)

    pf.commands({"train": train, "serve": "app.serve:main", "data": {"clean": "app.clean"}})
    pf.commands({"train": train}, ["prog", "train"], env_prefix="APP_", exit=False)
    pf.commands({"train": train}, config=[Path("app.toml")], config_flag="config", exit="gflags")
    pf.add_options("level")  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]
    pf.bridge(command)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]
    pf.add_options(level=1)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    pf.bridge(parser, "x")  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]
    pf.commands(["train"])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    pf.add_options(parser, env_prefix="A", env_files=True, env_flags="A", warn_unknown_env=True)
    pf.add_options(parser, env_file=True)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    pf.parse(plugins=["liba.so", Path("b.so")], plugin_flag="plugins", env_ignore_empty=True)
    pf.parse(plugins="package.module")
    pf.commands({"train": train}, plugins=Path("b.so"), env_flags="APP_OPTIONS")

    # Sets, pairs, nested lists, NewTypes, UUIDs; counting and merging.
    assert_type(pf.define("id", uuid.UUID(int=1)), pf.Flag[uuid.UUID])
    assert_type(pf.define("id", None, type=uuid.UUID), pf.Flag[uuid.UUID | None])
    assert_type(pf.define("tags", {"a"}), pf.Flag[frozenset[str]])
    assert_type(pf.define("tags", {"a"}, type=set[str]), pf.Flag[frozenset[str]])
    assert_type(pf.define("tags", None, type=set[str]), pf.Flag[frozenset[str] | None])
    assert_type(pf.define("tags", None, type=frozenset[str]), pf.Flag[frozenset[str] | None])
    assert_type(pf.define("pair", (1, "a"), type=tuple[int, str]), pf.Flag[tuple[int, str]])
    assert_type(pf.define("pair", None, type=tuple[int, str]).value, tuple[int, str] | None)
    port = pf.define("port", Port(80), type=Port)  # mypy: Flag[int], pyright: Flag[Port]
    number: int = port.value
    maybe_port: int | None = pf.define("port", None, type=Port).value
    pf.define("grid", [[1]], type=list[list[int]])
    pf.define("tables", {"a": {"b": 1}}, type=dict[str, dict[str, int]])
    assert_type(pf.define("verbose", 0, count=True), pf.Flag[int])
    assert_type(pf.define("verbose", 0, count=True).count, bool)
    assert_type(pf.define("names", ["a"], merge=True), pf.Flag[tuple[str, ...]])
    assert_type(pf.define("options", {"a": 1}, merge=True), pf.Flag[dict[str, int]])
    tags = pf.define("tags", {"a"}, type=set[str])
    tags.value = {"b"}

    # Functions about flags.
    @level.validate
    def is_small(value: int) -> bool:
        return value < 9

    is_small(3)
    is_small.remove()

    @pf.validator("level", mode, message="level is too high for the mode")
    def suits(number: int, way: str) -> bool:
        return number < 9 or way == "best"

    assert_type(suits(1, "fast"), bool)
    assert_type(level.watch(print), pf.Hook)
    assert_type(pf.watch(print), pf.Hook)
    level.validate(lambda value: value > 0, message="too low")
    pf.add_group(level, "mode", rule="at_most_one")
    pf.add_group(level, rule="all")
    level.set_default(4)
    level.reset()
    assert_type(level.history, list[pf.FlagEntry])
    assert_type(level.choices, tuple[str, ...] | None)
    assert_type(pf.reload(), list[pf.FlagChange])
    assert_type(pf.explain("level"), str)
    assert_type(pf.get_include(), str)
    with pf.scoped({level: 3}), pf.capture():
        pf.wrap_executor(concurrent.futures.ThreadPoolExecutor())

    @pf.scoped(level=3)
    async def driven(number: int) -> int:
        return number

    @pf.impl("pow", "numpy", signature="double (double, double)")
    def power(base: float, exponent: float) -> float:
        return base * exponent

    assert_type(power(1.0, 2.0), float)
    assert_type(pf.op("pow"), pf.Op)
    pf.ops()
    pf.bridge("paddle")
    pf.sync()
    pf.propagate()
    pf.logging_flags()
    pf.check("modules")
    pf.check("pending")
    pf.check("values")
    with pf.testing.isolated({"level": 3}):
        pass

    @pf.testing.isolated(level=3)
    def test_something() -> None: ...
