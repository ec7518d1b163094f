"""The thread "Build your own engine" in a real browser: the file grows in JupyterLab's editor, the notebook judges it.

Nothing is restarted between two edits: the notebook's cell loads the file each time.
"""

import time

import nbformat
from playwright.sync_api import expect

from coursekit.own_engine import stages
from coursekit.own_engine.mistakes import known
from tests.browser.lab import PATIENCE, open_notebook, outcome, pictures, screenshot, type_over

LESSONS = range(stages.LAST + 1)


class Workplace:
    """A notebook with one cell that judges, and beside it the editor with my_engine.py."""

    def __init__(self, page, course, name):
        code = ["from coursekit import lesson\n\nL = lesson(0)", 'L.build("00")']
        nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in code])
        nb.metadata.kernelspec = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
        notebook = course.lessons / f"{name}.ipynb"
        nbformat.write(nb, notebook)
        self.file = course.lessons / stages.NAME
        self.page, self.editor = page, page.context.new_page()
        self.editor.set_default_timeout(PATIENCE * 1000)
        self.editor.goto(course.url(self.file, f"editor-{time.monotonic_ns()}"))
        self.text = self.editor.locator(".jp-FileEditor:visible .cm-content")
        self.text.wait_for()
        open_notebook(page, course, notebook)
        cells = page.locator(".jp-NotebookPanel:visible .jp-CodeCell")
        self.cell = cells.nth(1)
        cells.nth(0).locator(".cm-content").click()
        page.keyboard.press("Control+Enter")
        expect(cells.nth(0).locator(".jp-InputPrompt")).to_have_text("[1]:", timeout=PATIENCE * 1000)

    def write(self, text):
        """What the learner's file holds from now on: typed over all that is there, and saved."""
        self.editor.bring_to_front()
        type_over(self.editor, self.text, text, "Control+s")
        end = time.monotonic() + 20
        while self.file.read_text(encoding="utf-8").rstrip() != text.rstrip() and time.monotonic() < end:
            time.sleep(0.1)
        assert self.file.read_text(encoding="utf-8").rstrip() == text.rstrip(), "JupyterLab did not save the file"

    def run(self, code, answer):
        """Run this code in the notebook's cell and wait for this answer."""
        self.page.bring_to_front()
        type_over(self.page, self.cell.locator(".cm-content"), code, "Control+Enter")
        output = self.cell.locator(".jp-OutputArea")
        expect(output).to_contain_text(answer, timeout=PATIENCE * 1000)
        return " ".join(output.inner_text().split())


def test_an_engine_grows_from_the_beginning_to_a_trained_network(page, course):
    """`course.py open` has put the beginning beside the lessons; each lesson's lines are judged correct and drawn."""
    place = Workplace(page, course, "growing")

    assert place.file.read_text(encoding="utf-8") == stages.start()
    place.run('L.build("00")', outcome("00.b", "not attempted"))
    for number in LESSONS:
        place.write(stages.stage(number))
        said = place.run(f'L.build("{number:02d}")', outcome(f"{number:02d}.b", "correct"))
        assert "No picture" not in said
        [picture] = pictures(page, 1)
        assert min(picture.values()) > 20, picture
        if number in (0, 7):
            screenshot(page, f"own_engine_{number:02d}")
        if number == 10:
            said = place.run("L.train()", outcome("10.t", "correct"))
            assert "40 of 40 points are on the right side" in said
            assert len(pictures(page, 1)) == 1
            screenshot(page, "own_engine_trained")


def test_three_planted_mistakes_are_caught_at_their_checkpoints(page, course):
    """Each gets its own sentence, and after the repair, in the same kernel: correct."""
    place = Workplace(page, course, "planted")
    for name in ("no_clone", "not_compared", "parts"):
        (mistake,) = (each for each in known() if each.name == name)
        number = mistake.lesson
        place.write(mistake.engine())
        said = place.run(f'L.build("{number:02d}")', outcome(f"{number:02d}.b", "almost"))

        assert " ".join(mistake.says.replace("`", "").split()) in said
        screenshot(page, f"own_engine_{name}")
        place.write(stages.stage(number))
        place.run(f'L.build("{number:02d}")', outcome(f"{number:02d}.b", "correct"))
