"""For programs that write new projects: templates."""

from PyInstaller.utils.hooks import collect_data_files

datas = collect_data_files("paddle_flags._new", include_py_files=True)
