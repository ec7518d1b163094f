"""`course.py open` as a process of its own: what tests/setup and tests/browser do with a clone of the course."""

import os
import re
import socket
import subprocess
import sys
import time

import pytest

import course

ADDRESS = re.compile(r"(http://127\.0\.0\.1:\d+)(/lab/tree/\S+)\?token=(\w+)")
PATIENCE = 90  # seconds until the server answers


def open_course(clone, folder):
    """(process, its address, the page that it names, its token); what Jupyter keeps lies in `folder`."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environ = {key: value for key, value in os.environ.items() if not key.startswith(("JUPYTER", "COURSE_"))}
    environ |= course.own_folders(folder) | {"COURSE_PYTHON": sys.executable, "PYTHONPATH": str(clone)}
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
