"""What every test run needs: this tree's course_lib, and progress files that are nobody's."""

import collections
import gc
import importlib.util
import itertools
import os
import sys
import tempfile
from pathlib import Path

import jupyter_client
import nbval.kernel
import pytest

pytest_plugins = ["tests.libraries"]
ROOT = Path(__file__).resolve().parent

_scratch = None
_lesson = None
_here = None


def pytest_configure(config):
    """Point this process, and every kernel it starts, at this tree and at a scratch folder."""
    global _scratch
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    from coursekit.cli import server

    _scratch = tempfile.TemporaryDirectory(prefix="course-tests-", ignore_cleanup_errors=True)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    # No start-up files and settings of the user's, and no need of a home that can be written to.
    os.environ.update(server.own_folders(_scratch.name))
    for library in ("OMP", "OPENBLAS", "MKL"):  # one thread each: there are as many test processes as cores
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"
    os.environ["COURSE_PROGRESS"] = os.path.join(_scratch.name, "progress.json")
    if os.name == "posix":
        reach_kernels_by_files(_scratch.name)


def reach_kernels_by_files(folder):
    """Let nbval talk to its kernels through socket files in `folder`, and not through ports.

    Two test processes that look for free ports at one moment can find the same ones. One kernel in 400 then died, or
    its notebook waited a minute for another's answers.
    """
    numbers = itertools.count()

    def manager(**options):
        return jupyter_client.KernelManager(transport="ipc", ip=os.path.join(folder, f"k{next(numbers)}"), **options)

    nbval.kernel.KernelManager = manager


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


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(report, config):
    """A hundred dots for all tests, however many there are; what is red is shown each time."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    total = getattr(getattr(terminal, "_session", None), "testscollected", 0)
    if total < 500 or config.option.verbose or not (report.skipped or report.passed and report.when == "call"):
        return None
    if getattr(report, "wasxfail", None) is not None:
        return None
    config.course_seen = seen = getattr(config, "course_seen", 0) + 1
    dot = "." if seen % (total // 100 + 1) == 0 else ""
    return ("passed", dot, "PASSED") if report.passed else ("skipped", dot, "SKIPPED")


def pytest_terminal_summary(terminalreporter):
    """Say in one line what was not run and why: a number alone tells nobody whether it matters."""
    if os.environ.get("COURSE_TIER") == "test":
        terminalreporter.write_line("Not run: what needs PyTorch or minutes. `make check` runs it.")
    elif importlib.util.find_spec("torch") is None:
        how = "`python3 course.py setup --torch` installs it"
        terminalreporter.write_line(f"Not run: the tests that compare with PyTorch, which is not installed ({how}).")
    skipped = [report.longrepr for report in terminalreporter.stats.get("skipped", [])]
    reasons = collections.Counter(str(why[2] if isinstance(why, tuple) else why) for why in skipped)
    for words, count in reasons.most_common():
        terminalreporter.write_line(f"{count} tests skipped: {words.removeprefix('Skipped: ')}")
