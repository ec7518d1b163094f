"""Small records for testing the exercise tools themselves. Lessons do not use them."""

from dataclasses import replace

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, not_yet


def check_double(answer, torch):
    """Twice the argument, with the gradient that belongs to it; a sample of a check by property."""
    for start in (5.0, -2.5, 4.0):
        x = torch.tensor([start], requires_grad=True)
        y = answer(x)
        if not y.requires_grad:
            return almost("cut off")
        y.sum().backward()
        if y.tolist() == [start]:
            return almost("unchanged")
        if y.tolist() == [start * start]:
            return almost("squared")
        if y.tolist() == [3 * start]:
            return almost("three times")
        if y.tolist() != [2 * start] or x.grad.tolist() != [2.0]:
            return not_yet(f"For {start} it gave {y.tolist()}.")
    return correct("You have shown that y = 2x has slope 2 everywhere.")


DOUBLE = Exercise(
    id="98.1",
    kind="repair",
    title="Twice",
    question="Return twice `x`, with its history.",
    minutes=2,
    difficulty=1,
    name="double",
    starter="def double(x):\n    ...\n",
    hints=("Which operation gives twice a number?", "Addition is one, too."),
    solution="def double(x):\n    return x * 2\n",
    why="One multiplication by a plain number.",
    alternatives=("def double(x):\n    return x + x\n",),
    mistakes=(
        Mistake("unchanged", "That is x itself.", "def double(x):\n    return x * 1\n"),
        Mistake("squared", "That is the square of x.", "def double(x):\n    return x * x\n"),
        Mistake("three times", "That is once too often.", "def double(x):\n    return x * 3\n"),
        Mistake("cut off", "The history is gone.", "def double(x):\n    return x.detach() * 2\n"),
    ),
    check=check_double,
    puzzles=(2, 15),
)


def check_saved(answer, torch):
    """Names of what `x * x` keeps."""
    x = torch.tensor(3.0, requires_grad=True)
    kept = sorted(name for name in dir((x * x).grad_fn) if name.startswith("_saved_"))
    result = ["_saved_result"]
    known = {"nothing": [], "the result": result, "half": ["_saved_self"], "three": kept + result}
    if sorted(answer) == kept:
        return correct("A product keeps both factors.")
    for name, wrong in known.items():
        if sorted(answer) == sorted(wrong):
            return almost(name)
    return not_yet(f"The node keeps {len(kept)} tensors.")


SAVED = Exercise(
    id="98.p1",
    kind="predict",
    title="What does a product keep?",
    question="List the names.",
    minutes=1,
    difficulty=1,
    name="answer",
    starter="answer = None\n",
    hints=("Look at the slope of a product.", "Each factor's slope is the other factor."),
    solution='answer = ["_saved_self", "_saved_other"]\n',
    why="The slope in one factor is the other.",
    alternatives=('answer = ("_saved_other", "_saved_self")\n',),
    mistakes=(
        Mistake("nothing", "Then what would backward multiply with?", "answer = []\n"),
        Mistake("the result", "exp keeps its result, a product does not.", 'answer = ["_saved_result"]\n'),
        Mistake("half", "There are two factors.", 'answer = ["_saved_self"]\n'),
        Mistake("three", "One too many.", 'answer = ["_saved_self", "_saved_other", "_saved_result"]\n'),
    ),
    check=check_saved,
    puzzles=(1, 2),
)


NOTEBOOK = """# ---
# jupyter:
#   kernelspec:
#     name: python3
# %% [markdown]
# # What is twice?
# - **C98.1** Twice is twice.

# %%
import course_lib as torch
from coursekit.notebook.lesson import Lesson
from tests.coursekit.exercise_samples import DOUBLE, SAVED

L = Lesson(98, [DOUBLE, SAVED])

# %%
L.predict("98.p1", None)

# %% tags=["C98.1"]
x = torch.tensor(3.0, requires_grad=True)
assert (x + x).item() == 6.0

# %%
def double(x):
    ...

L.check("98.1", double)
"""


def changed(exercise, **fields):
    """The record with some fields changed."""
    return replace(exercise, **fields)
