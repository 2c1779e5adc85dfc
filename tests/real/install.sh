#!/bin/bash
# Install the libraries of requirements.txt into an environment.
#   tests/real/install.sh PYTHON DIRECTORY made    fails without them
#   tests/real/install.sh PYTHON DIRECTORY tried   leaves DIRECTORY/tried, with or without them
set -euo pipefail
python=$1 place=$2 wanted=$3
requirements=$(dirname "$0")/requirements.txt
if [[ ! -e $place/made || $requirements -nt $place/made ]]; then
  mkdir -p "$place"
  if "$python" -m venv "$place" && "$place/bin/python" -m pip install --quiet \
    --disable-pip-version-check --no-compile --only-binary :all: -r "$requirements" \
    >"$place/pip.log" 2>&1; then
    touch "$place/made"
  elif [[ $wanted == made ]]; then
    cat "$place/pip.log" >&2
    exit 1
  fi
fi
touch "$place/$wanted"
