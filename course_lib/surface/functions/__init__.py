"""PyTorch's functions as plain functions over rows: they sort out arguments and pick the row, no more.

PyTorch: aten/src/ATen/native. One file a theme; here are all of them by name.
"""

from course_lib.surface.functions.arithmetic import *  # noqa: F403
from course_lib.surface.functions.comparisons import *  # noqa: F403
from course_lib.surface.functions.dimensions import *  # noqa: F403
from course_lib.surface.functions.matrices import *  # noqa: F403
from course_lib.surface.functions.ordering import *  # noqa: F403
from course_lib.surface.functions.places import *  # noqa: F403
from course_lib.surface.functions.reductions import *  # noqa: F403
from course_lib.surface.functions.results import *  # noqa: F403
from course_lib.surface.functions.sampling import *  # noqa: F403
from course_lib.surface.functions.shapes import *  # noqa: F403
