"""Records of what only real PyTorch can show, made there once: a lesson prints one, and a test makes it anew.

`programs.py` holds the programs, `recorded.txt` what each of them printed, `differences.py` the table of where our
engine answers otherwise, `sources.py` which file of PyTorch's each file of our engine stands for.
"""

import importlib.util
import subprocess
import sys
import textwrap
from pathlib import Path

from coursekit.records.programs import HELPERS, PROGRAMS

FILE = Path(__file__).with_name("recorded.txt")
WIDTH = 100  # characters of a printed line
MADE_ON = "PyTorch 2.13.0, on the CPU of a Linux machine"
LACKING = (
    "PyTorch is not installed here, so the program cannot run again. The record above shows what it printed; "
    "`python3 course.py setup --torch` installs PyTorch."
)


def recorded(name, program=True) -> None:
    """Print a program for real PyTorch and what it printed there. KeyError for a name without a record."""
    lead = f"A record, made on {MADE_ON}."
    if program:
        print(lead, "The program:\n")
        print(indented(PROGRAMS[name]), "\nIt printed:\n", sep="\n")
    else:
        print(lead + "\n")
    print(folded(records()[name]))


def again(name) -> None:
    """Run the program of a record on the PyTorch of this machine and print what it prints; or say that there is
    none.
    """
    print(made(name)[name] if importlib.util.find_spec("torch") else LACKING)


def records() -> dict:
    """Return {name: what its program printed}, from recorded.txt."""
    found, lines = {}, FILE.read_text(encoding="utf-8").splitlines()
    for line in lines:
        if line.startswith("=== "):
            part = found[line[4:]] = []
        elif found:
            part.append(line)
    return {name: "\n".join(part).strip("\n") for name, part in found.items()}


def made(*names) -> dict:
    """Return {name: what its program prints on this machine's PyTorch}. In a process of its own, which leaves nothing
    behind.
    """
    parts = [f"print('=== {name}')\ntorch.manual_seed(0)\n{PROGRAMS[name]}" for name in names]
    # A program may hold quotes of every kind, so it goes through the standard input.
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-"], input="\n".join([HELPERS, *parts]), capture_output=True, text=True,
        timeout=300, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"The program ended with an error:\n{done.stderr[-2000:]}")
    found = {}
    for part in ("\n" + done.stdout).split("\n=== ")[1:]:
        name, _, printed = part.partition("\n")
        found[name] = printed.strip("\n")
    return found


def write() -> None:
    """Make recorded.txt anew: `python -c "from coursekit import records; records.write()"`."""
    first = "What the programs of programs.py print on real PyTorch. Written by records.write(), proved by a test.\n"
    found = made(*PROGRAMS)
    FILE.write_text(first + "".join(f"\n=== {name}\n{text}\n" for name, text in found.items()), encoding="utf-8")


def folded(text) -> str:
    """Indented, and with long lines folded: a notebook would break them anywhere."""
    return "\n".join(
        textwrap.fill(line, WIDTH, initial_indent="    ", subsequent_indent=" " * 8, break_on_hyphens=False)
        if len(line) > WIDTH - 4
        else indented(line)
        for line in text.splitlines()
    )


def indented(text) -> str:
    """Four blanks before each line that is not empty."""
    return "\n".join("    " + line if line else "" for line in text.splitlines())
