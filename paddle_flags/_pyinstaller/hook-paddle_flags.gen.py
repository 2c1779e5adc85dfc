"""For programs that generate: the templates."""

from PyInstaller.utils.hooks import collect_data_files

datas = collect_data_files("paddle_flags.gen")
