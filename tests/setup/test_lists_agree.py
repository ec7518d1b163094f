"""The lists that people keep by hand: packages in three files, lessons and engine files in the README."""

import importlib
import json
import re
import shutil

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from coursekit.cli import paths
from coursekit.cli.environment import declared
from coursekit.judge.discovery import exercises_module, lesson_numbers, number_in
from coursekit.judge.exercise import judge
from tools import address

ON_CONDA = {"matplotlib": "matplotlib-base"}
ONLY_ON_CONDA = {"pip"}


def requirements(*groups):
    lists = declared()
    return [Requirement(each) for group in groups for each in lists[group]]


def environment():
    return yaml.safe_load((paths.ROOT / "environment.yml").read_text())


def test_environment_yml_is_in_step_with_pyproject():
    """Each package of pyproject (base and dev) is there in the same versions, from one channel; course_lib by pip."""
    wanted = {}
    for requirement in requirements("", "dev"):
        wanted[ON_CONDA.get(requirement.name, requirement.name)] = requirement.specifier
    listed = {
        each.name: each.specifier
        for each in map(Requirement, [entry for entry in environment()["dependencies"] if isinstance(entry, str)])
    }
    python = listed.pop("python")

    assert wanted == {name: versions for name, versions in listed.items() if name not in ONLY_ON_CONDA}
    assert set(listed) >= ONLY_ON_CONDA
    assert ">=3.11" == str(python)
    assert {"pip": ["-e ."]} == environment()["dependencies"][-1]
    assert ["conda-forge"] == environment()["channels"]


def pinned():
    lines = (paths.ROOT / "constraints.txt").read_text().splitlines()
    return [Requirement(line) for line in lines]


def test_constraints_hold_every_package_at_a_version_that_pyproject_allows():
    """Each package of base, dev, browser, docs and lite is in constraints.txt, within pyproject's bounds."""
    versions = {}
    for each in pinned():
        (pin,) = each.specifier
        assert "==" == pin.operator, each
        versions.setdefault(canonicalize_name(each.name), []).append(pin.version)
    for requirement in requirements("", "dev", "browser", "docs", "lite"):
        found = versions.get(canonicalize_name(requirement.name), [])
        assert found, f"{requirement.name} is missing: write constraints.txt anew (CONTRIBUTING.md)"
        assert all(requirement.specifier.contains(version) for version in found), requirement


def test_torch_is_never_needed_to_open_the_course():
    """It is an extra of its own, at one version, and in no other list; its build, and CUDA's, is each machine's."""
    assert ["torch==2.13.0"] == declared()["torch"]
    assert "torch" not in {each.name for each in requirements("", "dev", "browser", "docs", "lite")}
    assert [] == [each.name for each in pinned() if re.match(r"torch|nvidia|triton|cuda", each.name)]


def readme():
    return (paths.ROOT / "README.md").read_text(encoding="utf-8")


def test_readmes_lesson_table_lists_the_lessons_with_their_minutes():
    """Each lesson is one row of the README, in order, with the minutes that its title cell names."""
    rows = re.findall(r"^\| \[(\d\d[a-z]?) .+?\]\((notebooks/.+?)\) \| .+? \| (\d+) \|$", readme(), re.MULTILINE)
    lessons = []
    for path in sorted((paths.ROOT / "notebooks").glob("[0-8]*.ipynb")):
        title = "".join(json.loads(path.read_text(encoding="utf-8"))["cells"][0]["source"])
        minutes = re.search(r"\*\*Minutes\*\* (\d+)", title).group(1)
        lessons.append((number_in(path.name), f"notebooks/{path.name}", minutes))

    assert lessons == rows


def test_readme_counts_hours_and_exercises():
    """The README's hours and exercises are those of its table and of the records, up to a tenth."""
    rows = re.findall(r"^\| \[(\d\d[a-z]?) .+ \| (\d+) \|$", readme(), re.MULTILINE)
    first = sum(int(minutes) for number, minutes in rows if number.isdigit() and number <= "09") / 60
    all_ = sum(int(minutes) for _, minutes in rows) / 60
    records = sum(len(exercises_module(number).EXERCISES) for number in lesson_numbers())
    told = re.search(r"Lessons 00 to 09 take some (\d+) hours .+?course takes some (\d+) hours", readme(), re.DOTALL)
    count = re.search(r"There are some (\d+) exercises", readme())

    assert [first, all_, records] == pytest.approx([int(each) for each in (*told.groups(), count[1])], rel=0.1)


def test_readmes_sample_is_what_the_check_says():
    """The wrong answer in the README gets the sentence that stands below it."""
    answer = re.search(r"```python\n(def centred.+?)```", readme(), re.DOTALL).group(1)
    found = re.search(r"^> \*\*(07\.\d) almost.\*\* (.+?)\n\n", readme(), re.DOTALL | re.MULTILINE)
    number, quoted = found.groups()
    names = {}
    exec(answer, names)
    record = next(
        each for each in exercises_module(7).EXERCISES if each.id == number
    )
    result = judge(record, names["centred"], importlib.import_module("course_lib"))

    assert "almost" == result.outcome
    assert result.text == quoted.replace("\n> ", " ")


def test_an_address_is_written_into_every_page_and_can_be_taken_out(tmp_path):
    """tools/address.py writes an address, another, and none: then every page is as it was, and names no address."""
    (tmp_path / "docs").mkdir()
    for name in address.FILES:
        shutil.copy(paths.ROOT / name, tmp_path / name)

    def texts():
        return [(tmp_path / name).read_text(encoding="utf-8") for name in address.FILES]

    before = texts()
    assert not any("github.com/" in text or "github.io" in text for text in before)
    for new, old in (("owner-of-this/autograd", "Some-one"), ("Some-one/other.name", "owner-of-this")):
        assert list(address.FILES) == address.write(new, tmp_path)
        assert all(f"github.com/{new}" in text for text in texts())
        assert not any(old in text for text in texts())
    assert "https://some-one.github.io/other.name/" in texts()[0]
    assert [] == address.write("Some-one/other.name", tmp_path)
    assert list(address.FILES) == address.write(None, tmp_path) and texts() == before
    for wrong in ("somebody", "some body/x", "https://example.org/a/b"):
        with pytest.raises(ValueError, match="write owner and name"):
            address.write(wrong, tmp_path)


def test_colabs_cell_installs_what_is_there():
    """The cell installs the clone, and ends in it, where an open kernel finds all rooms."""
    text = (paths.ROOT / "docs" / "elsewhere.md").read_text(encoding="utf-8")

    assert "--editable ./autograd-course\n" in text
    assert re.search(r"^%cd autograd-course$", text, re.MULTILINE)


def test_readme_links_the_appendices():
    """A notebook from 90 up is no lesson and has no row, but a link."""
    appendices = [path.name for path in (paths.ROOT / "notebooks").glob("9*.ipynb")]

    assert appendices and all(f"](notebooks/{name})" in readme() for name in appendices)


DOCUMENTS = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"]
DOCUMENTS += sorted(f"docs/{path.name}" for path in (paths.ROOT / "docs").glob("*.md"))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_to_files_lead_somewhere(name):
    """Each relative link of a document points to a file of this repository."""
    text = (paths.ROOT / name).read_text(encoding="utf-8")
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", text)

    folder = (paths.ROOT / name).parent

    assert [] == [target for target in targets if not (folder / target).exists()]


TO_BE_WRITTEN = {"lessons/02_leaves/exercises/e6_how_many_learn.py"}  # by whoever follows docs/add_an_exercise.md


@pytest.mark.parametrize("name", [name for name in DOCUMENTS if name != "CHANGELOG.md"])
def test_paths_into_the_rooms_are_there(name):
    """A path that a document names in code is one of this repository; `…` and capitals stand for any name."""
    text = (paths.ROOT / name).read_text(encoding="utf-8")
    named = re.findall(r"`((?:course_lib|backscope|coursekit|lessons|notebooks|tests|tools|docs)/[\w./*-]*)`", text)
    named = [each for each in named if not re.search(r"/(NN|NAME)|[/_]\.\.\.", each)]

    assert [] == [each for each in named if each not in TO_BE_WRITTEN and not list(paths.ROOT.glob(each.rstrip("/")))]


@pytest.mark.parametrize("room", ["backscope", "coursekit"])
def test_a_room_says_where_things_are(room):
    """Each path that a room's README names is there, seen from the room or from the top; `…` stands for any name."""
    text = (paths.ROOT / room / "README.md").read_text(encoding="utf-8")
    named = [each.replace("…", "*") for each in re.findall(r"`([\w./*…]+/[\w./*…]*)`", text)]

    assert len(named) > 15
    tops = paths.ROOT / room, paths.ROOT
    assert [] == [each for each in named if not any(list(top.glob(each.rstrip("/"))) for top in tops)]
