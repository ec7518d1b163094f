"""Runs lessons outside Jupyter and records what each cell prints and shows: on either library.

    python swap_runner.py OUT LIBRARY notebook.ipynb ...

LIBRARY is course_lib (every cell is run) or torch (the import line is swapped, cells tagged `engine` are
left out). For each notebook OUT gets a file NAME.json with one entry per cell.

A script of its own, because a lesson must run in a process that has seen no other lesson; processes are
forked where the system can, so that torch is imported once.
"""

import contextlib
import importlib
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
ENGINE_IMPORT = "import course_lib as torch"


def main(out: str, library: str, *notebooks: str) -> None:
    """Run each notebook in a process of its own."""
    sys.path.insert(0, str(ROOT))
    with tempfile.TemporaryDirectory(prefix="course-swap-", ignore_cleanup_errors=True) as scratch:
        prepare(library, scratch)
        for path in notebooks:
            if len(notebooks) == 1:
                record(out, library, path, scratch)
            elif not hasattr(os, "fork"):
                subprocess.run([sys.executable, __file__, out, library, path], check=True)
            elif child := os.fork():
                os.waitpid(child, 0)
            else:
                record(out, library, path, scratch)
                os._exit(0)  # not through the parent's clean-up


def prepare(library: str, scratch: str) -> None:
    """Set nobody's profile, and import once what every lesson needs."""
    os.environ["IPYTHONDIR"] = os.path.join(scratch, "ipython")
    import IPython.core.application  # noqa: F401
    import IPython.core.completer  # noqa: F401
    import IPython.core.interactiveshell  # noqa: F401
    import matplotlib.backends.backend_svg  # noqa: F401
    import matplotlib.pyplot  # noqa: F401

    import backscope  # noqa: F401
    import coursekit  # noqa: F401

    with contextlib.suppress(ImportError):  # a missing library is reported by the lesson that misses it
        torch = importlib.import_module(library)
        torch.optim.SGD([torch.ones(1)], lr=1.0)  # PyTorch's first optimizer loads 300 modules
    if hasattr(os, "fork"):
        from coursekit.notebook import processes

        processes.subprocess = Forked


class Forked:
    """In place of `subprocess` for the workers of lesson 17: forked, since each would import PyTorch again for 2 s."""

    PIPE = DEVNULL = None

    class Popen:
        def __init__(self, command, **settings):
            (job, write), (read, answers) = os.pipe(), os.pipe()
            self.stdin, self.stdout = open(write, "w"), open(read)
            child = multiprocessing.get_context("fork").Process(target=self.work, args=(command[-1], job, answers))
            child.start()
            os.close(job)
            os.close(answers)
            self.kill, self.wait = child.kill, child.join

        def work(self, code, job, answers):
            self.stdin.close()
            sys.stdin, sys.stdout = open(job), open(answers, "w")
            exec(code)


def record(out: str, library: str, path: str, scratch: str) -> None:
    """Run one notebook; what happened, or why nothing did, goes to its JSON file."""
    notebook = Path(path)
    os.environ["COURSE_PROGRESS"] = os.path.join(scratch, notebook.stem + ".json")
    try:
        seen = run(json.loads(notebook.read_text(encoding="utf-8")), library, notebook.parent)
    except BaseException:  # SystemExit in a cell among others
        seen = {"broken": traceback.format_exc()}
    (Path(out) / (notebook.stem + ".json")).write_text(json.dumps(seen), encoding="utf-8")


def run(nb: dict, library: str, folder: Path) -> list[dict | None]:
    """Run the cells in order; one entry per cell, None for one that was not run."""
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.utils.capture import capture_output
    from traitlets.config import Config

    os.chdir(folder)
    shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    seen: list[dict | None] = []
    for cell in nb["cells"]:
        engine = "engine" in cell["metadata"].get("tags", [])
        if cell["cell_type"] != "code" or (engine and library == "torch"):
            seen.append(None)
            continue
        source = "".join(cell["source"])
        with shell.display_trap, capture_output() as captured:
            outcome = shell.run_cell(swap(source) if library == "torch" else source, store_history=True)
        error, shown = outcome.error_before_exec or outcome.error_in_exec, [output.data for output in captured.outputs]
        seen.append(
            {
                "stdout": captured.stdout,
                "stderr": captured.stderr,
                "shown": [data.get("text/plain", "") for data in shown],
                "html": [data["text/html"] for data in shown if "text/html" in data],
                "error": f"{type(error).__name__}: {error}" if error else None,
            }
        )
    return seen


def swap(source: str) -> str:
    """A cell's source with real torch in place of our engine."""
    lines = source.split("\n")
    return "\n".join("import torch" if line.strip() == ENGINE_IMPORT else line for line in lines)


if __name__ == "__main__":
    main(*sys.argv[1:])
