#!/bin/sh
# A C compiler for wheels of other Linux systems than this one: Zig knows their C libraries.
#   TARGET=x86_64-linux-gnu.2.17  Zig links what $REAL_CC has compiled. Code that needs a newer glibc
#                                 doesn't link.
#   TARGET=x86_64-linux-musl      Zig compiles and links. Without -fexceptions: cancelled threads
#                                 don't unwind there, and an unwinder may be missing.
zig="${ZIG:-zig} cc -target $TARGET"
case $TARGET in *musl) compiler=$zig ;; *) compiler=${REAL_CC:-gcc} ;; esac
for word; do
  shift
  case $TARGET/$word in # drop options that Zig rejects or can't resolve
    */-Wl,-Bsymbolic-functions) word=-Wl,-Bsymbolic ;; # no variables are exported
    */-Wl,-z,*separate-code | */-L/* | *musl/-fexceptions) continue ;;
    */-lstdc++) word=$($compiler -print-file-name=libstdc++.so.6) ;; # not Zig's libc++
  esac
  set -- "$@" "$word"
done
case " $* " in *" -shared "*) ;; *) exec $compiler "$@" ;; esac
# The system's unwinder, not Zig's.
case $TARGET in *gnu*) set -- "$@" "$($compiler -print-file-name=libgcc_s.so.1)" ;; esac
exec $zig "$@" -Wl,--strip-debug # symbols of Zig's own objects
