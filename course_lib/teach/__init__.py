"""Old copies of lessons import their instruments from here. New ones import `backscope` and `coursekit`."""

import importlib
import sys

from backscope import compare, draw, explain, ledger, step, watch  # noqa: F401
from coursekit import chart, contour, digits, expect_error, grids, home, lesson, pixels, processes, show  # noqa: F401
from coursekit.judge.discovery import exercises_module

for name in ("records", "records.differences", "records.sources"):
    sys.modules[f"{__name__}.{name}"] = importlib.import_module(f"coursekit.{name}")
sys.modules[f"{__name__}.exercises.lesson_01"] = exercises_module(1)
