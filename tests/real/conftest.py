"""The environment with the wheels."""

from __future__ import annotations

import pytest
from support import missing
from wheels import PACKAGES, Real, find


@pytest.fixture(scope="session")
def real() -> Real:
    """An environment with Paddle's and PyTorch's wheels; skips the test if there is none."""
    return find() or missing(PACKAGES, "make real, or set PD_REAL_VENV to such an environment")
