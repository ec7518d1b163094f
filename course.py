#!/usr/bin/env python3
"""The course's command line: checks the Python that runs it and hands over to coursekit/cli.

Nothing has to be installed for it: coursekit/cli makes the course's own environment, .venv, when it is first needed.
"""
# Kept readable by old Pythons (no syntax newer than 2.7), so that one that is too old can say so.

from __future__ import print_function

import sys

OLDEST_PYTHON = (3, 11)


def too_old(version, python):
    """Say which Python is needed, and how to name a newer one."""
    return (
        "This is Python {} ({}); the course needs {}.{} or newer.\n"
        "Install a newer one, then name it:  make open PYTHON=python3.12   or   python3.12 course.py open"
    ).format(version, python, *OLDEST_PYTHON)


def main(arguments=None):
    """Run a command of the course. Return its exit status."""
    if sys.version_info < OLDEST_PYTHON:
        sys.stderr.write(too_old("{}.{}".format(*sys.version_info[:2]), sys.executable) + "\n")
        return 2
    from coursekit.cli import commands

    return commands.main(arguments)


if __name__ == "__main__":
    sys.exit(main())
