#!/bin/bash
# Run the tests on the newest released CPython that this Debian has, if python3 is an older one. As
# root.
#   tools/newest.sh [ARGUMENTS of pytest, as one word]
set -euo pipefail
cd "$(dirname "$0")/.."

# Print the names of the CPythons that apt has; "~" in a version marks what precedes a release.
released() {
  local name
  apt-cache search --names-only '^python3\.[0-9]+$' | cut -d' ' -f1 | sort -V |
    while read -r name; do
      [[ $(apt-cache policy "$name" | grep Candidate:) == *~* ]] || echo "$name"
    done
}

newest=$(released | tail -n 1)
[[ $newest ]] || { echo "newest.sh: apt names no CPython: apt-get update" >&2; exit 1; }
default=$(python3 -c 'import sys; print("python3.%d" % sys.version_info[1])')
if [[ $newest == "$default" ]]; then
  echo "newest.sh: python3 is $default, the newest one here"
  exit
fi
DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends \
  "$newest-venv" "$newest-dev" >/dev/null
make test PYTHON="$newest" VENV=.venv-newest ARGS="${1-}"
