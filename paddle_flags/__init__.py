"""One registry of run-time flags for Python and every native library of a process."""

from paddle_flags._config import get_include as get_include
