"""docs/add_an_operation.md works as it stands: its steps are done in a copy, and the tests that it names pass there."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "add_an_operation.md"
WRITE = re.compile(r"In `([^`]+)`, below\n\n```\w+\n(.*?)```\n\nwrite\n\n```\w+\n(.*?)```", re.DOTALL)


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the project in which the page's steps were done."""
    home, page = tmp_path_factory.mktemp("copy"), PAGE.read_text(encoding="utf-8")
    skipped = shutil.ignore_patterns("__pycache__", "exercises", "browser", "programs")
    for folder in ("course_lib", "backscope", "coursekit", "tests"):
        shutil.copytree(ROOT / folder, home / folder, ignore=skipped)
    for file in ("conftest.py", "course.py", "pyproject.toml"):
        shutil.copy(ROOT / file, home / file)
    for file, below, text in WRITE.findall(page):  # as a person does: at the first place where the page's text stands
        old = (home / file).read_text(encoding="utf-8")
        assert below in old, f"{file} has no such text:\n{below}"
        (home / file).write_text(old.replace(below, below + text, 1), encoding="utf-8")
    return home


def python(copy, *words):
    """What Python prints in the copy, and how it ended."""
    ran = subprocess.run(
        [sys.executable, *words], cwd=copy, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(copy)}
    )
    return ran.returncode, ran.stdout + ran.stderr


def test_the_page_is_one_edit():
    """One row in one file, and no other instruction to write or delete."""
    page = PAGE.read_text(encoding="utf-8")

    assert len(WRITE.findall(page)) == 1 == len(re.findall(r"^write$|delete the|^In `", page, re.MULTILINE)) - 1


def test_the_operation_is_there(copy):
    """The function, the method and the in-place variant give the same, with a gradient."""
    program = """
import course_lib as torch
x = torch.tensor([0.0, 3.0], requires_grad=True)
y = torch.exp2(x)
y.sum().backward()
z = torch.tensor([1.0]).exp2_()
print(y.tolist(), x.grad.tolist(), z.tolist(), type(y.grad_fn).__name__, "exp2" in dir(torch), "exp2_" in dir(x))
"""
    _, printed = python(copy, "-c", program)

    assert printed.strip() == "[1.0, 8.0] [0.6931471824645996, 5.545177459716797] [2.0] Exp2Backward0 True True"


def test_its_own_tests_pass(copy, real_torch):
    """The command of the page's last step is green: the row is compared with real PyTorch."""
    page = PAGE.read_text(encoding="utf-8")
    files, chosen = re.search(r'ARGS="(.*?) -k \'(.*?)\'"', page).groups()
    code, printed = python(copy, "-m", "pytest", "-v", "-p", "no:cacheprovider", *files.split(), "-k", chosen)

    assert code == 0 and " passed" in printed and "[exp2] PASSED" in printed, printed[-3000:]
