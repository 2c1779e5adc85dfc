#!/bin/sh
# musl-gcc for extensions of a Python built for glibc: without the directories of its libraries, and
# with the headers that Debian's pyconfig.h includes after musl's own. Without -fexceptions: glibc's
# unwinder doesn't link with musl, and cancelled threads don't unwind there.
for word; do
  shift
  case $word in -L/* | -fexceptions) continue ;; esac
  set -- "$@" "$word"
done
exec musl-gcc "$@" -idirafter /usr/include
