"""Build the examples by CMake, and by pkg-config and Meson where these are installed; run them."""

import shlex
import shutil
from io import StringIO
from pathlib import Path

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake

TREE = Path("..", "..", "..")


class TestPaddleFlags(ConanFile):
    settings = ("os", "arch", "compiler", "build_type")
    generators = ("CMakeDeps", "CMakeToolchain", "PkgConfigDeps", "MesonToolchain")

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        self.folders.build = str(TREE / "build" / "conan")
        self.folders.generators = str(TREE / "build" / "conan" / "generators")

    @property
    def _examples(self):
        return self.build_path / "examples"

    def build(self):
        shutil.rmtree(self._examples, ignore_errors=True)
        shutil.copytree(self.source_path / TREE / "examples" / "consumers", self._examples)
        cmake = CMake(self)
        cmake.configure(build_script_folder=self._examples / "cmake")
        cmake.build()
        generated = shlex.quote(self.generators_folder)
        if shutil.which("pkg-config"):
            self.run(f"PKG_CONFIG_PATH={generated} make", cwd=self._examples / "pkgconfig")
        if shutil.which("meson"):
            native = f"--native-file {generated}/conan_meson_native.ini"
            command = f"meson setup {native} build && meson compile -C build"
            self.run(command, cwd=self._examples / "meson")

    def test(self):
        built = {
            "CMake": self.build_path,
            "Meson": self._examples / "meson" / "build",
            "pkg-config": self._examples / "pkgconfig",
        }
        for tool, directory in built.items():
            if can_run(self) and (directory / "host").exists():
                self._run_programs(directory)
                self.output.info(f"The programs that {tool} built run")

    def _run_programs(self, directory):
        (plugin,) = directory.glob("*plugin.so")
        for host in ("host", "static_host"):
            shown = StringIO()
            command = f"./{host} {shlex.quote(str(plugin))} --plugin_factor=3 --host_level=9"
            self.run(command, shown, cwd=directory, env="conanrun")
            assert shown.getvalue().endswith(", level 9, factor 3\n"), shown.getvalue()
        self.run("./program --program_level=9", cwd=directory, env="conanrun")
        self.run("XDG_RUNTIME_DIR=$(mktemp -d) ./served", cwd=directory, env="conanrun")
