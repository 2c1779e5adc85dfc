#!/bin/bash
# Run the tests in a copy of the tree, with all native code built for a sanitizer: the library, the
# extension modules, plugins and test programs. CC must be gcc. asan.sh and tsan.sh set these
# variables:
#   NAME       the name of the copy, under build/
#   KINDS      the value of -fsanitize=
#   RUNTIME    libraries to load before Python, which isn't built for the sanitizer
#   SYMBOL     a function in RUNTIME
#   SETTINGS   variables for Python itself, A=a B=b
#   sanitized.sh [arguments of pytest]
set -euo pipefail
cd "$(dirname "$0")/.."

"$PYTHON" tools/copy_tree.py "build/$NAME"
cd "build/$NAME"
export PD_SANITIZE=$KINDS
make .venv/test

libraries=
for library in $RUNTIME; do
  path=$($CXX -print-file-name="$library")
  [[ $path == /* ]] || { echo "$NAME.sh: $CXX has no $library; use CC=gcc CXX=g++" >&2; exit 1; }
  libraries+="${libraries:+ }$path"
done
[[ $(nm -D paddle_flags/lib/libpd_flags.so) == *"$SYMBOL"* ]]

python=.venv/bin/python
real=$(readlink -f $python)
rm $python
cat >$python <<END
#!/bin/bash
export LD_PRELOAD="$libraries\${LD_PRELOAD:+ \$LD_PRELOAD}" $SETTINGS
exec -a "\$0" '$real' "\$@"
END
chmod +x $python
# Programs that Python starts, such as compilers and test programs, don't get these variables.
$python - LD_PRELOAD $(sed 's/=[^ ]*//g' <<<"$SETTINGS") <<'END'
import sys
import sysconfig
from pathlib import Path

code = f"import os; [os.environ.pop(n, 0) for n in {sys.argv[1:]}]"
Path(sysconfig.get_path("purelib"), "sanitized.pth").write_text(code + "\n")
END
# Examples in the documentation call plain cc; their programs are checked, too.
printf '#!/bin/sh\nexec %s %s "$@"\n' "$(command -v $CC)" "-fsanitize=$PD_SANITIZE" >.venv/bin/cc
chmod +x .venv/bin/cc
$python -c "import ctypes, paddle_flags._native; ctypes.CDLL(None).$SYMBOL"

export CFLAGS="-O1 -g -fno-omit-frame-pointer -fsanitize=$PD_SANITIZE -fno-sanitize-recover=all"
export PD_PRELOAD="$libraries" # for tests that preload a library
exec $python -m pytest -n auto --dist loadfile --max-worker-restart 0 "$@"
