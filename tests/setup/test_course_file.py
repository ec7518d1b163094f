"""course.py itself: what it needs, its commands, and what it runs."""

import ast
import os
import re
import subprocess
import sys

import nbval.kernel
import pytest

import course
from coursekit.cli import checks, commands, paths
from coursekit.cli.environment import Environment
from tests.opened import run_course

SOURCE = (paths.ROOT / "course.py").read_text(encoding="utf-8")


def test_only_the_standard_library_is_needed():
    """course.py and all of coursekit/cli run before anything is installed: imported without site-packages."""
    files = sorted((paths.ROOT / "coursekit" / "cli").glob("*.py"))
    modules = [f"coursekit.cli.{path.stem}".removesuffix(".__init__") for path in files]
    code = f"import sys; sys.path.insert(0, {str(paths.ROOT)!r}); import course, {', '.join(modules)}"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True)

    assert (0, "") == (done.returncode, done.stderr)


def test_an_old_python_can_still_read_the_file():
    """It parses as Python 3.6 and 2.7, so that an old Python prints advice and not a SyntaxError.

    No f-string, no `raise ... from`, no annotation, no keyword-only argument, only ASCII.
    """
    newer = (ast.JoinedStr, ast.AnnAssign, ast.Nonlocal, ast.YieldFrom, ast.AsyncFunctionDef, ast.NamedExpr)

    assert SOURCE.isascii()
    for node in ast.walk(ast.parse(SOURCE, feature_version=(3, 6))):
        assert not isinstance(node, newer), node.lineno
        assert not (isinstance(node, ast.Raise) and node.cause), node.lineno
        assert not (isinstance(node, ast.Dict) and None in node.keys), node.lineno
        assert not (isinstance(node, ast.arguments) and (node.kwonlyargs or node.posonlyargs)), ast.unparse(node)
        assert not (isinstance(node, ast.Starred) and not isinstance(node.ctx, ast.Load)), node.lineno


def test_an_old_python_is_told_what_to_do(monkeypatch, capsys):
    """On Python 3.9 every command ends with the version needed and how to name a newer Python."""
    monkeypatch.setattr(sys, "version_info", (3, 9, 18, "final", 0))

    assert 2 == course.main(["open"])
    assert re.search(r"(?s)Python 3\.9 .*needs 3\.11.*make open PYTHON=python3\.12", capsys.readouterr().err)


@pytest.mark.parametrize(
    "target", ["open", "reset", "my-engine", "test", "check", "test-browser", "notebooks", "doctor", "help", "setup"]
)
def test_each_make_target_is_a_command(target):
    """The Makefile only passes on: `make X` is `course.py X`."""
    makefile = (paths.ROOT / "Makefile").read_text()

    assert re.search(rf'^{target}:\n\t@"\$\(PYTHON\)" course\.py {target}\b', makefile, re.MULTILINE)
    assert target in commands.parser().format_help()


@pytest.fixture
def ran(monkeypatch):
    """What the commands would run, instead of running it: a list of (command, how it shall end)."""
    commands = []
    ends = {}

    def run(command, **settings):
        commands.append(command)
        run.tiers.append(settings.get("tier"))
        return next((status for word, status in ends.items() if word in command), 0)

    monkeypatch.setattr(checks, "run", run)
    environment = Environment("python", "venv", ".venv", ours=True)
    monkeypatch.setattr(checks, "ensure_environment", lambda extras: environment)
    run.commands, run.ends, run.tiers = commands, ends, []
    return run


def test_test_runs_everything_once_and_strictly(ran):
    """One pytest run: all tests and all notebooks, nbval strict, each file in one process. Named files replace all."""
    for words in ([], ["-x"], ["tests/setup", "-k", "port"]):
        assert 0 == commands.main(["test", *words])
    everything, stopping, named = ran.commands

    assert ["tests", "lessons", "notebooks"] == everything[-3:]
    assert {"--nbval", "--nbval-current-env", "loadfile"} <= set(everything)
    assert "--nbval-lax" not in everything
    assert ["-x", "tests", "lessons", "notebooks"] == stopping[-4:]
    assert ["tests/setup", "-k", "port"] == named[-3:]
    assert ["test", "test", "check"] == ran.tiers


@pytest.mark.skipif(os.name != "posix", reason="Windows has no sockets in files")
def test_nbval_finds_its_kernels_by_files_that_are_its_own():
    """No port, which another process could have found free as well; and a path short enough for a socket."""
    first, second = nbval.kernel.KernelManager(), nbval.kernel.KernelManager()

    assert "ipc" == first.transport == second.transport
    assert first.ip != second.ip
    assert len(first.ip) < 95


def test_check_runs_lint_tests_and_proof_and_a_red_job_stops_no_other(ran, capsys):
    """check is all of CI but the browser; when lint is red the others still run, and the end says which was red."""
    assert 0 == commands.main(["check"])
    ran.ends["ruff"] = 1
    assert 1 == commands.main(["check"])

    assert ["ruff", "pytest", "coursekit.judge.prove"] * 2 == [command[2] for command in ran.commands]
    assert "lint RED, tests green, proof green" in capsys.readouterr().out


def test_json_leaves_stdout_to_the_proof(ran, capsys):
    """`check --json` prints nothing of its own on stdout and forwards the proof's status."""
    ran.ends["coursekit.judge.prove"] = 3

    assert 3 == commands.main(["check", "--json"])
    assert [["python", "-m", "coursekit.judge.prove", "--json"]] == ran.commands
    assert "" == capsys.readouterr().out


def test_reset_from_the_command_line(clone):
    """`course.py reset 7` needs no environment, says where the old work is, and makes nothing else."""
    (clone / "my_course").mkdir()
    (clone / "my_course" / "07_version_counters.ipynb").write_text("my work")
    done = run_course(clone, "reset", "7")
    kept = re.search(r"beside it: (my_course/\S+\.kept-\d{4}-\d\d-\d\d\.ipynb)", done.stdout).group(1)

    assert (0, "") == (done.returncode, done.stderr)
    assert "my work" == (clone / kept).read_text()
    assert "{}" == (clone / "my_course" / "07_version_counters.ipynb").read_text()
    assert not (clone / ".venv").exists()


def test_doctor_on_a_fresh_clone_says_how_to_begin_and_makes_nothing(clone):
    """Before the first open the gap is the environment, its remedy is make open; the doctor only looks."""
    before = sorted(path.name for path in clone.iterdir())
    done = run_course(clone, "doctor")

    assert 1 == done.returncode
    assert re.search(r"gap +Environment +\.venv is not made yet\n +-> run: +make open", done.stdout)
    assert "Not ready: Environment" in done.stdout
    assert before == sorted(path.name for path in clone.iterdir() if path.name != "__pycache__")


def test_ci_runs_the_readmes_commands():
    """.ci/run can be executed, and calls make test and make test-browser, torch demanded."""
    path = paths.ROOT / ".ci" / "run"
    text = path.read_text()

    assert os.name == "nt" or os.access(path, os.X_OK)
    assert "COURSE_REQUIRE_TORCH=1" in text
    assert all(re.search(rf"^{line}", text, re.MULTILINE) for line in ("make test ", "make test-browser "))
