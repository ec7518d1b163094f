"""Runs scripts with --try, each in a process of its own that is forked after PyTorch was imported.

    python run_trials.py OUT script.py …

OUT/NAME.err and .status are left. A script with a line `# EDIT old -> new` gets that edit in place of the proposed one.
"""

import os
import re
import sys
from pathlib import Path

from tests.command.run_scripts import status_of


def edited(finding):
    """The edit that the script itself asks for."""
    from backscope.script.source import Edit

    file = finding.failed.file
    text = Path(file).read_text()
    old, new = re.search(r"# EDIT (.*) -> (.*)\n", text).groups()
    before, _, after = text.rpartition(old)
    return [Edit(file, before + new + after, f"{old} becomes {new}")]


def in_a_child(folder, script):
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    for number, ending in ((1, ".out"), (2, ".err")):
        os.dup2(os.open(folder / f"{script.stem}{ending}", os.O_CREAT | os.O_WRONLY | os.O_TRUNC), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.chdir(script.parent)
    from backscope.script import command, edits

    if b"# EDIT" in script.read_bytes():
        edits.propose = edited
    words = ["--try", "--report", str(folder / f"{script.stem}.html"), script.name]

    def run():
        try:
            command.main(words)
        except SystemExit as end:  # as the interpreter does at its top
            print(end.code if isinstance(end.code, str) else "", file=sys.stderr)
            raise

    status = status_of(run)
    sys.stdout.flush()
    sys.stderr.flush()
    (folder / f"{script.stem}.status").write_text(str(status))
    os._exit(0)


if __name__ == "__main__":
    import torch
    import torch._dynamo

    torch.optim.Adam([torch.nn.Parameter(torch.zeros(1))]).step()
    from backscope.script import doubts, findings, recorder, report, trial  # noqa: F401

    for each in sys.argv[2:]:
        in_a_child(Path(sys.argv[1]), Path(each))
