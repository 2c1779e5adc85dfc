#!/bin/sh
# Say what is done, and do it: step.sh TEXT COMMAND [ARGUMENT ...]
#
# Behind the text come a dot every two seconds and the time that it took. What the
# command prints is shown when it fails.
text=$1
shift
log=$(mktemp) || exit
printf '%s .' "$text"
while sleep 2 >/dev/null 2>&1; do printf .; done &
ticker=$!
trap 'kill $ticker 2>/dev/null; rm -f "$log"' EXIT
trap 'exit 130' INT TERM
begin=$(date +%s)

"$@" >"$log" 2>&1
status=$?

if [ $status -eq 0 ]; then
  echo " $(($(date +%s) - begin)) s"
else
  printf ' failed:\n' && cat "$log"
fi
exit $status
