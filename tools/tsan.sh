#!/bin/bash
# Run the tests under ThreadSanitizer: tsan.sh [arguments of pytest]
#
# It bears no more random addresses than 28 bits of them: hence setarch. A child of a
# process with threads may start threads, as multiprocessing's does.
export NAME=tsan KINDS=thread RUNTIME=libtsan.so SYMBOL=__tsan_init
export SETTINGS="TSAN_OPTIONS=die_after_fork=0"
exec setarch -R "$(dirname "$0")/sanitized.sh" "$@"
