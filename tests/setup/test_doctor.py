"""The doctor: each gap is a line that says what is missing and what to do."""

import functools
import sys
import tempfile

import pytest

from coursekit.cli import doctor, paths
from coursekit.cli.environment import Environment, find_environment, probe
from tests.opened import run_course

pytestmark = pytest.mark.check  # starts Python several times


@pytest.fixture(scope="module")
def kernel_lines():
    """The doctor's lines on the kernel, for a version of ipykernel: Jupyter is asked for real, once for each."""
    asked = doctor.examine_kernel

    @functools.cache
    def lines(version):
        environment = find_environment({"COURSE_PYTHON": sys.executable})
        return asked(environment, {"ipykernel": version})

    return lambda environment, versions, settings: list(lines(versions["ipykernel"]))


@pytest.fixture
def examine(monkeypatch, kernel_lines):
    """Let the doctor look at an environment that has everything but what the test takes away."""

    def look(without=(), versions_changed=None, **changes):
        def probe(environment, names, closely, environ):
            found = {
                "python": "3.12.1",
                "course_lib": str(paths.ROOT / "course_lib"),
                "versions": {name: "9.9" for name in names},
            }
            found["versions"]["torch"] = "2.13.0+cpu"
            found["versions"].update(versions_changed or {})
            found["versions"].update(dict.fromkeys(without))
            found.update(changes)
            return found

        monkeypatch.setattr(doctor, "probe", probe)
        monkeypatch.setattr(doctor, "examine_kernel", kernel_lines)
        findings = doctor.examine({"COURSE_PYTHON": sys.executable})
        return {finding.subject: finding for finding in findings}

    return look


def test_when_all_is_there_nothing_is_to_be_done(examine):
    """With everything present each of the environment's lines is ok and none has a remedy."""
    found = examine()
    subjects = ["Python", "Environment", "Packages", "For tests", "course_lib", "Kernel", "Real torch"]

    assert {(subject, "ok", None) for subject in subjects} == {
        (subject, found[subject].state, found[subject].remedy) for subject in subjects
    }


@pytest.mark.parametrize(
    "changes, subject, state, words, remedy",
    [
        ({"without": ["jupyterlab"]}, "Packages", "gap", "missing: jupyterlab", "pip install"),
        ({"broken": {"numpy": "ModuleNotFoundError"}}, "Packages", "gap", "numpy (ModuleNotFound", "--force-reinstall"),
        ({"without": ["hypothesis"]}, "For tests", "note", "missing: hypothesis", ""),
        ({"without": ["ipykernel"]}, "Kernel", "gap", "", ""),
        ({"without": ["torch"]}, "Real torch", "note", "", "torch==2.13.0"),
        ({"versions_changed": {"torch": "2.12.1"}}, "Real torch", "note", "2.12.1", "2.13.0"),
        ({"course_lib": "/elsewhere/course_lib"}, "course_lib", "gap", "/elsewhere/course_lib", ""),
    ],
)
def test_what_is_not_as_it_should_be_is_a_line(examine, changes, subject, state, words, remedy):
    """What no lesson can do without is a gap, the rest a note; the line names it and what to do."""
    line = examine(**changes)[subject]

    assert state == line.state
    assert words in line.words
    assert line.remedy is None if remedy is None else remedy in (line.remedy or "")


def test_the_probe_imports_what_it_judges(tmp_path, monkeypatch):
    """A package that pip lists, but whose folder is gone or broken, is found out by the probe."""
    for name, body in (("gone", None), ("torn", "import no_such_module_at_all")):
        (tmp_path / f"{name}-1.0.dist-info").mkdir()
        (tmp_path / f"{name}-1.0.dist-info" / "METADATA").write_text(f"Name: {name}\nVersion: 1.0\n")
        if body:
            (tmp_path / f"{name}.py").write_text(body)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "gone.py").write_text("")  # a file in the system's folder for such is no package
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path / "elsewhere"))
    environment = Environment(sys.executable, "given", sys.prefix, ours=False)
    quick = probe(environment, ["gone", "torn", "numpy"])
    full = probe(environment, ["gone", "torn", "numpy"], closely=True)

    assert {"gone"} == set(quick["broken"])
    assert {"gone", "torn"} == set(full["broken"])
    assert "no_such_module_at_all" in full["broken"]["torn"]


@pytest.mark.check
def test_the_doctor_works_in_a_read_only_home(tmp_path):
    """Run for real without a home that can be written to: no gap but course_lib's, nothing on stderr, and the status
    is 1 exactly when one of the lines is a gap."""
    (tmp_path / "file").write_text("")
    done = run_course(paths.ROOT, "doctor", HOME=str(tmp_path / "file" / "home"), COURSE_PYTHON=sys.executable)
    gaps = [line for line in done.stdout.splitlines() if line.startswith("  gap ")]

    assert "" == done.stderr
    assert not [line for line in gaps if "course_lib" not in line]
    assert bool(gaps) == bool(done.returncode)
    assert ("Ready:" in done.stdout) == (not gaps)


def test_an_environment_that_does_not_start_is_a_gap(monkeypatch, tmp_path):
    """A damaged Python is reported with what to do, not with a traceback."""
    broken = tmp_path / "python"
    broken.write_text("not a program")
    found = {finding.subject: finding for finding in doctor.examine({"COURSE_PYTHON": str(broken)})}

    assert "gap" == found["Environment"].state
    assert "does not start" in found["Environment"].remedy
