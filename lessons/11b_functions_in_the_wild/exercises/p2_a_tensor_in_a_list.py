"""Exercise 11b.p2: what does a tensor in a list get?"""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.functions import number_or_word

NOTHING = "none"


def read(answer):
    """Two entries, each a number, None or "error"; one "error" stands for both."""
    if isinstance(answer, str) and answer.strip().lower() == "error":
        return ["error", "error"]
    if not isinstance(answer, (list, tuple)) or len(answer) != 2:
        return None
    given = [NOTHING if part is None else number_or_word(part) for part in answer]
    return None if any(isinstance(part, str) and part not in (NOTHING, "error") for part in given) else given


def truth(torch):
    class Total(torch.autograd.Function):
        @staticmethod
        def forward(ctx, first, others):
            return first + sum(others)

        @staticmethod
        def backward(ctx, grad):
            return grad, None

    a, b = torch.tensor(1.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)
    Total.apply(a, [b]).backward()
    return [NOTHING if leaf.grad is None else leaf.grad.item() for leaf in (a, b)]


EXERCISE = Predict(
    id="11b.p2", title="A tensor in a list", minutes=1, difficulty=1,
    question="Total.apply(a, [b]).backward(), where backward returns its gradient for the first argument and None for "
    "the list. What are a.grad and b.grad?",
    hints=(
        "How many arguments does apply get, and which of them are tensors?",
        "An arrow to b would have to come from somewhere. Does anything look into the list?",
    ),
    solution="answer = (1, None)",
    why="apply makes an arrow for each of its own arguments that is a tensor. A list is none, so nothing leads to b.",
    alternatives=("answer = [1.0, None]", 'answer = ("1", "None")'),
    read=read, truth=truth, wanted='Give a pair; each entry is a number, None or "error".',
    shown="a tensor in a list is invisible to apply, and nobody says so.",
    otherwise="For each of the two: does an arrow lead to it, and what does backward return for it?",
    mistakes=(
        Mistake("both found", "The formula uses b, that is true. But backward returns one answer for the whole list, "
                "and it is None. And who would look into the list?", (1, 1)),
        Mistake("refused", "It would be good if it raised. But apply cannot know what your list is for.",
                ("error", "error"), also=((1, "error"), ("error", None))),
        Mistake("zero", "a is right. A zero would have to arrive at b, and no arrow leads there.", (1, 0)),
        Mistake("nothing at all", "a is an argument of apply, and a tensor. backward returns what arrives for it.",
                (None, None)),
        Mistake("the other way round", "It is the other way round: a is an argument by itself, and b is hidden in a "
                "list.", (None, 1)),
        Mistake("the values", "These are the tensors themselves. Asked is what stands in .grad.", (1, 2),
                also=((3, 3), (3, None))),
    ),
    reveals=("b: None", "A tensor in a list is not tracked"),
)  # fmt: skip
