"""Lesson 07 in a real browser: opened by `course.py open`, run, drawn, and an exercise solved by typing.

Not part of `make test`: it needs Chromium and Playwright. `make test-browser` runs it; screenshots of what it
saw are left in tests/browser/artifacts.
"""

import re

import nbformat
from playwright.sync_api import expect

from coursekit.judge.discovery import exercises_module
from tests.browser.lab import (
    LESSON,
    PATIENCE,
    check_pictures,
    complaints,
    open_notebook,
    outcome,
    prompts,
    published,
    run_all,
    said,
    saved,
    screenshot,
    type_over,
)


def test_home_is_there_before_a_cell_is_run(page, course):
    """The notebook opens with its table, and with what comes next above it."""
    open_notebook(page, course, course.lessons / "home.ipynb")

    expect(page.get_by_role("link", name="Begin with lesson 00, Start here.")).to_be_visible()
    expect(prompts(page)).to_have_text(["[ ]:"])


def test_run_all(page, course):
    """All cells of lesson 07 run and say what the published notebook says; pictures are visible.

    What waits for a prediction is left out: in a learner's copy it shows nothing yet.
    """
    notebook = course.lessons / f"{LESSON}.ipynb"
    want = without_what_waits(published())
    open_notebook(page, course, notebook)
    run_all(page)
    check_pictures(page, want)
    screenshot(page, "lesson_07_run")
    have = without_what_waits(saved(page, notebook))

    assert complaints(have) == complaints(want) == []
    assert [*map(own_engine, said(have))] == [*map(own_engine, said(want))]


def without_what_waits(nb):
    """A notebook without the cells that wait for a prediction."""
    nb.cells = [cell for cell in nb.cells if "after=" not in cell.source]
    return nb


def own_engine(texts):
    """The texts of a cell; of `L.build` only that nothing was tried: where lessons are published there is no file."""
    begun = re.compile(r"(\d\d\.b   not attempted) — (there is no|my_engine\.py is as it).*", re.DOTALL)
    return [begun.sub(r"\1", text) for text in texts]


def test_solve_an_exercise(page, course):
    """A learner types a solution into the exercise's cell, runs it, and the check says correct."""
    records = exercises_module(7).EXERCISES
    exercise = next(e for e in records if e.kind != "predict")
    notebook = course.lessons / "solved_copy.ipynb"  # a session of its own: counts begin at 1
    nbformat.write(published(), notebook)
    open_notebook(page, course, notebook)
    run_all(page)
    asks = f'L.check("{exercise.id}"'
    cell = page.locator(".jp-NotebookPanel:visible .jp-CodeCell").filter(has_text=asks)
    output = cell.locator(".jp-OutputArea")
    cell.scroll_into_view_if_needed()
    expect(output).to_contain_text(outcome(exercise.id, "not attempted"))

    solved = f"{exercise.solution.strip()}\n\n{asks}, {exercise.name})"
    type_over(page, cell.locator(".cm-content"), solved, "Shift+Enter")

    expect(output).to_contain_text(outcome(exercise.id, "correct"), timeout=PATIENCE * 1000)
    cell.scroll_into_view_if_needed()
    screenshot(page, "lesson_07_solved")


def test_after_a_restart_a_sentence_helps(page, course):
    """In a fresh kernel `L` is there and says what has happened; an unknown name of the lesson is explained."""
    notebook = course.lessons / "07_version_counters_again.ipynb"
    nbformat.write(published(), notebook)
    open_notebook(page, course, notebook)
    cells = page.locator(".jp-NotebookPanel:visible .jp-CodeCell")
    for code, words in (("L.progress()", "`L` is here again"), ("draw", "makes `draw`")):
        cell = cells.nth(2)
        cell.scroll_into_view_if_needed()
        type_over(page, cell.locator(".cm-content"), code, "Control+Enter")
        expect(cell.locator(".jp-OutputArea")).to_contain_text(words, timeout=PATIENCE * 1000)
    screenshot(page, "after_a_restart")
