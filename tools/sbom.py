"""List what a release consists of, in the format CycloneDX."""

from __future__ import annotations

import hashlib
import tomllib
import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import DisjunctiveLicense
from cyclonedx.output.json import JsonV1Dot5
from packageurl import PackageURL
from packaging.requirements import Requirement

if TYPE_CHECKING:
    from pathlib import Path


def write_sbom(root: Path, out: Path, epoch: int) -> None:
    """Write the list of the files in a directory, and of what the package needs at run time."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    (version,) = {path.name.split("-")[1].removesuffix(".tar.gz") for path in out.iterdir()}
    package = component(project["name"], ComponentType.LIBRARY, version, project["license"])
    bom = Bom(serial_number=uuid.uuid5(uuid.NAMESPACE_URL, f"{package.purl}#{epoch}"))
    bom.metadata.timestamp = datetime.fromtimestamp(epoch, UTC)
    bom.metadata.component = package
    for path in sorted(out.iterdir()):
        file = Component(name=path.name, type=ComponentType.FILE, bom_ref=path.name)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        file.hashes.add(HashType(alg=HashAlgorithm.SHA_256, content=digest))
        package.components.add(file)
    needed = [Requirement(each) for each in project["dependencies"]]
    others = [component(each.name, ComponentType.LIBRARY, str(each.specifier)) for each in needed]
    bom.components.update(others)
    bom.register_dependency(package, others)
    place = out / f"{project['name']}-{version}.cdx.json"
    place.write_text(JsonV1Dot5(bom).output_as_string(indent=2) + "\n", "utf-8")


def component(name: str, kind: ComponentType, version: str, license_id: str = "") -> Component:
    """Describe a package of Python; its version may be a range such as `>=1.15.1`."""
    exact = version if version[:1].isdigit() else None
    url = PackageURL("pypi", name=name.lower(), version=exact)
    made = Component(name=name, type=kind, version=version, purl=url, bom_ref=str(url))
    if license_id:
        made.licenses.add(DisjunctiveLicense(id=license_id))
    return made
