#!/bin/sh
# Run the demo with flags in the environment and on the command line.
#   run.sh [PYTHON]
set -e
cd "$(dirname "$0")/../.."
python=${1:-.venv/bin/python}

set -x
FLAGS_digest_kind=ieee FLAGS_digest_hex=yes \
  "$python" examples/demo/demo.py --search-pattern='(flag|cell)s?' --search_ignore_case \
  examples/*/*/*.c csrc/include/*.h csrc/include/*/*.h
