"""Addresses of fleets that are wrong."""

from __future__ import annotations

import pytest

from paddle_flags.fleet import FleetError, open_store

OF_ETCD = [
    ("etcd:///job", "expected etcd://host:port/path"),
    ("etcd://host", "expected etcd://host:port/path"),
    ("etcd://host:99999/job", "expected a host"),
    ("etcd://host/job?cat=x", "unknown option cat; did you mean ca?"),
    ("etcd://host/job?ca=x", "ca is for TLS: expected etcds://"),
    ("etcds://host/job?ca=/no/such", "ca=/no/such: No such file"),
    ("etcd://me@host/job?password_file=/no/such", "password_file=/no/such: No such file"),
]


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("dirr:///x", "unknown scheme dirr; did you mean dir?"),
        ("zookeeper://x", "unknown scheme zookeeper; expected one of configmap, dask, "),
        ("/mnt/job", "expected scheme://..., such as dir:///mnt/job42"),
        ("dir://mnt/job", "expected dir:///path, with three slashes"),
        ("dir:///", "expected dir:///path"),
        ("dir:///x?pol=1", "unknown option pol; did you mean poll?"),
        ("dir:///x?poll=fast", "poll=fast: expected a number of seconds"),
        ("dir:///x?poll=-1", "poll=-1: expected a number of seconds"),
        *(pytest.param(*each, marks=pytest.mark.extended) for each in OF_ETCD),
    ],
)
def test_an_address_that_is_wrong_is_told(url, told):
    with pytest.raises(FleetError) as raised:
        open_store(url)
    assert told in str(raised.value)
