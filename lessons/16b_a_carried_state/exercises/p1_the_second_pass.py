"""Exercise 16b.p1: how many nodes run in the second pass."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import as_number


def truth(torch):
    """Count the nodes of the graph that have let go of the gradient they were given, before the pass fails."""
    w = torch.tensor([0.5], requires_grad=True)
    first = torch.tanh(w * torch.tensor([1.0]) + torch.tensor([0.2]))
    (first**2).sum().backward()
    second = torch.tanh(w * first + torch.tensor([0.4]))
    node, ran = (second**2).sum().grad_fn, []
    while node is not None and node is not first.grad_fn:
        node.register_hook(lambda *given: ran.append(1))
        node = next((after for after, _ in node.next_functions[::-1] if after is not None), None)
    try:
        (second**2).sum().backward()
    except RuntimeError:
        pass
    return len(ran) + 2  # the square and the sum of this pass are nodes of their own


EXERCISE = Predict(
    id="16b.p1", title="The second pass", minutes=2, difficulty=2, puzzles=(7,),
    question="first = tanh(w * state + one), second = tanh(w * first + two). The pass from (first**2).sum() is done. "
    "How many nodes run in the pass from (second**2).sum(), before it fails?",
    hints=(
        "Which operations lead from `first` to the loss? Each of them is a node.",
        "Which of the two windows has let go of what its nodes had saved?",
    ),
    solution="answer = 5",
    why="sum, square, tanh, addition and product of the second window. The next one is the tanh of the first, whose "
    "saved result is gone.",
    alternatives=("answer = 5.0", 'answer = "5"'),
    read=as_number, truth=truth, wanted="A whole number is wanted.",
    shown="you know where the second window ends, and that the pass does not end there.",
    otherwise="Count the operations from `first` to the loss.",
    mistakes=(
        Mistake("into the first window", "The tanh of the first window cannot run: its saved result was freed by the "
                "first pass.", 6, also=(7, 8)),
        Mistake("at once", "The pass begins at the loss, with nodes of the second window. Nobody has freed what those "
                "have saved.", 0),
        Mistake("not the loss", "The square and the sum of the loss are nodes as well.", 3),
        Mistake("one forgotten", "One is missing: sum, square, tanh, addition, product.", 4),
        Mistake("all", "It fails before it has walked through all of them.", 9),
    ),
    reveals=("5 of 9 nodes ran", "wants to go on into the first window"),
)  # fmt: skip
