"""Runs scripts, each in processes of its own that are forked after PyTorch was imported: plainly, and explained.

    python run_scripts.py OUT script.py …

For each script OUT/plain and OUT/explained get NAME.out, .err and .status. (54 imports of PyTorch take two minutes.)
"""

import os
import sys
from pathlib import Path


def run_plainly(script, arguments):
    """As `python script.py` does."""
    from backscope.script import command

    sys.argv = [script, *arguments]
    command.run(command.options_in([script])[0], arguments)


def status_of(call):
    """Do as the interpreter does at its top: the exit status, and the traceback on standard error."""
    try:
        call()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(bool(end.code))
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def in_a_child(folder, how, script):
    """Fork, run, and leave what the script said in files."""
    name = folder / Path(script).stem
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    for number, ending in ((1, ".out"), (2, ".err")):
        os.dup2(os.open(f"{name}{ending}", os.O_CREAT | os.O_WRONLY | os.O_TRUNC), number)
    os.chdir(folder)
    from backscope.script import command

    words = ["--doubts", "--report", f"{name}.html", script, "an argument"]
    status = status_of(
        (lambda: run_plainly(script, ["an argument"])) if how == "plain" else (lambda: command.main(words))
    )
    sys.stdout.flush()
    sys.stderr.flush()
    Path(f"{name}.status").write_text(str(status))
    os._exit(0)


if __name__ == "__main__":
    import torch
    import torch.fx.experimental.symbolic_shapes  # what a first backward, a first optimizer would load in each child
    import torch.utils.checkpoint

    torch.optim.Adam([torch.nn.Parameter(torch.zeros(1))]).step()
    from backscope.script import command, doubts, findings, recorder, report  # noqa: F401

    out, *scripts = sys.argv[1:]
    for way in ("plain", "explained"):
        (Path(out) / way).mkdir()
        for each in scripts:
            in_a_child(Path(out) / way, way, each)
