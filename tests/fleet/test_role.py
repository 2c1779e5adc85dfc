"""Who a process is in its job."""

from __future__ import annotations

import pytest

from paddle_flags.errors import FlagArgumentError
from paddle_flags.fleet._role import (
    ProcessIdentity,
    default_member_name,
    identify_process,
    make_storable_name,
)

SERVERS = {"PADDLE_PSERVERS_IP_PORT_LIST": "10.0.0.1:80,10.0.0.2:80", "PADDLE_TRAINERS_NUM": "3"}


@pytest.mark.parametrize(
    ("variables", "place"),
    [
        ({}, ProcessIdentity(None, None, None)),
        ({"RANK": "1", "WORLD_SIZE": "4"}, ProcessIdentity(None, 1, 4)),
        (
            {**SERVERS, "TRAINING_ROLE": "TRAINER", "PADDLE_TRAINER_ID": "2"},
            ProcessIdentity("trainer", 2, 5),
        ),
        (
            {**SERVERS, "TRAINING_ROLE": "PSERVER", "POD_IP": "10.0.0.2", "PADDLE_PORT": "80"},
            ProcessIdentity("pserver", 1, 5),
        ),
        ({**SERVERS, "TRAINING_ROLE": "PSERVER"}, ProcessIdentity("pserver", None, 5)),
        ({"PADDLE_TRAINER_ID": "0", "RANK": "7"}, ProcessIdentity(None, 0, None)),
        ({"PADDLE_TRAINERS_NUM": "2", "WORLD_SIZE": "9"}, ProcessIdentity(None, None, 2)),
    ],
)
def test_the_variables_of_launchers_say_role_rank_and_world(variables, place):
    assert identify_process(variables) == place


def test_a_rank_that_is_no_number_is_refused():
    with pytest.raises(FlagArgumentError, match="RANK='one': expected a number"):
        identify_process({"RANK": "one"})


def test_names_are_made_of_role_and_rank():
    assert default_member_name("trainer", 3) == "trainer-3"
    assert default_member_name(None, 3) == "rank-3"
    assert default_member_name("a b", 0) == "a-b-0"
    assert make_storable_name(".x/y") == "x-y"
    assert make_storable_name("") == "x"
