"""Position independent archives, built of Debian's source packages when they are needed."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from support import missing, require, run, tool  # noqa: E402 - the path comes first

if TYPE_CHECKING:
    from collections.abc import Sequence


def words(*command: object, **options: Any) -> list[str]:
    """Run a command; give the words that it prints."""
    ended = subprocess.run([*map(str, command)], capture_output=True, text=True, **options)
    if ended.returncode != 0:
        sys.exit(f"{shlex.join(map(str, command))}\n{ended.stdout}{ended.stderr}")
    return shlex.split(ended.stdout)


def build_archives(
    directory: Path, package: str, targets: Sequence[str], options: Sequence[str]
) -> list[str]:
    """Build what a plugin can have inside, unless it is there; give the archives."""
    build = directory / f"{package}-pic"
    if not build.exists():
        require("cmake", program="cmake")
        tree = fetch(directory, package)
        pic = ["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_POSITION_INDEPENDENT_CODE=ON"]
        words("cmake", "-S", tree, "-B", build, *pic, *options)
        words("cmake", "--build", build, "--parallel", "2", "--target", *targets)
    return sorted(map(str, build.rglob("*.a")))


def fetch(directory: Path, package: str) -> Path:
    """Get a source package by this system's mirrors, whether it lists their sources or not."""
    require("dpkg-dev", program="dpkg-source")
    place = download(directory, package)
    (tree,) = place.glob(f"{package}-*/")
    return tree


def fetch_part(directory: Path, package: str, *parts: str) -> Path:
    """Get nothing but some directories of a source package that is big."""
    tool("xz")
    place = download(directory, package, "--tar-only")
    (archive,) = place.glob("*.orig.tar.*")
    words("tar", "-xf", archive, "--wildcards", *(f"*/{part}/*" for part in parts), cwd=place)
    (tree,) = place.glob(f"{package}-*/")
    return tree


def download(directory: Path, package: str, *options: str) -> Path:
    """Have apt get a source package; give the directory that it is in."""
    tool("apt-get")
    place = directory / f"{package}-source"
    (place / "lists" / "partial").mkdir(parents=True)
    wanted = ["--format", "deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)"]
    wanted += ["Created-By: Packages", "Origin: Debian"]
    listed = run("apt-get", "indextargets", *wanted).stdout.splitlines()
    (place / "sources.list").write_text("\n".join(sorted(set(listed))) + "\n", "utf-8")
    apt = ["apt-get", "-qq", "-o", f"Dir::Etc::sourcelist={place}/sources.list"]
    apt += ["-o", "Dir::Etc::sourceparts=-", "-o", f"Dir::State::lists={place}/lists"]
    apt += ["-o", f"Dir::Cache={place}", "-o", "APT::Sandbox::User="]
    apt += ["-o", "APT::Update::Error-Mode=any"]
    for command in (["update"], ["source", *options, package]):
        ended = run(*apt, *command, cwd=place, check=False)
        if ended.returncode != 0:
            reason = ended.stderr.strip().rpartition("\n")[2]
            missing(f"the source of {package}", f"apt-get could not fetch it, {reason}")
    return place
