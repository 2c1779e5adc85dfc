"""What an operator takes and gives: one line for each. How it works is the kernels' matter.

`Out[m,n] = X[m,k], Y[k,n]; begin` has the output Out, the inputs X and Y and the attribute begin.
Equal letters are equal sizes, 1 is one, and _ is any size.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

LINES = """
mul: Out[m,n] = X[m,k], Y[k,n]
add: Out[m,n] = X[m,n], Y[_,n]
relu: Out[m,n] = X[m,n]
softmax_with_cross_entropy: Softmax[m,n], Loss[m,1] = Logits[m,n], Label[m,n]
mean: Out[1,1] = X[_,_]
scale: Out[m,n] = X[m,n]; factor
sgd: ParamOut[m,n] = Param[m,n], Grad[m,n], Rate[1,1]
fill_constant: Out[_,_] = ; value
uniform_random: Out[_,_] = ; bound, seed
slice_rows: Out[_,n] = X[_,n]; begin
assign_rows: Out[_,n] = X[_,n]; begin
mul_grad: X@GRAD[m,k], Y@GRAD[k,n] = X[m,k], Y[k,n], Out@GRAD[m,n]
add_grad: X@GRAD[m,n], Y@GRAD[_,n] = Out@GRAD[m,n]
relu_grad: X@GRAD[m,n] = Out[m,n], Out@GRAD[m,n]
softmax_with_cross_entropy_grad: Logits@GRAD[m,n] = Softmax[m,n], Label[m,n], Loss@GRAD[m,1]
mean_grad: X@GRAD[_,_] = Out@GRAD[1,1]
"""


@dataclass(frozen=True)
class Definition:
    outputs: dict[str, tuple[str, str]]  # the letters of rows and columns, by the parameter
    inputs: dict[str, tuple[str, str]]
    attributes: tuple[str, ...]


def _arrays(text: str) -> dict[str, tuple[str, str]]:
    found = re.findall(r"([\w@]+)\[(\w+),(\w+)\]", text)
    return {name: (rows, columns) for name, rows, columns in found}


def _defined(line: str) -> tuple[str, Definition]:
    name, _, text = line.partition(":")
    arrays, _, attributes = text.partition(";")
    outputs, _, inputs = arrays.partition("=")
    names = tuple(attributes.replace(",", " ").split())
    return name, Definition(_arrays(outputs), _arrays(inputs), names)


OPERATORS = dict(_defined(line) for line in LINES.split("\n") if line)


def check_shapes(type: str, shapes: dict[str, tuple[int, int]]) -> None:
    """Raise ValueError unless the shapes of an operator's variables fit each other."""
    definition = OPERATORS[type]
    sizes = {"1": (1, "one")}
    for name, letters in {**definition.inputs, **definition.outputs}.items():
        for letter, size, what in zip(letters, shapes.get(name, ()), ("rows", "columns")):
            known, where = sizes.setdefault(letter, (size, f"{name} has it"))
            if letter != "_" and known != size:
                raise ValueError(
                    f"{type}: {name} has {size} {what}, expected {known}, since {where}"
                )
