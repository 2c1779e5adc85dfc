"""The Debian packages agree with the sources. packaging/build_debian.sh builds and uses them."""

from __future__ import annotations

import re

from support import LIBDIR, ROOT, run, tool
from test_exports import declared, plain_build

import paddle_flags as pf

DEBIAN = ROOT / "packaging" / "debian"


def symbols(library: str) -> set[str]:
    """The functions that debian/libpd-flags0.symbols lists for a library."""
    text = (DEBIAN / "libpd-flags0.symbols").read_text("utf-8")
    (listed,) = re.findall(rf"^{re.escape(library)} .*\n\* .*\n((?: .*\n)+)", text, re.MULTILINE)
    return set(re.findall(r"^ (\w+)@Base \d", listed, re.MULTILINE))


def test_the_symbols_file_lists_the_functions_of_the_header():
    listed = symbols("libpd_flags.so.0")
    version = pf.__version__.partition("+")[0]
    missing = "".join(f" {name}@Base {version}\n" for name in sorted(declared() - listed))
    assert not missing, f"add to debian/libpd-flags0.symbols:\n{missing}"
    assert listed == declared()


@plain_build
def test_the_symbols_file_lists_what_the_server_exports():
    shown = run(tool("nm"), "-D", "--defined-only", f"{LIBDIR}/libpd_flags_live.so").stdout
    assert symbols("libpd_flags_live.so.0") == {line.split()[2] for line in shown.splitlines()}


def test_the_packages_have_the_version_of_the_header():
    latest = (DEBIAN / "changelog").read_text("utf-8").partition(")")[0]
    header = (ROOT / "csrc" / "include" / "pd_flags.h").read_text("utf-8")
    (version,) = re.findall(r'#define PD_VERSION "(.+)"', header)
    assert re.fullmatch(rf"paddle-flags \({re.escape(version)}-\d+", latest)


def test_the_soname_rises_with_the_abi():
    header = (ROOT / "csrc" / "include" / "pd_flags.h").read_text("utf-8")
    (abi,) = re.findall(r"#define PD_ABI_VERSION (\d+)", header)
    (soname,) = re.findall(r"PD_SOVERSION = (\d+)", (DEBIAN / "rules").read_text("utf-8"))
    assert int(soname) == int(abi) - 1
