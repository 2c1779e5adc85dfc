"""Write the JSON Schemas of the generator's input files, from the tables of its reader."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from paddle_flags.gen import fields  # noqa: E402 - of this tree
from paddle_flags.gen.model import FILES  # noqa: E402

if __name__ == "__main__":
    for name in FILES:
        path = ROOT / "paddle_flags" / "gen" / f"{name}.schema.json"
        path.write_text(fields.schema_text(name), "utf-8")
