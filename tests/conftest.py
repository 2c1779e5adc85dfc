"""The directory of this file is where `support` is imported from."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
