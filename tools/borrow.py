"""Make the packages of another environment of the same Python importable in this one.

borrow.py ENVIRONMENT

Paths in a .pth file come after this environment's own packages, and .pth files in them aren't
read: editable installs of the other environment, such as this package, aren't importable.
"""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

paths = {Path(sysconfig.get_path(kind)) for kind in ("purelib", "platlib")}
others = sorted(Path(sys.argv[1], path.relative_to(sys.prefix)) for path in paths)
missing = [str(path) for path in others if not path.is_dir()]
if missing:
    sys.exit(f"{', '.join(missing)}: no such directory; expected an environment of {sys.version}")
place = Path(sysconfig.get_path("purelib"), "borrowed.pth")
place.write_text("".join(f"{path}\n" for path in others), "utf-8")
