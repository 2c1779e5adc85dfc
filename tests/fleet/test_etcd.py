"""The engine etcd: addresses, users and their rights, TLS."""

from __future__ import annotations

import socket
import struct
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import certificates
import pytest
from etcd_cluster import Cluster
from etcd_node import free_ports
from members import SOON, eventually
from support import installed, run

from paddle_flags.fleet import _etcd
from paddle_flags.fleet._open import open_store
from paddle_flags.fleet._store import FleetError, LeaseError, ReadOnlyError, UnreachableError

pytestmark = pytest.mark.extended


@pytest.fixture(scope="module")
def users():
    """A node with users."""
    with Cluster(1) as made:
        made.add_users()
        yield made


@pytest.fixture(scope="module")
def plain():
    """A node without users."""
    with Cluster(1) as made:
        yield made


def connect(cluster, user, fleet="/jobs/one", timeout=10):
    return open_store(f"etcd://{user}@{cluster.hosts}{fleet}", timeout=timeout)


# -- Addresses --


@pytest.mark.parametrize("timeout", [5, 600])
def test_a_mistyped_port_is_told_at_once_with_the_address(timeout):
    port = free_ports(1)[0]
    store = open_store(f"etcd://127.0.0.1:{port}/job", timeout=timeout)
    began = time.monotonic()
    with pytest.raises(UnreachableError, match=rf"127\.0\.0\.1:{port}: Connection refused"):
        store.last()
    assert time.monotonic() - began < 60  # not 600


def test_a_mistyped_host_is_told_with_its_name():
    store = open_store("etcd://no-such-host.invalid/job")
    with pytest.raises(UnreachableError, match=r"no-such-host\.invalid:2379: .*[Nn]ame"):
        store.last()


def test_one_mistyped_address_of_several_does_no_harm(plain):
    port = free_ports(1)[0]
    for _ in range(8):  # the first node is chosen by chance
        store = open_store(f"etcd://127.0.0.1:{port},{plain.hosts}/mistyped")
        assert store.last() == 0
        store.close()


# -- Users --


def test_an_operator_writes_and_a_member_answers(users):
    operator, member = connect(users, "operator:password"), connect(users, "member:password")
    assert operator.append(1, b"one")
    assert member.read(1) == [b"one"]
    member.announce("m", b"document", 30)
    member.keep_alive("m")
    assert operator.members() == {"m": (b"document", True)}
    for call in (lambda: member.append(2, b"x"), lambda: member.compact(1, b"x")):
        with pytest.raises(ReadOnlyError, match="permission denied"):
            call()
    assert operator.append(2, b"two")
    assert member.wait(1, SOON) == 2
    assert operator.compact(1, b"base")
    assert member.base() == (1, b"base")
    member.withdraw("m", b"left")
    assert operator.members() == {"m": (b"left", False)}
    for each in (operator, member):
        each.close()


def test_a_member_of_one_fleet_has_no_rights_in_another(users):
    member = connect(users, "member:password", "/jobs/two")
    assert member.last() == 0
    for call in (lambda: member.announce("m", b"", 30), lambda: member.withdraw("m", b"")):
        with pytest.raises(ReadOnlyError, match="permission denied"):
            call()
    outside = connect(users, "member:password", "/other")
    with pytest.raises(FleetError, match="permission denied"):
        outside.last()
    for each in (member, outside):
        each.close()


@pytest.mark.parametrize("user", ["operator:wrong", "nobody:password", "operator"])
def test_a_wrong_password_is_told_with_the_user(users, user):
    store = connect(users, user)
    name = user.partition(":")[0]
    with pytest.raises(FleetError, match=f"expected the password of user {name}") as raised:
        store.last()
    assert "wrong" not in str(raised.value)
    store.close()


def test_an_address_without_a_user_is_told_that_there_are_users(users):
    store = open_store(f"etcd://{users.hosts}/jobs/one")
    with pytest.raises(FleetError, match=r"expected a user, as in etcd://user@host/path"):
        store.last()
    store.close()


def test_an_address_with_a_user_is_told_that_there_are_none(plain):
    store = connect(plain, "operator:password")
    with pytest.raises(FleetError, match="expected an address without a user"):
        store.last()
    store.close()


def test_the_password_comes_from_the_environment_or_a_file(users, monkeypatch, tmp_path):
    monkeypatch.setenv("PADDLE_FLAGS_ETCD_PASSWORD", "password")
    store = connect(users, "operator", "/jobs/three")
    assert store.last() == 0
    assert store.url == f"etcd://operator@{users.hosts}/jobs/three"
    store.close()
    monkeypatch.setenv("PADDLE_FLAGS_ETCD_PASSWORD", "wrong")
    (tmp_path / "secret").write_text("password\n")
    store = connect(users, "operator", f"/jobs/three?password_file={tmp_path}/secret")
    assert store.last() == 0
    store.close()
    monkeypatch.setenv("PADDLE_FLAGS_ETCD_PASSWORD_FILE", str(tmp_path / "secret"))
    store = connect(users, "operator", "/jobs/three")
    assert store.last() == 0
    store.close()


def test_a_password_may_have_any_characters(users):
    users.ctl("user", "add", "odd:p@ss/w:rd?#%", "--user=root:password")
    users.ctl("user", "grant-role", "odd", "operator", "--user=root:password")
    store = connect(users, "odd:p%40ss%2Fw%3Ard%3F%23%25", "/jobs/three")
    assert store.last() == 0
    assert "p%40" not in store.url + repr(vars(store))
    store.close()


def test_a_user_is_logged_in_anew_after_the_node_forgot_the_token(users):
    store = connect(users, "operator:password", "/jobs/four", timeout=SOON)
    assert store.append(1, b"x")
    assert store.wait(1, 0.1) == 1
    users.stop()
    users.restart()
    assert store.append(2, b"y")
    users.stop()
    users.restart()
    assert store.wait(2, 0.1) == 2
    # Changed rights make old tokens out of date.
    users.ctl("role", "add", f"r{time.time_ns()}", "--user=root:password")
    assert store.append(3, b"z")
    store.close()


CALLS = [
    ("keep_alive", "a"),
    ("last",),
    ("base",),
    ("members",),
    ("member", "a"),
    ("append", 2, b"x"),
    ("read", 1),
    ("wait", 1, 1000),
    ("compact", 1, b""),
    ("announce", "a", b"", 60),
    ("withdraw", "a", b""),
]


@pytest.mark.parametrize("has_token", [True, False])
def test_a_user_that_was_deleted_is_told_by_every_call(users, has_token):
    fleet = f"/jobs/deleted{has_token}"
    users.ctl("user", "add", "leaver:password", "--user=root:password")
    users.ctl("user", "grant-role", "leaver", "operator", "--user=root:password")
    store = connect(users, "leaver:password", fleet)
    assert store.append(1, b"x")
    store.announce("a", b"document", 60)
    store.keep_alive("a")
    users.ctl("user", "delete", "leaver", "--user=root:password")
    for name, *arguments in CALLS:
        if not has_token:
            store.close()
            store = connect(users, "leaver:password", fleet)
        with pytest.raises(FleetError, match="expected the password of user leaver") as raised:
            getattr(store, name)(*arguments)
        assert "etcd has no user leaver, or" in str(raised.value)
    store.close()


# -- Leases --


def cost(cluster, call, *arguments):
    """Return how many requests a call makes."""
    before = cluster.nodes[0].requests()
    call(*arguments)
    return cluster.nodes[0].requests() - before


def test_a_lease_is_renewed_by_one_request_and_one_more_with_users(plain, users):
    for cluster, user, requests in ((plain, "", 1), (users, "operator:password@", 2)):
        store = open_store(f"etcd://{user}{cluster.hosts}/jobs/renewed", timeout=SOON)
        store.announce("a", b"document", 60)
        for _ in range(5):
            assert cost(cluster, store.keep_alive, "a") == requests
        store.close()


def test_a_document_is_kept_for_a_day_after_the_last_renewal(plain, monkeypatch):
    day = 8
    monkeypatch.setattr(_etcd, "REMEMBERED", day)
    store = open_store(f"etcd://{plain.hosts}/jobs/day", timeout=SOON)
    store.announce("alive", b"x", 2)
    store.announce("dead", b"y", 2)
    end = time.monotonic() + 2 * day
    while time.monotonic() < end:
        store.keep_alive("alive")
        time.sleep(0.5)
    assert store.member("alive") == (b"x", True)
    store.close()
    with closing(open_store(f"etcd://{plain.hosts}/jobs/day", timeout=SOON)) as other:
        assert other.member("alive") == (b"x", True)
        eventually(lambda: other.member("alive"), (b"x", False))
        eventually(other.members, {})


def test_a_member_whose_leases_are_gone_announces_itself_again(plain):
    store = open_store(f"etcd://{plain.hosts}/jobs/gone", timeout=SOON)
    store.announce("a", b"x", 60)
    for line in plain.ctl("lease", "list").splitlines()[1:]:
        plain.ctl("lease", "revoke", line)
    assert store.members() == {}
    with pytest.raises(LeaseError, match="lease of member a has ended"):
        store.keep_alive("a")
    store.announce("a", b"y", 60)
    assert store.members() == {"a": (b"y", True)}
    store.close()


def test_foreign_keys_among_members_are_left_out(plain):
    store = open_store(f"etcd://{plain.hosts}/jobs/foreign", timeout=SOON)
    store.announce("a", b"x", 60)
    for name in ("b/c", "\x1b[31m", "b!", "!", "ä", ""):
        plain.ctl("put", f"/jobs/foreign/members/{name}", "y")
    assert store.members() == {"a": (b"x", True)}
    store.close()


def test_a_fleet_that_was_removed_begins_anew(plain):
    store = open_store(f"etcd://{plain.hosts}/jobs/removed", timeout=SOON)
    for number in (1, 2, 3):
        assert store.append(number, b"x")
    assert store.wait(2, SOON) == 3
    assert store.wait(3, 0.1) == 3
    plain.ctl("del", "--prefix", "/jobs/removed/")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(store.wait, 0, 1000)
        time.sleep(0.3)
        assert not waiting.done()
        assert store.append(1, b"again")
        assert waiting.result(SOON) == 1
    store.close()


GEVENT = """
from gevent import monkey
monkey.patch_all()
import sys, gevent
from paddle_flags.fleet import open_store
from paddle_flags.fleet._threads import start_thread
store = open_store(sys.argv[1], timeout=30)
waiting = gevent.spawn(store.wait, 0, 1000)
gevent.sleep(0.5)
assert store.append(1, b"x")
seen = []
start_thread(lambda: seen.append(store.wait(0, 1000)), "a thread of the system")
while not seen:
    gevent.sleep(0.01)
print(waiting.get(), seen, store.read(1))
store.close()
"""


@pytest.mark.parametrize("node", ["plain", "encrypted"])
def test_greenlets_and_threads_use_a_store_at_once(request, node, ca, client):
    installed("gevent")
    hosts = request.getfixturevalue(node).hosts
    url = f"etcd://{hosts}/jobs/gevent"
    if node == "encrypted":
        key = client.with_suffix(".key")
        url = f"etcds://{hosts}/jobs/gevent?ca={ca}&cert={client}&key={key}"
    assert run(sys.executable, "-c", GEVENT, url).stdout == "1 [1] [b'x']\n"


# -- TLS --


@pytest.fixture(scope="module")
def ca(tmp_path_factory):
    return certificates.authority(tmp_path_factory.mktemp("ca"), "authority")


@pytest.fixture(scope="module")
def encrypted(ca):
    """A node that wants a certificate of its clients. Its own has no common name: see below."""
    own = certificates.certificate(ca, "server", "/O=etcd")
    options = [f"--cert-file={own}", f"--key-file={own.with_suffix('.key')}"]
    with Cluster(1, tls=[*options, "--client-cert-auth", f"--trusted-ca-file={ca}"]) as made:
        yield made


@pytest.fixture(scope="module")
def client(ca):
    return certificates.certificate(ca, "client", "/O=client")


def test_tls_with_a_certificate_on_both_sides(encrypted, ca, client):
    key = client.with_suffix(".key")
    url = f"etcds://{encrypted.hosts}/tls?ca={ca}&cert={client}&key={key}"
    store = open_store(url, timeout=10)
    for number in range(1, 6):
        record = b"x" * 1000 * number * number
        assert store.append(number, record)
        assert store.wait(number - 1, SOON) == number
        assert store.read(number) == [record]
    assert store.wait(5, 0.1) == 5
    store.announce("a", b"x" * (1 << 20), 30)
    assert store.members() == {"a": (b"x" * (1 << 20), True)}
    store.close()


def test_certificates_may_be_named_by_the_environment(encrypted, ca, client, monkeypatch):
    monkeypatch.setenv("PADDLE_FLAGS_ETCD_CA", str(ca))
    monkeypatch.setenv("PADDLE_FLAGS_ETCD_CERT", str(client))
    monkeypatch.setenv("PADDLE_FLAGS_ETCD_KEY", str(client.with_suffix(".key")))
    store = open_store(f"etcds://{encrypted.hosts}/environment")
    assert store.append(1, b"x")
    store.close()


def test_a_server_of_another_authority_is_refused(encrypted, tmp_path):
    other = certificates.authority(tmp_path, "other")
    store = open_store(f"etcds://{encrypted.hosts}/tls?ca={other}")
    with pytest.raises(UnreachableError, match=r"certificate: "):
        store.last()
    store.close()


def test_a_server_of_another_name_is_refused(encrypted, ca):
    store = open_store(f"etcds://127.0.0.2:{encrypted.nodes[0].port}/tls?ca={ca}", timeout=2)
    with pytest.raises(UnreachableError):  # nothing listens there, or the name differs
        store.last()
    store.close()


def test_a_client_without_a_certificate_is_refused(encrypted, ca):
    store = open_store(f"etcds://{encrypted.hosts}/tls?ca={ca}")
    with pytest.raises(
        UnreachableError, match=r"TLS: .*certificate; expected the options cert and key"
    ):
        store.last()
    store.close()


def test_etcd_without_tls_at_a_port_with_it_is_told(encrypted):
    store = open_store(f"etcd://{encrypted.hosts}/tls")
    with pytest.raises(FleetError, match=r"closed the connection .*expected etcds://"):
        store.last()
    store.close()


def test_etcds_at_a_port_without_tls_is_told(plain, ca):
    store = open_store(f"etcds://{plain.hosts}/tls?ca={ca}")
    with pytest.raises(UnreachableError, match=r"TLS: .*expected etcd://"):
        store.last()
    store.close()


def test_a_port_that_resets_the_handshake_may_have_no_tls():
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            with server.accept()[0] as connection:
                connection.recv(1)
                reset = struct.pack("ii", 1, 0)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)

        thread = threading.Thread(target=answer)
        thread.start()
        store = open_store(f"etcds://127.0.0.1:{server.getsockname()[1]}/tls")
        with pytest.raises(UnreachableError, match=r"TLS: handshake: .*; expected etcd://"):
            store.last()
        store.close()
        thread.join()


def test_users_and_client_certificates_go_together_unless_they_have_a_common_name(ca, monkeypatch):
    own = certificates.certificate(ca, "node", "/O=etcd")
    options = [f"--cert-file={own}", f"--key-file={own.with_suffix('.key')}"]
    unnamed = certificates.certificate(ca, "unnamed", "/O=client")
    named = certificates.certificate(ca, "named", "/CN=operator")
    for name, path in (("CACERT", ca), ("CERT", unnamed), ("KEY", unnamed.with_suffix(".key"))):
        monkeypatch.setenv(f"ETCDCTL_{name}", str(path))
    tls = [*options, "--client-cert-auth", f"--trusted-ca-file={ca}"]
    with Cluster(1, tls=tls) as cluster:
        cluster.add_users()
        place = f"{cluster.hosts}/jobs/one?ca={ca}"

        def store(user, cert):
            return open_store(
                f"etcds://{user}{place}&cert={cert}&key={cert.with_suffix('.key')}", timeout=10
            )

        operator = store("operator:password@", unnamed)
        assert operator.append(1, b"x")
        operator.close()
        nobody = store("", unnamed)
        with pytest.raises(FleetError, match="expected a user"):
            nobody.last()
        nobody.close()
        for user in ("operator:password@", ""):
            refused = store(user, named)
            with pytest.raises(FleetError, match="expected a client certificate without a common"):
                refused.last()
            refused.close()
