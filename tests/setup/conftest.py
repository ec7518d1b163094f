"""A clone for the tests beside this file, in which nothing was installed."""

import shutil

import pytest

from coursekit.cli import paths


@pytest.fixture
def clone(tmp_path):
    """course.py, its lists of packages, the annotated engine, and two lessons."""
    root, building = tmp_path / "clone", "coursekit/own_engine"
    for folder in ("notebooks", building):
        (root / folder).mkdir(parents=True)
    shutil.copytree(paths.ROOT / "coursekit" / "cli", root / "coursekit" / "cli")
    for name in ("course.py", "coursekit/__init__.py", f"{building}/__init__.py",
                 "pyproject.toml", "constraints.txt", "notebooks/00_start_here.ipynb",
                 f"{building}/stages.py", f"{building}/engine_by_lesson.txt"):  # fmt: skip
        shutil.copy(paths.ROOT / name, root / name)
    (root / "notebooks" / "07_version_counters.ipynb").write_text("{}")
    return root
