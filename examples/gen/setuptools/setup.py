"""Build a package with an extension whose flags are defined in YAML."""

from setuptools import Extension, setup

from paddle_flags.gen.setuptools_hook import Flags, cmdclass

setup(
    packages=["counter"],
    ext_modules=[Extension("counter._native", ["native.c"])],
    cmdclass=cmdclass(Flags("flags.yaml", extension="counter._native", package="counter")),
)
