"""Programs in C that take part in a fleet through an agent."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue

from members import SOON
from support import build_program, write

SERVER = r"""
#include <pd_flags.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef STEPS
#include <pd_flags/live.h>
#endif

PD_DEFINE_int32(threads, 4, "Worker threads", .min = 1, .max = 64, .runtime = true);
PD_DEFINE_string(mode, "a", "Mode");

static volatile sig_atomic_t given;
static void note(int signal) { given = signal; }

__attribute__((constructor)) static void early(void) {
  printf("constructor %d\n", FLAGS_threads);
}

int main(int argc, char **argv) {
  pd_error err;
  int last = 0;
  signal(SIGUSR1, note);
  signal(SIGTERM, note);
  if (pd_parse_argv(&argc, argv, NULL, &err) != PD_OK) return puts(err.message), 2;
  printf("main %d %s\n", FLAGS_threads, FLAGS_mode);
  fflush(stdout);
  for (long long step = 0;; step++) {
#ifdef STEPS
    if (pd_live_step(step, &err) != PD_OK) puts(err.message);
#endif
    if (FLAGS_threads != last) printf("step %lld %d\n", step, last = FLAGS_threads);
    if (given) printf("signal %d\n", given);
    fflush(stdout);
    if (given) exit(given == SIGTERM ? 7 : 0);
    usleep(2000);
  }
}
"""


def build(folder: Path, *, steps: bool) -> Path:
    """Build the program; with steps, it uses the library that serves flags."""
    flags = ("-DSTEPS", "-lpd_flags_live") if steps else ()
    name = "steps" if steps else "plain"
    return build_program(folder / name, write(folder / f"{name}.c", SERVER), flags=flags)


class Agent:
    """An agent that runs, and the lines that its program prints."""

    def __init__(self, url: str, *words: object) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "paddle_flags", "join", url, *map(str, words)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._lines: SimpleQueue[str] = SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self._lines.put(line.strip())
        self._lines.put("")

    def line(self) -> str:
        """Return the next line; "" at the end."""
        return self._lines.get(timeout=SOON)

    def until(self, fits: Callable[[str], bool]) -> str:
        """Return the first line that fits."""
        seen = []
        while line := self.line():
            seen.append(line)
            if fits(line):
                return line
        raise AssertionError(f"{seen}, then {self.errors()}")

    def errors(self) -> str:
        """Return what was printed on stderr, when it has ended."""
        assert self.process.stderr
        return self.process.stderr.read()

    def end(self) -> int:
        """Return the exit status."""
        return self.process.wait(SOON)

    def clean(self) -> None:
        """End everything."""
        self.process.terminate()
        try:
            self.process.wait(SOON)
        finally:
            self.process.kill()
            self._reader.join(SOON)
            assert self.process.stdout
            assert self.process.stderr
            self.process.stdout.close()
            self.process.stderr.close()
