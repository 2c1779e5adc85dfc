"""The perceptron that all processes of the example build alike, and its training in one process."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fluid.digits import CLASSES, HIDDEN, PIXELS, Batch, Digits
from fluid.executor import DTYPES, Array, Executor, Scope
from fluid.layers import Model

if TYPE_CHECKING:
    from fluid.program import Operator, Program


class Perceptron(NamedTuple):
    model: Model
    inference: Program
    optimizers: list[Operator]


def perceptron(dtype: str = "f32", rate: float = 0.2) -> Perceptron:
    def forward(model: Model) -> Model:
        hidden = model.fc(model.data("image", PIXELS), HIDDEN, relu=True)
        logits = model.fc(hidden, CLASSES)
        model.loss(logits, model.data("label", CLASSES))
        return model

    model = forward(Model(dtype))
    optimizers = model.minimize(model.main.block.find("loss"), rate)
    return Perceptron(model, forward(Model(dtype)).main, optimizers)


def feed(batch: Batch) -> dict[str, Array]:
    return {"image": batch.images, "label": batch.labels}


def accuracy(program: Program, scope: Scope, batch: Batch) -> float:
    (softmax,) = Executor(program).run_batch(scope, feed(batch), ["softmax"])
    return float((softmax.argmax(1) == batch.labels.argmax(1)).mean())


def train_alone(steps: int, batch_size: int, dtype: str = "f32") -> tuple[list[float], float]:
    """Train in this process; return the losses and the accuracy."""
    made = perceptron(dtype)
    digits = Digits(DTYPES[dtype], batch_size)
    scope = Scope()
    Executor(made.model.startup).run(scope)
    executor = Executor(made.model.main)
    losses = []
    for step in range(steps):
        (loss,) = executor.run_batch(scope, feed(digits.batch(step)), ["loss"])
        losses.append(float(loss[0, 0]))
    return losses, accuracy(made.inference, scope, digits.test)
