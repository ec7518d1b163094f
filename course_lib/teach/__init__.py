"""The teaching tools: pictures, exercises, and cells that show errors and source.

Imported by lessons only; `import course_lib` alone never comes here. The functions `draw` and `lesson`
share their names with their modules, so they are bound now, after the modules: a later
`import course_lib.teach.draw` finds the module loaded and leaves these names alone.
"""

from course_lib.teach.cells import expect_error, show
from course_lib.teach.draw import draw
from course_lib.teach.lesson import lesson

__all__ = ["draw", "expect_error", "lesson", "show"]
