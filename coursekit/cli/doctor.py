"""Look at everything the course stands on, and say what to do about what is missing."""

import dataclasses
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from coursekit.cli import paths
from coursekit.cli.environment import (
    Environment,
    damage,
    declared,
    find_environment,
    name_of,
    probe,
    too_old,
    up_to_date,
)
from coursekit.cli.files import can_write_below
from coursekit.cli.server import own_folders
from coursekit.cli.terminal import UserError, this_command
from coursekit.cli.workspace import edition_digest, learner_copies


@dataclasses.dataclass(frozen=True)
class Finding:
    """One line of the doctor: what was looked at, what is there, and what to do when that is not enough."""

    state: str  # "ok", "note" (works, could be better) or "gap" (the course cannot open)
    subject: str
    words: str
    remedy: str | None = None

    def __str__(self) -> str:
        line = f"  {self.state:5}{self.subject:14}{self.words}"
        if not self.remedy:
            return line
        if self.state == "note" and "\n" not in self.remedy:
            return f"{line}  -> {self.remedy}"
        return f"{line}\n{' ' * 19}-> " + self.remedy.replace("\n", "\n" + " " * 22)


def examine(environ: Mapping[str, str] | None = None) -> list[Finding]:
    """Look at everything the course stands on; change nothing."""
    with tempfile.TemporaryDirectory(prefix="course-doctor-") as scratch:
        settings = dict(os.environ, JUPYTER_PREFER_ENV_PATH="1", **own_folders(scratch))
        return examine_with(settings, os.environ if environ is None else environ)


def examine_with(settings: dict[str, str], environ: Mapping[str, str]) -> list[Finding]:
    """Look at everything, asking Jupyter with these variables."""
    here = "{}.{}.{}".format(*sys.version_info[:3])
    findings = [Finding("ok", "Python", f"{here} ({sys.executable})"), *examine_root()]
    environment = find_environment(environ)
    begin = f"run:  make open    (or {this_command()} open)"
    if not environment.python.exists():
        where = {"venv": ".venv is not made yet", "conda": "the active conda environment has no Python",
                 "given": "COURSE_PYTHON names a file that is not there"}[environment.kind]
        remedy = {"venv": begin,
                  "conda": "conda env create -f environment.yml; conda activate autograd-course",
                  "given": "correct COURSE_PYTHON or unset it"}[environment.kind]
        return [*findings, Finding("gap", "Environment", where, remedy), examine_folder()]
    groups = declared()
    base = [name_of(each) for each in groups[""] + groups["lab"]]
    dev = [name for name in map(name_of, groups["dev"]) if name not in base]
    try:
        found = probe(environment, base + dev + ["ipykernel", "torch"], closely=True, environ=settings)
    except UserError as problem:
        return [*findings, Finding("gap", "Environment", str(environment.home), str(problem)), examine_folder()]
    return [
        *findings,
        examine_environment(environment, found, begin),
        *examine_packages(environment, found, base + ["ipykernel"], begin, "gap", "Packages"),
        examine_engine_package(found["course_lib"], environment, begin),
        *examine_kernel(environment, found["versions"], settings),
        examine_torch(environment, found, groups["torch"][0]),
        examine_folder(),
        *examine_packages(environment, found, dev, begin, "note", "For tests"),
    ]


def examine_root() -> list[Finding]:
    """Look whether .venv, the learner's copies and Jupyter's files can be written."""
    if can_write_below(paths.ROOT) and can_write_below(paths.ROOT / "my_course"):
        return []
    return [Finding("gap", "Folder", f"{paths.ROOT} may not be written to",
                    "clone the course into a folder of your own")]


def examine_environment(environment: Environment, found: dict[str, Any], begin: str) -> Finding:
    """Look at the Python that runs the course."""
    kind = {"venv": "the course's own .venv", "conda": "the active conda environment, used as it is",
            "given": "the Python that COURSE_PYTHON names, used as it is"}[environment.kind]
    words = "{}: {} (Python {})".format(kind, environment.home, found["python"])
    if tuple(int(part) for part in found["python"].split(".")[:2]) < paths.OLDEST_PYTHON:
        return Finding("gap", "Environment", words, too_old(found["python"], environment.python))
    if environment.ours and damage(environment):
        return Finding("gap", "Environment", words + ", damaged: " + damage(environment),
                       begin + ": it makes this environment again")
    if environment.ours and not up_to_date(environment, ["dev"]):
        return Finding("note", "Environment", words + ", not up to date with pyproject.toml", begin)
    return Finding("ok", "Environment", words)


def examine_packages(environment: Environment, found: dict[str, Any], names: list[str], begin: str, state: str,
                     subject: str) -> list[Finding]:
    """Look for these packages: each has to be there and importable."""
    versions, broken = found["versions"], found.get("broken", {})
    by_hand = f'"{environment.python}" -m pip install -c constraints.txt -e ".[dev]"'
    again = f'"{environment.python}" -m pip install --force-reinstall --no-deps -c constraints.txt NAME'
    if environment.ours:
        again = "delete the folder .venv, then " + begin
    lacking = [name for name in names if versions[name] is None]
    damaged = [name for name in names if name in broken]
    findings = []
    if damaged:
        words = "; ".join(f"{name} ({broken[name]})" for name in damaged)
        findings.append(Finding(state, subject, "installed, but cannot be imported: " + words,
                                again.replace("NAME", " ".join(damaged))))
    if lacking:
        findings.append(Finding(state, subject, "missing: " + ", ".join(lacking),
                                begin if environment.ours else by_hand))
    if findings:
        return findings
    if state == "gap":
        there = [f"{name} {versions[name]}" for name in names if versions[name] and name != "ipykernel"]
        return [Finding("ok", subject, ", ".join(there))]
    return [Finding("ok", subject, f"{len(names)} packages; {find_chromium()}")]


def find_chromium() -> str:
    """Say which browser the browser tests would drive."""
    for name in ("chromium", "chromium-browser", "google-chrome", "chrome"):
        if found := shutil.which(name):
            return f"{found} for make test-browser"
    return "no Chromium, which only make test-browser needs"


def examine_engine_package(where: str | None, environment: Environment, begin: str) -> Finding:
    """Look where course_lib is imported from."""
    if where is None:
        remedy = begin if environment.ours else f'"{environment.python}" -m pip install --no-deps -e .'
        return Finding("gap", "course_lib", "not installed in the environment", remedy)
    if Path(where).resolve().parent != paths.ROOT:
        return Finding("gap", "course_lib", f"imported from another copy of the course: {where}",
                       f'"{environment.python}" -m pip install --no-deps -e .')
    return Finding("ok", "course_lib", "imported from this folder")


def examine_kernel(environment: Environment, versions: dict[str, str | None],
                   settings: dict[str, str] | None = None) -> list[Finding]:
    """Ask Jupyter which Python its kernel starts."""
    if versions["ipykernel"] is None:
        return [Finding("gap", "Kernel", "ipykernel is missing: no lesson can run",
                        "install the packages above")]
    code = (
        "from jupyter_client.kernelspec import KernelSpecManager\n"
        "print(KernelSpecManager().get_kernel_spec('python3').argv[0])"
    )
    done = subprocess.run([str(environment.python), "-c", code], env=settings, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    words = done.stdout.decode("utf-8", "replace").strip()
    if done.returncode != 0:
        return [Finding("gap", "Kernel", "the kernel 'python3' is not known to Jupyter",
                        f'"{environment.python}" -m ipykernel install --sys-prefix')]
    same = not os.path.isabs(words) or Path(words).parent == environment.python.parent
    if not same:
        return [Finding("note", "Kernel", f"'python3' starts another Python: {words}",
                        f'"{environment.python}" -m ipykernel install --sys-prefix')]
    return [Finding("ok", "Kernel", "'python3' starts this environment (ipykernel {})".format(
        versions["ipykernel"]))]


def examine_torch(environment: Environment, found: dict[str, Any], wanted: str) -> Finding:
    """Say whether real PyTorch is there to compare with."""
    version, want = found["versions"]["torch"], wanted.split("==")[1]
    if version is None:
        how = f'"{environment.python}" -m pip install {wanted}'
        if environment.ours:
            how = f"{this_command()} setup --torch"
        return Finding("note", "Real torch", "absent; every lesson runs, only its tests are skipped",
                       how)
    if "torch" in found.get("broken", {}):
        return Finding("note", "Real torch", "installed, but cannot be imported: " + found["broken"]["torch"],
                       "install it again, or uninstall it: every lesson runs without")
    if version.split("+")[0] != want:
        return Finding("note", "Real torch", f"{version}; the course's claims are checked on {want}",
                       f"pip install {wanted} in this environment, or live with small differences")
    return Finding("ok", "Real torch", version)


def examine_folder() -> Finding:
    """Look at the learner's folder."""
    copies = learner_copies()
    lessons = copies.published()
    if not lessons:
        return Finding("gap", "Lessons", f"none in {copies.lessons}", "git checkout -- notebooks")
    if not copies.mine.is_dir():
        return Finding("ok", "Lessons", f"{len(lessons)} in notebooks/; the first open copies them")
    origins = copies.read_manifest()["made_from"]
    editions = {name: edition_digest(text) for name, text in lessons.items()}
    changed = [name for name, edition in editions.items() if origins.get(name, edition) != edition]
    there = sum((copies.mine / name).exists() for name in lessons)
    words = f"{there} of {len(lessons)} copied to my_course/"
    if changed:
        numbers = [name.split("_")[0] for name in changed]
        return Finding(
            "note", "Lessons", words + "; changed since you copied them: " + ", ".join(numbers),
            "the next open renews those that nobody wrote in, and puts the new edition beside the others;\n"
            f"{this_command()} reset {numbers[0]} starts one afresh, your copy kept beside it")
    return Finding("ok", "Lessons", words)
