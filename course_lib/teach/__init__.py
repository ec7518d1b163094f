"""The teaching tools: pictures, exercises, and cells that show errors and source.

Imported by lessons only; `import course_lib` alone never comes here. The functions `compare`, `draw`,
`ledger` and so on share their names with their modules, so they are bound now, after the modules: a later
`import course_lib.teach.draw` finds the module loaded and leaves these names alone.
"""

from course_lib.teach.cells import expect_error, show
from course_lib.teach.compare import compare
from course_lib.teach.draw import draw
from course_lib.teach.explain import explain
from course_lib.teach.ledger import ledger
from course_lib.teach.lesson import lesson
from course_lib.teach.step import step
from course_lib.teach.watch import watch

__all__ = ["compare", "draw", "expect_error", "explain", "ledger", "lesson", "show", "step", "watch"]
