"""What lesson 17 and part 17b say that real PyTorch printed in two processes is what it prints."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

LESSONS = Path(__file__).resolve().parents[2] / "lessons"


def fenced(lesson, kind, first):
    """The block of this kind in the lesson that begins with these words."""
    text = re.sub("^# ?", "", (LESSONS / lesson / "lesson.py").read_text(encoding="utf-8"), flags=re.MULTILINE)
    return next(block for block in re.findall(f"```{kind}\n(.*?)```", text, re.DOTALL) if block.startswith(first))


@pytest.mark.parametrize("lesson, first", [("17_two_machines", "copy False,"), ("17b_a_pipeline", "gradients [3.0,")])
def test_the_record(real_torch, tmp_path, lesson, first):
    """The script in the lesson prints the record below it, on gloo with two processes."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    script = tmp_path / "two.py"
    script.write_text(fenced(lesson, "python", "import os"), encoding="utf-8")
    environment = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}

    ran = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, timeout=60)

    assert ran.stdout == fenced(lesson, "text", first), ran.stderr
