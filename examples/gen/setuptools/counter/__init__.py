"""A counter. FLAGS has the types of its flags."""

from counter._native import count
from counter.counter_flags import FLAGS

__all__ = ["FLAGS", "count"]
