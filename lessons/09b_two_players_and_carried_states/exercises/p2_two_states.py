"""Exercise 09b.p2: two states."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import number_or_error

CUTS = {
    "A": lambda h, c: (h.detach(), c),
    "B": lambda h, c: (h, c.detach()),
    "C": lambda h, c: (h.detach(), c.detach()),
}


def read(answer):
    """Three verdicts, "runs" or "error"; None when it is anything else."""
    if not isinstance(answer, list | tuple) or len(answer) != 3 or not all(isinstance(each, str) for each in answer):
        return None
    found = [number_or_error(each) for each in answer]
    found = ["runs" if each in ("runs", "run", "fine", "ok") else each for each in found]
    return found if set(found) <= {"runs", "error"} else None


def truth(torch):
    """Run two steps with each of the three cuts."""
    rng, found = torch.get_rng_state(), []
    cell = torch.nn.LSTMCell(3, 4)
    torch.set_rng_state(rng)
    for cut in CUTS.values():
        h = c = torch.zeros(2, 4)
        try:
            for _ in range(2):
                h, c = cell(torch.ones(2, 3), (h, c))
                (h * h).sum().backward()
                h, c = cut(h, c)
            found.append("runs")
        except RuntimeError:
            found.append("error")
    return found


EXERCISE = Predict(
    id="09b.p2", title="Two states", minutes=2, difficulty=2, puzzles=(7,),
    question="An LSTM cell is trained step by step. What is handed on to the next step is A `h.detach(), c`, "
    'B `h, c.detach()`, C `h.detach(), c.detach()`. Does each of them run? A list of three, each "runs" or "error".',
    hints=(
        "The next step computes its new pair from both states. Where does each of them lead back to?",
        "One way into the graph of the step before is enough for the error of the recurrent network above.",
    ),
    solution='answer = ["error", "error", "runs"]\n',
    why="Both states come from the step before, whose slots are empty. One that is still attached leads there.",
    alternatives=('answer = ("Error", "raises", "Runs")\n', 'answer = ["error", "error", "fine"]\n'),
    read=read, truth=truth, wanted='A list of three is wanted, each "runs" or "error".',
    shown="Every state that is carried on has to be cut.",
    otherwise="C has no way back into the step before. For A and B ask where the other state leads.",
    mistakes=(
        Mistake("h is enough", "A: `c` comes from the step before as well, and the new `h` is computed from it.",
                ["runs", "error", "runs"]),
        Mistake("c is enough", "B: `h` is used by the next step as well, and leads back into the step before.",
                ["error", "runs", "runs"]),
        Mistake("one is enough", "Each of the two states leads back into the step before, so cutting one leaves a way "
                "open.", ["runs", "runs", "runs"]),
        Mistake("nothing helps", "C: both ways are cut, and the two values begin the next step as constants.",
                ["error", "error", "error"]),
    ),
    reveals=("Only C", "everything* that is carried on"),
)  # fmt: skip
