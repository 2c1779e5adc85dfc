"""The tables of attacks in docs/security.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support import ROOT

pytestmark = pytest.mark.extended  # HTTP is an extra

PAGE = (ROOT / "docs" / "security.md").read_text("utf-8")
ROWS = set(re.findall(r"^\| .+ \| .+ \| `(test_\w+)` \|$", PAGE, re.MULTILINE))

# What must work in spite of all that.
WORKS = {
    "test_a_name_that_is_allowed_is_answered",
    "test_the_page_itself_may_change_flags",
    "test_the_largest_body_reaches_the_process",
    "test_a_client_that_waits_for_its_answer_is_not_cut",
    "test_a_file_of_tokens_that_is_wrong_is_refused",
    "test_behind_a_proxy_with_tls_its_own_origin_is_known",
}


def names_of(*patterns: str) -> set[str]:
    files = [each for pattern in patterns for each in Path(ROOT, "tests").glob(pattern)]
    texts = [each.read_text("utf-8") for each in files]
    return {name for text in texts for name in re.findall(r"^def (test_\w+)", text, re.MULTILINE)}


def test_each_row_names_a_test_that_exists():
    assert ROWS - names_of("live/test_*.py", "gateway/test_*.py", "fleet/test_*.py") == set()


def test_each_attack_on_the_gateway_is_a_row():
    known = names_of("gateway/test_attack_sites.py", "gateway/test_attack_wire.py")
    assert known - ROWS == WORKS
