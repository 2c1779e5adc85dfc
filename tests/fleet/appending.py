"""A process that appends records in a race: appending.py URL NAME COUNT. Prints what it created."""

import sys

from paddle_flags.fleet._open import open_store

url, name, count = sys.argv[1:]
store = open_store(url, timeout=60)
print("ready", flush=True)
sys.stdin.readline()
won = 0
while won < int(count):
    number = store.last() + 1
    record = f"{name} {won}"
    if store.append(number, record.encode()):
        print(number, record, flush=True)
        won += 1
