"""handout.py: notebooks without answers, a key with all of them, slides, and nothing written over."""

import html
import json
import re

import pytest

from coursekit.classroom import handout
from coursekit.classroom.grade import lesson_files
from coursekit.cli import paths, workspace
from coursekit.notebook.lesson import lesson


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("class") / "handout"
    assert 0 == handout.handout("1-3,7", made, out=lambda words: None)
    return made


def test_students_get_what_a_learner_gets(folder):
    """The notebooks are learner copies: the lesson's cells, no outputs."""
    names = ["01_computation_graph", "02_leaves", "03_vector_jacobian_products", "03b_why_backwards"]
    names.append("07_version_counters")

    assert [*names, "home"] == sorted(path.stem for path in (folder / "students").glob("*.ipynb"))
    for name in names:
        text = (folder / "students" / f"{name}.ipynb").read_bytes()
        copy = workspace.render_copy(paths.ROOT / "notebooks" / f"{name}.ipynb")
        assert json.loads(copy)["cells"] == json.loads(text)["cells"]
        assert not any(cell.get("outputs") for cell in json.loads(text)["cells"])


def test_the_key_has_every_solution_and_every_sentence(folder):
    """Each exercise is in the key, with its solution, its wrong answers and what each is told."""
    key = (folder / "key" / "07_version_counters.md").read_text(encoding="utf-8")
    for exercise in lesson(7).exercises.values():
        assert f"## {exercise.id} · {exercise.title}" in key
        assert exercise.solution.strip() in key
        assert all(mistake.answer.strip() in key and mistake.says.strip() in key for mistake in exercise.mistakes)


def test_each_lesson_has_a_slide_with_its_question(folder):
    """A slide has the question of the lesson's title, and the story it begins with."""
    page = html.unescape(re.sub("<[^>]+>", "", (folder / "slides.html").read_text(encoding="utf-8")))

    assert "How does backward notice that you overwrote something?" in page
    assert "Your training script has worked for weeks." in page


@pytest.mark.parametrize("number", lesson_files())
def test_every_lesson_has_what_a_slide_needs(number):
    """Each lesson's first cell gives a number, a name, a question and a story."""
    found = handout.opening(json.loads(lesson_files()[number].read_text(encoding="utf-8")))

    assert number == found[0]
    assert all(found)


def test_nothing_is_written_over(folder):
    """A folder with something in it is refused with a sentence, and stays as it is."""
    (folder / "key" / "07_version_counters.md").write_text("mine", encoding="utf-8")
    said = []

    assert 1 == handout.handout("7", folder, out=said.append)
    assert "Nothing was written" in said[0]
    assert "mine" == (folder / "key" / "07_version_counters.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "words, numbers",
    [("0-1", "00 01"), ("0,7", "00 07"), ("5", "05"), ("5b", "05b"), ("4-5", "04 05 05b"), ("7", "07"),
     *((each, None) for each in ("3-1", "99", "x", ""))],  # fmt: skip
)
def test_lessons_are_named_by_numbers_and_ranges(words, numbers):
    """ "0,3,5-7" names lessons; what cannot be read, or does not exist, is None."""
    assert (numbers and numbers.split()) == handout.numbers_in(words, lesson_files())
