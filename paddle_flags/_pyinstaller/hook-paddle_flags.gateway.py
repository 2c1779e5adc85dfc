"""For programs with a gateway: the page, and the description of its API."""

from PyInstaller.utils.hooks import collect_data_files

datas = collect_data_files("paddle_flags.gateway")
