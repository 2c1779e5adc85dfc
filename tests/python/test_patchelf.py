"""Files that patchelf has edited, as auditwheel and conda-build do: it moves first sections."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from attaching import started
from joining import LEVEL, REGISTRY, Maker, obey
from support import LIBDIR, ROOT, build, build_plugin, run, tool

from paddle_flags.live._attach import read

pytestmark = pytest.mark.extended  # compiles
RELEASE = ROOT / "tests" / "release"
FAR = "/opt/some/directory/that/is/longer/than/what/was/there/before:$ORIGIN/../lib"


def edit(path: Path, *words: str) -> Path:
    run(tool("patchelf", "patchelf"), *words, path)
    return path


@pytest.mark.parametrize("options", [(), ("-fuse-ld=lld",), ("-Wl,-z,noseparate-code",)], ids=str)
def test_a_plugin_with_another_run_path_joins_early_and_late(
    maker: Maker, host: Path, options: tuple[str, ...]
) -> None:
    name = f"edited{len(options)}{''.join(options)[-3:]}"
    plugin = edit(maker.plugin(name, LEVEL, flags=options), "--set-rpath", FAR)
    opened, registry = f"open local {plugin}", f"registry {REGISTRY}"
    for order in ((opened, registry), (registry, opened)):
        said = obey(host, *order, "set join_level 7", f"call {plugin} level")
        assert said == ["ok", "ok", "ok", "7"]


@pytest.mark.parametrize("kind", ["-pie", "-no-pie"])
def test_a_program_with_another_loader_joins(tmp_path: Path, kind: str) -> None:
    loader = tmp_path / "a-directory-with-a-long-name" / "loader-with-a-long-name.so"
    loader.parent.mkdir()
    plugin = build_plugin(tmp_path / "plugin.so", RELEASE / "plugin.c")
    compiled = "-fPIE" if kind == "-pie" else "-fno-pie"
    linked = (f"-L{LIBDIR}", f"-Wl,-rpath,{LIBDIR}", "-lpd_flags", kind, compiled)
    program = build(tmp_path / "host", RELEASE / "host.c", flags=linked)
    patchelf = tool("patchelf", "patchelf")
    loader.symlink_to(run(patchelf, "--print-interpreter", program).stdout.strip())
    edit(program, "--set-interpreter", str(loader))
    said = run(program, plugin, "--level=7", "--plugin_rate=2").stdout
    assert said.split()[1:] == ["7", "2"]


WAIT = """
import ctypes, sys
for path in sys.argv[1:]:
    ctypes.CDLL(path)
print("END", flush=True)
sys.stdin.read()
"""


def test_a_library_with_another_run_path_hosts_and_is_read_from_outside(tmp_path: Path) -> None:
    library = Path(shutil.copy(Path(LIBDIR, "libpd_flags.so"), tmp_path))
    edit(library, "--set-rpath", FAR)
    plugin = build_plugin(tmp_path / "plugin.so", RELEASE / "plugin.c")
    with started(sys.executable, "-c", WAIT, plugin, library) as running:
        assert "plugin_rate" in {flag["name"] for flag in read(running.pid)["flags"]}
