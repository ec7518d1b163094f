"""compare.py: what changed between two drawings, in words and highlighted, in one placement."""

import re
from pathlib import Path

import pytest

import course_lib
from backscope.graph.compare import AFTER, BEFORE, SIZE, PairDrawing, compare
from backscope.pictures.draw import draw
from backscope.pictures.style import HIGHEST, WIDEST
from tests.backscope import compare_programs
from tests.backscope.refusals import raises
from tests.backscope.test_layout import words_in

PROGRAMS = pytest.mark.parametrize("program", compare_programs.PROGRAMS, ids=lambda program: program.__name__)
TEXTS = re.split(r"^===== (\w+)\n", (Path(__file__).parent / "compare_listings.txt").read_text("utf-8"), flags=re.M)[1:]
CHANGES = {name: text.rstrip("\n") for name, text in zip(TEXTS[::2], TEXTS[1::2], strict=True)}


@PROGRAMS
def test_changes_in_words(torch, program):
    """The same changes, in the same words, whichever library ran the program."""
    comparison = program(torch)
    changes, rest = comparison.text.split("\n\nBefore: ")

    assert changes == CHANGES[program.__name__]
    assert [line for line in changes.splitlines() if line[:2] == "  "] == [f"  {each}" for each in comparison.changes]
    assert rest == program(course_lib).text.split("\n\nBefore: ")[1]


@PROGRAMS
@pytest.mark.parametrize("lies", [True, False], ids=["lies", "stands"])
def test_common_things_stand_at_the_same_place(program, lies):
    """A box that is in both pictures has the same place and size in both; the corner differs by one shift."""
    drawing = PairDrawing(program(course_lib)._pair, 1, lies)
    found = []
    for which in (BEFORE, AFTER):
        drawing.page_of(which)
        found.append({box.key: drawing.corner(box) for box in drawing.plan.boxes if drawing.card_of(box)})
    common = set(found[BEFORE]) & set(found[AFTER])
    shifts = {
        tuple(round(p - q, 1) for p, q in zip(found[BEFORE][key], found[AFTER][key], strict=True)) for key in common
    }

    assert common and len(shifts) == 1 and shifts.pop()[0] == 0


@PROGRAMS
@pytest.mark.parametrize("lies", [True, False], ids=["lies", "stands"])
def test_values_stand_beside_the_node_that_made_them(program, lies):
    """A value that was made by a node on either side does not stand among the inputs, in front of that node."""
    drawing = PairDrawing(program(course_lib)._pair, 1, lies)
    for side in drawing.pair.sides:
        for v, value in enumerate(side.values):
            if value is not None and value.node is not None:
                assert drawing.value_box[v].step >= drawing.node_box[value.node].step, value.name


@PROGRAMS
def test_marks_and_sentences_agree(program):
    """Whatever has a sentence is marked on its side, and nothing else is; without changes nothing is amber."""
    comparison = program(course_lib)
    pair = comparison._pair
    told = {what for what, _ in pair.changes if what is not None and what[0] != "memory"}
    marked = {what for side in (BEFORE, AFTER) for what in pair.marks[side] if what[0] != "memory"}
    new_or_gone = {what for side in pair.marks for what, word in side.items() if word != "CHANGED"}

    assert told <= marked and marked - told <= new_or_gone
    assert bool(comparison.changes) == ('class="behind"' in comparison.svg)


@PROGRAMS
def test_every_word_of_both_sides_is_drawn(program):
    """Both sides' words, and the marks, are in the pictures; both have one size, and both fit the column."""
    comparison = program(course_lib)
    for lies in (True, False):
        drawing = PairDrawing(comparison._pair, 1, lies)
        drawn = "".join(drawing.page_of(which).svg() for which in (BEFORE, AFTER))

        assert {" ".join(words.split()) for words in drawing.words()} <= words_in(drawn)
    first, second = (SIZE.search(svg).groups() for svg in comparison._sides())

    assert first[0] == second[0] and float(first[0]) <= WIDEST
    assert max(float(first[1]), float(second[1])) <= HIGHEST


def test_an_id_that_comes_back_is_another_tensor(torch):
    """A tensor made where a dead one was is not taken for it, even if Python gives it the same id."""
    x = torch.tensor([1.0], requires_grad=True)
    y = x * 2
    ids = set()
    before = draw(y)
    for _ in range(20):
        ids.add(id(y))
        del y
        y = x * 2
    comparison = compare(before, draw(y))

    assert len(comparison._pair.tokens) == 1  # x
    assert "The two drawings have no node in common" in comparison.text
    assert len(ids) < 20, "no id came back, so this test has shown nothing"


@pytest.mark.parametrize("wrong", [3, None, "graph"], ids=["int", "None", "str"])
def test_not_a_drawing(wrong):
    """compare() says what it takes."""
    x = course_lib.tensor([1.0], requires_grad=True)
    with pytest.raises(TypeError, match=rf"takes two drawings, not {type(wrong).__name__}: before = draw\(y\)"):
        compare(draw(x), wrong)
    raises("takes two drawings, not Tensor", lambda: compare(x, draw(x)), TypeError)
    raises("takes two drawings, not Comparison", lambda: compare(compare(draw(x), draw(x)), draw(x)), TypeError)


def test_changes_stand_below_the_pictures():
    """A sighted reader gets the list too; of many changes the first fifteen."""
    comparison = compare_programs.backward(course_lib)

    assert "<li>x.grad: None -&gt; [14.78, 109.2]</li>" in comparison.html
    assert "<ul" not in compare_programs.nothing(course_lib).html
    leaves = [course_lib.ones(1, requires_grad=True) for _ in range(20)]
    total = course_lib.cat(leaves).sum()
    before = draw(total)
    total.backward()
    for leaf in leaves:
        leaf.detach().add_(1)
    many = compare(before, draw(total))

    assert many.html.count("<li>") == 16
    assert f"and {len(many.changes) - 15} more" in many.html


def test_the_grad_of_what_did_not_require_grad_is_a_change(torch):
    """requires_grad was set and backward() filled .grad: both are told, and below them all as it is afterwards."""
    loss = torch.tensor(0.5)
    before = draw(loss)
    loss.requires_grad = True
    loss.backward()
    after = draw(loss)
    comparison = compare(before, after)

    assert comparison.changes == ["loss: requires_grad False -> True", "loss.grad: None -> 1."]
    assert comparison.text.endswith(f"\n\nBefore: {before.text.partition(chr(10) * 2)[0]}\n\nAfter: {after.text}")
