"""Operations on DLPack's own DLTensor, by the header in PyTorch's wheel, and on its tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support import INCLUDE, build_plugin, run, tool, write

if TYPE_CHECKING:
    from pathlib import Path

    from wheels import Real

pytestmark = pytest.mark.release  # needs gigabytes of packages

TEXT = """
static void twice(DLTensor *out, const DLTensor *in) {
  for (int64_t i = 0; i < in->shape[0]; i++) ((float *)out->data)[i] = 2 * ((float *)in->data)[i];
}
PD_DEFINE_OP(twice, void, (DLTensor *, const DLTensor *), twice, "2 in",
             .arrays = "f32[n], f32[n]");
"""
ORDERS = {
    "ours first": "#include <pd_flags.h>\n#include <ATen/dlpack.h>\n",
    "theirs first": "#include <ATen/dlpack.h>\n#include <pd_flags.h>\n",
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("compiler", "suffix"), [("gcc", "c"), ("g++", "cpp"), ("clang", "c")])
def test_the_header_of_dlpack_gives_the_types_of_an_operation(
    real: Real, tmp_path: Path, order: str, compiler: str, suffix: str
) -> None:
    source = write(tmp_path / f"twice.{suffix}", ORDERS[order] + TEXT)
    headers = real.torch
    words = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{INCLUDE}", "-isystem", headers]
    run(tool(compiler), *words, "-c", source, "-o", tmp_path / "twice.o")


def test_a_tensor_of_pytorch_crosses_to_native_code(real: Real, tmp_path: Path) -> None:
    source = write(tmp_path / "twice.c", ORDERS["ours first"] + TEXT)
    headers = real.torch
    plugin = build_plugin(tmp_path / "libtwice.so", source, flags=("-isystem", str(headers)))
    program = f"""
import torch
import paddle_flags as pf
pf.load_plugin({str(plugin)!r})
out = torch.zeros(3)
pf.op("twice")(out, torch.arange(3, dtype=torch.float32))
print(out.tolist())
try:
    pf.op("twice")(out, torch.arange(3))
except pf.FlagTypeError as error:
    print(error)
"""
    first, *rest = real.python(program).splitlines()
    assert first == "[0.0, 2.0, 4.0]"
    assert rest[-1].endswith("array 1: its items are i64, expected f32")
