"""Exercise 07b.p1: modules that work in place."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import names_among


def models(torch):
    """The four models of the lesson, by letter."""
    nn = torch.nn
    return {
        "A": nn.Sequential(nn.Linear(2, 2), nn.ReLU(inplace=True)),
        "B": nn.Sequential(nn.Linear(2, 2), nn.Sigmoid(), nn.Dropout(0.5, inplace=True)),
        "C": nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5, inplace=True), nn.Linear(2, 1)),
        "D": nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Dropout(0.5, inplace=True)),
    }


def truth(torch):
    """The letters of the models whose pass raises."""
    refused = set()
    for letter, model in models(torch).items():
        try:
            model(torch.ones(3, 2)).sum().backward()
        except RuntimeError:
            refused.add(letter)
    return refused


EXERCISE = Predict(
    id="07b.p1", title="Modules in place", minutes=3, difficulty=2, puzzles=(1, 19),
    question="A: Linear, ReLU in place. B: Linear, Sigmoid, Dropout in place. C: Linear, Dropout in place, Linear. "
    "D: Linear, ReLU, Dropout in place. Which backward calls raise?",
    hints=(
        "Each in-place module writes over the result of the module before it. Did that one save its result?",
        "What is the slope of a linear layer made of, that of a sigmoid, and that of a ReLU?",
    ),
    solution='answer = ["B", "D"]',
    why="A linear layer saves its input and its weight, and not its result, so A and C are fine. Sigmoid and ReLU save "
    "their results, and the dropout writes over them.",
    alternatives=('answer = {"b", "d"}', 'answer = "B, D"'),
    read=names_among("A", "B", "C", "D"), truth=truth,
    wanted='Give a list with some of the letters "A", "B", "C" and "D"; it may be empty.',
    shown="you ask what the module *before* the in-place one has saved.",
    otherwise="For each of them: what has the module before the in-place one saved?",
    mistakes=(
        Mistake("relu keeps its input", "D: where a ReLU was positive can be read from its result as well as from its "
                "input, and the result is what it saves. The dropout writes over it.", ["B"]),
        Mistake("its own result", "A: the ReLU saves its result, and that is what it has just written. What it writes "
                "*over* is the result of the linear layer, which was not saved.", ["A", "B", "D"]),
        Mistake("linear keeps its result", "A and C: the gradients of a linear layer are made of its input and its "
                "weight. It has not saved its result.", ["A", "B", "C", "D"], also=(["A", "C"],)),
        Mistake("the next layer's input", "C: the second layer saves its input, and it gets it *after* the dropout has "
                "written. Nothing is written to it later.", ["B", "C", "D"], also=(["B", "C"],)),
        Mistake("made for it", "Modules with inplace=True write like any other in-place operation, and the counter "
                "does not ask who wrote.", []),
        Mistake("sigmoid keeps its input", "B: the slope of a sigmoid is s · (1 − s), made of its result.", ["D"]),
    ),
    reveals=("A sigmoid saves its result, because", "so does a ReLU"),
)  # fmt: skip
