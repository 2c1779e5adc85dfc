"""Programs: blocks of variables and operators, which Python writes and native code runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fluid.operators import OPERATORS, check_shapes

BATCH = -1  # rows of a variable: as many as the batch has


def gradient_name(name: str) -> str:
    return f"{name}@GRAD"


@dataclass(frozen=True)
class Variable:
    name: str
    dtype: str
    rows: int
    columns: int
    persistable: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows, self.columns


@dataclass
class Operator:
    """`outputs` and `inputs` are names of variables, by the operator's names for them."""

    type: str
    outputs: dict[str, str]
    inputs: dict[str, str]
    attributes: dict[str, float] = field(default_factory=dict)
    place: str = "cpu"
    python: dict[str, Any] = field(default_factory=dict)  # attributes that only Python reads


class Block:
    def __init__(self, index: int, parent: Block | None) -> None:
        self.index = index
        self.parent = parent
        self.vars: dict[str, Variable] = {}
        self.ops: list[Operator] = []

    def find(self, name: str) -> Variable:
        """In this block, then in those around it."""
        if name in self.vars:
            return self.vars[name]
        if self.parent is None:
            raise KeyError(f"{name}: no such variable")
        return self.parent.find(name)

    def var(self, variable: Variable) -> Variable:
        self.vars[variable.name] = variable
        return variable

    def append(
        self,
        type: str,
        outputs: dict[str, str],
        inputs: dict[str, str],
        **attributes: float,
    ) -> Operator:
        """Append an operator of a kernel; its variables must be there, and their shapes fit."""
        definition = OPERATORS[type]
        op = Operator(
            type,
            {key: outputs.get(key, "") for key in definition.outputs},
            {key: inputs[key] for key in definition.inputs},
            {key: attributes[key] for key in definition.attributes},
        )
        named = {**op.inputs, **op.outputs}
        check_shapes(type, {key: self.find(name).shape for key, name in named.items() if name})
        self.ops.append(op)
        return op

    def append_python(self, type: str, **attributes: Any) -> Operator:  # noqa: ANN401
        """Append an operator that Python runs."""
        op = Operator(type, {}, {}, python=attributes)
        self.ops.append(op)
        return op


class Program:
    def __init__(self) -> None:
        self.blocks = [Block(0, None)]

    @property
    def block(self) -> Block:
        """The outermost block."""
        return self.blocks[0]

    def new_block(self) -> Block:
        """A block within the outermost one."""
        self.blocks.append(Block(len(self.blocks), self.block))
        return self.blocks[-1]

    def serialized(self) -> str:
        """The text that native code reads."""
        lines = []
        for block in self.blocks:
            lines.append(f"block {-1 if block.parent is None else block.parent.index}")
            lines += [
                f"var {each.name} {each.dtype} {each.rows} {each.columns} {each.persistable:d}"
                for each in block.vars.values()
            ]
            for op in block.ops:
                parts = [op.outputs.values(), op.inputs.values(), op.attributes.values()]
                words = [len(part) for part in parts] + [each for part in parts for each in part]
                text = " ".join(str(word) or "-" for word in words)
                lines.append(f"op {op.type} {op.place} {text}")
        return "\n".join(lines)
