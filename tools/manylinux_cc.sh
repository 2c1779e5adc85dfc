#!/bin/sh
# A C compiler for wheels that run on old Linux systems: the compiler of this machine,
# and Zig's linker, which knows the symbols of every glibc. Code that needs newer ones
# than those of $GLIBC_TARGET, such as x86_64-linux-gnu.2.17, doesn't link.
case " $* " in *" -shared "*) ;; *) exec "${REAL_CC:-gcc}" "$@" ;; esac
for word; do
  shift
  case $word in # without the options that it refuses, or can't resolve
    -Wl,-Bsymbolic-functions) word=-Wl,-Bsymbolic ;; # no variables are exported
    -Wl,-z,*separate-code | -L/*) continue ;;
  esac
  set -- "$@" "$word"
done
# The unwinder is part of the system, not Zig's own.
exec ${ZIG:-zig} cc -target "$GLIBC_TARGET" "$@" "$("${REAL_CC:-gcc}" -print-file-name=libgcc_s.so.1)" \
  -Wl,--strip-debug # of what Zig brings along
