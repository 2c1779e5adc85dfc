"""Build libpd_flags, then the two modules that are linked against it."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

INCLUDE = Path("csrc", "include")
VERSION = re.findall(r'#define PD_VERSION "(.+)"', (INCLUDE / "pd_flags.h").read_text())[0]
LIMITED_API = not sysconfig.get_config_var("Py_GIL_DISABLED")
# PD_SANITIZE=address,undefined builds for the sanitizers.
CHECK = [f"-fsanitize={kinds}" for kinds in [os.environ.get("PD_SANITIZE")] if kinds]
CHECK += ["-g", "-O1", "-fno-omit-frame-pointer", "-fno-sanitize-recover=all"] if CHECK else []
COMPILE = ["-std=gnu11", "-fPIC", "-fvisibility=hidden", "-pthread", "-Wall", "-Wextra"]
# docs/decisions/0027-size.md. CFLAGS has the last word, the interpreter's own have none.
COMPILE += ["-fno-stack-protector", "-U_FORTIFY_SOURCE", "-fno-wrapv"]  # as some are built
SMALL = ["-g0", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"]
FAST = [*SMALL, "-O2", "-fno-align-functions"]
GCC = ["-fno-tree-dominator-opts", "-freorder-blocks-algorithm=simple"]  # clang knows none
GCC += ["-fno-align-loops", "-fno-align-jumps"]
SMALL += ["-Os", "-fno-caller-saves"]
HOT = {"argv", "change", "check", "conflict", "copies", "define", "entries"}
HOT |= {"names", "parse", "record", "transaction", "value"}
# A small build leaves files out, those of the profiles before it too; csrc/src/profile.h.
WITHOUT = {"full": [], "no-report": ["report", "report_flagfile", "report_help", "report_page"]}
WITHOUT["no-report"] += ["report_text", "report_value", "report_xml"]
WITHOUT["no-argv"] = ["argv", "flagfile", "given", "glob", "program", "report_choose"]
WITHOUT["no-argv"] += ["report_rows", "settings", "undefok", "words"]
WITHOUT["core"] = ["call", "check", "conflict", "environment", "hint", "hooks", "namespace"]
WITHOUT["core"] += ["unit", "validate", "warning", "watch"]  # small/ has what the others need
PROFILE = os.environ.get("PD_PROFILE", "full")
LEVEL = list(WITHOUT).index(PROFILE) if PROFILE in WITHOUT else None
COMPILE += [f"-DPD_PROFILE={LEVEL}", *(["-ffunction-sections", "-fdata-sections"] if LEVEL else [])]
SWEEP = ["--gc-sections", "--gc-keep-exported", "-u,pd_version"]
# nodelete: modules keep pointers into the registry. Bsymbolic-functions: the
# library calls its own functions, whoever else in the process has those names.
LINK = ["-pthread", "-Wl,-soname,libpd_flags.so", "-Wl,-z,nodelete", "-Wl,-Bsymbolic-functions"]
LINK += ["-Wl,-z,noseparate-code", "-Wl,--hash-style=gnu"]  # no padding, one table of names
LINK += ["-Wl,--gc-sections"] if LEVEL else []
LINK += ["-ldl", *([] if CHECK else ["-Wl,-z,defs"])]  # a sanitizer's symbols may come later
# LDFLAGS and the interpreter bring run paths along; a loader would search them
# before $ORIGIN/lib, and might find another libpd_flags there.
FOREIGN_RUN_PATH = re.compile(r"(?m)^-Wl,(--enable-new-dtags,)?--?(rpath|R)([=,]|\n-Wl,).*\n")


def sources_of(level):
    """Give the sources of a profile, and those that stand in for what it lacks."""
    places = Path("csrc", "src"), Path("csrc", "src", "small")
    chosen = {*places[0].glob("*.c"), *(places[1].glob("*.c") if PROFILE == "core" else [])}
    for stems in list(WITHOUT.values())[: level + 1]:
        chosen -= {places[0] / f"{stem}.c" for stem in stems}
    return sorted(chosen)


class Build(build_ext):
    def build_extensions(self):
        self.prepare()
        compiler, python_h = self.compiler, Path(sysconfig.get_path("include"), "Python.h")
        if not python_h.exists():
            sys.exit(f"{python_h} is missing. On Debian: apt-get install python3-dev")
        self.build_library(Path(self.build_lib, "paddle_flags"))
        sys.path.insert(0, str(Path(__file__).parent))  # an isolated build leaves it out
        from build_ffi import write_module

        write_module(compiler.compiler_so, Path(self.build_temp, "_native.c"))
        self.extensions[0].sources = [str(Path(self.build_temp, "_native.c"))]
        super().build_extensions()

    def prepare(self):
        compiler = self.compiler
        if LEVEL is None:
            sys.exit(f"PD_PROFILE={PROFILE}: expected one of {', '.join(WITHOUT)}")
        if not shutil.which(compiler.compiler_so[0]):
            sys.exit(f"No C compiler: {compiler.compiler_so[0]} not found. Install gcc, or set CC.")
        compiler.compiler_so += CHECK
        linker = "".join(f"{argument}\n" for argument in [*compiler.linker_so, *CHECK])
        compiler.linker_so = FOREIGN_RUN_PATH.sub("", linker).splitlines()

    def build_library(self, package):
        for made in ("lib", "include"):
            shutil.rmtree(package / made, ignore_errors=True)
        shutil.copytree(INCLUDE, package / "include", ignore=shutil.ignore_patterns(".*"))
        for template in Path("csrc", "cmake").glob("*.in"):
            place = "lib/pkgconfig" if ".pc" in template.name else "lib/cmake/paddle_flags"
            (package / place).mkdir(parents=True, exist_ok=True)
            text = template.read_text().replace("@VERSION@", VERSION)
            (package / place / template.stem).write_text(text)
        compiler, library = self.compiler, str(package / "lib" / "libpd_flags.so")
        objects, users = [], shlex.split(os.environ.get("CFLAGS", ""))
        version = subprocess.check_output([compiler.compiler_so[0], "--version"], text=True)
        own = GCC if "Free Software Foundation" in version else []
        for source in sources_of(LEVEL):
            best = FAST if source.stem in HOT else SMALL
            if PROFILE == "core":
                best = [*SMALL, "-Oz"]
            flags = [*COMPILE, *best, *own, *CHECK, *users]
            place = self.build_temp, None, [str(INCLUDE)]
            objects += compiler.compile([str(source)], *place, extra_postargs=flags)
        compiler.link_shared_object(objects, library, extra_postargs=LINK)
        # One object: whoever links a part gets the record that announces it, too.
        whole = str(Path(self.build_temp, "pd_flags.o"))
        garbage = [f"-Wl,{word}" for word in SWEEP] if LEVEL else []
        self.spawn([*compiler.compiler_so, "-r", "-nostdlib", *garbage, *objects, "-o", whole])
        compiler.create_static_lib([whole], "pd_flags", str(package / "lib"))
        for extension in self.extensions:
            extension.extra_objects = [library]

    def copy_extensions_to_source(self):
        super().copy_extensions_to_source()
        for made in ("lib", "include"):
            target = Path("paddle_flags", made)
            shutil.rmtree(target, ignore_errors=True)  # who runs the old library keeps it
            shutil.copytree(Path(self.build_lib, target), target)


class Library(Build):
    def build_extensions(self):
        self.prepare()
        self.build_library(Path(self.build_lib))


ORIGIN = ["-Wl,--enable-new-dtags,-rpath,$ORIGIN/lib"]
ABI3 = [("Py_LIMITED_API", "0x03090000")] if LIMITED_API else []
BOTH = {"include_dirs": [str(INCLUDE)], "extra_link_args": ORIGIN, "py_limited_api": LIMITED_API}
BOTH |= {"extra_compile_args": ["-fvisibility=hidden", *([] if CHECK else ["-g0"])]}
BOTH |= {"define_macros": ABI3}
OURS = sorted(map(str, Path("csrc", "python").glob("*.c")))
MODULES = [Extension("paddle_flags._native", [], **BOTH)]
MODULES += [Extension("paddle_flags._fast", OURS, **BOTH)]
OPTIONS = {"build_ext": {"force": True}}  # flags may differ from the last time
OPTIONS |= {"bdist_wheel": {"py_limited_api": "cp39"}} if LIMITED_API else {}
COMMANDS = {"build_ext": Build, "build_library": Library}  # the second: without Python's modules
OPTIONS["build_library"] = OPTIONS["build_ext"]
setup(version=VERSION, ext_modules=MODULES, cmdclass=COMMANDS, options=OPTIONS)
