"""What is said in the terminal: lines, problems, and how far a long command is."""

import subprocess
import sys
import threading
import time

from coursekit.cli import paths


class Problem(Exception):
    """Something the reader has to know: what was tried, what is in the way, what to do about it."""


out = None  # where ordinary words go when not to stdout (`check --json` keeps stdout for the JSON)


def say(text=""):
    """Print one line at once, also when the output is a pipe."""
    print(text, file=out or sys.stdout, flush=True)


def this_command():
    """How the reader starts this file on their system."""
    return "py course.py" if paths.WINDOWS else "python3 course.py"


def tail(text, lines=15):
    return "\n".join("    " + line for line in text.strip().splitlines()[-lines:])


PIP_SAYS = ("Building", "Collecting", "Downloading", "Getting", "Installing", "Looking", "Obtaining", "Preparing",
            "Processing", "Requirement", "Using")


def run_showing_progress(title, command, log, every=3.0, unpacked=None):
    """Run a long command with its output in `log`, say how far it is, and return its exit status.

    `unpacked()` counts the packages that are there: while pip unpacks, which it does without a word.
    """
    stream = out or sys.stdout
    live = stream.isatty()
    began = time.monotonic()
    doing = ["starting"]
    unpacking = []  # the number of packages, once pip has begun to unpack them
    before = unpacked() if unpacked else 0
    process = subprocess.Popen(
        command, cwd=str(paths.ROOT), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        universal_newlines=True, encoding="utf-8", errors="replace",
    )

    def read():
        with open(str(log), "a", encoding="utf-8") as kept, process.stdout:
            for line in process.stdout:
                kept.write(line)
                words = line.split()
                if words[:2] == ["Installing", "collected"]:
                    unpacking.append(len(words) - 3)
                elif words[:1] and words[0] in PIP_SAYS:
                    doing[0] = " ".join(words[:2])[:60]

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    say(f"{title} ...")
    spoke = began
    try:
        while process.poll() is None:
            time.sleep(0.1)
            now = time.monotonic()
            if now - spoke >= (0.5 if live else every):
                spoke = now
                if unpacking:
                    there = min(unpacked() - before, unpacking[-1]) if unpacked else 0
                    doing[0] = f"unpacking {unpacking[-1]} packages, {max(there, 0)} done"
                note = f"  {now - began:3.0f} s  {doing[0]}"
                if live:
                    print("\r" + note.ljust(78)[:78], end="", file=stream, flush=True)
                else:
                    say(note.rstrip())
    except BaseException:
        process.terminate()
        process.wait()
        raise
    finally:
        if live:
            print("\r" + " " * 78 + "\r", end="", file=stream, flush=True)
    reader.join(timeout=10)
    ended = "done" if process.returncode == 0 else "failed"
    say(f"  {ended} in {time.monotonic() - began:.0f} s")
    return process.returncode
