"""Docstrings begin with a verb, or with the thing that a class or a module is: not with a question word."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
WORDS = "What|How|Where|Those|Which|Whether|Who|Whose|Why|When"
DOCSTRING = re.compile(rf'(?:\A|:\n)\s*r?"""((?:{WORDS})\b[^\n]*)')  # parsing all files would take ten times as long
CLAIM = re.compile(r"test_c\d")  # its docstring is a sentence of a lesson, word for word
LEFT = {  # how many are left to be written anew; a number here only goes down
    "course_lib": 0, "backscope": 0, "coursekit": 0, "tools": 0, "lessons": 0,
}  # fmt: skip


def questions(source):
    """Yield the first line of each docstring that begins with a question word."""
    for found in DOCSTRING.finditer(source):
        if not CLAIM.match(source[: found.start()].rpartition("def ")[2]):
            yield found[1].removesuffix('"""')


@pytest.mark.parametrize("room", LEFT)
def test_docstrings_begin_with_a_verb(room):
    """No more docstrings of a room begin with a question word than were left when the rule was made."""
    paths = sorted((ROOT / room).rglob("*.py"))
    found = [f"{path}: {said}" for path in paths for said in questions(path.read_text(encoding="utf-8"))]

    assert len(found) <= LEFT[room], "\n".join(found)


def test_a_question_is_seen():
    """Modules, classes, functions and methods are looked at; a claim, and a word that goes on, are left alone."""
    source = '''"""What is here."""
class A:
    """How it is."""
    def b(self):
        """Whether it is."""
    def c(self):
        """Whatever comes."""
def test_c08_1_views():
    """When a view is written to, its base is."""
'''
    assert sorted(questions(source)) == ["How it is.", "What is here.", "Whether it is."]
