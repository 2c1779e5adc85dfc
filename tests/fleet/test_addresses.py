"""Addresses of fleets that are wrong."""

from __future__ import annotations

import pytest
from support import in_url

from paddle_flags.fleet import FleetError, open_store

OF_ETCD = [
    ("etcd:///job", "expected etcd://host:port/path"),
    ("etcd://host", "expected etcd://host:port/path"),
    ("etcd://host:99999/job", "expected a host"),
    ("etcd://host/job?cat=x", "unknown option cat; did you mean 'ca'?"),
    ("etcd://host/job?ca=x", "ca is for TLS: expected etcds://"),
    ("etcds://host/job?ca=/no/such", "ca=/no/such: No such file"),
    ("etcd://me@host/job?password_file=/no/such", "password_file=/no/such: No such file"),
]


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("dirr:///x", "unknown scheme dirr; did you mean 'dir'?"),
        ("zookeeper://x", "unknown scheme zookeeper; expected one of configmap, dask, "),
        ("/mnt/job", "expected scheme://..., such as dir:///mnt/job42"),
        ("dir://mnt/job", "expected dir:///path, with three slashes"),
        ("dir:///", "expected dir:///path"),
        ("dir://", "such as dir:///mnt/job42"),
        ("dir:///x?pol=1", "unknown option pol; did you mean 'poll'?"),
        ("dir:///x?poll=fast", "poll=fast: expected a number of seconds"),
        ("dir:///x?poll=-1", "poll=-1: expected a number of seconds"),
        *(pytest.param(*each, marks=pytest.mark.extended) for each in OF_ETCD),
    ],
)
def test_an_address_that_is_wrong_is_told(url, told):
    with pytest.raises(FleetError) as raised:
        open_store(url)
    assert told in str(raised.value)


@pytest.mark.parametrize("scheme", ["dir", "configmap"])
@pytest.mark.parametrize(
    "path",
    ["//jobs/x", "jobs/x", "//jobs/x?poll=1", "//./jobs/x", "//jobs:y/../jobs/x", "//jobs%2fx"],
)
def test_a_relative_path_is_told_with_the_absolute_one(scheme, path, tmp_path, monkeypatch):
    here = tmp_path / "a b"
    here.mkdir()
    monkeypatch.chdir(here)
    with pytest.raises(FleetError) as raised:
        open_store(f"{scheme}:{path}")
    assert str(raised.value) == (
        f"{scheme}:{path}: expected {scheme}:///path, with three slashes and an absolute path, "
        f"such as {scheme}://{in_url(tmp_path)}/a%20b/jobs/x"
    )


def test_an_absolute_path_with_too_few_slashes_is_told(tmp_path):
    with pytest.raises(FleetError, match=f"such as dir://{in_url(tmp_path)}/x"):
        open_store(f"dir:{tmp_path}/x")
