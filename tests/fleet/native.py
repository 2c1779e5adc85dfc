"""Building libpd_flags_fleet.so and C programs that are members, for tests."""

from __future__ import annotations

import contextlib
import functools
import os
import queue
import signal
import subprocess
import tempfile
import threading
from pathlib import Path

from members import SOON
from support import CC, CHECKED, LIBDIR, ROOT, build, install, missing, run

HERE = Path(__file__).parent
SOURCES = ROOT / "csrc" / "fleet"
NO_LEAKS = {"ASAN_OPTIONS": "detect_leaks=0"}


def need_libraries() -> None:
    """Skip the test if what the module needs is missing."""
    probe = "#include <stdio.h>\n#include <jansson.h>\n#include <sha2.h>\n"
    if run(*CC, "-E", "-x", "c", "-", input=probe, check=False).returncode != 0:
        missing("jansson or libmd", install("libjansson-dev libmd-dev"))


@functools.cache
def module() -> Path:
    """Build libpd_flags_fleet.so; skip the test if what it needs is missing."""
    need_libraries()
    place = Path(tempfile.mkdtemp(prefix="pd-fleet-"))
    run("make", "-C", SOURCES, f"OUT={place}")
    return place / "libpd_flags_fleet.so"


@functools.cache
def host(*, static: bool = False, joined: bool = True) -> Path:
    """Build host.c with the module, and with a copy of the library or the shared one."""
    place = module().parent
    shared = [f"-L{LIBDIR}", f"-Wl,-rpath,{LIBDIR}", "-lpd_flags"]
    linked = [f"{LIBDIR}/libpd_flags.a", "-pthread", "-ldl"] if static else shared
    fleet = [f"-L{place}", f"-Wl,-rpath,{place}", "-lpd_flags_fleet"] if joined else ["-DUNJOINED"]
    return build(place / f"host-{static}-{joined}", HERE / "host.c", flags=(*fleet, *linked))


@functools.cache
def folder_of_checks() -> Path:
    """Return a folder for programs with AddressSanitizer and UBSan."""
    return Path(tempfile.mkdtemp(prefix="pd-fleet-checked-"))


@functools.cache
def fold() -> Path:
    """Build fold.c with the module's fold, with AddressSanitizer and UBSan."""
    need_libraries()
    out = folder_of_checks() / "fold"
    sources = [HERE / "fold.c", *(SOURCES / f"{each}.c" for each in ("json", "record", "state"))]
    checks = CHECKED or ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    flags = ["-std=gnu11", "-D_GNU_SOURCE", "-DPD_HEADER_ONLY", "-g", "-O1", *checks]
    run(
        *CC,
        *flags,
        f"-I{ROOT}/csrc/include",
        f"-I{SOURCES}",
        *sources,
        "-ljansson",
        "-ldl",
        "-o",
        out,
    )
    return out


@functools.cache
def checked_host() -> Path:
    """Build host.c, the module and a copy of the library with AddressSanitizer and UBSan."""
    module()
    out = folder_of_checks()
    checks = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g", "-O1"]
    flags = ["-std=gnu11", "-D_GNU_SOURCE", "-pthread", f"-I{ROOT}/csrc/include", *checks]
    own = [f"-I{SOURCES}", "-DPD_HEADER_ONLY"]
    files = [each for each in sorted(SOURCES.glob("*.c")) if each.name != "start.c"]
    run(
        *CC,
        *flags,
        *own,
        "-fPIC",
        "-shared",
        *files,
        "-ljansson",
        "-lmd",
        "-lm",
        "-ldl",
        "-o",
        out / "m.so",
    )
    linked = [out / "m.so", f"-Wl,-rpath,{out}", f"{LIBDIR}/libpd_flags.a", "-ldl"]
    run(*CC, *flags, HERE / "host.c", *linked, "-o", out / "host")
    return out / "host"


class Native:
    """A C program that obeys lines and answers each with one line."""

    def __init__(self, url: str, program: Path, **variables: str) -> None:
        self.url = url
        self._process = subprocess.Popen(
            [program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **NO_LEAKS, **variables},
        )
        self._answers: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, line: str) -> None:
        assert self._process.stdin
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def receive(self) -> str:
        try:
            return self._answers.get(timeout=SOON)
        except queue.Empty:
            message = "the program does not answer"
            raise AssertionError(message) from None

    def _read(self) -> None:
        """Take each line as it comes; an empty one says that no more will come."""
        assert self._process.stdout
        with contextlib.suppress(ValueError):  # closed
            for line in self._process.stdout:
                self._answers.put(line.rstrip("\n"))
        self._answers.put("")

    def do(self, line: str) -> str:
        """Return the answer to a line."""
        self.send(line)
        return self.receive()

    def begin(self, **options: object) -> Native:
        """Join, with a short lease."""
        words = [f"{name}={value}" for name, value in {"ttl": 1, **options}.items()]
        answer = self.do(" ".join(["join", self.url, *words]))
        assert answer == "ok", answer
        return self

    def value(self, name: str) -> str:
        """Return the value of a flag."""
        return self.do(f"get {name}").rpartition(" ")[0]

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        self._process.kill()
        self._close()

    def end(self) -> str:
        """End the program as programs end; return what it printed to its standard error."""
        with contextlib.suppress(OSError):
            self.send("exit")
        try:
            self._process.wait(SOON)
        finally:
            self._process.kill()
        errors = self._process.stderr.read() if self._process.stderr else ""
        self._close()
        return errors

    def wait(self) -> int:
        return self._process.wait(SOON)

    def _close(self) -> None:
        self._process.wait()
        self._reader.join(SOON)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream:
                with contextlib.suppress(OSError):
                    stream.close()

    def clean(self) -> None:
        if self._process.poll() is None:
            self.kill()
        else:
            self._close()
