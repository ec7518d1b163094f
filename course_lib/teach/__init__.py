"""Old copies of lessons import their instruments from here. New ones import `backscope` and `coursekit`."""

import functools
import sys

import coursekit
from backscope import compare, draw, explain, ledger, step, watch  # noqa: F401
from coursekit import chart, contour, digits, expect_error, grids, home, pixels, processes, show  # noqa: F401
from coursekit.judge.discovery import exercises_module
from coursekit.records import differences, sources

lesson = functools.partial(coursekit.lesson, edition="0.9.0")  # by the numbers that exercises had then
old = {"records": coursekit.records, "records.differences": differences, "records.sources": sources,
       "exercises.lesson_01": exercises_module(1)}  # fmt: skip
sys.modules.update((f"{__name__}.{name}", module) for name, module in old.items())
