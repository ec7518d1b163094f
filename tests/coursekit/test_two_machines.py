"""What lesson 17 says that real PyTorch printed in two processes is what it prints."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "lessons" / "17_two_machines" / "lesson.py"


def fenced(kind, first):
    """The block of this kind in the lesson that begins with these words."""
    text = re.sub("^# ?", "", SOURCE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return next(block for block in re.findall(f"```{kind}\n(.*?)```", text, re.DOTALL) if block.startswith(first))


def test_the_record(real_torch, tmp_path):
    """The script in lesson 17 prints the record below it, on gloo with two processes."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    script = tmp_path / "two.py"
    script.write_text(fenced("python", "import os"), encoding="utf-8")
    environment = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}

    ran = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, timeout=60)

    assert ran.stdout == fenced("text", "as it is:"), ran.stderr
