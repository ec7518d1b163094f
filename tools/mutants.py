"""Are the tests able to fail? Puts one deliberate defect at a time into a copy of the engine and runs its tests.

`make mutants`, or `python tools/mutants.py --only ID`. The defects are data: tests/mutants/mutants.toml. The working
tree is only read. A defect that no test notices is a gap in the tests: add the missing test, or take the defect out
of the list when it turns out to change nothing.
"""

import argparse
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "tests" / "mutants" / "mutants.toml"
# What the engine's tests need.
COPIED = ("course_lib", "backscope", "coursekit", "lessons", "tests", "tools", "conftest.py", "course.py",
          "pyproject.toml")  # fmt: skip
SECONDS = 60  # a test run that takes longer has not noticed the defect
FIELDS = ("file", "old", "new", "breaks", "tests")  # of an entry, whose heading is the id

KILLED, SURVIVED, SLOW, ERROR = "killed", "survived", "too slow", "error"


class MutantError(Exception):
    """The list of defects, or the tree they are meant for, is not as it must be; the message says what to do."""


@dataclass(frozen=True)
class Mutant:
    """One deliberate defect."""

    id: str
    file: str  # inside course_lib
    old: str  # text that occurs in the file exactly once
    new: str  # what replaces it
    breaks: str  # what is wrong then, in one sentence
    tests: tuple  # test files (or pytest node ids) of which at least one must fail

    def applied_to(self, tree) -> tuple:
        """Apply it: (file, its text with the defect). MutantError when the old text is not there exactly once."""
        path = Path(tree) / "course_lib" / self.file
        if not path.is_file():
            raise MutantError(f"{self.id}: there is no course_lib/{self.file}. Give the entry its new place.")
        text = path.read_text(encoding="utf-8")
        found = text.count(self.old)
        if found != 1:
            raise MutantError(
                f"{self.id}: its old text occurs {found} times in course_lib/{self.file}, not once:\n{self.old}\n"
                f"The engine has changed there. Change `old` (and `new`) in {LIST.relative_to(ROOT)} so that the "
                f"same thing breaks: {self.breaks}"
            )
        return path, text.replace(self.old, self.new)


@dataclass
class Result:
    """The outcome of one defect."""

    id: str
    outcome: str  # KILLED, SURVIVED, SLOW or ERROR
    seconds: float
    detail: str  # the test that failed first, or the end of what pytest said


def read_list(file=LIST) -> list:
    """Read all mutants, in the order of the file. MutantError for a wrong field or an id given twice."""
    try:
        entries = tomllib.loads(Path(file).read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise MutantError(f"{file}: {error}. Each id stands there once.") from error
    for name, entry in entries.items():
        if sorted(entry) != sorted(FIELDS):
            raise MutantError(f"{name}: an entry has exactly the fields {', '.join(FIELDS)}.")
    return [Mutant(name, **{**entry, "tests": tuple(entry["tests"])}) for name, entry in entries.items()]


# --- running -----------------------------------------------------------------------------------------------


def copy_tree(target, source=ROOT) -> None:
    """Copy the engine and its tests into a folder of their own; times are kept, so that compiled files stay valid."""
    for name in COPIED:
        path = Path(source) / name
        if path.is_dir():
            shutil.copytree(path, Path(target) / name)
        else:
            shutil.copy2(path, Path(target) / name)


def run_tests(python, tree, tests, seconds=None, compile_too=False) -> tuple:
    """Run tests: (exit code of pytest or None when the time was up, what it printed). Nothing outlives the call."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tools"), "PYTHONHASHSEED": "0", "COLUMNS": "200"}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # the engine's tests need none, and pytest starts 4 s sooner
    environment.pop("COURSE_FUZZ", None)
    if not compile_too:
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
    command = [str(python), "-m", "pytest", "-x", "-q", "--tb=line", "-p", "no:cacheprovider", "-p", "mutants"]
    process = subprocess.Popen(
        [*command, *tests], cwd=tree, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True, encoding="utf-8", errors="replace",
    )
    try:
        output, _ = process.communicate(timeout=seconds)
        return process.returncode, output
    except subprocess.TimeoutExpired:
        return None, f"not finished after {seconds} s"
    finally:
        if process.poll() is None:
            stop(process)


def stop(process) -> None:
    """End a test run and everything it started."""
    if hasattr(os, "killpg"):
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.communicate()


def pytest_collection_modifyitems(config, items) -> None:
    """Leave out, as a pytest plugin, the half of each test that runs on real PyTorch, which no defect can change."""
    import course_lib

    if config.rootpath not in Path(course_lib.__file__).resolve().parents:
        raise RuntimeError(f"the tests would run on {course_lib.__file__}, not on the copy with the defect")
    ours, theirs = [], []
    for item in items:
        parameters = getattr(item, "callspec", None)
        on_torch = parameters is not None and parameters.params.get("torch") == "torch"
        (theirs if on_torch else ours).append(item)
    items[:] = ours
    config.hook.pytest_deselected(items=theirs)


def first_failure(output) -> str:
    """Find the test that failed, in pytest's summary."""
    for line in output.splitlines():
        if line.startswith(("FAILED ", "ERROR ")):
            return line.split(" ", 1)[1][:200]
    return "\n".join(output.splitlines()[-15:])


def try_mutant(python, mutant, snapshot) -> Result:
    """Run one defect's tests on a fresh copy that has the defect."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutant-", ignore_cleanup_errors=True) as folder:
        try:
            copy_tree(folder, snapshot)
            path, text = mutant.applied_to(folder)
            path.write_text(text, encoding="utf-8")
            for compiled in path.parent.glob(f"__pycache__/{path.stem}.*"):
                compiled.unlink()  # else Python may take the compiled file of the engine without the defect
            code, output = run_tests(python, folder, mutant.tests, SECONDS)
        except MutantError as error:
            return Result(mutant.id, ERROR, 0.0, str(error))
    # 1: a test failed. 2 and more: the tests could not be run, which proves nothing about them.
    outcome = {0: SURVIVED, 1: KILLED, None: SLOW}.get(code, ERROR)
    detail = first_failure(output)
    if outcome == SURVIVED:
        detail = "Some of its tests were skipped: install real PyTorch and try again." if " skipped" in output else ""
    return Result(mutant.id, outcome, round(time.monotonic() - began, 2), detail)


def check_baseline(python, mutants, snapshot) -> None:
    """MutantError unless every named test passes without a defect: a test that fails anyway notices nothing."""
    tests = sorted({test.partition("::")[0] for mutant in mutants for test in mutant.tests})
    code, output = run_tests(python, snapshot, tests, compile_too=True)
    if code != 0:
        raise MutantError(f"The tests fail on the engine as it is; mend that first.\n{first_failure(output)}")


def run_all(python, mutants, workers, report) -> list:
    """Results in the order of the list; `report` is called with each as it comes."""
    with tempfile.TemporaryDirectory(prefix="mutants-", ignore_cleanup_errors=True) as snapshot:
        copy_tree(snapshot)  # once: the working tree may go on changing
        check_baseline(python, mutants, snapshot)
        found = {}
        with ThreadPoolExecutor(workers) as pool:
            waiting = [pool.submit(try_mutant, python, mutant, snapshot) for mutant in mutants]
            try:
                for future in as_completed(waiting):
                    result = future.result()
                    found[result.id] = result
                    report(result, len(found))
            finally:
                pool.shutdown(cancel_futures=True)  # after Ctrl-C only the runs that have begun are waited for
    return [found[mutant.id] for mutant in mutants]


# --- the command -------------------------------------------------------------------------------------------


def find_python() -> str:
    """Find the Python that has pytest: this one, or the one `course.py` keeps for the course."""
    if importlib.util.find_spec("pytest") and importlib.util.find_spec("numpy"):
        return sys.executable
    sys.path.insert(0, str(ROOT))
    from coursekit.cli.install import ensure_environment

    return ensure_environment(("dev",)).python


def choose(mutants, only) -> list:
    """Choose the defects that are asked for by id, or all. MutantError for an id that is not in the list."""
    unknown = sorted(set(only) - {mutant.id for mutant in mutants})
    if unknown:
        raise MutantError(f"There is no mutant {', '.join(unknown)} in {LIST.relative_to(ROOT)}.")
    return [mutant for mutant in mutants if mutant.id in only or not only]


def summary(results) -> str:
    """Return the figures in three lines at most."""
    killed = [r for r in results if r.outcome == KILLED]
    lines = [f"{len(killed)} of {len(results)} defects were noticed."]
    if killed:
        slowest = max(killed, key=lambda r: r.seconds)
        lines.append(f"Slowest: {slowest.id}, {slowest.seconds:.1f} s of {SECONDS} s.")
    missed = [r.id for r in results if r.outcome != KILLED]
    if missed:
        lines.append("Not noticed: " + ", ".join(missed))
    return "\n".join(lines)


def main(argv=None) -> int:
    """Run the command; 0 when every defect was noticed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", default=[], metavar="ID", help="this defect (may be repeated)")
    parser.add_argument("--json", action="store_true", help="print the results as JSON; progress goes to stderr")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="test runs at a time (2)")
    options = parser.parse_args(argv)
    progress = sys.stderr if options.json else sys.stdout
    try:
        mutants = choose(read_list(), options.only)
        for mutant in mutants:
            mutant.applied_to(ROOT)  # only looks: all that is wrong with the list is said before anything runs
        sentences = {mutant.id: mutant.breaks for mutant in mutants}

        def report(result, done):
            line = f"[{done:{len(str(len(mutants)))}}/{len(mutants)}] {result.outcome:8} {result.seconds:5.1f} s  "
            more = result.detail if result.outcome == KILLED else f"{sentences[result.id]}\n{result.detail}".strip()
            print(f"{line}{result.id}: {more}", file=progress, flush=True)

        print(f"{len(mutants)} defects; first the tests without any ...", file=progress, flush=True)
        results = run_all(find_python(), mutants, max(1, options.workers), report)
    except MutantError as error:
        print(error, file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps([asdict(result) for result in results], indent=1))
    print(summary(results), file=progress)
    return 0 if all(result.outcome == KILLED for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
