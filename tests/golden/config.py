"""Print what parse() says to the configuration files that are named; config.txt holds what
it should say. To review a change: run tests/python/test_config_files.py.
"""

from __future__ import annotations

import sys

import paddle_flags as pf

pf.define("level", 6, "", min=1, max=9)
pf.define("verbose", False, "")
pf.define("name", "", "")
pf.define("names", ("a",), "")
pf.define("rate", 0.5, "")
pf.define("secret", "", "", sensitive=True)

for path in sys.argv[1:]:
    print(repr(path))
    try:
        pf.parse(["program"], config=path, exit=False)
    except pf.FlagParseError as refused:
        for error in refused.errors:
            print(f"    {error.status}: {error}")
    else:
        print("    taken")
