"""No instrument may leave anything behind: asked after each test of the course's machine, too."""

from tests.backscope.conftest import leaves_no_trace as leaves_no_trace
