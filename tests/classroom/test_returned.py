"""returned.py: whose a returned file is and which lesson, whatever a platform has made of its name."""

import json
import os

import pytest

from coursekit.classroom import returned
from coursekit.classroom.grade import lesson_files
from tests.classroom import copies

TITLES = {number: path.stem for number, path in lesson_files().items()}
LESSON_7 = {"cells": [{"cell_type": "code", "source": ["from course_lib.teach import lesson\n", "L = lesson(7)"]}]}


def look_at(folder, *names, data=None):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(json.dumps(LESSON_7).encode() if data is None else data)
    return returned.look(folder, TITLES)


@pytest.mark.parametrize(
    "name, student",
    [
        ("anna/07_version_counters.ipynb", "anna"),
        ("eve/03_vector_jacobian_products.ipynb", "eve"),  # the cells tell the lesson, not the name
        ("Anna Berg_123456_assignsubmission_file_/07_version_counters.ipynb", "Anna Berg"),  # Moodle
        ("Anna Berg_123456_assignsubmission_file/inner/whatever.ipynb", "Anna Berg"),
        ("anna_07.ipynb", "anna"),
        ("anna-berg-7.ipynb", "anna-berg"),
        ("Anna_07_version_counters.ipynb", "Anna"),
        ("07_version_counters_Anna.ipynb", "Anna"),
        ("07_version_counters (1) Anna.ipynb", "(1) Anna"),
        ("Anna_07_version_counters (2).ipynb", "Anna"),
        ("bergannalena_LATE_52431_991827_07_version_counters-1.ipynb", "bergannalena"),  # Canvas
        ("ps4_aberg_attempt_2026-03-01-10-11-12_07_version_counters.ipynb", "ps4_aberg"),  # Blackboard
        ("s1234567_07.ipynb", "s1234567"),
        ("Zoë 07.ipynb", "Zoë"),
    ],
)
def test_the_student_of_a_file_is_its_folder_or_what_its_name_says_beside_the_lesson(tmp_path, name, student):
    """The student of a file is its folder, or what its name says beside the lesson."""
    found = look_at(tmp_path, name)

    assert [(student, "07")] == [(copy.student, copy.lesson) for copy in found.copies]
    assert not found.nameless


def test_a_file_without_a_name_counts_as_the_folders_and_that_is_said(tmp_path):
    """A file that names no student counts as the folder's, and that is said."""
    found = look_at(tmp_path / "dora", "07_version_counters.ipynb")

    assert ["dora"] == [copy.student for copy in found.copies]
    assert found.nameless


def test_links_archives_and_other_files_are_listed_and_not_read(tmp_path):
    """Links, archives and other files are listed with a reason; hidden files are passed over."""
    look_at(tmp_path, "a/work.zip", "a/essay.docx", "a/.ipynb_checkpoints/07.ipynb", "__MACOSX/._07.ipynb", data=b"x")
    os.symlink(tmp_path / "a" / "essay.docx", tmp_path / "a" / "link.ipynb")
    found = returned.look(tmp_path, TITLES)

    assert [] == found.copies
    assert {"a/work.zip": "it is an archive: unpack it, and grade again", "a/essay.docx": "it is no notebook",
            "a/link.ipynb": "links are not followed"} == dict(found.others)  # fmt: skip


@pytest.mark.parametrize("name", ["anna/whatever.ipynb", "anna_05b.ipynb", "anna-5b.ipynb", "05b_memory_anna.ipynb"])
def test_a_part_is_a_lesson_of_its_own(tmp_path, name):
    """A notebook of part 05b is told from one of lesson 05, by its cells or by its name."""
    cells = [{"cell_type": "code", "source": ['L = lesson("05b")']}] if "/" in name else []
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"cells": cells}), encoding="utf-8")
    (copy,) = returned.look(tmp_path, {"05": "05_leaf", "05b": "05b_memory"}).copies

    assert ("anna", "05b", "") == (copy.student, copy.lesson, copy.edition)


@pytest.mark.parametrize("kind", copies.BROKEN)
def test_a_broken_file_is_a_copy_with_a_problem_in_words(tmp_path, kind):
    """A file that is no notebook stays its student's, with a sentence of what is wrong with it."""
    (found,) = look_at(tmp_path, "finn/07_version_counters.ipynb", data=copies.BROKEN[kind]).copies

    assert ("finn", "07") == (found.student, found.lesson)
    assert found.problem.startswith("the file is") and found.problem.endswith(".")


def test_a_huge_file_is_not_read(tmp_path):
    """A file of more than 20 MB is not read at all."""
    (tmp_path / "gus").mkdir()
    with open(tmp_path / "gus" / "07_x.ipynb", "wb") as file:
        file.truncate(returned.LARGEST + 1)
    (found,) = returned.look(tmp_path, TITLES).copies

    assert "the file has 21 MB; a lesson with all its outputs has about one." == found.problem
