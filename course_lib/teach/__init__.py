"""Old copies of lessons import their instruments from here. New ones import `backscope` and `coursekit`."""

import functools
import importlib
import sys

import coursekit
from backscope import compare, draw, explain, ledger, step, watch  # noqa: F401
from coursekit import chart, contour, digits, expect_error, grids, home, pixels, processes, show  # noqa: F401
from coursekit.judge.discovery import exercises_module

lesson = functools.partial(coursekit.lesson, edition="0.9.0")  # by the numbers that exercises had then
for name in ("records", "records.differences", "records.sources"):
    sys.modules[f"{__name__}.{name}"] = importlib.import_module(f"coursekit.{name}")
sys.modules[f"{__name__}.exercises.lesson_01"] = exercises_module(1)
