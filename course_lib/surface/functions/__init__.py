"""PyTorch's functions as plain functions over rows: they sort out arguments and pick the row, no more.

PyTorch: aten/src/ATen/native. One file a theme. Here each of them is found by its name alone, `functions.mean`, also
those that are a row of the table and nothing else.
"""

import importlib

from course_lib.engine.build import rows
from course_lib.engine.ops import ROWS

FILES = (  # in the order of their imports: a file uses those before it
    "results", "dimensions", "arithmetic", "comparisons", "reductions", "shapes", "ordering", "places", "matrices",
    "sampling", "in_place",
)  # fmt: skip


def __getattr__(name):
    """Find a function, wherever it stands: the files are read, one after the other, until it is found."""
    for file in FILES:
        found = vars(importlib.import_module(f"{__name__}.{file}"))
        if name in found:
            globals()[name] = found[name]
            return found[name]
    if name in ROWS or name.removesuffix("_") in ROWS:
        return getattr(rows, name)
    raise AttributeError(f"no file of {__name__} has {name!r}")
