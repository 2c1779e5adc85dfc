#!/bin/sh
# A C compiler for wheels that run on old Linux systems: this machine's compiler and Zig's linker,
# which knows the symbols of every glibc. Code that needs a newer glibc than $GLIBC_TARGET, such as
# x86_64-linux-gnu.2.17, doesn't link.
case " $* " in *" -shared "*) ;; *) exec "${REAL_CC:-gcc}" "$@" ;; esac
for word; do
  shift
  case $word in # drop options that Zig rejects or can't resolve
    -Wl,-Bsymbolic-functions) word=-Wl,-Bsymbolic ;; # no variables are exported
    -Wl,-z,*separate-code | -L/*) continue ;;
    -lstdc++) word=$("${REAL_CC:-gcc}" -print-file-name=libstdc++.so.6) ;; # not Zig's libc++
  esac
  set -- "$@" "$word"
done
# Use the system's unwinder, not Zig's.
exec ${ZIG:-zig} cc -target "$GLIBC_TARGET" "$@" "$("${REAL_CC:-gcc}" -print-file-name=libgcc_s.so.1)" \
  -Wl,--strip-debug # symbols of Zig's own objects
