"""The teaching tools: pictures, instruments, explanations and exercises, and cells that show errors and source.

Imported by lessons only; `import course_lib` alone never comes here. The function `explain` shares its name with its
folder, so it is bound here, after the folder was loaded.
"""

from course_lib.teach.data.digits import digits
from course_lib.teach.explain.report import explain
from course_lib.teach.instruments.ledger import ledger
from course_lib.teach.instruments.processes import processes
from course_lib.teach.instruments.step import step
from course_lib.teach.instruments.watch import watch
from course_lib.teach.pictures.chart import chart, contour, grids, pixels
from course_lib.teach.pictures.compare import compare
from course_lib.teach.pictures.draw import draw
from course_lib.teach.practice.cells import expect_error, show
from course_lib.teach.practice.home import home
from course_lib.teach.practice.lesson import lesson

__all__ = [
    "chart", "compare", "contour", "digits", "draw", "expect_error", "explain", "grids", "home", "ledger", "lesson",
    "pixels", "processes", "show", "step", "watch",
]  # fmt: skip
