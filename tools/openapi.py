"""Put the JSON schemas of the live API into its OpenAPI document, which so needs no other file.

openapi.py [--write]

Without --write, it only says whether the document has the schemas as they are.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

LIVE = Path(__file__).resolve().parents[1] / "paddle_flags" / "live"
DOCUMENT = LIVE / "openapi.json"
URN = "urn:paddle-flags:schema:"
RENEW = "python tools/openapi.py --write"


def embed(node: Any, name: str) -> Any:  # noqa: ANN401 - what JSON has
    """Return a part of the schema `name` as it is in the document."""
    if isinstance(node, list):
        return [embed(each, name) for each in node]
    if not isinstance(node, dict):
        return node
    parts = {key: embed(each, name) for key, each in node.items()}
    reference = parts.get("$ref")
    if isinstance(reference, str):
        parts["$ref"] = locate(reference, name)
    return parts


def locate(reference: str, name: str) -> str:
    """Return where the document has what a schema refers to."""
    other, _, pointer = reference.partition("#")
    return f"#/components/schemas/{other[len(URN) :] or name}{pointer}"


def bundle(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document with the schemas as the files have them."""
    schemas = {}
    for file in sorted((LIVE / "schemas").glob("*.json")):
        schema = embed(json.loads(file.read_text("ascii")), file.stem)
        del schema["$schema"], schema["$id"]
        schemas[file.stem] = schema
    return {**document, "components": {**document["components"], "schemas": schemas}}


def main() -> int:
    """Check or renew the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="renew the document")
    options = parser.parse_args()
    old = DOCUMENT.read_text("ascii")
    new = json.dumps(bundle(json.loads(old)), indent=1) + "\n"
    if options.write:
        DOCUMENT.write_text(new, "ascii")
    elif new != old:
        sys.exit(f"{DOCUMENT.name} doesn't have the schemas as they are: run {RENEW}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
