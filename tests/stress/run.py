"""Build the stress program and run it with one seed after the other.

Each build has the library and the plugins compiled for it: plain, with AddressSanitizer and UBSan,
with ThreadSanitizer. A run that fails says how to repeat it. Threads don't meet at the same
moments again, so give a failing seed some minutes.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILDS = {
    "plain": ("-O2",),
    "asan": ("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
    "tsan": ("-O1", "-fsanitize=thread"),
}
OPTIONS = ("-std=gnu11", "-g", "-fno-omit-frame-pointer", "-pthread", "-fexceptions")
WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror")
PLUGINS: dict[str, list[tuple[str, ...]]] = {  # by source: libraries, and options
    "whole": [("whole_a",), ("whole_b",)],
    "clashing": [
        ("clashing", "-DPREFIX=clashing"),
        *((f"lasting_{n}", f"-DPREFIX=lasting_{n}", "-Wl,-z,nodelete") for n in range(6)),
    ],
    **{name: [(name,)] for name in ("chosen", "swift", "importer", "late", "scoped", "named")},
}
RUN = 5  # seconds with one seed, where nobody says otherwise
# The loader frees what TLS of closed libraries needed when it likes; leaks are counted elsewhere.
SETTINGS = {
    "ASAN_OPTIONS": "detect_leaks=0",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1:die_after_fork=0",
}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=600, help="for each build; 600")
    parser.add_argument("--seed", type=int, default=1, help="of the first run; 1")
    parser.add_argument("--run", type=int, help=f"seconds with one seed; {RUN}")
    parser.add_argument("--build", action="append", choices=BUILDS, help="all by default")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "stress")
    return parser.parse_args()


def compile_all(commands: list[list[object]]) -> None:
    """Run compilers, as many at a time as there are processors."""

    def compile_one(command: list[object]) -> None:
        ended = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
        if ended.returncode != 0:
            sys.exit(f"{shlex.join(map(str, command))}\n{ended.stderr}")

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(compile_one, commands))


def build(out: Path, flags: tuple[str, ...]) -> Path:
    """Build the library, the plugins and the program; give the program."""
    compiler = shlex.split(os.environ.get("CC", "cc"))
    base = [*compiler, *OPTIONS, *flags, f"-I{ROOT / 'csrc' / 'include'}"]
    shutil.rmtree(out, ignore_errors=True)
    (out / "plugins").mkdir(parents=True)
    commands: list[list[object]] = []
    objects = []
    for number, source in enumerate(sorted((ROOT / "csrc" / "src").rglob("*.c"))):
        objects.append(out / f"{number}.o")
        commands.append([*base, "-fPIC", "-fvisibility=hidden", "-c", source, "-o", objects[-1]])
    for name, libraries in PLUGINS.items():
        for library, *options in libraries:
            made = out / "plugins" / f"lib{library}.so"
            source = HERE / "plugins" / f"{name}.c"
            commands.append([*base, *WARNINGS, "-shared", "-fPIC", source, *options, "-o", made])
    compile_all(commands)
    program = out / "stress"
    sources = sorted(HERE.glob("*.c"))
    compile_all([[*base, *WARNINGS, *sources, *objects, "-o", program, "-ldl"]])
    return program


def run_seed(program: Path, name: str, seed: int, seconds: int) -> bool:
    """Run the program once; print what it says if it fails."""
    command = [str(program), str(program.parent / "plugins"), str(seed), str(seconds)]
    if name == "tsan" and shutil.which("setarch"):  # more random addresses than it bears
        command = ["setarch", "-R", *command]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("FLAGS_")}
    ended = subprocess.run(
        command,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        env={**environment, **SETTINGS},
    )
    if ended.returncode == 0 and ended.stdout.endswith("\ndone\n"):
        print(f"  seed {seed}: {ended.stdout.splitlines()[0]}", flush=True)
        return True
    print(ended.stdout[-5000:] + ended.stderr[-20000:], end="")
    print(f"  seed {seed}: ended with status {ended.returncode}; again:")
    print(
        f'    make stress ARGS="--build {name} --seed {seed} --run {max(seconds, 60)}"', flush=True
    )
    return False


def run_build(name: str, given: argparse.Namespace) -> bool:
    """Build, and run seeds until the time is over."""
    print(f"{name}: build", flush=True)
    program = build(given.out / name, BUILDS[name])
    end, seed, good = time.monotonic() + given.seconds, given.seed, True
    run = min(given.run or RUN, given.seconds)
    while good and time.monotonic() < end:
        good = run_seed(program, name, seed, run)
        seed += 1
    return good


def main() -> int:
    given = parse_arguments()
    failed = [name for name in given.build or BUILDS if not run_build(name, given)]
    print(f"failed: {', '.join(failed)}" if failed else "no failure")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
