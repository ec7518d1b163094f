"""Make .venv, and bring it to what pyproject.toml asks for."""

import contextlib
import json
import os
import re
import shutil
import sys

from coursekit.cli import paths
from coursekit.cli.environment import (
    damage,
    declared,
    find_environment,
    fingerprint,
    packages,
    python_works,
    read_stamp,
    require_complete,
    site_packages,
    up_to_date,
)
from coursekit.cli.files import only_one, write_whole
from coursekit.cli.terminal import Problem, run_showing_progress, say, tail


def ensure_environment(extras=("dev",), environ=None):
    """Return an environment that has the course and these extras, making or renewing .venv when needed."""
    environment = find_environment(os.environ if environ is None else environ)
    if not environment.ours:
        require_complete(environment, extras)
        return environment
    if up_to_date(environment, extras):
        return environment
    with only_one(paths.ROOT / ".venv.lock"):
        if not up_to_date(environment, extras):  # another terminal may just have done it
            wanted = sorted(set(extras) | set(read_stamp(environment)["extras"]))
            make_venv(environment, damage(environment))
            install(environment, wanted)
    return environment


def make_venv(environment, damaged=""):
    """Make .venv unless a working one is there. pip would not repair a damaged one: it believes its own lists."""
    if not damaged and environment.python.exists():
        if python_works(environment.python):
            return
        damaged = "its Python does not work"
    if damaged:
        say(f"The course's own environment (.venv) is damaged: {damaged}.\n"
            "It is made again, in about a minute; your lessons are not in it.")
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
    return f"{words}\nWhat pip said (all of it is in {log}):\n{tail(output)}"
