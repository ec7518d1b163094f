"""pages.py: whatever a student wrote is text on the pages, in every place where it can stand."""

import html.parser

import pytest

from coursekit.classroom import grade, pages
from coursekit.classroom.returned import Found
from coursekit.judge import exercise as ex
from coursekit.notebook.lesson import lesson

HOSTILE = "<blink title=\"a\" id='b'>{{ 7 * 7 }}&amp;\u202e\x07</blink>"  # \u202e turns the rest of the line around
SHOWN = HOSTILE.replace("\u202e", " ").replace("\x07", " ")


def answers(number, **more):
    """One answer for each exercise of a lesson, an outcome after the other, hostile in every field."""
    outcomes = [*pages.BARS] * 9
    fields = {"text": HOSTILE, "details": [HOSTILE], "printed": HOSTILE, "source": HOSTILE, "mistake": HOSTILE}
    return {
        id: grade.Answer(id, outcome, **fields | {"said": HOSTILE if pages.is_prediction(id) else None} | more)
        for id, outcome in zip(lesson(number).exercises, outcomes, strict=False)
    }


class Page(html.parser.HTMLParser):
    """The tags and the words of a page."""

    def __init__(self, path):
        super().__init__()
        self.tags, self.words, self.source = [], "", path.read_text(encoding="utf-8")
        self.feed(self.source)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)

    def handle_data(self, data):
        self.words += data


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("pages")
    graded = [
        grade.Graded(HOSTILE, "02", answers("02"), [HOSTILE], [HOSTILE, HOSTILE]),
        grade.Graded(HOSTILE, "07", answers("07", asked=3)),
        grade.Graded(HOSTILE, None, {}, [HOSTILE], problem=HOSTILE),
        grade.Graded("anna", "02", answers("02"), ["anna_02.ipynb"]),
        grade.Graded("bob", "02", {}, ["bob_02.ipynb"], problem="The file is no notebook.", unread=True),
    ]
    pages.write(made, graded, Found([], [(HOSTILE, HOSTILE)]), HOSTILE)
    return made


@pytest.mark.parametrize("name, times", [("index.html", 4), ("students/blink_title_a_id_b_7_7_amp_blink.html", 30)])
def test_what_a_student_wrote_is_text(folder, name, times):
    """Names, files, remarks, answers and prints are shown as they were written, and make no tag, template or turn."""
    page = Page(folder / name)

    assert "blink" not in page.tags and "49" not in page.words
    assert page.words.count(SHOWN) >= times
    assert "\u202e" not in page.source and "\x07" not in page.source


def test_pages_tell_what_is_known(folder):
    """Sums, remarks that are given twice once, an outcome's sign, a lesson that could not be read."""
    index, anna, bob = (Page(folder / name).words for name in ("index.html", "students/anna.html", "students/bob.html"))
    right = sum(each.outcome == ex.CORRECT and not pages.is_prediction(id) for id, each in answers("02").items())
    total = sum(not pages.is_prediction(id) for id in answers("02"))

    assert f"{right} of {total} exercises correct" in anna and f"{right}/{total}" in index
    assert "Lesson 02: Leaves and requires_grad" in anna and "predictions, noted and not graded" in anna
    assert "Not read: The file is no notebook." in bob and "02 not read" in bob and "not read" in index
    assert (folder / "students" / "blink_title_a_id_b_7_7_amp_blink.html").read_text().count('class="note"') == 2


def test_a_misspelt_name_in_a_template_is_an_error(folder):
    """A value that a template asks for and nobody gives is no empty place."""
    with pytest.raises(pages.jinja2.UndefinedError):
        pages.render("student.html", title="anna")
