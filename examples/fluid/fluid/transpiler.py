"""Splits a program into the trainers' and the servers' parts.

Each parameter is sliced by rows, and the slices go round the servers. A trainer computes gradients,
sends their slices, and gets slices of parameters back. A server averages what the trainers have
sent, and runs the optimizers on its slices.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from fluid.program import Block, Program, Variable, gradient_name

if TYPE_CHECKING:
    from fluid.layers import Model
    from fluid.program import Operator


class Slice(NamedTuple):
    parameter: Variable
    begin: int  # its first row
    variable: Variable
    endpoint: str

    @property
    def gradient(self) -> Variable:
        return replace(self.variable, name=gradient_name(self.variable.name), persistable=False)

    def sent_by(self, trainer: int) -> str:
        """The name of a trainer's gradient on the server."""
        return f"{self.gradient.name}.trainer_{trainer}"


def slice_parameters(parameters: list[Variable], endpoints: list[str]) -> list[Slice]:
    """As many slices of each parameter as there are servers, if it has as many rows."""
    slices: list[Slice] = []
    for each in parameters:
        count = min(len(endpoints), each.rows)
        bounds = [each.rows * i // count for i in range(count + 1)]
        for number, (begin, end) in enumerate(itertools.pairwise(bounds)):
            part = replace(each, name=f"{each.name}.slice_{number}", rows=end - begin)
            slices.append(Slice(each, begin, part, endpoints[len(slices) % len(endpoints)]))
    return slices


class Transpiler:
    def __init__(
        self, model: Model, optimizers: list[Operator], endpoints: list[str], trainers: int
    ) -> None:
        self._model = model
        self._optimizers = {op.outputs["ParamOut"]: op for op in optimizers}
        self._trainers = trainers
        self.slices = slice_parameters(model.parameters, endpoints)

    def trainer_program(self) -> Program:
        """The program without its optimizers. The operator `send`, which Python runs, sends the
        slices of gradients, waits until all trainers have, and gets slices of parameters."""
        program = Program()
        block = program.block
        block.vars.update(self._model.main.block.vars)
        optimizers = self._optimizers.values()
        block.ops = [op for op in self._model.main.block.ops if op not in optimizers]
        for each in self.slices:
            for variable in (each.gradient, replace(each.variable, persistable=False)):
                block.var(variable)
            whole = gradient_name(each.parameter.name)
            outputs = {"Out": each.gradient.name}
            block.append("slice_rows", outputs, {"X": whole}, begin=each.begin)
        block.append_python("send", slices=self.slices)
        for each in self.slices:
            outputs = {"Out": each.parameter.name}
            block.append("assign_rows", outputs, {"X": each.variable.name}, begin=each.begin)
        return program

    def server_program(self, endpoint: str) -> Program:
        """Block 0 has the operator `listen_and_serve`, which Python runs; it runs block 1 whenever
        all gradients of a batch have come."""
        program = Program()
        optimize = program.new_block()
        own = [each for each in self.slices if each.endpoint == endpoint]
        program.block.append_python("listen_and_serve", slices=own, block=optimize.index)
        for each in own:
            program.block.var(each.variable)
            self._append_merge(optimize, each)
            self._append_optimizer(optimize, each)
        return program

    def server_startup(self, endpoint: str) -> Program:
        """Makes the slices as parts of the same first parameters as one process has."""
        program = Program()
        block = program.block
        block.vars.update(self._model.startup.block.vars)
        block.ops = list(self._model.startup.block.ops)
        for each in self.slices:
            if each.endpoint == endpoint:
                block.var(each.variable)
                outputs = {"Out": each.variable.name}
                block.append("slice_rows", outputs, {"X": each.parameter.name}, begin=each.begin)
        return program

    def _append_merge(self, block: Block, each: Slice) -> None:
        """The mean of the trainers' gradients: add them, then scale."""
        sent = [
            block.var(replace(each.gradient, name=each.sent_by(i))) for i in range(self._trainers)
        ]
        total = block.var(each.gradient).name
        block.append("scale", {"Out": total}, {"X": sent[0].name}, factor=1)
        for other in sent[1:]:
            block.append("add", {"Out": total}, {"X": total, "Y": other.name})
        block.append("scale", {"Out": total}, {"X": total}, factor=1 / self._trainers)

    def _append_optimizer(self, block: Block, each: Slice) -> None:
        op = self._optimizers[each.parameter.name]
        rate = block.var(self._model.main.block.find(op.inputs["Rate"]))
        names = {"Param": each.variable.name, "Grad": each.gradient.name, "Rate": rate.name}
        block.append(op.type, {"ParamOut": each.variable.name}, names)
