"""Compare the implementations of matmul, of plugins and of NumPy.

    python compare.py DIRECTORY [--impl.matmul=blocked,*] [--size=512]

DIRECTORY has the libraries that `make` builds.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

import paddle_flags as pf

size = pf.define("size", 256, "Rows of the matrices", min=1, max=8192)


@pf.impl(
    "matmul", "numpy", rank=80, signature="void (DLTensor *, const DLTensor *, const DLTensor *)"
)
def matmul_numpy(out: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
    """Multiply by NumPy."""
    np.matmul(a, b, out=out)


def measured(matmul: pf.Op, out: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
    """Return the milliseconds of the fastest of three calls."""
    times = []
    for _ in range(3):
        out.fill(np.nan)
        begin = time.perf_counter()
        matmul(out, a, b)
        times.append(1e3 * (time.perf_counter() - begin))
    return min(times)


def main() -> None:
    """Print a line for each choice."""
    for name in ("portable", "fast", "openblas_matmul"):
        pf.load_plugin(Path(sys.argv[1]) / f"lib{name}.so")
    pf.parse([sys.argv[0], *sys.argv[2:]])
    matmul = pf.op("matmul")
    rng = np.random.default_rng(1)
    a = rng.integers(-4, 5, (size.value, size.value + 3)).astype(np.float32)
    b = rng.integers(-4, 5, (size.value + 3, size.value + 5)).astype(np.float32)
    out = np.empty((size.value, size.value + 5), np.float32)
    print(f"{'impl.matmul':14} {'runs':10} {'time':>12}")

    def show(remark: str) -> None:
        spent = measured(matmul, out, a, b)
        runs = next(each.name for each in matmul.signatures[0].impls if each.chosen)
        print(f"{matmul.flag.text:14} {runs:10} {spent:9.3f} ms   {remark}".rstrip())
        if not np.array_equal(out, a.astype(np.float64) @ b):
            sys.exit(f"{runs}: the product is wrong")

    for each in matmul.signatures[0].impls:
        with pf.override({"impl.matmul": [each.name, "*"]}):
            found = next(x for x in matmul.signatures[0].impls if x.name == each.name)
            show("" if found.chosen else found.why)
    show("your choice")


if __name__ == "__main__":
    main()
