#!/bin/bash
# Run the tests with everything native built for AddressSanitizer and UBSan: the
# library, the cffi module, plugins and test programs. CC is gcc.
#   asan.sh [arguments of pytest]
set -euo pipefail
cd "$(dirname "$0")/.."

"$PYTHON" tools/copy_tree.py build/asan
cd build/asan
export PD_SANITIZE=address,undefined
make .venv/built

runtime=$($CC -print-file-name=libasan.so)
[[ $runtime == /* ]] || { echo "asan.sh: $CC has no libasan.so; use CC=gcc" >&2; exit 1; }
[[ $(nm -D paddle_flags/lib/libpd_flags.so) == *__asan_* ]]

# Python itself isn't built for the sanitizer: its runtime has to be loaded first,
# with the C++ library, whose exceptions it intercepts.
runtime+=" $($CXX -print-file-name=libstdc++.so.6)"
# Python's memory at exit says nothing about ours, so that leaks count in programs
# alone; with malloc, the sanitizer sees the end of each Python object.
python=.venv/bin/python
real=$(readlink -f $python)
rm $python
cat >$python <<END
#!/bin/bash
export LD_PRELOAD="$runtime\${LD_PRELOAD:+ \$LD_PRELOAD}" ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc
exec -a "\$0" '$real' "\$@"
END
chmod +x $python
# What Python starts, compilers and test programs, gets none of that.
$python - <<'END'
import sysconfig
from pathlib import Path

code = 'import os; [os.environ.pop(n, 0) for n in ("LD_PRELOAD", "ASAN_OPTIONS", "PYTHONMALLOC")]'
Path(sysconfig.get_path("purelib"), "sanitized.pth").write_text(code + "\n")
END
# Documents show plain commands of the compiler; their programs count, too.
printf '#!/bin/sh\nexec %s %s "$@"\n' "$(command -v $CC)" "-fsanitize=$PD_SANITIZE" >.venv/bin/cc
chmod +x .venv/bin/cc
$python -c 'import ctypes, paddle_flags._native; ctypes.CDLL(None).__asan_init'

export CFLAGS="-O1 -g -fno-omit-frame-pointer -fsanitize=$PD_SANITIZE -fno-sanitize-recover=all"
export PD_PRELOAD="$runtime" # for tests that preload a plugin
export UBSAN_OPTIONS=print_stacktrace=1
exec $python -m pytest -n auto --dist loadfile "$@"
