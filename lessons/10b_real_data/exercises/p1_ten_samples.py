"""Exercise 10b.p1: ten samples, four at a time."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import some_numbers


def truth(torch):
    """Calls of `__getitem__` while the loader is made, and in one pass; batches; rows of the last one."""
    calls, state = [], torch.get_rng_state()

    class Ten(torch.utils.data.Dataset):
        def __len__(self):
            return 10

        def __getitem__(self, i):
            calls.append(i)
            return torch.tensor([float(i), 0.0]), i % 2

    loader = torch.utils.data.DataLoader(Ten(), batch_size=4)
    made = len(calls)
    rows = [len(inputs) for inputs, _ in loader]
    torch.set_rng_state(state)  # a pass draws a number
    return [made, len(calls) - made, len(rows), rows[-1]]


def compared(answer, wanted):
    """Say which of the four numbers are right."""
    names = ("calls while the loader is made", "calls in the loop", "batches", "rows of the last batch")
    found = some_numbers(4)(answer)
    right = [name for name, one, other in zip(names, found, wanted, strict=True) if one == other]
    wrong = [name for name in names if name not in right]
    return (
        f"Right: {', '.join(right) or 'none of the four'}. Not yet: {', '.join(wrong)}. Go through one pass: which "
        "samples does the first batch need, which the next, and what is left?"
    )


EXERCISE = Predict(
    id="10b.p1", title="Ten samples", minutes=2, difficulty=1,
    question="A dataset of ten samples, and `DataLoader(Ten(), batch_size=4)`. How often is `__getitem__` called while "
    "the loader is made, and how often in one pass? How many batches are there, and how many rows has the last? A "
    "list of four.",
    hints=(
        "Could a loader read everything at once if the samples were a million files?",
        "Fours out of ten: what becomes of the rest, if nobody says anything about it?",
    ),
    solution="answer = [0, 10, 3, 2]",
    why="Nothing is fetched before the loop asks. Then each sample is fetched once, in batches of four, four and two.",
    alternatives=("answer = (0, 10, 3, 2)", 'answer = ["0", "10", "3", "2"]'),
    read=some_numbers(4), truth=truth, wanted="A list of four numbers is wanted.",
    shown="one call for each sample, when its batch is asked for, and a smaller batch at the end.",
    otherwise=compared,
    mistakes=(
        Mistake("all at once", "You let the line that makes the loader read all samples. A loader is also made for "
                "data that fits into no memory.", [10, 10, 3, 2], also=([10, 0, 3, 2],)),
        Mistake("one batch ahead", "You let the loader fetch something before the loop begins. It does not know yet "
                "whether there will be a loop.", [4, 10, 3, 2], also=([4, 6, 3, 2], [1, 10, 3, 2], [2, 10, 3, 2])),
        Mistake("one call a batch", "This dataset knows single samples only: it is given one number and returns one "
                "sample. Who puts four of them together?", [0, 3, 3, 2], also=([0, 3, 3, 4],)),
        Mistake("the rest left out", "You leave out the samples that do not fill a batch. That has to be asked for, "
                "with a setting of the loader.", [0, 8, 2, 4], also=([0, 10, 2, 4], [0, 8, 2, 2])),
        Mistake("filled up", "You give the last batch four rows. With what would it be filled up? There are no more "
                "samples.", [0, 10, 3, 4], also=([0, 12, 3, 4],)),
        Mistake("full ones only", "The two samples that are left make a batch, too. You have counted the full ones.",
                [0, 10, 2, 2]),
        Mistake("four batches", "You have made four batches. batch_size says how many samples are in one, and not how "
                "many batches there are.", [0, 10, 4, 1], also=([0, 10, 4, 2], [0, 10, 4, 3])),
        Mistake("the rest is one", "Two full batches hold eight samples. How many of ten are left then?",
                [0, 10, 3, 1]),
    ),
    reveals=("Making the loader fetched nothing", "so the last batch is smaller"),
)  # fmt: skip
