"""List what a release consists of, in the format CycloneDX."""

from __future__ import annotations

import hashlib
import re
import tomllib
import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from cyclonedx.model import HashAlgorithm, HashType, Property
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import DisjunctiveLicense
from cyclonedx.output.json import JsonV1Dot5
from packageurl import PackageURL
from packaging.requirements import Requirement

if TYPE_CHECKING:
    from pathlib import Path

# What compilers link into the files of a kind, by a part of their names.
LINKED = {"win": ["mingw-w64", "libgcc"], "musllinux": ["compiler-rt"]}


def write_sbom(root: Path, out: Path, epoch: int) -> None:
    """Write the list of the files in a directory, and of what the package needs at run time."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    header = (root / "csrc" / "include" / "pd_flags.h").read_text("utf-8")
    (version,) = re.findall(r'#define PD_VERSION "(.+)"', header)
    package = describe_package(root, project, version)
    place = out / f"{project['name']}-{version}.cdx.json"
    bom = Bom(serial_number=uuid.uuid5(uuid.NAMESPACE_URL, f"{package.purl}#{epoch}"))
    bom.metadata.timestamp = datetime.fromtimestamp(epoch, UTC)
    bom.metadata.component = package
    for path in sorted(out.iterdir()):
        if path.name not in ("SHA256SUMS", place.name):
            package.components.add(describe_file(path))
    others = [describe_requirement(Requirement(each)) for each in project["dependencies"]]
    bom.components.update(others)
    bom.register_dependency(package, others)
    place.write_text(JsonV1Dot5(bom).output_as_string(indent=2) + "\n", "utf-8")


def describe_package(root: Path, project: dict[str, str], version: str) -> Component:
    """Describe this package, by a name of the package index if it is ours."""
    missing = (root / "paddle_flags" / "_core" / "missing.py").read_text("utf-8")
    kind = "pypi" if "\nON_INDEX = True\n" in missing else "generic"
    url = PackageURL(kind, name=project["name"], version=version)
    made = Component(
        name=project["name"],
        type=ComponentType.LIBRARY,
        version=version,
        purl=url,
        bom_ref=str(url),
    )
    made.licenses.add(DisjunctiveLicense(id=project["license"]))
    return made


def describe_file(path: Path) -> Component:
    """Describe a file, with what is linked into it."""
    made = Component(name=path.name, type=ComponentType.FILE, bom_ref=path.name)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    made.hashes.add(HashType(alg=HashAlgorithm.SHA_256, content=digest))
    for kind, libraries in LINKED.items():
        if kind in path.name:
            references = {each: f"{path.name}#{each}" for each in libraries}
            made.components.update(
                Component(name=name, type=ComponentType.LIBRARY, bom_ref=reference)
                for name, reference in references.items()
            )
    return made


def describe_requirement(needed: Requirement) -> Component:
    """Describe a package of the index that is needed in any version of a range."""
    url = PackageURL("pypi", name=needed.name)
    made = Component(name=needed.name, type=ComponentType.LIBRARY, purl=url, bom_ref=str(url))
    made.properties.add(Property(name="range", value=str(needed.specifier)))
    return made
