"""`course.py` as a process of its own, in a clone of the course: for tests/setup and tests/browser."""

import os
import re
import socket
import subprocess
import sys
import time

import pytest

from coursekit.cli import server

ADDRESS = re.compile(r"(http://127\.0\.0\.1:\d+)(/lab/tree/\S+)\?token=(\w+)")
PATIENCE = 90  # seconds until the server answers


def environment(**more):
    """This process's environment without what chooses a Python, a home or a folder of Jupyter's."""
    chosen = ("JUPYTER", "IPYTHON", "MPL", "COURSE_", "CONDA_PREFIX")
    return {key: value for key, value in os.environ.items() if not key.startswith(chosen)} | more


def run_course(clone, *words, **environ):
    """What `course.py` with these words says in this clone, and its status."""
    command = [sys.executable, "course.py", *words]
    return subprocess.run(command, cwd=clone, env=environment(**environ), capture_output=True, text=True, timeout=120)


def open_course(clone, folder):
    """(process, its address, the page that it names, its token); what Jupyter keeps lies in `folder`."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environ = environment(**server.own_folders(folder), COURSE_PYTHON=sys.executable, PYTHONPATH=str(clone))
    words = [sys.executable, "-u", "course.py", "open", "--no-browser", "--port", str(port)]
    log = folder / "course.log"
    with open(log, "wb") as output:
        process = subprocess.Popen(words, cwd=clone, env=environ, stdout=output, stderr=output)
    end = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < end:
        if found := ADDRESS.search(log.read_text(encoding="utf-8")):
            return process, *found.groups()
        time.sleep(0.1)
    process.kill()
    pytest.fail(f"`course.py open` gave no address within {PATIENCE} s. It said:\n{log.read_text(encoding='utf-8')}")
