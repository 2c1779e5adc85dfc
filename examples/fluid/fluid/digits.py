"""Scikit-learn's digits: 1,797 images of 8 by 8 pixels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

PIXELS, HIDDEN, CLASSES = 64, 48, 10


class Batch(NamedTuple):
    images: np.ndarray[Any, Any]
    labels: np.ndarray[Any, Any]  # a one in the column of the class


class Digits:
    def __init__(self, dtype: Any, batch_size: int) -> None:  # noqa: ANN401 - NumPy's
        from sklearn.datasets import load_digits
        from sklearn.model_selection import train_test_split

        images, classes = load_digits(return_X_y=True)
        labels = np.eye(CLASSES)[classes]
        parts = train_test_split(images / 16, labels, test_size=360, random_state=0)
        images, test_images, labels, test_labels = (part.astype(dtype) for part in parts)
        self.train = Batch(images, labels)
        self.test = Batch(test_images, test_labels)
        self.batch_size = batch_size
        self.batches = len(images) // batch_size  # of an epoch

    def batch(self, step: int, rank: int = 0, trainers: int = 1) -> Batch:
        """The part of the batch of a step that one of the trainers gets."""
        epoch, number = divmod(step, self.batches)
        order = np.random.default_rng(epoch).permutation(len(self.train.images))
        own = self.batch_size // trainers
        begin = number * self.batch_size + rank * own
        chosen = order[begin : begin + own]
        return Batch(self.train.images[chosen], self.train.labels[chosen])
