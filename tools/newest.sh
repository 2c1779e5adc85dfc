#!/bin/bash
# Run tests on CPython 3.14, in a minimal system of the next Debian, with what is built in
# paddle_flags/ (make .venv/dev): the binaries are for CPython 3.11 and later. As root.
#   tools/newest.sh DIR [argument of pytest ...]     by default the tests of scoped values
# DIR/system is replaced. Downloads are kept in ${PD_CACHE:-build/cache}. Needs debootstrap.
set -euo pipefail

((EUID == 0)) || { echo "newest.sh: needs root, for chroot" >&2; exit 1; }
(($#)) || { sed -n 's/^# *//; 2,6p' "$0" >&2; exit 2; }
tree=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1" "${PD_CACHE:-$tree/build/cache}"
cache=$(cd "${PD_CACHE:-$tree/build/cache}" && pwd)
system=$(cd "$1" && pwd)/system
shift
(($#)) || { cd "$tree" && set -- tests/python/test_scoped*.py; }
suite=forky
base=$cache/$suite-python3.14-gcc.tar
packages=$cache/python3.14-loops

rm -rf --one-file-system "$system"
mkdir -p "$system"
if [[ ! -e $base ]]; then
  mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' \
    'Origin: Debian' | awk '$2 !~ /-/ { print $1; exit }')
  # An older debootstrap doesn't know the name of the suite.
  # shellcheck disable=SC2086  # without a mirror, debootstrap has its own
  debootstrap --variant=minbase --include=python3.14,gcc,libc6-dev $suite "$system" \
    ${mirror:-http://deb.debian.org/debian} /usr/share/debootstrap/scripts/sid \
    >"$cache/debootstrap-$suite.log" || { tail "$cache/debootstrap-$suite.log" >&2; exit 1; }
  rm -rf "$system"/var/cache/apt/archives/*.deb
  tar -C "$system" --numeric-owner -cf "$base.part" .
  mv "$base.part" "$base"
else
  tar -C "$system" --numeric-owner -xf "$base"
fi
if [[ ! -d $packages ]]; then
  rm -rf "$packages.part"
  "$tree/.venv/bin/python" -m pip install --quiet --target "$packages.part" \
    --python-version 3.14 --only-binary :all: cffi pytest trio uvloop greenlet gevent
  mv "$packages.part" "$packages"
fi
mkdir -p "$system/tree"
cp -r "$packages" "$system/packages"
cp -r "$tree"/{paddle_flags,tests,tools,csrc,pyproject.toml,_paddle_flags_pytestplugin.py} \
  "$system/tree"
chroot "$system" /usr/bin/env -i -C /tree HOME=/root PATH=/usr/bin:/bin LANG=C.UTF-8 \
  PYTHONPATH=/tree:/packages python3.14 -m pytest -q -p no:cacheprovider "$@"
