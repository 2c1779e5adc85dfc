#!/bin/bash
# Run the tests under ThreadSanitizer: tsan.sh [arguments of pytest]
#
# ThreadSanitizer can't cope with more than 28 random bits in addresses, so setarch disables them.
# die_after_fork=0: the child of a process with threads may start threads, as with multiprocessing.
export NAME=tsan KINDS=thread RUNTIME=libtsan.so SYMBOL=__tsan_init
export SETTINGS="TSAN_OPTIONS=die_after_fork=0"
exec setarch -R "$(dirname "$0")/sanitized.sh" "$@"
