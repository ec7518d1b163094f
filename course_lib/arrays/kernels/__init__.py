"""The arithmetic behind the table where one NumPy expression is not enough: plain functions of arrays, by theme.

PyTorch: aten/src/ATen/native, torch/csrc/autograd/FunctionsManual.cpp. The table calls them `kernels.total(...)`.
"""

from course_lib.arrays.kernels.checks import *  # noqa: F403
from course_lib.arrays.kernels.elementwise import *  # noqa: F403
from course_lib.arrays.kernels.layouts import *  # noqa: F403
from course_lib.arrays.kernels.matrices import *  # noqa: F403
from course_lib.arrays.kernels.places import *  # noqa: F403
from course_lib.arrays.kernels.reductions import *  # noqa: F403
from course_lib.arrays.kernels.views import *  # noqa: F403
