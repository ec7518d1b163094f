"""Make .venv, and bring it to what pyproject.toml asks for."""

import contextlib
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from coursekit.cli import paths
from coursekit.cli.environment import (
    Environment,
    damage,
    declared,
    find_environment,
    fingerprint,
    lacking,
    packages,
    python_works,
    read_stamp,
    require_complete,
    site_packages,
    up_to_date,
)
from coursekit.cli.files import only_one, write_whole
from coursekit.cli.network import Answer, ask_index
from coursekit.cli.terminal import Bar, UserError, echo, run_under, tail

# How many packages a set-up brings, until pip knows it exactly; a test counts them.
PACKAGES = 116
HOW_LONG = "It takes one to three minutes"
WHAT_FOR = {  # what an extra of pyproject.toml brings, said before it is installed
    "torch": "real PyTorch, which is large", "browser": "what drives Chromium in tests",
    "docs": "what draws the notebooks' PNG pictures and builds the site", "lite": "what builds the course for browsers",
}  # fmt: skip


def ensure_environment(extras: Sequence[str] = ("dev",), environ: Mapping[str, str] | None = None) -> Environment:
    """Return an environment that has the course and these extras, making or renewing .venv when needed."""
    environment = find_environment(os.environ if environ is None else environ)
    if not environment.ours:
        require_complete(environment, extras)
        return environment
    if up_to_date(environment, extras):
        return environment
    with only_one(paths.ROOT / ".venv.lock", "Another terminal is setting up the course"):
        if not up_to_date(environment, extras):  # another terminal may just have done it
            set_up(environment, sorted(set(extras) | set(read_stamp(environment)["extras"])))
    return environment


def repair(environment: Environment) -> None:
    """Make .venv again, with what it had, when its Python does not start although nothing seems to be gone."""
    with only_one(paths.ROOT / ".venv.lock", "Another terminal is setting up the course"):
        set_up(environment, read_stamp(environment)["extras"] or ["dev"])


def set_up(environment: Environment, extras: list[str]) -> None:
    """Make .venv where none works, and install into it, under one bar."""
    damaged, old = damage(environment), environment.python.exists()
    answer = ask_index()
    if answer.silent and not answer.local:
        if old and not damaged and not lacking(environment, extras):
            echo("No network: the course opens with the packages that are there, and is brought up to date next time.")
            return
        raise UserError(no_network(answer))
    if not damaged and not read_stamp(environment)["fingerprint"]:
        echo(f"Setting up the course in .venv, once: some {PACKAGES} packages, 480 MB. {HOW_LONG}.")
    elif not damaged:
        new = [WHAT_FOR.get(extra, extra) for extra in sorted(set(extras) - set(read_stamp(environment)["extras"]))]
        more = f"Installing into .venv, once: {'; '.join(new)}. {HOW_LONG}."
        echo(more if new else "Bringing .venv up to date ...")
    bar = Bar()
    make_venv(environment, bar, damaged)
    install(environment, extras, bar, answer)
    echo(f"  done in {time.monotonic() - bar.began:.0f} s")


def no_network(answer: Answer) -> str:
    """Say in one sentence what to do when nothing answers."""
    return (
        f"The course's packages come from {' and '.join(answer.hosts)}, where nothing answers: check the network\n"
        "(behind a proxy set HTTPS_PROXY, with a mirror of your own PIP_INDEX_URL), then run the same command again."
    )


def make_venv(environment: Environment, bar: Bar, damaged: str = "") -> None:
    """Make .venv unless a working one is there. pip would not repair a damaged one: it believes its own lists."""
    if not damaged and environment.python.exists():
        if python_works(environment.python):
            return
        damaged = "its Python does not work"
    if os.path.lexists(environment.home) and not environment.home.is_dir():
        raise UserError(f"{environment.home} is a file, but the course's own environment belongs into a folder of that "
                      "name: rename the file, then run the same command again.")
    if damaged:
        echo(f"The course's own environment (.venv) is damaged: {damaged}.\n"
            f"It is made again; your lessons are not in it. {HOW_LONG}.")
    log = environment.home.parent / ".venv.log"
    log.write_text("", encoding="utf-8")
    command = [sys.executable, "-m", "venv", "--clear", str(environment.home)]
    status = run_under(bar, command, log, lambda: (0.0, "making .venv"))
    output = log.read_text(encoding="utf-8", errors="replace")
    log.unlink()
    if status == 0 and python_works(environment.python):
        return
    shutil.rmtree(environment.home, ignore_errors=True)
    raise UserError(venv_advice(output, environment))


def venv_advice(output: str, environment: Environment) -> str:
    """Say what to do when Python could not make .venv."""
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


def install(environment: Environment, extras: Sequence[str], bar: Bar, answer: Answer) -> None:
    """Bring .venv to what pyproject.toml and constraints.txt say, and stamp it. Real torch goes first."""
    stamp = environment.home / "course-stamp.json"
    with contextlib.suppress(FileNotFoundError):
        stamp.unlink()  # an installation that is interrupted is not up to date
    pip = [str(environment.python), "-m", "pip", "install", "--disable-pip-version-check", "--no-input",
           "--progress-bar", "off", "--constraint", "constraints.txt"]
    if answer.silent is not False:  # nobody answers, or nobody knows: no minutes of trying
        pip += ["--retries", "0", "--timeout", "5"]
    if "torch" in extras:
        # On its own and before the rest: exactly the build that the reader's pip finds for this version.
        pip_step(environment, bar, pip + declared()["torch"], Pip(environment, 0.08, 0.5, 30))
    heard = Pip(environment, 0.5 if "torch" in extras else 0.08, 0.98, PACKAGES)
    pip_step(environment, bar, pip + what_to_install(extras), heard)
    text = json.dumps({
        "fingerprint": fingerprint(extras), "extras": sorted(extras), "there": packages(environment)})
    write_whole(stamp, text.encode("utf-8"))


def what_to_install(extras: Sequence[str]) -> list[str]:
    """Return what pip is told to install: the course, where it lies, with these extras."""
    return ["--editable", ".[{}]".format(",".join(extras))]


# A line in which pip names a package: as asked for, or as the file that it takes, with its size where it fetches one.
PIP_LOOKS = re.compile(
    r"\s*(?:Collecting |Requirement already satisfied: |(?:Downloading|Processing|Using cached) (?:\S*/)?)"
    r"(?P<name>[A-Za-z0-9._]+(?:-[A-Za-z._][A-Za-z0-9._]*)*)\S*(?: .*?(?P<size>\([\d.]+ .?B\))?)?$")


class Pip:
    """The progress of a run of pip, as far as its words and the folder of packages tell."""

    def __init__(self, environment: Environment, first: float, last: float, expected: int) -> None:
        self.environment = environment
        self.first, self.last = first, last  # the part of the bar that is this run's
        self.expected = expected
        self.before = self.count()
        self.seen: set[str] = set()  # packages that pip has looked at
        self.total = 0  # those that it unpacks, once it says so
        self.doing = "asking for packages"

    def count(self) -> int:
        """Count the packages that are there: pip unpacks without a word."""
        return sum(name.endswith(".dist-info") for name in site_packages(self.environment))

    def hear(self, line: str) -> None:
        """Take in a line of pip's output."""
        words = line.split()
        if words[:2] == ["Installing", "collected"]:
            self.total = len(words) - 3
        elif found := PIP_LOOKS.match(line):
            name = re.sub(r"[-_.]+", "-", found["name"]).lower()
            self.seen.add(name)
            self.doing = f"fetching {name} {found['size'] or ''}"

    def state(self) -> tuple[float, str]:
        """Return the share of the whole set-up that is done, and what is being done."""
        if self.total:
            there = max(0, min(self.count() - self.before, self.total))
            share, words = 0.45 + 0.55 * there / self.total, f"unpacking: {there} of {self.total} packages"
        else:
            share = 0.45 * len(self.seen) / max(self.expected, len(self.seen) + 1)
            words = self.doing
        return self.first + (self.last - self.first) * share, words


def pip_step(environment: Environment, bar: Bar, command: list[str], heard: Pip) -> None:
    """Run pip under the bar; say what to do when it fails."""
    log = environment.home / "course-install.log"
    log.write_text("", encoding="utf-8")
    if run_under(bar, command, log, heard.state, heard.hear) != 0:
        raise UserError(pip_advice(log.read_text(encoding="utf-8", errors="replace"), log))


def pip_advice(output: str, log: Path) -> str:
    """Say what to do when pip failed."""
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
