"""Speak in the terminal: lines, problems, and how far a long command is."""

import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from coursekit.cli import paths


class UserError(Exception):
    """Something the reader has to know: what was tried, what is in the way, what to do about it."""


out = None  # where ordinary words go when not to stdout (`check --json` keeps stdout for the JSON)


def echo(text: str = "") -> None:
    """Print one line at once, also when the output is a pipe."""
    print(text, file=out or sys.stdout, flush=True)


def this_command() -> str:
    """Return how the reader starts course.py on their system."""
    return "py course.py" if paths.WINDOWS else "python3 course.py"


def tail(text: str, lines: int = 15) -> str:
    """Return the last lines of a text, moved in."""
    return "\n".join("    " + line for line in text.strip().splitlines()[-lines:])


class Bar:
    """The progress of a long piece of work, in one line: drawn anew on a screen, said now and then into a pipe."""

    WIDTH = 20

    def __init__(self, every: float = 10.0) -> None:
        self.stream = out or sys.stdout
        self.live = self.stream.isatty()
        self.every = every  # seconds between two lines, into a pipe
        self.began = self.spoke = time.monotonic()
        self.share = 0.0

    def show(self, share: float, words: str) -> None:
        """Show this share of the work as done, and what is being done. The bar never moves back."""
        self.share = max(self.share, min(share, 1.0))
        now = time.monotonic()
        if now - self.spoke < (0.2 if self.live else self.every):
            return
        self.spoke = now
        filled = "#" * round(self.WIDTH * self.share)
        line = f"  [{filled:.<{self.WIDTH}}] {100 * self.share:3.0f} %  {now - self.began:3.0f} s  {words}"
        if self.live:
            room = shutil.get_terminal_size().columns - 1
            print("\r" + line.ljust(room)[:room], end="", file=self.stream, flush=True)
        else:
            echo(line)

    def clear(self) -> None:
        """Take the line from the screen, so that words can follow."""
        if self.live:
            print("\r" + " " * (shutil.get_terminal_size().columns - 1) + "\r", end="", file=self.stream, flush=True)


def run_under(bar: Bar, command: list[str], log: Path, state: Callable[[], tuple[float, str]],
              hear: Callable[[str], None] = lambda line: None) -> int:
    """Run a long command with its output in `log`, and return its exit status.

    `hear` gets each line of the output; `state` is asked, several times a second, what the bar is to show.
    """
    process = subprocess.Popen(
        command, cwd=paths.ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        encoding="utf-8", errors="replace",
    )

    def read() -> None:
        with open(log, "a", encoding="utf-8") as kept, process.stdout:
            for line in process.stdout:
                kept.write(line)
                hear(line)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        while process.poll() is None:
            bar.show(*state())
            time.sleep(0.1)
    except BaseException:
        process.terminate()
        process.wait()
        raise
    finally:
        bar.clear()
    reader.join(timeout=10)
    return process.returncode
