"""Exercise 16b.p2: what four answers about the state are worth."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.reports import FOUR, four_words, what_happens
from lessons.shared import near


def only_h(state):
    return state[0].detach(), state[1]


def both(state):
    return state[0].detach(), state[1].detach()


def zeros(state):
    return state[0].detach() * 0, state[1].detach() * 0


def as_it_is(state):
    return state


def truth(torch):
    """Run two windows with each answer; compare the second one's gradient with that of both tensors as numbers."""
    found = []
    for between, inside in ((only_h, as_it_is), (both, as_it_is), (both, both), (zeros, as_it_is)):
        cell, window = torch.nn.LSTMCell(1, 3), torch.rand(3, 2, 1)

        def walk(state, inside, cell=cell, window=window):
            for x in window:
                state = cell(x, inside(state))
            return state

        def run(walk=walk, between=between, inside=inside, cell=cell):
            state = walk((torch.zeros(2, 3), torch.zeros(2, 3)), inside)
            (state[0] ** 2).sum().backward()
            wanted = torch.autograd.grad((walk(both(state), as_it_is)[0] ** 2).sum(), cell.weight_ih)[0]
            cell.zero_grad()
            (walk(between(state), inside)[0] ** 2).sum().backward()
            return near(cell.weight_ih.grad.reshape(-1).tolist(), wanted.reshape(-1).tolist(), 1e-5)

        found.append(what_happens(run))
    return found


EXERCISE = Predict(
    id="16b.p2", title="Four answers about the state", minutes=4, difficulty=2, puzzles=(7,),
    question="1 detaches h between the windows, 2 detaches h and c between the windows, 3 detaches both after each "
    "step, 4 starts with zeros. Which raises, which is silent, which cures?",
    hints=(
        "How many tensors does the cell hand on, and does each of them lead back?",
        "The echo is wanted two steps late. Which steps have to be connected, so that this can be learned?",
    ),
    solution='answer = ["raises", "cured", "silent", "silent"]',
    why="c leads back as h does. Cut at every step, no step is told what a later one needs. From zeros, the first "
    "steps of a window cannot be answered.",
    alternatives=('answer = ("Raises", "Cured", "Silent", "Silent")',
                  'answer = ["raises", " cured ", "silent", "silent"]'),
    read=four_words, truth=truth, wanted=FOUR,
    shown="both tensors, and only between the windows.",
    otherwise="Ask of each answer: does a way into the window before remain, and do the ways inside a window remain?",
    mistakes=(
        Mistake("h is enough", "Answer 1: the cell hands on a pair. The memory c has a history as well.",
                ["cured", "cured", "silent", "silent"], also=(["silent", "cured", "silent", "silent"],)),
        Mistake("cut everywhere is fine", "Answer 3: to remember is a matter of several steps. If nothing leads from "
                "one step to the one before, who tells the earlier step what to keep?",
                ["raises", "cured", "cured", "silent"], also=(["raises", "silent", "cured", "silent"],)),
        Mistake("zeros are fine", "Answer 4: what was heard at the end of a window is to be said at the beginning of "
                "the next. Zeros have not heard it.", ["raises", "cured", "silent", "cured"],
                also=(["raises", "cured", "cured", "cured"],)),
        Mistake("cut everywhere raises", "Answer 3: a step's loss has a way to the weights through its own step. "
                "Nothing raises.", ["raises", "cured", "raises", "silent"]),
        Mistake("both is too much", "Answer 2: inside a window everything stays connected. What is lost is the way "
                "into the window before, and that cannot be had for a pass in each window.",
                ["raises", "silent", "silent", "silent"]),
        Mistake("zeros raise", "Answer 4: zeros that are made anew have no history, so there is nothing to run into.",
                ["raises", "cured", "silent", "raises"]),
    ),
    reveals=("an LSTM carries two tensors, and `c` leads back", "learns the echo completely", "A third of the "
    "task is lost"),
)  # fmt: skip
