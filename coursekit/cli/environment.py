"""The Python that runs the course: which one it is, and what is in it."""

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from coursekit.cli import paths
from coursekit.cli.files import digest
from coursekit.cli.terminal import UserError, this_command


def too_old(version: str, python: str | Path) -> str:
    """Say which Python is needed, and how to name a newer one."""
    return (
        "This is Python {} ({}); the course needs {}.{} or newer.\n"
        "Install a newer one, then name it:  make open PYTHON=python3.12   or   python3.12 course.py open"
    ).format(version, python, *paths.OLDEST_PYTHON)


class Environment:
    """A Python to run the course with, and whether installing into it is our business."""

    def __init__(self, python: str | Path, kind: str, home: str | Path, ours: bool) -> None:
        self.python = Path(python)  # the interpreter
        self.kind = kind  # "venv", "conda" or "given"
        self.home = Path(home)  # the folder it lives in
        self.ours = ours  # True: we make it, fill it and renew it; False: used as it is


def find_environment(environ: Mapping[str, str]) -> Environment:
    """Choose COURSE_PYTHON, else the active conda environment, else the course's own .venv (made or not)."""
    given = environ.get("COURSE_PYTHON")
    if given:
        return Environment(given, "given", Path(given).parent.parent, ours=False)
    own = paths.ROOT / ".venv"
    conda = environ.get("CONDA_PREFIX")
    if conda and environ.get("VIRTUAL_ENV") != str(own):
        return Environment(python_in(Path(conda), conda=True), "conda", conda, ours=False)
    return Environment(python_in(own), "venv", own, ours=True)


def python_in(home: Path, conda: bool = False) -> Path:
    """Return the interpreter of an environment."""
    if not paths.WINDOWS:
        return home / "bin" / "python"
    return home / "python.exe" if conda else home / "Scripts" / "python.exe"


def declared() -> dict[str, list[str]]:
    """Read what pyproject.toml asks for: {"": [requirement, ...], "dev": [...], "torch": [...], ...}."""
    import tomllib  # Python 3.11 and newer; main() has checked

    with open(str(paths.ROOT / "pyproject.toml"), "rb") as file:
        project = tomllib.load(file)["project"]
    groups = dict(project["optional-dependencies"], **{"": project["dependencies"]})

    def whole(group: str) -> list[str]:
        """Return a group's packages; a group that it names, such as autograd-course[lab], is written out."""
        found = []
        for each in groups[group]:
            if name_of(each) == project["name"]:
                for named in re.search(r"\[(.+)\]", each).group(1).split(","):
                    found += whole(named)
            else:
                found.append(each)
        return found

    return {group: whole(group) for group in groups}


def name_of(requirement: str) -> str:
    """Return the name of the package that a requirement asks for."""
    return re.match(r"[A-Za-z0-9._-]+", requirement).group(0)


def fingerprint(extras: Iterable[str]) -> str:
    """Return what changes whenever the packages in .venv may no longer be what the files ask for."""
    python = python_in(paths.ROOT / ".venv")
    parts = [
        (paths.ROOT / "pyproject.toml").read_bytes(),
        (paths.ROOT / "constraints.txt").read_bytes(),
        " ".join(sorted(extras)).encode(),
        os.path.realpath(str(python)).encode(),  # the system's Python was replaced under it
        str(paths.ROOT).encode(),  # a folder that was moved or copied
    ]
    return digest(b"\0".join(digest(part).encode() for part in parts))


def read_stamp(environment: Environment) -> dict[str, Any]:
    """Read what was installed last: {"fingerprint": text, "extras": [names], "there": [names of files and folders]};
    empty values when unknown."""
    try:
        stamp = json.loads((environment.home / "course-stamp.json").read_text(encoding="utf-8"))
        lists = {"extras": stamp["extras"], "there": stamp.get("there", [])}
        return dict({key: [str(each) for each in lists[key]] for key in lists}, fingerprint=str(stamp["fingerprint"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {"fingerprint": "", "extras": [], "there": []}


def site_packages(environment: Environment) -> set[str]:
    """List the names in the folders that hold the environment's packages."""
    folders = [environment.home / "Lib" / "site-packages"] if paths.WINDOWS else list(
        environment.home.glob("lib/python3*/site-packages"))
    return {name for folder in folders if folder.is_dir() for name in os.listdir(str(folder))}


def packages(environment: Environment) -> list[str]:
    """List the names by which packages can be imported from it, as files or folders."""
    return sorted(name for name in site_packages(environment) if not name.endswith((".dist-info", "__pycache__")))


def damage(environment: Environment) -> str:
    """Say what has gone from our own environment since it was installed; "" when nothing has."""
    stamp = read_stamp(environment)
    if stamp["fingerprint"] and not environment.python.exists():
        return f"its Python, {environment.python}, is gone"
    if stamp["fingerprint"] and not (environment.home / "pyvenv.cfg").is_file():
        return "its pyvenv.cfg is gone"
    gone = sorted(set(stamp["there"]) - site_packages(environment)) if stamp["there"] else []
    if gone:
        return "gone from it: " + ", ".join(gone[:5]) + (f" and {len(gone) - 5} more" if gone[5:] else "")
    return ""


def up_to_date(environment: Environment, extras: Iterable[str]) -> bool:
    """Tell whether .venv holds these extras as the files ask for them, undamaged. Starts no program."""
    stamp = read_stamp(environment)
    return (
        environment.python.exists()
        and set(extras) <= set(stamp["extras"])
        and stamp["fingerprint"] == fingerprint(stamp["extras"])
        and not damage(environment)
    )


def python_works(python: Path) -> bool:
    """Tell whether this interpreter starts, has pip, and is new enough."""
    code = f"import pip, sys; sys.exit(sys.version_info < {paths.OLDEST_PYTHON})"
    try:
        return subprocess.call(
            [str(python), "-c", code], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=20,
        ) == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


# Runs inside the chosen environment: what is there and, when asked, whether it can be imported. The list of what is
# installed is not enough: a package's folder may be gone, or broken.
PROBE = """
import sys
# Nothing counts that lies about in the folder where this runs: others write there too.
sys.path = [each for each in sys.path if each]
import importlib, importlib.metadata as metadata, importlib.util as util, json, os

def version(name):
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None

def broken(name):
    module = {"pytest-xdist": "xdist"}.get(name, name.replace("-", "_"))
    try:
        if sys.argv[1] == "import":
            importlib.import_module(module)
        elif util.find_spec(module) is None:
            return "no " + module + " to import"
    except BaseException as error:
        return (type(error).__name__ + ": " + str(error)).splitlines()[0][:200]

found = util.find_spec("course_lib")
# A folder without __init__.py has no origin: it is somewhere else's, or not the course.
where = None if found is None or not found.origin else os.path.dirname(found.origin)
versions = {name: version(name) for name in sys.argv[2:]}
failed = {name: broken(name) for name in versions if versions[name] is not None}
print(json.dumps({
    "python": "%d.%d.%d" % sys.version_info[:3],
    "versions": versions,
    "broken": {name: why for name, why in failed.items() if why},
    "course_lib": where,
}))
"""
PROBE_SECONDS = 120  # a first import of everything, from a slow disk


def probe(environment: Environment, names: Sequence[str], closely: bool = False,
          environ: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Ask an environment for its Python, these packages' versions (None: absent) and which of them are damaged:
    `closely` by importing them."""
    command = [str(environment.python), "-c", PROBE, "import" if closely else "look"] + list(names)
    # From a folder that is not the course's, so that course_lib counts only when it is installed.
    try:
        done = subprocess.run(
            command, cwd=tempfile.gettempdir(), env=environ, stdin=subprocess.DEVNULL,
            capture_output=True, timeout=PROBE_SECONDS,
        )
        return json.loads(done.stdout.decode("utf-8").splitlines()[-1])
    except (OSError, ValueError, IndexError, subprocess.TimeoutExpired):
        pass
    way_out = "Choose another environment, or repair that one."
    if environment.ours:
        way_out = f"Run  make open  (or {this_command()} open): it makes this environment again."
    raise UserError(f"{environment.python} does not start, or is too damaged to list its packages.\n{way_out}")


def lacking(environment: Environment, extras: Sequence[str]) -> list[str]:
    """Return the packages of these extras that an environment does not have, or that are damaged there."""
    groups = declared()
    names = [name_of(each) for extra in ["", *extras] for each in groups[extra]]
    try:
        found = probe(environment, names)
    except UserError:
        return names
    return [name for name in names if found["versions"][name] is None or name in found["broken"]]


def require_complete(environment: Environment, extras: Sequence[str]) -> None:
    """Say what an environment that is used as it is still lacks, all at once."""
    groups = declared()
    names = [name_of(each) for extra in [""] + list(extras) for each in groups[extra]]
    found = probe(environment, names)
    if tuple(int(part) for part in found["python"].split(".")[:2]) < paths.OLDEST_PYTHON:
        raise UserError(too_old(found["python"], str(environment.python)))
    lacking = [name for name in names if found["versions"][name] is None]
    damaged = sorted(found.get("broken", {}))
    here = found["course_lib"] and Path(found["course_lib"]).resolve().parent == paths.ROOT
    if not lacking and not damaged and here:
        return
    what = "conda environment" if environment.kind == "conda" else "Python that COURSE_PYTHON names"
    words = [f"The active {what} is used as it is ({environment.home}),"]
    if lacking:
        words.append("and it lacks: {}.".format(", ".join(lacking)))
    elif damaged:
        words.append("and these packages are listed but not there: {}.".format(", ".join(damaged)))
    elif found["course_lib"]:
        words.append("and its course_lib is another copy, in {}.".format(found["course_lib"]))
    else:
        words.append("and course_lib is not installed in it.")
    if environment.kind == "conda":
        words += [
            "Either make the course's own environment and work in it:",
            "    conda env create -f environment.yml",
            "    conda activate autograd-course",
            "or complete the active one:",
        ]
    else:
        words.append("Complete it:")
    # With -c even here: the versions that the course was tested with.
    named = ".[{}]".format(",".join(extras)) if extras else "."
    if damaged:
        words.append('    "{}" -m pip install --force-reinstall --no-deps -c constraints.txt {}'.format(
            environment.python, " ".join(damaged)))
    if lacking or not damaged:
        words.append(f'    "{environment.python}" -m pip install -c constraints.txt -e "{named}"')
    if environment.kind == "conda":
        words.append("or leave it (conda deactivate) and run the same command: the course makes a .venv.")
    raise UserError("\n".join(words))


def python_version(environment: Environment) -> str | None:
    """Ask for the version that this environment's kernel gives itself; None when its Python does not start."""
    command = [str(environment.python), "-S", "-c", "import sys; print(sys.version.split()[0])"]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace").strip() or None
