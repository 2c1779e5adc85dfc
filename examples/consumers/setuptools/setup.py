# pip install .
from setuptools import Extension, setup

import paddle_flags

setup(
    ext_modules=[Extension("consumer", ["consumer.c"], include_dirs=[paddle_flags.get_include()])]
)
