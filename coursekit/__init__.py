"""The course's machine: the judge, the notebook front end, the learner's own engine, classroom, records, command line.

Imports course_lib and backscope by their public names; lessons import it. `import course_lib` never comes here.
"""

from backscope.pictures.chart import chart, contour, grids, pixels
from coursekit.data.digits import digits
from coursekit.notebook.cells import expect_error, show
from coursekit.notebook.home import home
from coursekit.notebook.lesson import lesson
from coursekit.notebook.processes import processes

__all__ = ["chart", "contour", "digits", "expect_error", "grids", "home", "lesson", "pixels", "processes", "show"]
