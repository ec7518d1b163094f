"""`python -m backscope [options] script.py [arguments]`: the script, and what follows.

Standard output, exit status, signals and sys.argv are the script's own. The explanation goes to standard error, below
the traceback, and to a report beside it.
"""

import argparse
import contextlib
import os
import runpy
import sys
import threading
import types
from pathlib import Path

from backscope.adapters import OWN_FILES

USAGE = (
    "python -m backscope [--doubts] [--try] [--all] [--report FILE] [--film 10-20] "
    "(script.py | -m package.module) [arguments …]"
)


def options_in(words):
    """Our options, which stand before the script, and the words that are the script's."""
    parser = argparse.ArgumentParser(
        "backscope",
        usage=USAGE,
        description="Run a script; explain its error.",
        epilog='A pasted message, or a traceback: python -m backscope explain "…"',
    )
    parser.add_argument("--doubts", action="store_true", help="say also what is silently wrong")
    parser.add_argument("--try", dest="tries", action="store_true", help="try the first edit: runs the script again")
    parser.add_argument("--all", action="store_true", help="record all passes, also where that takes long")
    parser.add_argument("--report", metavar="FILE", help="where the HTML report goes (explained.html)")
    parser.add_argument("--film", metavar="LINES", help="film these lines of the script, such as 10-20 (film.html)")
    parser.add_argument("-m", dest="module", metavar="MODULE", help="run a module, as python -m does")
    parser.add_argument("script", nargs="?")
    own = []
    words = list(words)
    while words:  # up to the script: what follows is not for us
        own.append(words.pop(0))
        if own[-1] in ("--report", "--film") and words:
            own.append(words.pop(0))
        elif own[-1] == "-m" and words:
            own.append(words.pop(0))
            break
        elif not own[-1].startswith("-"):
            break
    options = parser.parse_args(own)
    if not options.script and not options.module:
        parser.error("there is no script to run: name one, or a module after -m.")
    if options.film and options.module:
        parser.error("--film takes a script, not a module.")
    return options, words


def explain_text(words):
    """`backscope explain "message"`: an error that somebody else has had, as text, or from standard input."""
    from backscope.script import pasted, report

    text = " ".join(words)
    if not text:
        if sys.stdin.isatty():
            print("Paste the message or the whole traceback, and end with Ctrl-D.", file=sys.stderr)
        text = sys.stdin.read()
    if not text.strip():
        sys.exit("backscope explain: there is no text. Give the message in quotes, or a traceback on standard input.")
    print(report.pasted(pasted.read(text)))


def main(words):
    """Run the command; never returns when the script ends in an error."""
    if words[:1] == ["explain"] and not Path("explain").exists():
        return explain_text(words[1:])
    options, rest = options_in(words)
    if options.film:
        from backscope.script.filmed import film_lines

        return film_lines(options.film, options.script, rest)
    try:
        from backscope.adapters.torch import torch
    except ImportError:
        sys.exit("backscope looks at real PyTorch, which is not installed here (pip install torch).")
    from backscope.script.doubts import Doubts
    from backscope.script.recorder import Recorder

    trials = None
    if options.tries:
        from backscope.script.trial import Trials

        trials = Trials(torch)
    recorder = Recorder(torch, everything=options.all or options.tries)
    doubts = Doubts(torch, recorder)
    explain_threads(options, recorder)
    try:
        with recorder, doubts if options.doubts else contextlib.nullcontext():
            run(options, rest)
    except SystemExit:
        finish(options, doubts)
        raise
    except BaseException:
        hook = sys.excepthook  # the script may have put its own there

        def show(kind, error, traceback):
            found = findings_of(error, recorder)
            error.__traceback__ = of_the_script(traceback, recorder)
            hook(kind, error, error.__traceback__)
            explain(options, error, found)
            attempt(trials, found, options, rest)
            finish(options, doubts, whole=found is None)

        sys.excepthook = show
        raise
    finish(options, doubts)


def explain_threads(options, recorder):
    """Have an error that ends a thread explained below its traceback: it does not end the script."""
    hook = threading.excepthook

    def show(what):
        error = what.exc_value
        found = None
        if isinstance(error, Exception):
            with recorder.torch._C.DisableTorchFunction():  # what we ask is not the script's doing
                found = findings_of(error, recorder)
            error.__traceback__ = of_the_script(what.exc_traceback, recorder)
            what = threading.ExceptHookArgs((what.exc_type, error, error.__traceback__, what.thread))
        hook(what)
        if found is not None:
            explain(options, error, found)

    threading.excepthook = show


def run(options, rest, source_of=None):
    """Run the script or module as __main__. source_of: what gives the text of a file where it is not the file's own."""
    if options.module:
        sys.argv = [options.module, *rest]
        sys.path[0] = os.getcwd()
        runpy.run_module(options.module, run_name="__main__", alter_sys=True)
        return
    sys.argv = [options.script, *rest]
    path = os.path.abspath(options.script)
    sys.path[0] = str(Path(path).resolve().parent)
    try:
        source = (source_of or Path.read_bytes)(Path(path))
    except OSError as error:
        sys.exit(f"backscope: cannot open {options.script!r}: {error.strerror}")
    if source[:4] == b"PK\x03\x04":
        sys.exit(f"backscope: {options.script!r} is a zip archive. Unpack it, and run the script that is in it.")
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__=path, __builtins__=__builtins__, __spec__=None, __cached__=None)
    sys.modules["__main__"] = module
    exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)


def of_the_script(traceback, recorder):
    """The traceback as it is without us: no frames that started the script, none that passed a call on."""
    steps = []
    while traceback is not None:
        steps.append(traceback)
        traceback = traceback.tb_next
    overrides = os.path.join("torch", "overrides.py")
    files = [step.tb_frame.f_code.co_filename for step in steps]
    passes_on = [file.startswith(OWN_FILES) or file.endswith(overrides) or "runpy" in file for file in files]
    for at, file in enumerate(files[1:], 1):
        if file.endswith(overrides) and files[at - 1].startswith(recorder.folders[0]):
            passes_on[at - 1] = True  # the call as PyTorch begins it, before it asks who else wants to see it
    kept = None
    for step, left_out in zip(reversed(steps), reversed(passes_on), strict=True):
        if not left_out:
            kept = types.TracebackType(kept, step.tb_frame, step.tb_lasti, step.tb_lineno)
    return kept


def findings_of(error, recorder):
    """Find out about an error; None for one that autograd has nothing to do with; what went wrong here, as text."""
    from backscope.script import findings

    try:
        finding = findings.find(error, recorder)
    except Exception as fault:
        return f"backscope could not explain this: {type(fault).__name__}: {fault}"
    row = finding.explanation.row
    return None if row is None or row.lesson is None else finding


def explain(options, error, finding):
    """Print what is known of an error of autograd, and write the report."""
    from backscope.script import report

    if finding is None or isinstance(finding, str):
        print(finding or "", end="\n" if finding else "", file=sys.stderr)
        return
    print(report.text(finding), file=sys.stderr)
    path = options.report or "explained.html"
    try:
        report.write(path, finding, error)
    except OSError as fault:
        print(f"\nThe report could not be written to {path}: {fault.strerror}", file=sys.stderr)
    except Exception as fault:
        print(f"\nThe report could not be made: {type(fault).__name__}: {fault}", file=sys.stderr)
    else:
        print(f"\nThe same with a picture: {path}", file=sys.stderr)


def attempt(trials, finding, options, rest):
    """Try the edits of a finding, if that was asked for."""
    if trials is None:
        return
    from backscope.script import trial

    if finding is None or isinstance(finding, str):
        print("\nNothing was tried: this is no error of autograd that is known here.", file=sys.stderr)
        return
    try:
        print("\n" + trial.in_words(trials.of(finding, options, rest)), file=sys.stderr)
    except Exception as fault:
        print(f"\nThe edit could not be tried: {type(fault).__name__}: {fault}", file=sys.stderr)
    finally:
        trials.close()


def finish(options, doubts, whole=True):
    """Say what is silently wrong, if that was asked for. `whole`: autograd has not stopped the script half-way."""
    if options.doubts:
        from backscope.script import report

        try:
            said = report.doubts(doubts.lines(whole))
        except Exception as fault:
            said = f"backscope could not say what is doubtful: {type(fault).__name__}: {fault}"
        if said:
            print(said, file=sys.stderr)
