"""The commands that test: lint, tests, proof, browser."""

import argparse
import contextlib
import os
import subprocess
from collections.abc import Sequence

from coursekit.cli import paths
from coursekit.cli.environment import Environment
from coursekit.cli.install import ensure_environment
from coursekit.cli.terminal import echo


def chosen_tests(arguments: Sequence[str]) -> list[str]:
    """Pick the files and folders among the words after `make test`."""
    return [each for each in arguments if not each.startswith("-") and (paths.ROOT / each.split("::")[0]).exists()]


def pytest_command(environment: Environment, arguments: Sequence[str]) -> list[str]:
    """Return the command that runs each test once, in as many processes as pay off; a file stays in one of them.

    One more than there are processors: servers, kernels and time limits are waited for.
    """
    workers = str(1 + max(2, min(os.cpu_count() or 2, 8)))
    command = [
        str(environment.python), "-m", "pytest", "-p", "tests.quick_start", "-n", workers, "--dist", "loadfile",
        "--nbval", "--nbval-current-env", "--nbval-sanitize-with", "tests/lessons/nbval_sanitize.cfg",
    ]
    return command + list(arguments) + ([] if chosen_tests(arguments) else ["tests", "lessons", "notebooks"])


def run(command: Sequence[str], patient: bool = False, tier: str | None = None) -> int:
    """Run a command in the course's folder, its output the reader's. Return its exit status.

    A patient run leaves Ctrl-C to the command, which has something to write before it ends. `tier` says how much is
    tested (tests/libraries.py), unless COURSE_TIER is set.
    """
    environ = dict(os.environ)
    if tier:
        environ.setdefault("COURSE_TIER", tier)
    environ.setdefault("PYTHONUTF8", "1")  # files and outputs hold more than Windows' own code pages do
    if not patient:
        return subprocess.call(command, cwd=str(paths.ROOT), env=environ, stdin=subprocess.DEVNULL)
    process = subprocess.Popen(command, cwd=str(paths.ROOT), env=environ, stdin=subprocess.DEVNULL)
    while True:
        with contextlib.suppress(KeyboardInterrupt):
            return process.wait()


def command_test(options: argparse.Namespace) -> int:
    """Test all that needs neither PyTorch nor minutes; of files that are named, everything."""
    environment = ensure_environment(["dev"])
    tier = "check" if chosen_tests(options.arguments) else "test"
    return run(pytest_command(environment, options.arguments), tier=tier)


def command_test_browser(options: argparse.Namespace) -> int:
    """Drive the course in headless Chromium."""
    environment = ensure_environment(["dev", "browser", "docs", "lite"])
    return run([str(environment.python), "-m", "pytest", "tests/browser"] + options.arguments)


def command_check(options: argparse.Namespace) -> int:
    """Run all of CI but the browser; each job runs even when an earlier one is red."""
    environment = ensure_environment(["dev"])
    python = str(environment.python)
    prove = [python, "-m", "coursekit.judge.prove"]
    if options.json:
        return run(prove + ["--json"])
    jobs = [("lint", [python, "-m", "ruff", "check", "."]), ("proof", prove)]
    if not options.no_tests:
        jobs.insert(1, ("tests", pytest_command(environment, [])))
    states = []
    for name, command in jobs:
        echo(f"== {name}")
        states.append((name, run(command)))
    echo("== check: " + ", ".join("{} {}".format(name, "green" if ok == 0 else "RED") for name, ok in states))
    red = [name for name, status in states if status != 0]
    if red:
        echo("What each red job means is in CONTRIBUTING.md.")
    return 1 if red else 0
