"""For programs with a gateway: the page."""

from PyInstaller.utils.hooks import collect_data_files

datas = collect_data_files("paddle_flags.gateway")
