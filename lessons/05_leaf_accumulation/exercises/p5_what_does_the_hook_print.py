"""Exercise 05.p5: what does the hook print?"""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import agree


def truth(torch):
    """The program of the question."""
    arrived = []
    a = torch.ones(2, requires_grad=True)
    a.register_hook(lambda grad: arrived.append(grad[0].item()))
    (a * 3 + a * 5).sum().backward()
    return arrived


def read(answer):
    """The numbers of the calls; each may be written as the whole tensor."""
    if not isinstance(answer, (list, tuple)) or not answer:
        return None
    return [each[0] if isinstance(each, (list, tuple)) and each else each for each in answer]


EXERCISE = Predict(
    id="05.p5", title="What does the hook print?", minutes=1, difficulty=1,
    question="`a` has a hook that prints each gradient that reaches it, and `(a * 3 + a * 5).sum().backward()` runs. "
    "With which numbers is the hook called? A list with one number for each call.",
    hints=(
        "In lesson 04, when did a node run: with the first gradient that reached it, or when all had come?",
        "The node of `a` waits for two gradients, one from each product.",
    ),
    solution="answer = [8]\n",
    why="The node of `a` waits until both paths have delivered. So one gradient reaches `a`: the sum, 3 + 5.",
    alternatives=("answer = (8.0,)\n", "answer = [[8.0, 8.0]]\n", "answer = [torch.tensor([8.0, 8.0])]\n"),
    read=read, truth=truth, equal=agree, wanted="A list of numbers is wanted, one for each call of the hook.",
    shown="the node of `a` waits until both paths have delivered, and the hook is called with their sum.",
    otherwise="The hook is called with something else. What comes along each of the two paths, and where do they meet?",
    mistakes=(
        Mistake("one by one", "These are the gradients of the two paths. They meet before they reach `a`: its node "
                "waits until both have come (lesson 04), and the hook sees their sum.", [3, 5], also=([5, 3],)),
        Mistake("a running total", "So the hook would see `.grad` grow. But the two paths of one pass are added up "
                "before the leaf is reached; only what several passes bring is added in `.grad`.", [3, 8],
                also=([5, 8],)),
        Mistake("twice the sum", "The sum is right. But it reaches `a` once: its node runs a single time in a pass.",
                [8, 8]),
        Mistake("the paths multiplied", "Slopes are multiplied along one path. Here are two paths, and what they bring "
                "is added.", [15]),
        Mistake("one path only", "That is one of the two paths. What comes along the other one is not lost.", [5],
                also=([3],)),
    ),
    reveals=("arrives at a: tensor([8., 8.])", "the hook ran once"),
)  # fmt: skip
