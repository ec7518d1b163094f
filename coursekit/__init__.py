"""The course's machine: the judge, the notebook front end, the learner's own engine, classroom, records, command line.

Imports course_lib and backscope by their public names; lessons import it. `import course_lib` never comes here.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from backscope.pictures.chart import chart, contour, grids, pixels
    from coursekit.data.digits import digits
    from coursekit.notebook.cells import expect_error, show
    from coursekit.notebook.home import home
    from coursekit.notebook.lesson import lesson
    from coursekit.notebook.processes import processes

__all__ = ["chart", "contour", "digits", "expect_error", "grids", "home", "lesson", "pixels", "processes", "show"]
_MODULES = {
    "backscope.pictures.chart": ("chart", "contour", "grids", "pixels"),
    "coursekit.data.digits": ("digits",),
    "coursekit.notebook.cells": ("expect_error", "show"),
    "coursekit.notebook.home": ("home",),
    "coursekit.notebook.lesson": ("lesson",),
    "coursekit.notebook.processes": ("processes",),
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for: the command line runs before NumPy is installed."""
    for module, names in _MODULES.items():
        if name in names:
            value = globals()[name] = getattr(importlib.import_module(module), name)
            return value
    raise AttributeError(f"module 'coursekit' has no attribute {name!r}")
