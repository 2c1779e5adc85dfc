"""For programs that serve their flags: the page, the schemas and the document of the API."""

from PyInstaller.utils.hooks import collect_data_files

datas = collect_data_files("paddle_flags.live")
