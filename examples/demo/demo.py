"""A program with one flag of its own, and a plugin in C with two more."""

import ctypes
import os

import paddle_flags as pf

port = pf.define("port", 8080, "Port to listen on", min=1, max=65535)
plugin = pf.load_plugin(f"{os.environ.get('PLUGINS', 'build/demo')}/libcompress.so")
pf.parse(env_prefix="DEMO_")

compress = ctypes.CDLL(plugin.path)
print(f"C compresses with level {compress.compress_level()}; Python listens on port {port.value}.")
compress.compress_quickly()
print(f"Then C sets the level, and Python reads {pf.FLAGS.level}.")
