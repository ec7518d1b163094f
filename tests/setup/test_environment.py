"""Which Python runs the course, when it is renewed, and what is said when that fails."""

import importlib.metadata
import io
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import Mock

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from coursekit.cli import files, install, paths, server, terminal
from coursekit.cli.environment import (
    Environment,
    damage,
    declared,
    find_environment,
    fingerprint,
    read_stamp,
    up_to_date,
)
from coursekit.cli.network import Answer

ANSWERS = Answer(False, ["index.invalid"], False)  # what pip installs from is there


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A folder with the course's two lists of packages and nothing else."""
    for name in ("pyproject.toml", "constraints.txt"):
        (tmp_path / name).write_bytes((paths.ROOT / name).read_bytes())
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "environ, kind, place",
    [
        ({}, "venv", "{root}/.venv"),
        ({"CONDA_PREFIX": "/conda/envs/mine"}, "conda", "/conda/envs/mine"),
        ({"CONDA_PREFIX": "/conda", "VIRTUAL_ENV": "{root}/.venv"}, "venv", "{root}/.venv"),
        ({"CONDA_PREFIX": "/conda", "COURSE_PYTHON": sys.executable}, "given", sys.executable),
    ],
)
def test_which_environment_runs_the_course(root, environ, kind, place):
    """A named Python; else .venv, if it is the active one; else an active conda environment; else .venv."""
    found = find_environment({name: words.format(root=root) for name, words in environ.items()})

    assert (kind, kind == "venv") == (found.kind, found.ours)
    assert Path(place.format(root=root)) == (found.python if kind == "given" else found.home)
    assert found.python.name.startswith("python")


def lacking(monkeypatch, *names, course_lib=None, python="3.12.1"):
    """Make every environment look as if it had all but these packages."""

    def probe(environment, wanted):
        return {
            "python": python,
            "versions": {name: None if name in names else "9.9" for name in wanted},
            "course_lib": course_lib or str(paths.ROOT / "course_lib"),
        }

    monkeypatch.setattr("coursekit.cli.environment.probe", probe)


def test_conda_is_told_everything_it_lacks_at_once(monkeypatch):
    """The message lists all that is missing and both ways on; no .venv is made."""
    lacking(monkeypatch, "jupyterlab", "nbval")
    with pytest.raises(terminal.UserError) as caught:
        install.ensure_environment(["dev"], {"CONDA_PREFIX": "/conda/envs/mine"})
    words = str(caught.value)

    assert "jupyterlab, nbval" in words
    assert "conda env create -f environment.yml" in words
    assert "-m pip install -c constraints.txt -e" in words
    assert "conda deactivate" in words


@pytest.mark.parametrize(
    "has, words",
    [
        ({"course_lib": "/elsewhere/course_lib"}, "another copy, in /elsewhere/course_lib"),
        ({"python": "3.9.18"}, r"Python 3\.9\.18 .* needs 3\.11"),
    ],
)
def test_conda_with_something_else_is_refused(monkeypatch, has, words):
    """Lessons of another clone's engine would not be these; and what is used as it is must be new enough."""
    lacking(monkeypatch, **has)
    with pytest.raises(terminal.UserError, match=words):
        install.ensure_environment(["dev"], {"CONDA_PREFIX": "/conda/envs/mine"})


def made(extras=("dev",)):
    """A .venv with a Python in it, stamped as up to date."""
    environment = find_environment({})
    environment.python.parent.mkdir(parents=True)
    environment.python.write_text("")
    stamp = {"fingerprint": fingerprint(extras), "extras": sorted(extras)}
    (environment.home / "course-stamp.json").write_text(json.dumps(stamp))
    (environment.home / "pyvenv.cfg").write_text("")
    return environment


def test_a_stamped_environment_is_used_at_once(root, monkeypatch):
    """The second open makes and installs nothing, and starts no other program to find that out."""
    made()
    monkeypatch.setattr(subprocess, "Popen", lambda *ignored, **more: pytest.fail("started something"))

    assert "venv" == install.ensure_environment(["dev"], {}).kind


def another_python(root, environment, monkeypatch):
    """The system's Python was replaced: .venv's leads to another program than at installation."""
    environment.python.rename(environment.python.with_name("python3.99"))
    environment.python.symlink_to("python3.99")


def another_list(root, environment, monkeypatch):
    (root / "constraints.txt").write_text("one more character")


def another_project(root, environment, monkeypatch):
    with open(root / "pyproject.toml", "a") as file:
        file.write("\n")


def another_place(root, environment, monkeypatch):
    """The clone was moved: the installed course_lib points to the old folder."""
    monkeypatch.setattr(paths, "ROOT", root.rename(root.with_name("moved")))


@pytest.mark.parametrize("change", [another_python, another_list, another_project, another_place])
def test_what_means_installing_again(root, monkeypatch, change):
    """A stamp is of these lists of packages, these extras, this Python, and this folder."""
    environment = made()
    assert up_to_date(environment, ["dev"])
    assert not up_to_date(environment, ["dev", "torch"])
    change(root, environment, monkeypatch)

    assert not up_to_date(find_environment({}), ["dev"])


@pytest.mark.parametrize("text", ["", "{", "[]", '{"fingerprint": "x"}', '{"fingerprint": "x", "extras": 3}'])
def test_a_damaged_stamp_is_no_stamp(root, text):
    """What cannot be read counts as never installed."""
    environment = made()
    (environment.home / "course-stamp.json").write_text(text)

    assert {"fingerprint": "", "extras": [], "there": []} == read_stamp(environment)


def test_a_package_folder_that_is_gone_means_making_it_again(root, monkeypatch, capsys):
    """pip believes its lists, so a damaged .venv is made anew, with the extras it had, and the reason is said first."""
    environment = made(("dev", "torch"))
    (environment.home / "lib" / "python3.11" / "site-packages" / "numpy").mkdir(parents=True)
    monkeypatch.setattr(paths, "WINDOWS", False)
    monkeypatch.setattr(install, "pip_step", lambda *ignored: None)
    install.install(environment, ["dev", "torch"], terminal.Bar(), ANSWERS)
    assert up_to_date(environment, ["dev"])

    (environment.home / "lib" / "python3.11" / "site-packages" / "numpy").rmdir()
    runs = []
    monkeypatch.setattr(install, "run_under", lambda bar, command, *more: runs.append(command) or 0)
    monkeypatch.setattr(install, "python_works", lambda python: True)
    installed = []
    monkeypatch.setattr(install, "ask_index", lambda: ANSWERS)
    monkeypatch.setattr(install, "install", lambda environment, extras, *more: installed.append(extras))
    install.ensure_environment(["dev"], {})

    assert "--clear" in runs[0]
    assert [["dev", "torch"]] == installed
    assert "damaged: gone from it: numpy" in capsys.readouterr().out


def test_a_python_that_does_not_work_is_said_at_once(root, monkeypatch, capsys):
    """Before a minute of progress begins, the reader knows why."""
    environment = made()
    environment.python.write_text("not a program")
    monkeypatch.setattr(install, "run_under", lambda *ignored: 0)
    answers = iter([False, True])
    monkeypatch.setattr(install, "python_works", lambda python: next(answers))
    install.make_venv(environment, terminal.Bar())

    assert "is damaged: its Python does not work" in capsys.readouterr().out


def test_an_environment_without_its_settings_is_damaged(root):
    """Without pyvenv.cfg its Python would be another one, without the course's packages."""
    environment = made()
    (environment.home / "pyvenv.cfg").unlink()

    assert "pyvenv.cfg is gone" in damage(environment)
    assert not up_to_date(environment, ["dev"])


def test_jupyter_keeps_out_of_the_readers_home(tmp_path):
    """Each folder that Jupyter and IPython would make in the home lies in the one that is given."""
    folders = server.own_folders(tmp_path)

    assert {"JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"} <= set(folders)
    assert all(folder.startswith(str(tmp_path)) for folder in folders.values())


def test_an_interrupted_installation_is_not_up_to_date(root, monkeypatch):
    """The stamp goes before pip begins and comes back only when it is done."""
    environment = made()
    monkeypatch.setattr(install, "pip_step", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        install.install(environment, ["dev"], terminal.Bar(), ANSWERS)

    assert not up_to_date(environment, ["dev"])


def test_real_torch_is_installed_first_and_alone(root, monkeypatch):
    """torch has a pip run of its own, with the version pyproject.toml names, before everything else."""
    environment = made()
    runs = []
    monkeypatch.setattr(install, "pip_step", lambda environment, bar, command, heard: runs.append(command))
    install.install(environment, ["dev", "torch"], terminal.Bar(), ANSWERS)

    assert ["torch==2.13.0"] == runs[0][-1:]
    assert ["--editable", ".[dev,torch]"] == runs[1][-2:]
    assert all("constraints.txt" in command for command in runs)


def test_a_missing_venv_package_is_named(root, monkeypatch):
    """Debian's Python without ensurepip: the message says what to install, and no half .venv stays."""

    def fails(bar, command, log, state):
        (root / ".venv" / "bin").mkdir(parents=True)
        log.write_text("The virtual environment was not created because ensurepip is not available.")
        return 1

    monkeypatch.setattr(install, "run_under", fails)
    with pytest.raises(terminal.UserError, match="sudo apt install python3-venv"):
        install.make_venv(find_environment({}), terminal.Bar())

    assert ["constraints.txt", "pyproject.toml"] == sorted(path.name for path in root.iterdir())


@pytest.mark.parametrize(
    "output, advice",
    [
        ("OSError: [Errno 28] No space left on device", "disk is full"),
        ("Failed to establish a new connection: [Errno -3] Temporary failure in name resolution", "network"),
        ("ERROR: No matching distribution found for setuptools>=77 (from versions: none)", "package index"),
        ("SSLCertVerificationError: CERTIFICATE_VERIFY_FAILED", "PIP_CERT"),
        ("ERROR: No matching distribution found for jupyterlab", "no release for this Python"),
        ("ERROR: something new", "ERROR: something new"),
    ],
)
def test_a_failed_installation_says_what_to_do(tmp_path, output, advice):
    """pip's own words are quoted, and the common causes get theirs."""
    environment = Environment(sys.executable, "venv", tmp_path, ours=True)
    command = [sys.executable, "-c", "import sys; print(sys.argv[1]); sys.exit(1)", output]
    with pytest.raises(terminal.UserError) as caught:
        install.pip_step(environment, terminal.Bar(), command, install.Pip(environment, 0, 1, 9))

    assert advice in str(caught.value)
    assert output in str(caught.value)


PIPS_WORDS = """\
Obtaining file:///somewhere
Collecting numpy>=2.0 (from autograd-course==0.9.0)
  Downloading jupyterlab-4.6.6-py3-none-any.whl (17.3 MB)
Processing ./files/pytest_xdist-3.8.0-py3-none-any.whl (from -c constraints.txt)
Requirement already satisfied: six>=1.5 in ./lib (from python-dateutil)
"""


def test_one_bar_moves_with_pips_words_and_with_the_packages_that_are_unpacked(tmp_path):
    """Each package that pip names moves the bar, and each one that it has unpacked; a file's name is not shown."""
    environment = Environment(sys.executable, "venv", tmp_path, ours=True)
    packages = tmp_path / "lib" / "python3.11" / "site-packages"
    packages.mkdir(parents=True)
    heard = install.Pip(environment, 0.1, 0.9, 10)
    shares, words = [heard.state()[0]], []
    for line in PIPS_WORDS.splitlines(keepends=True):
        heard.hear(line)
        shares.append(heard.state()[0])
        words.append(heard.state()[1])
    heard.hear("Installing collected packages: numpy, jupyterlab\n")
    for name in ("numpy", "jupyterlab"):
        (packages / f"{name}-1.dist-info").mkdir()
        shares.append(heard.state()[0])

    assert [0.1, 0.1] == shares[:2] and shares[1:] == sorted(set(shares)) and 0.9 == pytest.approx(shares[-1])
    assert ["fetching jupyterlab (17.3 MB)", "fetching pytest-xdist "] == words[2:4]
    assert "unpacking: 2 of 2 packages" == heard.state()[1]


def test_long_work_says_now_and_then_how_far_it_is(tmp_path, capsys):
    """Into a pipe the bar is a line now and then; its share never goes back; the output stands in the log."""
    states = iter([(0.1, "first"), (0.5, "half"), *[(0.2, "back")] * 99])
    command = [sys.executable, "-c", "import time; print('said', flush=True); time.sleep(0.8)"]
    heard = []
    status = terminal.run_under(terminal.Bar(every=0.05), command, tmp_path / "log", lambda: next(states), heard.append)
    lines = capsys.readouterr().out.splitlines()

    assert (0, ["said\n"], "said\n") == (status, heard, (tmp_path / "log").read_text())
    assert "  [##########..........]  50 %    0 s  half" in lines
    assert "50 %" in lines[-1] and "back" in lines[-1]


def test_on_a_screen_the_bar_is_one_line_that_is_drawn_anew(monkeypatch):
    """It returns to the line's beginning, never runs over the screen's edge, and leaves an empty line."""
    screen = io.StringIO()
    screen.isatty = lambda: True
    monkeypatch.setattr(terminal, "out", screen)
    monkeypatch.setenv("COLUMNS", "60")
    bar = terminal.Bar()
    for share in (0.5, 1.5):
        bar.spoke -= 1
        bar.show(share, "fetching " + "x" * 99)
    bar.clear()
    first, second, empty = screen.getvalue().split("\r")[1:-1]

    assert "\n" not in screen.getvalue()
    assert first.startswith("  [##########..........]  50 %") and second.startswith("  [####################] 100 %")
    assert [59, 59] == [len(first), len(second)] and not empty.strip()


def test_the_number_of_packages_that_is_announced_is_that_of_the_set_up():
    """What pyproject.toml asks for, with all that this needs, here: within five of what the bar expects."""
    todo, there = [Requirement(each) for each in [*declared()[""], *declared()["dev"]]], set()
    while todo:
        each = todo.pop()
        name = canonicalize_name(each.name)
        applies = not each.marker or any(each.marker.evaluate({"extra": extra}) for extra in ("", *each.extras))
        if applies and (name, *each.extras) not in there:
            there.add((name, *each.extras))
            for words in importlib.metadata.requires(each.name) or []:
                needed = Requirement(words)
                if not needed.marker or any(needed.marker.evaluate({"extra": extra}) for extra in ("", *each.extras)):
                    needed.marker = None
                    todo.append(needed)

    assert abs(len({name for name, *_ in there}) + 1 - install.PACKAGES) <= 5


@pytest.fixture
def hanging_proxy():
    """The address of a proxy that takes connections and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def bare(monkeypatch, **more):
    """Leave pip without this machine's settings, and with these variables."""
    for name in list(os.environ):
        if name.upper().startswith("PIP_") or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    for name, value in {"PIP_CONFIG_FILE": os.devnull, **more}.items():
        monkeypatch.setenv(name, value)


NOBODY = "http://127.0.0.1:9/simple"  # a port on which nobody listens


@pytest.mark.parametrize("how", ["nobody", pytest.param("proxy", marks=pytest.mark.check)])
def test_without_a_network_the_set_up_fails_at_once_in_one_sentence(root, monkeypatch, hanging_proxy, how):
    """Nobody listens, or a proxy hangs: in some seconds it is said who was asked and what to do; nothing is made."""
    more = {"http_proxy": hanging_proxy, "PIP_INDEX_URL": "http://index.invalid/simple"}
    bare(monkeypatch, **({"PIP_INDEX_URL": NOBODY} if how == "nobody" else more))
    began = time.monotonic()
    with pytest.raises(terminal.UserError) as caught:
        install.ensure_environment(["dev"], {})
    words = str(caught.value)

    assert time.monotonic() - began < 8  # four on a machine that has nothing else to do
    assert ("127.0.0.1" if how == "nobody" else "index.invalid") in words
    assert "check the network" in words and "HTTPS_PROXY" in words and 1 == words.count(".", words.index("check"))
    assert {"constraints.txt", "pyproject.toml", ".venv.lock"} == {path.name for path in root.iterdir()}


def test_packages_in_a_folder_need_no_network(root, monkeypatch, tmp_path):
    """With PIP_FIND_LINKS nothing is refused beforehand, and pip is told not to try for minutes."""
    bare(monkeypatch, PIP_INDEX_URL=NOBODY, PIP_FIND_LINKS=str(tmp_path))
    runs = []
    monkeypatch.setattr(install, "make_venv", lambda *ignored: None)
    monkeypatch.setattr(install, "pip_step", lambda environment, bar, command, heard: runs.append(command))
    made()
    (root / "constraints.txt").write_text("another")
    install.ensure_environment(["dev"], {})

    assert ["--retries", "0"] == runs[0][runs[0].index("--retries"):][:2]


@pytest.mark.check
def test_without_a_network_an_old_environment_that_is_whole_is_used(root, monkeypatch, capsys):
    """After `git pull` on a train the course still opens."""
    bare(monkeypatch, PIP_INDEX_URL=NOBODY)
    made()
    (root / "constraints.txt").write_text("another")
    monkeypatch.setattr(install, "lacking", lambda environment, extras: [])

    assert "venv" == install.ensure_environment(["dev"], {}).kind
    assert "No network" in capsys.readouterr().out


def test_what_is_installed_for_a_command_is_said_first(root, monkeypatch, capsys):
    """`make notebooks` needs more than `make test`: what for stands in the terminal before pip runs."""
    made()
    said = []
    monkeypatch.setattr(install, "ask_index", lambda: ANSWERS)
    monkeypatch.setattr(install, "make_venv", lambda *ignored: None)
    monkeypatch.setattr(install, "install", lambda *ignored: said.append(capsys.readouterr().out))
    install.ensure_environment(["dev", "docs"], {})

    assert "Installing into .venv, once: what draws the notebooks' PNG pictures" in said[0]
    assert "one to three minutes" in said[0]


def test_one_terminal_at_a_time_sets_up(tmp_path):
    """While one process holds the lock another cannot take it, and afterwards it can."""
    lock = tmp_path / "lock"
    with files.only_one(lock, "Busy"), open(lock, "a+b") as second:
        assert not files.try_lock(second)
    with open(lock, "a+b") as second:
        assert files.try_lock(second)
