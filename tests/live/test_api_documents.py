"""The JSON schemas and the OpenAPI document of the package."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

import jsonschema
import pytest
from live_client import LIVE, PROBLEMS, matches
from support import ROOT, package, run

from paddle_flags._core import header

FILES = sorted((LIVE / "schemas").glob("*.json"))
DOCUMENT = json.loads((LIVE / "openapi.json").read_text("ascii"))
PAGE = (ROOT / "docs" / "reference" / "live-api.md").read_text("utf-8")


def references(node: Any) -> list[str]:
    if isinstance(node, list):
        return [each for item in node for each in references(item)]
    if not isinstance(node, dict):
        return []
    own = [node["$ref"]] if isinstance(node.get("$ref"), str) else []
    return own + [each for item in node.values() for each in references(item)]


def objects(node: Any) -> list[dict[str, Any]]:
    if isinstance(node, list):
        return [each for item in node for each in objects(item)]
    if not isinstance(node, dict):
        return []
    own = [node] if node.get("type") == "object" else []
    return own + [each for item in node.values() for each in objects(item)]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_schema_is_a_strict_schema_with_its_name(file):
    schema = json.loads(file.read_text("ascii"))
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"] == f"urn:paddle-flags:schema:{file.stem}"
    for each in objects(schema):
        assert "additionalProperties" in each, each


def test_schemas_refer_only_to_each_other_by_their_names():
    stems = {file.stem for file in FILES}
    for file in FILES:
        for reference in references(json.loads(file.read_text("ascii"))):
            found = re.fullmatch(
                r"(?:urn:paddle-flags:schema:([a-z-]+))?(#/\$defs/[a-z]+)?", reference
            )
            assert found, reference
            other = json.loads((LIVE / "schemas" / f"{found[1] or file.stem}.json").read_text())
            assert found[1] is None or found[1] in stems
            if found[2]:
                assert found[2].rpartition("/")[2] in other["$defs"]


def test_the_openapi_document_has_the_schemas_as_they_are():
    run(sys.executable, ROOT / "tools" / "openapi.py")


def test_the_openapi_document_is_valid():
    package("openapi_spec_validator", "openapi-spec-validator").validate(DOCUMENT)


def test_each_route_of_the_page_is_described_and_no_other():
    told = set(re.findall(r"`(GET|POST) (/[^`?]*)`", PAGE.partition("## Revisions")[0]))
    told |= {("GET", path) for path in ("/page.js", "/page.css", "/v1/schemas/NAME.json")}
    paths = {
        (method.upper(), path.replace("{name}", "NAME").replace("{schema}", "NAME"))
        for path, item in DOCUMENT["paths"].items()
        for method in item
        if method != "head"
    }
    assert paths == told
    for item in DOCUMENT["paths"].values():
        assert ("get" in item) == ("head" in item)


def test_each_problem_of_the_page_is_described_and_no_other():
    rows = re.findall(r"\| (\d{3}) \| `([a-z-]+)` \|", PAGE)
    assert {int(status): name for status, name in rows} == PROBLEMS
    schema = json.loads((LIVE / "schemas" / "problem.json").read_text("ascii"))
    assert schema["properties"]["status"]["enum"] == sorted(PROBLEMS)
    described = {
        int(status)
        for item in DOCUMENT["paths"].values()
        for operation in item.values()
        for status in operation["responses"]
    }
    assert described - {200, 304} == set(PROBLEMS)


def test_schemas_know_each_mark_source_and_type_of_the_header():
    flag = json.loads((LIVE / "schemas" / "flag.json").read_text("ascii"))
    marks = flag["$defs"]["flag"]["properties"]["marks"]["items"]["enum"]
    assert marks == [*header.FIRST_MARKS, *header.LATER_MARKS]
    common = json.loads((LIVE / "schemas" / "common.json").read_text("ascii"))["$defs"]
    text = (ROOT / "csrc" / "include" / "pd_flags.h").read_text("utf-8")
    sources = re.findall(r'^  X\([A-Z]+, \d+, \d+, "([a-z ]+)"\)', text, re.MULTILINE)
    assert set(common["source"]["enum"]) == set(sources)
    assert set(common["type"]["enum"]) == set(header.TYPES)


def examples() -> list[str]:
    """Return the examples of the page, with its abbreviations written out."""
    texts = re.findall(r"```text\n(\{.*?)```", PAGE, re.DOTALL)
    who = '{"uid": 1, "pid": null, "command": null, "host": null, "label": null}'
    return [text.replace('"who": {…}', f'"who": {who}').replace("…", "x") for text in texts]


def test_the_examples_of_the_page_are_as_the_schemas_say():
    fleet = ("fleet", "fleet-change-request", "fleet-change-result")
    names = ("process", "flags", "change-request", "change-result", "change", "event")
    names += (*fleet, "problem")
    parts = {"change": ("changes", "change"), "event": ("event", "event")}
    found = examples()
    assert len(found) == len(names)
    for name, text in zip(names, found):
        matches(json.loads(text), *parts.get(name, (name,)))


@pytest.mark.parametrize("name", ["flags", "process", "changes", "change-result", "problem"])
def test_a_field_that_no_schema_knows_is_an_error(name: str):
    texts = dict(zip(("process", "flags", "", "change-result", *[""] * 5, "problem"), examples()))
    value = json.loads(
        texts.get(name) or '{"epoch": "6f1c2a9be04d7783", "revision": 1, "changes": []}'
    )
    matches(value, name)
    value["more"] = 1
    with pytest.raises(AssertionError, match="more"):
        matches(value, name)


def test_a_sensitive_flag_with_a_value_is_an_error():
    value = json.loads(examples()[1])
    value["flags"][0]["marks"].append("sensitive")
    with pytest.raises(AssertionError):
        matches(value, "flags")
    for key in ("value", "text", "default", "default_text"):
        del value["flags"][0][key]
    del value["flags"][0]["temporary"]["below"]
    matches(value, "flags")
