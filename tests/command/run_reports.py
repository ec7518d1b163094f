"""Runs scripts that raise, each in a process of its own that is forked after PyTorch was imported; then the first edit.

    python run_reports.py OUT script.py …

OUT/NAME.json holds the explanation's text, its lines, and how the script ends when the first edit has been made.
"""

import json
import os
import sys
from pathlib import Path
from types import ModuleType


def run(torch, path, text=None):
    """The Finding of a script that raises, None for one that ends. `text`: run this in place of the file."""
    from backscope.script import findings
    from backscope.script.recorder import Recorder

    recorder, main = Recorder(torch), ModuleType("__main__")
    main.__dict__.update(__file__=str(path))
    sys.modules["__main__"] = main
    try:
        with recorder:
            exec(compile(text or path.read_text(), str(path), "exec"), main.__dict__)
    except BaseException as error:
        assert not recorder.failed
        return findings.find(error, recorder)
    return None


def told(torch, path):
    """What is known of the error that a script ends in, as plain data."""
    from backscope.script import report

    finding = run(torch, path)
    if finding is None:
        return {"text": "", "lines": [], "edits": [], "end": "no error"}
    return {
        "text": report.text(finding),
        "lines": [(line.role, line.number, [place.line for place, _ in line.callers]) for line in finding.lines],
        "edits": [(edit.file, edit.text, edit.loses) for edit in finding.edits],
    }


def in_a_child(work):
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)
    os.waitpid(child, 0)


def look(torch, out, path):
    """Explain a script in one child, and run it with its first edit in another."""
    found = out / f"{path.stem}.json"
    in_a_child(lambda: found.write_text(json.dumps(told(torch, path))))
    known = json.loads(found.read_text())
    if known["edits"] and known["edits"][0][0] == str(path):

        def again():
            finding = run(torch, path, known["edits"][0][1])
            end = "no error" if finding is None else finding.message
            found.write_text(json.dumps(known | {"end": end}))

        in_a_child(again)


if __name__ == "__main__":
    import torch

    torch.optim.Adam([torch.nn.Parameter(torch.zeros(1))]).step()
    for each in sys.argv[2:]:
        look(torch, Path(sys.argv[1]), Path(each))
