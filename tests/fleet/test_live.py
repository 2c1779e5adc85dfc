"""What a member answers to requests of the live API, without a server."""

from __future__ import annotations

import json
from typing import Any

import pytest

from paddle_flags.fleet import _live
from paddle_flags.fleet._fleet import Fleet
from paddle_flags.fleet._open import open_store
from paddle_flags.fleet._operate import ConflictError
from paddle_flags.fleet._presence import Presence
from paddle_flags.fleet._store import FleetError, LeaseError, ReadOnlyError, UnreachableError
from paddle_flags.fleet._view import View
from paddle_flags.live._body import read_body
from paddle_flags.live._fleet import Asked, Reply

WHO = {"uid": 1000, "pid": 1, "command": None, "host": None, "label": None}


class Away:
    """An engine that doesn't answer."""

    url = "dir:///away"

    def __getattr__(self, name: str) -> Any:
        def call(*_: object) -> None:
            message = "the engine is away"
            raise UnreachableError(message)

        return call


class Alone:
    """A membership without a thread."""

    url = "dir:///away"
    name, role, rank, host = "trainer-0", "trainer", 0, "node1"
    revision, stale, problem, left = 7, 3.5, "the engine is away", False

    def __init__(self, store: Any) -> None:
        self.store = store


def view_of(store: Any) -> View:
    member: Any = Alone(store)
    return View(member)


def ask(view: View, body: object | None = None) -> Reply:
    fields = None if body is None else read_body(json.dumps(body).encode())
    return _live.answer(view, Asked(fields, None, WHO))


def test_while_the_engine_is_away_the_answer_says_so_with_what_the_member_knows():
    reply = ask(view_of(Away()))
    assert reply.status == 200
    assert reply.document is not None
    assert reply.document["problem"] == "the engine is away"
    assert reply.document["revision"] == 7
    assert reply.document["age"] is None
    assert reply.document["member"]["stale"] == 3.5
    assert not reply.document["ok"]


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ReadOnlyError, 403),
        (ConflictError, 409),
        (LeaseError, 422),
        (FleetError, 422),
        (UnreachableError, 504),
        (OSError, 504),
    ],
)
def test_what_the_engine_refuses_has_a_status_of_its_own(
    error: type[Exception], status: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
):
    def change(*_: object, **__: object) -> None:
        message = "refused, as a test"
        raise error(message)

    monkeypatch.setattr(Fleet, "change", change)
    view = view_of(open_store(f"dir://{tmp_path}/job"))
    reply = ask(view, {"set": {"level": "5"}, "reason": "x"})
    assert (reply.status, reply.detail) == (status, "refused, as a test")
    assert reply.event is not None
    assert reply.event["status"] == status


def test_a_membership_has_what_the_answers_need():
    for name in ("url", "name", "role", "rank", "host", "revision", "stale", "problem", "left"):
        assert hasattr(Presence, name)
    assert hasattr(Presence, "store")


def test_the_event_of_a_refused_secret_does_not_have_it(fleet, url):
    fleet.set({"level": 1})
    store = open_store(url)
    store.announce("other", json.dumps({"sensitive": ["token"]}).encode(), 60)
    reply = ask(view_of(store), {"set": {"token": "swordfish"}})
    assert reply.status == 422
    assert "swordfish" not in json.dumps([reply.event, reply.detail])
