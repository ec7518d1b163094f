"""What must stand in no file: hosts of package registries, paths of a machine, the learner's own work."""

import re
import subprocess

import pytest

from coursekit.cli import paths

# Put together here, so that this file does not contain what it looks for.
HOSTS = [
    name.replace("+", ".")
    for name in (
        "pypi+org pythonhosted+org download+pytorch+org conda+anaconda+org repo+anaconda+com registry+npmjs+org "
        "registry+yarnpkg+com ghcr+io docker+io mcr+microsoft+com quay+io deb+debian+org"
    ).split()
]
# A path of nobody's machine, for examples, belongs to "someone".
FOLDERS = "tmp work root home Users opt mnt srv".split()
MACHINE_PATH = re.compile(r"(?<![\w.:/+=~$})-])/(?:" + "|".join(FOLDERS) + r")/(?!someone/)[\w.]")


def committed():
    """The files of this repository; without git, all that .gitignore's usual suspects leave."""
    done = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=paths.ROOT, capture_output=True
    )
    if done.returncode == 0:
        names = [name for name in done.stdout.decode().split("\0") if name]
        return [paths.ROOT / name for name in names if (paths.ROOT / name).is_file()]
    left_out = (".", "my_course", "__pycache__", "autograd_course.egg-info")
    return [
        path
        for path in paths.ROOT.rglob("*")
        if path.is_file() and not any(part.startswith(left_out) for part in path.relative_to(paths.ROOT).parts)
    ]


def lines_of(path):
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        return []  # a picture


def offences(pattern):
    return [
        f"{path.relative_to(paths.ROOT)}:{number}: {line.strip()[:120]}"
        for path in committed()
        for number, line in enumerate(lines_of(path), 1)
        if pattern.search(line)
    ]


def test_no_file_names_the_host_of_a_package_registry():
    """Which index people install from is their pip's business."""
    assert [] == offences(re.compile("|".join(map(re.escape, HOSTS))))


def test_no_file_names_a_path_of_somebodys_machine():
    """A path that exists on one machine only means nothing on another."""
    assert [] == offences(MACHINE_PATH)


@pytest.mark.parametrize("text", ["see /" + "home/me/x", '"/' + "tmp/a", "(/" + "root/.venv)", "in /" + "work/main"])
def test_the_search_for_paths_finds_them(text):
    """The pattern of the test above is not blind."""
    assert MACHINE_PATH.search(text)


def test_git_never_sees_a_learners_work_or_what_the_machine_makes(tmp_path):
    """These paths are ignored by the repository's own .gitignore."""
    names = [
        "my_course/07_version_counters.ipynb", "my_course/.course.json", ".venv/pyvenv.cfg", ".venv.lock",
        "notebooks/course_progress.json", "notebooks/.ipynb_checkpoints/x.ipynb", "autograd_course.egg-info/PKG-INFO",
    ]  # fmt: skip
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_bytes((paths.ROOT / ".gitignore").read_bytes())
    done = subprocess.run(["git", "check-ignore", *names], cwd=tmp_path, capture_output=True, text=True)

    assert names == done.stdout.splitlines()
