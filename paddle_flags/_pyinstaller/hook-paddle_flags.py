"""For programs that import paddle_flags."""

from PyInstaller.utils.hooks import collect_dynamic_libs

# Imported by C code, where PyInstaller doesn't look.
hiddenimports = ["_cffi_backend"]

# libpd_flags.so stays beside the modules that are linked against it.
binaries = collect_dynamic_libs("paddle_flags")
