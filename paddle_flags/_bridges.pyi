# The extension module of csrc/python/bridges.cpp: bridges to native flag libraries. It is missing
# where no C++ compiler was found.

def join(
    library: str, namespace: str, /
) -> tuple[int, list[str], list[tuple[str, str]], list[str]]: ...
def count_library_loads() -> int: ...
