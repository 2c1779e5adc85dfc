"""For programs that answer to shells: the scripts of bash, zsh and fish."""

from PyInstaller.utils.hooks import collect_data_files

datas = collect_data_files("paddle_flags._completion")
