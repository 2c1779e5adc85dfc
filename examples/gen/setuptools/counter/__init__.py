"""Counts; its flags are known to whoever imports it."""

from counter._native import count
from counter.counter_flags import FLAGS

__all__ = ["FLAGS", "count"]
