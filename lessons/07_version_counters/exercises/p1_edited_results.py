"""Exercise 07.p1: edited results."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import leaf, names_among, numbers

EDITED = {
    "a": "a = x.sqrt(); a += 1",
    "b": "b = x * 2; b += 1",
    "c": "c = x.sqrt(); c = c + 1",
    "d": "d = x + 3; d *= 2",
}


def truth(torch):
    """The letters of the programs whose pass raises."""
    refused = set()
    for letter, program in EDITED.items():
        space = {"x": leaf(torch, numbers(2, 2.0, 9.0))}
        exec(program, space)
        try:
            space[letter].sum().backward()
        except RuntimeError:
            refused.add(letter)
    return refused


EXERCISE = Predict(
    id="07.p1", title="Edited results", minutes=2, difficulty=1, puzzles=(1,),
    question="Four results, each edited once: which backward calls raise?\n\n"
    + "\n".join(f"- {letter}: `{program}`" for letter, program in EDITED.items()),
    hints=(
        "Write down what each first operation saves: its input, its result, or no tensor of yours.",
        "a += 1 writes into the memory of a. Into which memory does c = c + 1 write?",
    ),
    solution='answer = ["a"]',
    why="Only sqrt saves its result, and only in a is that result overwritten. x * 2 saves the 2, addition saves "
    "nothing, and c = c + 1 makes a new tensor.",
    alternatives=('answer = {"a"}', 'answer = "a"', 'answer = ["A"]'),
    read=names_among(*EDITED), truth=truth,
    wanted='Give a list with some of the letters "a", "b", "c" and "d"; it may be empty.',
    shown="an edit hurts only if it writes into memory that a node saved.",
    otherwise="For each of them: which memory does the first operation save?",
    mistakes=(
        Mistake("every edit", "That would mean every in-place edit breaks backward. x * 2 saved the 2 and x + 3 saved "
                "nothing: backward does not read what b and d were before.", ["a", "b", "d"]),
        Mistake("even new tensors", "c is not edited: c = c + 1 computes a new tensor and moves the name c to it. "
                "sqrt's result stays as it was.", ["a", "c"], also=(["a", "b", "c", "d"],)),
        Mistake("the new tensor alone", "c = c + 1 writes into new memory. Which of the four writes into memory that "
                "its first operation saved?", ["c"]),
        Mistake("never", "That would mean backward never needs the old values. sqrt's slope is 1 / (2 * result), and "
                "in one program that result is overwritten.", []),
        Mistake("every product", "b is a product with a plain number. Its slope is the number 2, so 2 is saved, not x "
                "and not b.", ["a", "b"], also=(["b"],)),
        Mistake("addition", "d starts with an addition. Its slope is 1 whatever becomes of d, so it saves nothing "
                "that you could overwrite.", ["a", "d"]),
        Mistake("harmless edits", "You named edits, but of results that their first operation does not save: x + 3 "
                "saves nothing, and x * 2 saves the 2.", ["b", "d"], also=(["d"],)),
    ),
    reveals=("only `a` raised", "sqrt` had saved its result"),
)  # fmt: skip
