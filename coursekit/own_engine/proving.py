"""The proof of the checkpoints: every stage and every other right engine is correct, every wrong one gets its sentence.

`course.py check` runs it lesson by lesson, beside the proof of the exercises.
"""

import tempfile
from collections import Counter
from pathlib import Path

from coursekit.judge import exercise as ex
from coursekit.own_engine import checkpoints, stages
from coursekit.own_engine.judge import NAME, judge, wanted
from coursekit.own_engine.mistakes import edited, known

FEWEST = 3  # wrong engines that a checkpoint names
LESSONS = range(stages.LAST + 1)  # those that add lines


def has_checkpoint(number) -> bool:
    """Tell whether the lesson of this number, "05", adds lines to the learner's engine; a part, "05b", adds none."""
    return number.isdigit() and int(number) in LESSONS


def wrong_engines(number) -> list:
    return [each for each in known() if each.lesson == number]


def others(number) -> list[str]:
    """Return [(what is other, text)] for the right engines that are built in another way than the stage."""
    piece, stage = checkpoints.pieces()[number], stages.stage(number)
    texts = [(what, edited(stage, edits)) for what, edits in piece.RIGHT]
    if number in (8, 13):
        texts.append(("with the stretch of lesson 08", stages.stage(number, views=True)))
    return texts + list(getattr(piece, "WHOLE", ()))


def record_complaints(number) -> list[str]:
    """List what is wrong with a checkpoint as it is written: sentences, or []."""
    said, wrong = [], wrong_engines(number)
    if len(wrong) < FEWEST:
        said.append(f"it names {len(wrong)} wrong engines; record at least {FEWEST}.")
    if not others(number):
        said.append("it has no right engine beside the stage; write one in another way.")
    if not getattr(checkpoints.pieces()[number], "HINTS", ()):
        said.append("it has no hint beside its program; write one for whoever is stuck.")
    sentences = Counter(each.says for each in known())
    said += [f"two mistakes say “{each.says}”." for each in wrong if sentences[each.says] > 1]
    if not checkpoints.pieces()[number].NOW or not checkpoints.programs()[number].__doc__:
        said.append("it does not say what its program shows, or what the engine can do afterwards.")
    return said


def engine_complaints(number, torch, like=None) -> list[str]:
    """List what the judge gets wrong when `torch` says what is right: sentences, or [].

    like: an engine on which this was proved; then it is enough that both say the same of what is right.
    """
    if like is not None:
        one, other = wanted(number, torch), wanted(number, like)
        return [] if one == other else [f"its program prints {one!r}, and {other!r} on {like.__name__}."]
    said = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / NAME

        def judged(text):
            file.write_text(text, encoding="utf-8")
            return judge(number, file, torch)

        for what, text in [("the stage", stages.stage(number)), *others(number)]:
            result, picture, _ = judged(text)
            if result.outcome != ex.CORRECT:
                said.append(f"a right engine ({what}) gets “{result.outcome} — {result.text}”.")
            elif picture is None:
                said.append(f"a right engine ({what}) cannot be drawn: {result.details}.")
        for each in wrong_engines(number):
            result = judged(each.engine()).result
            if (result.outcome, result.mistake) != (ex.ALMOST, each.name):
                said.append(f"the wrong engine {each.name!r} gets “{result.outcome} — {result.text}”.")
        if number and judged(stages.stage(number - 1)).result.outcome != ex.NOT_ATTEMPTED:
            said.append(f"the engine as it was after lesson {number - 1:02d} does not count as not attempted.")
    return said
