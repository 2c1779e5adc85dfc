#!/bin/sh
# Run the service, and show its page in a browser, until Ctrl-C.
#   show.sh [BIN [OPTION ...]]      BIN: the directory of python and paddle-flags
# An OPTION goes to `paddle-flags open`: --print only prints the address.
cd "$(dirname "$0")/../.."
bin=${1:-.venv/bin}
[ $# -eq 0 ] || shift

"$bin/python" examples/live/service.py &
service=$!
trap 'kill $service 2>/dev/null' EXIT
trap 'exit 0' INT TERM
until "$bin/paddle-flags" get $service pause >/dev/null 2>&1; do
  kill -0 $service 2>/dev/null || exit 1
  sleep 0.2
done

cat <<END

In another terminal, while it runs:

  $bin/paddle-flags list $service
  $bin/paddle-flags set $service pause=2s --for 10m --reason "too fast"
  $bin/paddle-flags watch $service

The page of the process, for the browser of this user:

END
"$bin/paddle-flags" open $service "$@"
