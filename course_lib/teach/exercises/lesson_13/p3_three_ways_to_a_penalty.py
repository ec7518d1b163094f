"""Exercise 13.p3: three ways to a penalty."""

from course_lib.teach.exercises.shared import array, flat
from course_lib.teach.practice.exercise import Mistake, not_yet
from course_lib.teach.practice.predict import Predict

WORDS = ("teaches", "ignored", "raises")


def what_it_does(torch):
    """A word for each way of getting the slopes: does the penalty change the gradient of a critic's weight?"""
    W1, W2 = array(torch, 2, 3, low=0.5, requires_grad=True), array(torch, 3, 1, low=0.5, requires_grad=True)
    x = array(torch, 4, 2, low=0.5, requires_grad=True)

    def critic():
        return torch.relu(x @ W1) @ W2

    def slopes(recorded):
        return torch.autograd.grad(critic().sum(), x, create_graph=recorded)[0]

    def gradient(g, weight):
        loss = critic().mean() + weight * ((g.norm(dim=1) - 1) ** 2).mean()
        return flat(torch.autograd.grad(loss, W1, retain_graph=True)[0])

    found = []
    for way in (lambda: slopes(True), lambda: slopes(False), lambda: slopes(True).detach()):
        try:
            found.append("ignored" if gradient(way(), 10) == gradient(way(), 0) else "teaches")
        except RuntimeError:
            found.append("raises")
    return found


def read(answer):
    """A word for each of the three."""
    if isinstance(answer, dict):
        answer = [answer.get(name) for name in "ABC"]
    if not isinstance(answer, (list, tuple)) or len(answer) != 3:
        return None
    given = [str(word).strip().lower() for word in answer]
    if any(word not in WORDS for word in given):
        return not_yet('Each of the three is "teaches", "ignored" or "raises".')
    return given


EXERCISE = Predict(
    id="13.p3", title="Three ways to a penalty", minutes=2, difficulty=2,
    question="The slopes g are taken with create_graph=True (A), without (B), and with it but detached (C). The loss "
    "is made of scores and of ten times a penalty made of g. What does the penalty do?",
    hints=(
        "Which of the three g has a grad_fn?",
        "The loss is a sum. Does it require a gradient although one of its terms does not? Then backward begins.",
    ),
    solution='answer = ["teaches", "ignored", "ignored"]',
    why="Only in A has g a history. In B and C the penalty is a number, and the scores in the loss require a gradient, "
    "so backward runs: it just finds no way from the penalty to the weights.",
    alternatives=(
        'answer = {"A": "teaches", "B": "ignored", "C": "ignored"}',
        'answer = ("Teaches", "Ignored", "ignored")',
    ),
    read=read, truth=what_it_does,
    wanted='Give a list of three words, for A, B and C: "teaches", "ignored" or "raises".',
    shown="a term without a history is silent in a sum.",
    mistakes=(
        Mistake("always", "The value of the penalty is right in all three. But in B and C nothing leads back from g "
                "to the weights.", ["teaches", "teaches", "teaches"]),
        Mistake("both raise", "It would raise if the loss were the penalty alone. The scores in the loss require a "
                "gradient, so backward has somewhere to begin.", ["teaches", "raises", "raises"]),
        Mistake("B raises", "B gives no error: the scores in the loss require a gradient, and the graph that grad has "
                "freed is not needed again, because the critic is called anew.", ["teaches", "raises", "ignored"],
                when=lambda three, _: three[1] == "raises"),
        Mistake("detached is enough", "detach() keeps the values and cuts the history. What is left to lead from the "
                "penalty to the weights?", ["teaches", "ignored", "teaches"],
                when=lambda three, _: three[2] == "teaches"),
        Mistake("C raises", "C gives no error: the scores in the loss require a gradient.",
                ["teaches", "ignored", "raises"], when=lambda three, _: three[2] == "raises"),
        Mistake("B teaches", "In B the pass was not recorded, so g has no grad_fn. Without one, how would the weights "
                "be found?", ["teaches", "teaches", "ignored"], when=lambda three, _: three[1] == "teaches"),
        Mistake("not even A", "In A the slopes have a history, and it leads to both weights: you have seen it in the "
                "last picture.", ["ignored", "ignored", "ignored"], when=lambda three, _: three[0] != "teaches"),
    ),
    reveals=("the penalty was a *constant*", "The other two lines are equal"),
)  # fmt: skip
