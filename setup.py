"""Build libpd_flags, then the two extension modules that are linked against it."""

import os
import re
import shlex
import shutil
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

sys.path.insert(0, str(Path(__file__).parent))  # an isolated build doesn't have it
from build_targets import (
    CROSS,
    TARGET,
    WINDOWS,
    copy_python_headers,
    write_import_library,
)

INCLUDE, SOURCES = Path("csrc", "include"), Path("csrc", "src")
SERVER = Path("csrc", "live")
VERSION = re.findall(r'#define PD_VERSION "(.+)"', (INCLUDE / "pd_flags.h").read_text())[0]
LIMITED_API = not sysconfig.get_config_var("Py_GIL_DISABLED")

# A profile leaves out whole layers: PD_PROFILE=no-report.
PROFILES = {"full": (), "no-report": ("report",), "no-input": ("report", "input")}
PROFILE = os.environ.get("PD_PROFILE", "full")

# PD_SOVERSION=0 builds for the directories that the loader searches: names of libraries end in it,
# and nothing has a run path. PD_INCLUDEDIR is where headers will be, seen from the libraries.
SOVERSION = os.environ.get("PD_SOVERSION", "") and f".{os.environ['PD_SOVERSION']}"
LIBRARY = TARGET.shared_library + SOVERSION
LINKED = TARGET.import_library or LIBRARY
TEMPLATE = {
    "@VERSION@": VERSION,
    "@SOVERSION@": SOVERSION,
    "@LIBRARY@": Path(LIBRARY).name,
    "@LINKED@": Path(LINKED).name,
    "@RUNPATH@": "" if SOVERSION else TARGET.run_path,
    "@INCLUDEDIR@": os.environ.get("PD_INCLUDEDIR", "../include"),
    "@STATIC_LIBS@": TARGET.static_libs,
}

if sys.platform == "win32":
    sys.exit("paddle_flags is built for Windows on Linux: make release ARGS=windows")
CC = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC"))
CFLAGS = shlex.split(os.environ.get("CFLAGS", ""))  # these come last
LDFLAGS = shlex.split(os.environ.get("LDFLAGS", ""))
COMMON = list(TARGET.compile)
COMPILE = ["-std=gnu11", "-O2", "-fPIC", "-fvisibility=hidden", "-fexceptions", "-Wall", "-Wextra"]
LINK = [*TARGET.link, *TARGET.link_library]

# PD_SANITIZE=address,undefined builds for the sanitizers; their runtime is linked later.
SANITIZE = [f"-fsanitize={kinds}" for kinds in [os.environ.get("PD_SANITIZE")] if kinds]
if SANITIZE:
    SANITIZE += ["-g", "-O1", "-fno-omit-frame-pointer", "-fno-sanitize-recover=all"]
else:
    COMMON += ["-g0", *TARGET.fortify]
    LINK += TARGET.link_defined

# LDFLAGS and the interpreter may add run paths. A loader would search them before
# $ORIGIN/lib and might find another libpd_flags there.
FOREIGN_RUN_PATH = re.compile(r"(?m)^-Wl,(--enable-new-dtags,)?--?(rpath|R)([=,]|\n-Wl,).*\n")


class Build(build_ext):
    def build_extensions(self):
        self.check()
        self.find_python_headers()
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            # The extensions first: one file in C++ takes longer than any other, and would be
            # compiled alone at the end.
            compiled = [
                (each, pool.submit(self.compile_extension, each)) for each in self.extensions[::-1]
            ]
            self.build_library(Path(self.build_lib, "paddle_flags"), pool)
        for each, objects in compiled:
            each.sources = []
            each.extra_objects = [*objects.result(), *each.extra_objects]
            if TARGET is WINDOWS:
                place = Path(self.build_temp, f"{each.name}-python3.dll.a")
                each.extra_objects += [str(write_import_library(CC, objects.result(), place))]
        super().build_extensions()

    def find_python_headers(self):
        if not (header := Path(sysconfig.get_path("include"), "Python.h")).exists():
            sys.exit(f"{header} is missing. On Debian: apt-get install python3-dev")
        if CROSS and LIMITED_API:
            headers = copy_python_headers(Path(self.build_temp, "python"))
            self.compiler.include_dirs.insert(0, str(headers))

    def compile_extension(self, extension):
        """Compile the sources of an extension module; return their objects."""
        if not extension.sources:
            extension.sources = [str(self.write_native_module())]
        return self.compiler.compile(
            extension.sources,
            self.build_temp,
            macros=extension.define_macros,
            include_dirs=extension.include_dirs,
            extra_postargs=extension.extra_compile_args,
        )

    def write_native_module(self):
        """Write the source of the extension module that cffi makes of the header."""
        from build_ffi import write_module

        source = Path(self.build_temp, "_native.c")
        write_module(self.compiler.compiler_so, source)
        return source

    def get_ext_filename(self, fullname):
        if not LIMITED_API:
            return super().get_ext_filename(fullname)
        # CPython 3.15 adds the system to this suffix, which older ones don't look for.
        return str(Path(*fullname.split("."))) + TARGET.suffix

    def check(self):
        compiler = self.compiler
        if PROFILE not in PROFILES:
            sys.exit(f"PD_PROFILE={PROFILE}: expected one of {', '.join(PROFILES)}")
        if not shutil.which(compiler.compiler_so[0]):
            sys.exit(f"No C compiler: {compiler.compiler_so[0]} not found. Install gcc, or set CC.")
        cxx = shlex.split(os.environ.get("CXX") or "c++")[0]
        if TARGET.bridges and not shutil.which(cxx):
            self.warn(f"No C++ compiler: {cxx} not found. paddle_flags.bridge will say so.")
            self.extensions = [each for each in self.extensions if "_bridges" not in each.name]
        compiler.compiler_so += SANITIZE
        if hasattr(compiler, "compiler_so_cxx"):  # newer setuptools
            compiler.compiler_so_cxx += SANITIZE
        linker = [*CC, "-shared", *LDFLAGS] if CROSS else compiler.linker_so
        lines = "".join(f"{argument}\n" for argument in [*linker, *SANITIZE])
        lines = lines.replace("-bundle\n", "-shared\n")  # of macOS; a library can't be a bundle
        compiler.linker_so = FOREIGN_RUN_PATH.sub("", lines).splitlines()

    def build_library(self, package, pool):
        self.copy_headers(package)
        left_out = PROFILES[PROFILE]
        sources = sorted(
            str(source) for source in SOURCES.rglob("*.c") if source.parent.name not in left_out
        )
        flags = [*COMPILE, *COMMON, *(f"-DPD_WITHOUT_{layer.upper()}" for layer in left_out)]
        flags += [*SANITIZE, *CFLAGS]
        compiler, library = self.compiler, package / LIBRARY
        objects = self.compile(
            pool,
            sources,
            include_dirs=[str(INCLUDE)],
            extra_postargs=[*flags, "-DPD_BUILDING_LIBRARY"],
        )
        self.link_library(objects, library)
        # A single object, so that a program that links any part of it gets the copy's record.
        whole = str(Path(self.build_temp, "pd_flags.o"))
        self.spawn([*compiler.compiler_so, "-r", "-nostdlib", *objects, "-o", whole])
        compiler.create_static_lib([whole], "pd_flags", str(package / "lib"))
        for extension in self.extensions:
            extension.extra_objects = [str(package / LINKED)]
        if TARGET.server:
            self.build_server(library.with_name("libpd_flags_live.so" + SOVERSION), flags, pool)

    def link_library(self, objects, library, *options):
        """Link a shared library; `{name}` and `{lib}` in the target's options are filled in."""
        values = {"name": library.name, "lib": str(library.parent / "lib")}
        link = [each.format(**values) for each in [*TARGET.name_library, *LINK, *options]]
        self.compiler.link_shared_object(objects, str(library), extra_postargs=link)

    def build_server(self, library, flags, pool):
        """Build the server of flags, which links nothing of the library."""
        objects = self.compile(
            pool,
            sorted(map(str, SERVER.glob("*.c"))),
            include_dirs=[str(INCLUDE), str(SERVER)],
            extra_postargs=[*flags, "-fno-exceptions", "-D_GNU_SOURCE", "-DPD_HEADER_ONLY"],
        )
        self.link_library(objects, library, "-lm")

    def compile(self, pool, sources, **options):
        """Compile the sources on all cores; return their objects in the same order."""

        def compile_one(source):
            return self.compiler.compile([source], self.build_temp, **options)

        return [each for objects in pool.map(compile_one, sources) for each in objects]

    def copy_headers(self, package):
        for made in ("lib", "include"):
            shutil.rmtree(package / made, ignore_errors=True)
        shutil.copytree(INCLUDE, package / "include", ignore=shutil.ignore_patterns(".*"))
        templates = sorted(Path("csrc", "cmake").glob("*.in"))
        for template in (each for each in templates if TARGET.server or "-live" not in each.name):
            place = "lib/pkgconfig" if ".pc" in template.name else "lib/cmake/paddle_flags"
            (package / place).mkdir(parents=True, exist_ok=True)
            text = re.sub("@[A-Z_]+@", lambda name: TEMPLATE[name[0]], template.read_text())
            (package / place / template.stem).write_text(text)

    def copy_extensions_to_source(self):
        super().copy_extensions_to_source()
        for made in ("lib", "include"):
            target = Path("paddle_flags", made)
            shutil.rmtree(target, ignore_errors=True)  # running programs keep the old library
            shutil.copytree(Path(self.build_lib, target), target)


class Library(Build):
    """`build_library`: the library without the extension modules."""

    def build_extensions(self):
        self.check()
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            self.build_library(Path(self.build_lib), pool)


def extension(name, sources):
    cxx = sources and sources[0].endswith(".cpp")
    return Extension(
        f"paddle_flags.{name}",
        sources,
        language="c",  # so the linker is C's
        include_dirs=[str(INCLUDE), str(Path("csrc", "python"))],
        define_macros=[("Py_LIMITED_API", "0x030B0000")] if LIMITED_API else [],
        # C++20 instantiates std::string here, so an old libstdc++ is enough.
        extra_compile_args=[
            # -O1: the calls of other libraries take the time, and -O2 doubles that of the build.
            *(["-std=c++2a", "-fno-sized-deallocation", "-O1"] if cxx else []),
            *["-fvisibility=hidden", *COMMON, *CFLAGS],
        ],
        extra_link_args=[
            *TARGET.link,
            *TARGET.link_module,
            *([TARGET.name_module.format(name=name)] if TARGET.name_module else []),
            *([] if SOVERSION else TARGET.link_run_path),
            *(["-lstdc++"] if cxx else []),
        ],
        py_limited_api=LIMITED_API,
    )


# Compiler flags may have changed since the last build.
options = {"build_ext": {"force": True, "parallel": os.cpu_count()}}
options["build_library"] = options["build_ext"]
if LIMITED_API:
    options["bdist_wheel"] = {"py_limited_api": "cp311"}
extensions = {
    "_native": [],
    "_fast": sorted(map(str, Path("csrc", "python").glob("*.c"))),
}
if TARGET.bridges:
    extensions["_bridges"] = ["csrc/python/bridges.cpp"]
setup(
    version=VERSION,
    ext_modules=[extension(*each) for each in extensions.items()],
    cmdclass={"build_ext": Build, "build_library": Library},
    options=options,
)
