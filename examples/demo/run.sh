#!/bin/sh
# Run the demo with flags in the environment and on the command line, and print what it showed.
#   run.sh [PYTHON]
set -e
cd "$(dirname "$0")/../.."
python=${1:-.venv/bin/python}

echo "Run the demo over sources of this project, with flags from three places:"
(
  set -x
  FLAGS_digest_kind=ieee FLAGS_digest_hex=yes \
    "$python" examples/demo/demo.py --search-pattern='(flag|cell)s?' --search_ignore_case \
    examples/*/*/*.c csrc/include/*.h csrc/include/*/*.h
)

cat <<'END'

What you have seen: Python loaded three plugins in C, which link nothing of
paddle_flags, and set their flags from one command line and the environment.
The first table is what they found in each file with these values, the second
what they found while Python overrode four flags for the time of a block: the
first KiB alone, no words, another checksum. The last table lists every flag
with its value, what set it (the command line, the environment, Python at run
time or its default), where, and the library that defines it.

To see and change the flags of a program while it runs, in a browser or in a
terminal: `make live`, or examples/live/show.sh.
END
