"""A recipe for Conan 2: the C library of the tree around it.

conan create packaging/conan

Conan's Python must have setuptools, which builds the library.
"""

import re
import sys
from pathlib import Path

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.files import copy
from conan.tools.gnu import AutotoolsToolchain

SOURCES = ("csrc/*", "setup.py", "build_targets.py", "pyproject.toml", "README.md", "LICENSE")
# Components of headers alone: their directories. Those with a library: its directory and name, and
# what it needs of the system. -lpd_flags must not find the shared library where the static one is.
HEADERS = {"headers": ["include"], "compat": ["include/compat", "include"]}
LIBRARIES = {
    "paddle_flags": ("lib", "pd_flags", []),
    "live": ("lib", "pd_flags_live", []),
    "static": ("lib/static", "pd_flags", ["pthread", "dl"]),
}


class PaddleFlags(ConanFile):
    name = "paddle_flags"
    description = "One registry of run-time flags for a whole process"
    license = "Apache-2.0"
    topics = ("flags", "gflags", "command-line", "plugins", "configuration")
    settings = ("os", "arch", "compiler", "build_type")
    package_type = "shared-library"  # the static one is a component beside it

    @property
    def _tree(self):
        return Path(self.recipe_folder).parents[1]

    def set_version(self):
        header = (self._tree / "csrc" / "include" / "pd_flags.h").read_text("utf-8")
        self.version = re.findall(r'#define PD_VERSION "(.+)"', header)[0]

    def export_sources(self):
        for pattern in SOURCES:
            copy(self, pattern, self._tree, self.export_sources_folder)

    def configure(self):
        self.settings.rm_safe("compiler.cppstd")
        self.settings.rm_safe("compiler.libcxx")

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration(f"os={self.settings.os}: expected Linux")

    def generate(self):
        AutotoolsToolchain(self).generate()  # CC, CFLAGS and LDFLAGS of the profile

    def build(self):
        self.run(f'"{sys.executable}" setup.py -q build_library --build-lib built')

    def package(self):
        built, package = self.build_path / "built", self.package_path
        copy(self, "LICENSE", self.source_path, package / "licenses")
        copy(self, "*", built / "include", package / "include")
        copy(self, "*.so", built / "lib", package / "lib")
        copy(self, "*.a", built / "lib", package / "lib" / "static")

    def package_info(self):
        self.cpp_info.set_property("cmake_config_version_compat", "SameMinorVersion")
        for name, directories in HEADERS.items():
            component = self._name_component(name)
            component.includedirs = directories
            component.libdirs = component.bindirs = []
        for name, (directory, library, needed) in LIBRARIES.items():
            component = self._name_component(name)
            component.libdirs = [directory]
            component.libs = [library]
            component.system_libs = needed

    def _name_component(self, name):
        """Name a component as our own files for CMake and pkg-config do."""
        component = self.cpp_info.components[name]
        component.set_property("cmake_target_name", f"paddle_flags::{name}")
        suffix = "" if name == self.name else f"-{name}"
        component.set_property("pkg_config_name", f"paddle_flags{suffix}")
        return component
