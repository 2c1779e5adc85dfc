"""The directory of this file is where `support` is imported from."""

import signal
import sys
from pathlib import Path

# A shell ignores Ctrl-C in what it runs in the background, and so would all programs of the tests.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

sys.path.insert(0, str(Path(__file__).parent))
