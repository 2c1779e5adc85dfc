#!/bin/sh
# musl-gcc for extensions of a Python that was built for glibc: without the directories of
# its libraries, and with what pyconfig.h of Debian includes behind musl's own headers. Without
# -fexceptions: glibc's unwinder doesn't link with musl, whose cancelled threads don't unwind.
for word; do
  shift
  case $word in -L/* | -fexceptions) continue ;; esac
  set -- "$@" "$word"
done
exec musl-gcc "$@" -idirafter /usr/include
