"""Check that the library needs nothing but libc: what it includes, links and calls.

dependencies.py [--sources DIRECTORY] [--binary FILE]

Headers of csrc/include/compat are left out: they include what their originals do.

The lists of what is allowed are in this file. A change that adds a line explains in its message
why the library needs it.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# Headers of C, for every file.
STANDARD = "inttypes limits math stdarg stdbool stddef stdint stdio stdlib string"
# System headers, for the files of that system.
SYSTEM = {
    "src/platform/posix.c": "dlfcn errno fcntl locale poll sched sys/stat sys/syscall time unistd "
    "xlocale",
    "src/platform/posix_threads.c": "signal time unistd",
    "src/platform/posix.h": "pthread",
    "src/platform/elf.c": "dlfcn elf link sys/auxv unistd",
    "src/platform/macho.c": "crt_externs dlfcn mach-o/dyld mach-o/fat mach-o/loader unistd",
    "src/platform/windows.c": "locale wchar windows",
    "include/pd_flags/cpu.h": "sys/auxv",  # on aarch64 Linux, what the CPU has
    "include/pd_flags/image_elf.h": "elf",
    "include/pd_flags/join_macho.h": "mach-o/dyld mach-o/loader",
    "include/pd_flags/absl_flag.hpp": "absl/flags/declare",  # of csrc/include/compat
    # If they are there.
    "include/pd_flags/absl_marshalling.hpp": "absl/strings/string_view absl/types/optional",
    "include/pd_flags/catching.hpp": "bits/cxxabi_forced",
    "include/pd_flags/bridge.hpp": "dlfcn link",
    "include/pd_flags/gflags_line.hpp": "fnmatch",
    "python/fast.h": "Python",
    "python/gil.h": "Python",
    "python/hook.c": "time",
    "python/flag.c": "structmember",
    "python/public.c": "structmember",
}
CPP = re.compile(r"[a-z_]+")  # C++ headers, allowed in headers that only C++ reads
# glibc, musl, and the unwinder, which cancelling a thread needs anyway.
NEEDED = re.compile(r"libc\.so\.6|ld-linux-[\w-]+\.so\.\d|libc\.so|libgcc_s\.so\.1")
# Functions of libc. None of them prints, exits or aborts.
CALLS = """
    bsearch calloc free malloc qsort realloc
    memchr memcmp memcpy memmove memset
    strcat strchr strcmp strcpy strcspn strerror strlen strncmp strpbrk strrchr strspn strstr
    snprintf sprintf strtod_l strtol vsnprintf newlocale
    close fstat open pread read readlink stat secure_getenv environ __environ __errno_location
    dl_iterate_phdr getauxval dladdr dlclose dlerror dlinfo dlopen
    poll syscall
    clock_gettime gethostname getpid program_invocation_short_name __progname
    pthread_attr_destroy pthread_attr_init pthread_attr_setdetachstate pthread_create
    pthread_cond_init pthread_cond_signal pthread_cond_timedwait
    pthread_condattr_destroy pthread_condattr_init pthread_condattr_setclock
    pthread_sigmask sigfillset
    pthread_getspecific pthread_key_create pthread_self pthread_setspecific
    pthread_mutex_lock pthread_mutex_unlock pthread_once sched_yield
    pthread_rwlock_rdlock pthread_rwlock_unlock pthread_rwlock_wrlock __tls_get_addr
    __register_atfork __cxa_finalize __gmon_start__
    _ITM_deregisterTMCloneTable _ITM_registerTMCloneTable
    __stack_chk_fail __memcpy_chk __snprintf_chk __sprintf_chk __strcat_chk
    __strcpy_chk __vsnprintf_chk
    _Unwind_Resume __gcc_personality_v0
"""


def output(*command: object) -> str:
    """Run a command and return its output."""
    words = [str(word) for word in command]
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout


def foreign_includes(sources: Path) -> list[str]:
    """Return a line for each #include that isn't allowed."""
    found = []
    places = ("src/**/*.[ch]", "python/*.[ch]", "include/*.h*", "include/pd_flags/*.h*")
    for path in sorted(path for place in places for path in sources.glob(place)):
        name = path.relative_to(sources).as_posix()
        allowed = {*STANDARD.split(), *SYSTEM.get(name, "").split()}
        cpp = path.suffix == ".hpp" or "_cpp" in path.stem
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            match = re.match(r"\s*#\s*include\s*<([^>]+)>", line)
            header = match[1] if match else "pd_flags.h"
            ours = header.startswith("pd_flags") or header.removesuffix(".h") in allowed
            if not ours and not (cpp and CPP.fullmatch(header)):
                found.append(f"csrc/{name}:{number}: includes <{header}>")
    return found


def foreign_libraries(library: Path) -> list[str]:
    """Return a line for each needed shared library that isn't allowed."""
    needed = re.findall(r"NEEDED\s+(\S+)", output("objdump", "-p", library))
    return [f"{library.name}: needs {name}" for name in needed if not NEEDED.fullmatch(name)]


def foreign_calls(library: Path) -> list[str]:
    """Return a line for each undefined function that isn't allowed."""
    lines = output("nm", "-D", "--undefined-only", library).splitlines()
    names = {line.split()[-1].partition("@")[0] for line in lines}
    return [f"{library.name}: calls {name}" for name in sorted(names - set(CALLS.split()))]


def main() -> None:
    """Print what isn't allowed, and fail if there is anything."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--sources", type=Path, default=ROOT / "csrc", help="instead of csrc")
    built = ROOT / "paddle_flags" / "lib" / "libpd_flags.so"
    parser.add_argument("--binary", type=Path, default=built, help="instead of the one built")
    options = parser.parse_args()
    found = foreign_includes(options.sources)
    found += foreign_libraries(options.binary) + foreign_calls(options.binary)
    if found:
        found.append("The library needs libc alone; what it may ask for is listed in " + __file__)
    sys.exit("\n".join(found) or None)


if __name__ == "__main__":
    main()
