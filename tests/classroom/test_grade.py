"""grade.py: a folder with honest, hostile and broken notebooks is graded, and every honest answer gets what it earns.

All of them are graded once, through the command that a teacher uses; the tests look at what it wrote and left behind.
"""

import html.parser
import io
import os
import re

import pytest

from coursekit.classroom import __main__ as command
from coursekit.classroom import grade, pages
from coursekit.judge import exercise as ex
from tests.classroom import copies

pytestmark = pytest.mark.check  # each returned notebook is a process

LESSON = "02"
HOSTILE = {name: copies.HOSTILE[name] for name in ("infinite loop", "fork bomb", "os._exit", "closes everything")}
for kind, names in {
    "reaches out": ("deletes", "writes", "network", "reads the key", "left behind"),
    "talks": ("huge output", "magics and shell"),
}.items():
    HOSTILE[kind] = "\n".join(copies.HOSTILE[each] for each in names)
FORGED = ("prints verdicts", "writes verdicts", "judge replaced", "code replaced", "check replaced",
          "engine replaced", "report called", "solution read")  # fmt: skip
BROKEN = list(copies.BROKEN)[:4]
LAST = f'L.solution("{LESSON}.1")\n{copies.FORGERIES["judge replaced"]}\nL.check("{LESSON}.1", 1)'
HONEST = {"mixed": copies.mixed(1), "<b>Zoë & Söhne": copies.solved, "idle": copies.untouched}
LIMITS = grade.Limits(seconds=90, cell=4, quiet=10)


@pytest.fixture(scope="module")
def school(tmp_path_factory):
    """All copies, returned and graded."""
    made = copies.School(tmp_path_factory.mktemp("school") / "class")
    for student, choose in HONEST.items():
        made.add(student, copies.honest(LESSON, choose))
    for name, cell in HOSTILE.items():
        made.add(name, copies.honest(LESSON, copies.solved), cell)
    for name in FORGED:
        made.add(name, copies.honest(LESSON, copies.untouched), {**copies.HOSTILE, **copies.FORGERIES}[name])
    last = {"cell_type": "code", "source": LAST, "outputs": []}
    for name, choose in {"replaced at the end": copies.untouched, "replaced after all": copies.solved}.items():
        copy = copies.honest(LESSON, choose)
        made.add(name, copies.Known(LESSON, [*copy.cells, last], copy.expected))
    for name in BROKEN:
        made.add(name, copies.Known(LESSON, []), copies.BROKEN[name])
    made.grade(LIMITS)
    return made


@pytest.mark.parametrize("student", HONEST)
def test_an_honest_notebook_gets_what_its_answers_are_worth(school, student):
    """Solutions are correct, recorded mistakes almost right, starters not attempted."""
    assert school.known[student].expected == school.outcomes(student)


@pytest.mark.parametrize("student", HOSTILE)
def test_what_a_hostile_cell_does_leaves_the_other_answers_as_they_are(school, student):
    """All exercises of a notebook with a hostile cell are judged, and right."""
    assert {ex.CORRECT} == set(school.outcomes(student).values())


@pytest.mark.parametrize("student", FORGED)
def test_a_forged_verdict_is_not_believed(school, student):
    """No untouched exercise is correct because the notebook changes what judges, reports or knows the answer."""
    assert ex.CORRECT not in school.outcomes(student).values()


def test_a_replaced_judge_is_named(school):
    """The page of a notebook that replaces the judge says what it replaced."""
    page = (school.graded / "students" / "judge_replaced.html").read_text(encoding="utf-8")

    assert "coursekit.judge.exercise.judge" in page


def test_a_judge_replaced_in_the_last_cell_is_not_believed(school):
    """What is asked there is not judged, even where the exercise was left untouched; what came before stands."""
    asked = f"{LESSON}.1"
    untouched, solved = school.outcomes("replaced at the end"), school.outcomes("replaced after all")

    assert untouched.pop(asked) == grade.NOT_JUDGED
    assert set(untouched.values()) == {ex.NOT_ATTEMPTED}
    assert set(solved.values()) == {ex.CORRECT}
    assert "replaces `coursekit.judge.exercise.judge`" in school.rows["replaced after all"]["remarks"]


def test_remarks_stand_on_a_line_each(school):
    """A cell of the table with several remarks has a line for each, and none is empty."""
    remarks = [row["remarks"].split("\n") for row in school.rows.values() if row["remarks"]]

    assert max(map(len, remarks)) > 1
    assert [line for each in remarks for line in each if not re.match("[A-Z][a-z]+ ", line)] == []


@pytest.mark.parametrize("student", BROKEN)
def test_a_file_that_cannot_be_read_counts_as_not_read(school, student):
    """No sum of zeros and no "not attempted": nothing is known of this student's answers."""
    row, index = school.rows[student], (school.graded / "index.html").read_text(encoding="utf-8")
    page = (school.graded / "students" / pages.file_names([student])[student]).read_text(encoding="utf-8")
    at = index[index.index(f">{html.escape(student)}</a>") :].partition("</tr>")[0]

    assert (row["correct"], row["not attempted"], row["1"]) == ("", "", grade.NOT_READ)
    assert grade.NOT_READ in at and "–" in at and "0 of" not in at
    assert f"{LESSON} {grade.NOT_READ}" in page and "0 of" not in page


REMARKS = {
    "solution read": r"reads the course's solution of .*02\.1",
    "infinite loop": r"Code cell \d+ stops: it ran longer than 4 seconds",
    "os._exit": r"While code cell \d+ ran, the process ended itself",
    "writes verdicts": r"does not carry our seal",
    "replaced at the end": r"replaces `coursekit\.judge\.exercise\.judge` in code cell \d+",
    **dict.fromkeys(BROKEN, "Not read: the file is"),
}


@pytest.mark.parametrize("student", REMARKS)
def test_remarks_say_what_happened(school, student):
    """What was stopped, with the number of its cell; what asked for solutions; a file that is no notebook."""
    assert re.search(REMARKS[student], school.rows[student]["remarks"])


def test_nothing_outside_is_touched_where_the_fence_says_so(school):
    """Behind namespaces no file is changed, no connection comes through; elsewhere the teacher is told before."""
    if grade.FENCES["namespaces"] in school.said:
        assert [] == [*school.trespasses()]
    else:
        assert any("a hostile notebook could read and write what you can" in each.lower() for each in school.said)


@pytest.mark.skipif(os.name == "nt", reason="ps is not there")
def test_no_process_is_left(school):
    """What a notebook started in a session of its own has ended with it."""
    assert not copies.still_running("987.25")


class Links(html.parser.HTMLParser):
    """The tags and addresses of a page."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.addresses = set(), []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.addresses += [value for name, value in attributes if name in ("href", "src")]


def test_pages_are_whole_and_fetch_nothing(school):
    """Every student has a page; no page has a script, a picture from elsewhere, or a link that leads nowhere."""
    names = sorted((school.graded / "students").glob("*.html"))

    assert len(school.known) == len(names)
    for path in [school.graded / "index.html", *names]:
        page = Links(path.read_text(encoding="utf-8"))
        assert not page.tags & {"script", "img", "link", "iframe"}
        for address in page.addresses:
            file, _, place = address.partition("#")
            target = path.parent / file if file else path
            assert target.is_file()
            assert f'id="{place}"' in target.read_text(encoding="utf-8") or not place


def test_a_name_is_text_and_no_markup(school):
    """A student's name is shown as it is written, and makes no file elsewhere."""
    assert "&lt;b&gt;Zoë &amp; Söhne<" in (school.graded / "index.html").read_text(encoding="utf-8")
    assert (school.graded / "students" / "b_Zoe_Sohne.html").is_file()


def test_a_students_page_holds_no_solution(school):
    """The page of a student who did nothing can be handed back: no line of a solution is in it."""
    page = (school.graded / "students" / "idle.html").read_text(encoding="utf-8")

    for exercise in copies.lesson(LESSON).exercises.values():
        assert exercise.solution.strip() not in html.unescape(page)


def test_results_are_never_written_over(school):
    """Grading again makes another folder beside the first one."""
    assert school.graded.with_name("graded-2") == grade.new_folder(school.graded)


def test_a_second_file_of_a_student_counts_where_it_is_better():
    """Of two files of one lesson each exercise counts with its better outcome."""
    ids = ("02.1", "02.2")
    outcomes = {"one": (ex.CORRECT, ex.ERROR), "two": (ex.ALMOST, ex.ALMOST)}
    files = [
        grade.Graded("a", "02", {id: grade.Answer(id, each, name) for id, each in zip(ids, pair, strict=True)})
        for name, pair in outcomes.items()
    ]
    both = grade.together(files)

    assert [ex.CORRECT, ex.ALMOST] == [each.outcome for each in both.answers.values()]


def test_a_spreadsheet_takes_no_name_for_a_formula():
    """A cell that begins like a formula begins with an apostrophe."""
    assert ["'=1+1", "'@x", "anna"] == [grade.harmless(each) for each in ("=1+1", "@x", "anna")]


def graded_alone(folder, copy, fence=None):
    """What becomes of one copy that is graded by itself."""
    found = grade.returned.look(copy.write(folder / "in" / "ida_02.ipynb").parent, {LESSON: "02_leaves"})
    (graded,), _ = grade.grade_all(found.copies, grade.Grader(LIMITS, fence), grade.Bar(1, io.StringIO()), 1)
    return {id: graded.answers[id].outcome for id in copy.expected}


def test_an_answer_without_its_check_is_judged(tmp_path):
    """A learner who deleted the line L.check(...) is judged by what the cell defines, known by the cell's id."""
    copy = copies.honest(LESSON, copies.solved)
    for cell in copy.cells:
        if 'L.check("02.3"' in "".join(cell["source"]):
            cell["source"] = cell["source"].partition("L.check")[0]

    assert copy.expected == graded_alone(tmp_path, copy)


@pytest.mark.skipif(os.name == "nt", reason="there is no keeper")
def test_limits_alone_end_what_a_notebook_starts(tmp_path):
    """Where there are no namespaces, a fork bomb and what it left behind end all the same, and answers count."""
    cells = [copies.HOSTILE["left behind"].replace("987.25", "986.75"), copies.HOSTILE["fork bomb of sessions"]]
    copy = copies.with_cell(copies.honest(LESSON, copies.solved), "\n".join(cells))

    assert copy.expected == graded_alone(tmp_path, copy, "limits")
    assert not copies.still_running("986.75")


def test_a_folder_that_is_not_there_is_a_sentence(tmp_path, capsys):
    """A wrong folder is a sentence that says what is wanted, and exit status 1."""
    assert 1 == command.main(["grade", str(tmp_path / "nowhere")])
    assert "Name the folder with what was returned" in capsys.readouterr().out


def test_file_names_are_plain_and_each_is_used_once():
    """Two students whose names look alike in plain letters get two pages."""
    names = pages.file_names(["Zoë", "zoe", "../.."])

    assert {"Zoë": "Zoe.html", "zoe": "zoe_2.html", "../..": "student.html"} == names


def test_a_notebook_of_0_9_0_is_graded_by_its_own_numbers(tmp_path):
    """What a copy of 0.9.0 asks as 05.4 is exercise 05.3 today, and 05.6 is in a part: each gets its own verdict."""
    passes = "def passes(torch, x, g, times):\n    for _ in range(times):\n        x.view(-1, 1).backward(g.clone())\n"
    setup = "import course_lib as torch\nfrom course_lib.teach import lesson\nL = lesson(5)"
    cells = [setup, 'L.check("05.4", "DABC")', passes + '\n\nL.check("05.6", passes)']
    known = copies.Known("05", [{"cell_type": "code", "source": cell, "outputs": []} for cell in cells])
    found = grade.returned.look(known.write(tmp_path / "in" / "ida_05.ipynb").parent, {"05": "05_leaf_accumulation"})
    (graded,), _ = grade.grade_all(found.copies, grade.Grader(LIMITS), grade.Bar(1, io.StringIO()), 1)
    outcomes = {id: answer.outcome for id, answer in graded.answers.items()}

    assert ("correct", "correct") == (outcomes["05.3"], outcomes["05b.1"])
    assert "not attempted" == outcomes["05b.2"] and "05.6" not in outcomes
