"""Each test begins with the same values, in whichever order and process it runs."""

import paddle_flags as pf
import pool
import pytest


def test_the_configuration_of_pytest_sets_a_flag():
    assert pool.describe() == "4 workers, 5 s"


@pytest.mark.parametrize("size", range(1, 9))
def test_the_command_line_sets_the_size(size: int, pf_flags):
    assert not pool.size.frozen
    assert pool.main(["pool", f"--pool.size={size}"]) == f"{size} workers, 5 s"
    assert pool.size.frozen


@pytest.mark.pf_flags({"pool.size": 2})
class TestSmallPool:
    def test_it_is_small(self):
        assert pool.describe() == "2 workers, 5 s"

    @pytest.mark.pf_flags({"pool.timeout": 1.0})
    def test_it_is_impatient(self):
        assert pool.describe() == "2 workers, 1 s"


def test_a_negative_size_is_refused(pf_flags):
    with pytest.raises(pf.FlagParseError, match=r"--pool\.size=-1"):
        pool.main(["pool", "--pool.size=-1"])
