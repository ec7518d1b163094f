"""What every test run needs: this tree's course_lib, and progress files that are nobody's."""

import gc
import os
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent

_scratch = None
_lesson = None
_here = None


def pytest_configure(config):
    """Point this process, and every kernel it starts, at this tree and at a scratch folder."""
    global _scratch
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    _scratch = tempfile.TemporaryDirectory(prefix="course-tests-", ignore_cleanup_errors=True)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    os.environ["IPYTHONDIR"] = os.path.join(_scratch.name, "ipython")  # no start-up files of the user's
    for library in ("OMP", "OPENBLAS", "MKL"):  # one thread each: there are as many test processes as cores
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"
    os.environ["COURSE_PROGRESS"] = os.path.join(_scratch.name, "progress.json")


def pytest_unconfigure(config):
    """Remove the scratch folder."""
    if _scratch is not None:
        _scratch.cleanup()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Give each notebook a progress file of its own before nbval starts its kernel, which inherits it."""
    global _lesson
    if item.path.suffix == ".ipynb" and item.path != _lesson:
        _lesson = item.path
        os.environ["COURSE_PROGRESS"] = os.path.join(_scratch.name, f"progress-{item.path.stem}.json")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """At the first test of each file, and after torch came, put aside what there is: it is no test's garbage.

    What a test makes is watched as ever; a gc.collect() in it then takes no time instead of half a second.
    """
    global _here
    if (item.path, "torch" in sys.modules) != _here:
        _here = item.path, "torch" in sys.modules
        gc.collect()
        gc.freeze()
    return (yield)


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session):
    """Nothing here logs. torch has forty loggers, and pytest would listen to each of them six times a test."""
    plugins = session.config.pluginmanager
    if listener := plugins.get_plugin("logging-plugin"):
        plugins.unregister(listener)
