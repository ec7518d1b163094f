"""Exercise 09.p1: three ways to write 30."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import number_or_error

WAYS = {"detach": lambda x: x.detach(), ".data": lambda x: x.data, "clone": lambda x: x.clone()}


def read(answer):
    """Read what each of the three ways prints."""
    return [number_or_error(each) for each in answer] if isinstance(answer, list | tuple) and len(answer) == 3 else None


def truth(torch):
    """Run the program in its three forms."""
    found = []
    for leave in WAYS.values():
        x = torch.tensor([3.0], requires_grad=True)
        y = (x * x).sum()
        leave(x)[0] = 30.0
        try:
            y.backward()
            found.append(x.grad.item())
        except RuntimeError:
            found.append("error")
    return found


def what_to_look_at(answer, truth):
    wrong = [way for way, one, other in zip(WAYS, read(answer), truth, strict=True) if one != other]
    return (f"{3 - len(wrong)} of 3 are right; look again at {', '.join(wrong)}. Whose memory is written, and whose "
            "counter moves?")  # fmt: skip


EXERCISE = Predict(
    id="09.p1", title="Three ways to write 30", minutes=2, difficulty=2, puzzles=(15,),
    question="`x` is 3, `y = (x * x).sum()`; then 30 is written through `x.detach()`, `x.data` or `x.clone()`, and "
    'backward runs. What is `x.grad` each time: a number, or "error"?',
    hints=(
        "What does the product keep for backward: a copy of x, or x itself? Which of the three write to x?",
        "Lesson 07: the check compares the counter at saving with the counter now. Whose counter moves?",
    ),
    solution='answer = ["error", 60, 6]\n',
    why="The product kept x itself. detach shares x's memory and counter, .data only the memory, and clone neither of "
    "them.",
    alternatives=('answer = ("error", 60.0, 6.0)\n', 'answer = ["Raises", "60", "6"]\n'),
    read=read, truth=truth, wanted='A list of three is wanted, such as [1, 2, "error"].',
    shown="One is caught, one is silently wrong, one is harmless. Of the three, the error is the kind one.",
    otherwise=what_to_look_at,
    mistakes=(
        Mistake("all copies", "6 three times would need three copies; only clone makes one.", [6, 6, 6]),
        Mistake("all windows", "60 three times would need three windows on x; clone has memory of its own.",
                [60, 60, 60]),
        Mistake("no check", "The memory is right in all three, but somebody is watching: with detach, the counter "
                "moves as well.", [60, 60, 6]),
        Mistake("both checked", "An error is what detach gives; `.data` has a counter of its own, and nobody "
                "compares that one.", ["error", "error", 6]),
        Mistake("all forbidden", "Writing is allowed in all three; backward complains only if a counter that it "
                "checks has moved.", ["error", "error", "error"]),
        Mistake("detach copies", "detach makes no copy: the write reaches x, and it is noticed.", [6, 60, 6]),
        Mistake("clone is a window", "Two of three. clone() has numbers of its own, so what is written there never "
                "reaches x.", ["error", 60, 60]),
        Mistake("data copies", "Two of three. `.data` makes no copy: the 30 lands in x, and the product kept x.",
                ["error", 6, 6]),
        Mistake("the other way round", "detach and .data are the other way round: detach is the one that shares the "
                "counter.", [60, "error", 6]),
    ),
    reveals=("tensor([60.])", "2 · 30 = 60"),
)  # fmt: skip
