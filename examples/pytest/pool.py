"""A pool of workers, as a program that reads flags."""

import paddle_flags as pf

size = pf.define("pool.size", 4, "Workers", min=1, startup_only=True)
timeout = pf.define("pool.timeout", 30.0, "How long to wait", unit="seconds")
token = pf.define("pool.token", "", "For the workers", sensitive=True)


def main(argv: list[str]) -> str:
    pf.parse(argv, exit=False)
    return describe()


def describe() -> str:
    return f"{size.value} workers, {timeout.value:g} s"
