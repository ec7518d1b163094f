"""Makes the helpers beside these tests, and the notebook builder they test, importable."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

for folder in (HERE, HERE.parent.parent / "tools"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
