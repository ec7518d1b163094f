"""Exercise 11.p2: which answers of a backward does the engine refuse?"""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.functions import function
from lessons.shared import names_among


def answers(torch):
    """Return what the four backward methods return, given grad."""
    return {
        "A": lambda grad: (grad, None),
        "B": lambda grad: (torch.zeros(2), torch.zeros(()), 0.0),
        "C": lambda grad: (grad, grad, None),
        "D": lambda grad: (torch.zeros(2), torch.ones(2), None),
    }


def truth(torch):
    found = set()
    for letter, answer in answers(torch).items():
        far = function(torch, lambda ctx, a, b, tiny: ((a - b) ** 2).sum(), lambda ctx, g, answer=answer: answer(g))
        a, b = torch.tensor([4.0, 5.0], requires_grad=True), torch.tensor(1.0, requires_grad=True)
        try:
            far.apply(a, b, 1e-6).backward()
        except RuntimeError:
            found.add(letter)
    return found


EXERCISE = Predict(
    id="11.p2", title="Four answers", minutes=2, difficulty=2,
    question="forward takes a, of shape (2,), b, of shape (), and a number; grad has the shape (). A returns (grad, "
    "None), B (zeros(2), zeros(()), 0.0), C (grad, grad, None), D (zeros(2), ones(2), None). Which raise? A list of "
    "letters.",
    hints=(
        "Count the answers of each. Then ask of the third one what a number, which is no tensor, may get.",
        "Where a shape is wrong, is it wider or narrower than the tensor? Broadcasting used one number several times: "
        "what did the engine do with the gradients that came back? And could it do the opposite?",
    ),
    solution='answer = ["A", "B", "C"]',
    why="A has two answers for three arguments. B gives a number something other than None. C has one number for two. "
    "D has two numbers for one: the engine adds them up.",
    alternatives=('answer = "ABC"', 'answer = ("c", "b", "a")'),
    read=names_among("A", "B", "C", "D"), truth=truth, wanted='Give a list with some of "A", "B", "C" and "D".',
    shown="too few answers, an answer for a number, and a gradient that is too small are refused.",
    otherwise="Go through them one by one: are there three answers, is the last one None, is each wide enough?",
    mistakes=(
        Mistake("every wrong shape", "A, B and C are right. D is wider than its tensor. The engine adds up what is too "
                "wide, as it does after a broadcast.", ["A", "B", "C", "D"]),
        Mistake("broadcast forward", "A and B are right. In C one number would have to be given to both places of a. "
                "Broadcasting does so in forward; in backward the engine goes only the other way.", ["A", "B"]),
        Mistake("the other shape", "A and B are right. Of C and D it is the other one: two numbers can be added up to "
                "one, and one cannot be divided among two.", ["A", "B", "D"]),
        Mistake("a zero is harmless", "A and C are right. In B the third answer belongs to a plain number, and 0.0 is "
                "not None.", ["A", "C"], also=(["A"],)),
        Mistake("missing is None", "B and C are right. In A an answer is missing, and the engine does not fill it up.",
                ["B", "C"], also=(["B"],)),
        Mistake("nothing is checked", "The engine has to add each answer to a gradient of that shape. At least the "
                "number of answers and their shapes must fit.", []),
        Mistake("only shapes", "You name what has a wrong shape. Also count the answers of A, and look at the third "
                "one of B; and D is wider, not narrower.", ["C", "D"], also=(["A", "C", "D"], ["B", "C", "D"], ["D"])),
        Mistake("only the narrow one", "C is right. Also count the answers of A, and look at the third one of B.",
                ["C"]),
    ),
    reveals=("returned an incorrect number of gradients", "b.grad is tensor(2.)", "The engine adds them up"),
)  # fmt: skip
