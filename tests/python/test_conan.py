"""The Conan package is built and used by CMake, Meson and pkg-config."""

from __future__ import annotations

import os
import re
import sys

import pytest
from packages import BUILD_ENVIRONMENT
from support import ROOT, package, run, tool

import paddle_flags as pf

pytestmark = pytest.mark.release  # builds the library


def test_conan_creates_a_package_whose_consumers_run(tmp_path):
    package("conan")
    package("mesonbuild", "meson")
    for name, debian in (("cmake", "cmake"), ("ninja", "ninja-build"), ("pkg-config", "pkgconf")):
        tool(name, debian)
    tree = tmp_path / "tree"
    run(sys.executable, ROOT / "tools" / "copy_tree.py", tree)
    path = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"  # Meson's
    environment = {**BUILD_ENVIRONMENT, "CONAN_HOME": str(tmp_path / "home"), "PATH": path}
    conan = (sys.executable, "-m", "conans.conan")
    run(*conan, "profile", "detect", cwd=tree, env=environment)
    # Without remotes, and so without a network.
    create = (*conan, "create", "packaging/conan", "--no-remote", "--test-folder=")
    run(*create, cwd=tree, env=environment)
    test = (*conan, "test", "packaging/conan/test_package", f"paddle_flags/{pf.__version__}")
    ended = run(*test, "--no-remote", cwd=tree, env=environment)
    ran = re.findall(r"The programs that (\S+) built run", ended.stdout + ended.stderr)
    assert ran == ["CMake", "Meson", "pkg-config"]
    built = tree / "build" / "conan"
    assert "libpd_flags.so" in run(tool("readelf"), "-d", built / "host").stdout
    assert "libpd_flags" not in run("readelf", "-d", built / "static_host").stdout
