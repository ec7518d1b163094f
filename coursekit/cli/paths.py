"""The course's folders, and the oldest Python that runs it."""

import os
from pathlib import Path

OLDEST_PYTHON = (3, 11)
ROOT = Path(__file__).resolve().parents[2]
WINDOWS = os.name == "nt"
