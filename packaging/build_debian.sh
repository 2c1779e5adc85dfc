#!/bin/bash
# Build the Debian packages of HEAD on a minimal Debian 13, check them with lintian, and run their
# tests there, in which CMake, Meson, pkg-config and Python use the installed packages.
#   packaging/build_debian.sh DIR
# The packages go to DIR/packages. DIR/system is replaced. Needs root and debootstrap: see
# tools/bare.sh, which also keeps downloads in ${PD_CACHE:-build/cache}.
set -euo pipefail
cd "$(dirname "$0")/.."

install() { apt-get -qq install --no-install-recommends "$@" >/dev/null; }

# Prepare the source package of this tree in /build/source.
unpack_source() {
  local version
  version=$(dpkg-parsechangelog --file packaging/debian/changelog --show-field Version)
  mkdir -p /build/source
  # Debian takes no binaries into sources, and the build needs no modules of earlier versions.
  tar -czf "/build/paddle-flags_${version%-*}.orig.tar.gz" --exclude=./.git --exclude=./tests/corpus \
    --transform="s,^\.,paddle-flags-${version%-*}," .
  tar -xzf /build/*.orig.tar.gz -C /build/source --strip-components=1
  cp -r packaging/debian /build/source/
}

# What is done in that system, as root: only the build itself is an ordinary user's, without network.
build_inside() {
  export DEBIAN_FRONTEND=noninteractive
  useradd --create-home builder
  apt-get -qq update
  install dpkg-dev lintian autopkgtest
  unpack_source
  cd /build/source
  apt-get -qq build-dep --no-install-recommends . >/dev/null
  chown -R builder: /build
  local as_builder=(setpriv --reuid=builder --regid=builder --init-groups)
  unshare --net "${as_builder[@]}" env HOME=/nonexistent dpkg-buildpackage --no-sign
  "${as_builder[@]}" lintian --info --display-info --pedantic --fail-on=error,warning /build/*.changes
  autopkgtest --user=builder --no-built-binaries /build/*.deb /build/*.dsc -- null
}

if [[ $1 == --inside ]]; then
  build_inside
else
  mkdir -p "$1"
  tools/bare.sh trixie "$1" none -- "packaging/build_debian.sh --inside"
  rm -rf "$1/packages"
  mkdir "$1/packages"
  find "$1/system/build" -maxdepth 1 -type f -exec mv -t "$1/packages" {} +
  rm -rf --one-file-system "$1/system"
  ls -l "$1/packages"
fi
