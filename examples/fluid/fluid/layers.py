"""Layers append operators to two programs: one that begins, and one that runs for each batch."""

from __future__ import annotations

from fluid.operators import OPERATORS
from fluid.program import BATCH, Operator, Program, Variable, gradient_name

_Variables = dict[str, Variable]


class Model:
    """What layers have made so far."""

    def __init__(self, dtype: str = "f32") -> None:
        self.dtype = dtype
        self.startup = Program()
        self.main = Program()
        self.parameters: list[Variable] = []
        self._layers = 0

    def data(self, name: str, columns: int) -> Variable:
        """What is fed for each batch."""
        return self._var(name, BATCH, columns)

    def fc(self, x: Variable, size: int, *, relu: bool = False) -> Variable:
        """A fully connected layer: x w + b, and its positive part."""
        name, self._layers = f"fc_{self._layers}", self._layers + 1
        bound = (6 / (x.columns + size)) ** 0.5
        weight = self._parameter(f"{name}.w", x.columns, size)
        self._begin("uniform_random", weight, bound=bound, seed=self._layers)
        bias = self._parameter(f"{name}.b", 1, size)
        self._begin("fill_constant", bias, value=0)
        product, out = self._var(f"{name}.mul", BATCH, size), self._var(f"{name}.out", BATCH, size)
        self._append("mul", {"Out": product}, {"X": x, "Y": weight})
        self._append("add", {"Out": out}, {"X": product, "Y": bias})
        if not relu:
            return out
        positive = self._var(f"{name}.relu", BATCH, size)
        self._append("relu", {"Out": positive}, {"X": out})
        return positive

    def loss(self, logits: Variable, label: Variable) -> Variable:
        """The mean of the cross entropy over the batch; the softmax is named "softmax"."""
        softmax = self._var("softmax", BATCH, logits.columns)
        losses, mean = self._var("losses", BATCH, 1), self._var("loss", 1, 1)
        self._append(
            "softmax_with_cross_entropy",
            {"Softmax": softmax, "Loss": losses},
            {"Logits": logits, "Label": label},
        )
        self._append("mean", {"Out": mean}, {"X": losses})
        return mean

    def minimize(self, loss: Variable, rate: float) -> list[Operator]:
        """Append the gradients of the loss, and SGD for each parameter; return the latter."""
        gradients = append_backward(self.main, loss)
        learning = self._var("learning_rate", 1, 1, persistable=True)
        self._begin("fill_constant", learning, value=rate)
        return [
            self.main.block.append(
                "sgd",
                {"ParamOut": each.name},
                {"Param": each.name, "Grad": gradients[each.name], "Rate": learning.name},
            )
            for each in self.parameters
        ]

    def _var(self, name: str, rows: int, columns: int, *, persistable: bool = False) -> Variable:
        return self.main.block.var(Variable(name, self.dtype, rows, columns, persistable))

    def _parameter(self, name: str, rows: int, columns: int) -> Variable:
        self.parameters.append(self._var(name, rows, columns, persistable=True))
        return self.parameters[-1]

    def _begin(self, type: str, variable: Variable, **attributes: float) -> None:
        self.startup.block.var(variable)
        self.startup.block.append(type, {"Out": variable.name}, {}, **attributes)

    def _append(self, type: str, outputs: _Variables, inputs: _Variables) -> None:
        names = [{key: each.name for key, each in part.items()} for part in (outputs, inputs)]
        self.main.block.append(type, *names)


def append_backward(program: Program, loss: Variable) -> dict[str, str]:
    """Append the gradient of each operator, last first; return the gradients by variable.

    The names in the definition of relu_grad, for example, say which variables of relu it takes.
    """
    block = program.block
    forward = list(block.ops)
    made = {op_output for op in forward for op_output in op.outputs.values()}
    gradients = {loss.name: gradient_name(loss.name)}
    block.var(Variable(gradients[loss.name], loss.dtype, 1, 1))
    block.append("fill_constant", {"Out": gradients[loss.name]}, {}, value=1)
    for op in reversed(forward):
        names = {**op.inputs, **op.outputs}
        definition = OPERATORS[f"{op.type}_grad"]
        inputs, outputs = {}, {}
        for key in definition.inputs:
            name = names[key.replace("@GRAD", "")]
            inputs[key] = gradients[name] if key.endswith("@GRAD") else name
        for key in definition.outputs:
            variable = block.find(names[key.replace("@GRAD", "")])
            if not (variable.persistable or variable.name in made):
                continue  # what is fed needs no gradient
            if variable.name in gradients:
                raise ValueError(f"{variable.name} is used twice, which has no gradient here")
            gradients[variable.name] = outputs[key] = gradient_name(variable.name)
            block.var(Variable(outputs[key], variable.dtype, *variable.shape))
        block.append(f"{op.type}_grad", outputs, inputs)
    return gradients
