"""`course.py handout` and `course.py grade`: thin, understood by the module they call, and stopped without a loss."""

import csv
import os
import signal
import subprocess
import sys
import time

import pytest

from coursekit.classroom import __main__ as command
from coursekit.cli import commands, paths
from tests.classroom import copies

pytestmark = pytest.mark.check  # each returned notebook is a process


@pytest.mark.parametrize(
    "words, known",
    [
        (["handout", "--lessons", "1-3", "--to", "x"], {"lessons": "1-3", "to": os.path.abspath("x")}),
        (["grade", "came", "--seconds", "9", "--at-once", "3", "--to", "y"],
         {"folder": os.path.abspath("came"), "seconds": 9, "at_once": 3, "to": os.path.abspath("y")}),
        (["grade", "came"], {"folder": os.path.abspath("came"), "seconds": 120, "at_once": None, "to": None}),
    ],
)  # fmt: skip
def test_the_module_understands_what_course_py_hands_on(monkeypatch, words, known):
    """What course.py hands on, the module takes, with folders as seen from where the reader stands."""
    handed = []
    monkeypatch.setattr(commands, "run", lambda command, patient=False: handed.append(command) or 0)
    monkeypatch.setenv("COURSE_PYTHON", sys.executable)

    assert 0 == commands.main(words)
    options = vars(command.parser().parse_args(handed[0][3:]))
    assert known == {name: options[name] for name in known}


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is another thing there")
def test_ctrl_c_writes_what_was_graded(tmp_path):
    """When grading is stopped, the table is written, and says of each notebook whether it was reached."""
    for number in range(4):
        copies.honest(1, copies.solved).write(tmp_path / "came" / f"s{number}_01.ipynb")
    hanging = copies.with_cell(copies.honest(1, copies.solved), copies.HOSTILE["loop in C"], 1)
    hanging.write(tmp_path / "came" / "a_01.ipynb")
    words = [sys.executable, "-m", "coursekit.classroom", "grade", str(tmp_path / "came"), "--at-once", "1"]
    running = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=paths.ROOT)
    deadline = time.monotonic() + 60
    while not (tmp_path / "came-graded").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(1)
    running.send_signal(signal.SIGINT)
    said, _ = running.communicate(timeout=60)

    assert 130 == running.returncode, said
    with open(tmp_path / "came-graded" / "grades.csv", encoding="utf-8-sig", newline="") as file:
        remarks = {row["student"]: row["remarks"] for row in csv.DictReader(file)}
    assert 5 == len(remarks)
    assert "stopped" in remarks["a"] and "Not graded: the grading was stopped before it" == remarks["s3"]
