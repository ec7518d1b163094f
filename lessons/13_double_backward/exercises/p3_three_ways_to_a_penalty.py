"""Exercise 13.p3: three ways to a penalty."""

from coursekit.judge.exercise import Mistake, not_yet
from coursekit.judge.predict import Predict
from lessons.shared import array, flat

WORDS = ("teaches", "ignored", "raises")


def what_it_does(torch):
    """A word for each way of getting the slopes: does the penalty change the gradient of a critic's weight?"""
    W1, W2 = array(torch, 2, 3, low=0.5, requires_grad=True), array(torch, 3, 1, low=0.5, requires_grad=True)
    x = array(torch, 4, 2, low=0.5, requires_grad=True)

    def critic():
        return torch.relu(x @ W1) @ W2

    def gradient(weight, item=False, **flags):
        g = torch.autograd.grad(critic().sum(), x, **flags)[0]
        penalty = ((g.norm(dim=1) - 1) ** 2).mean()
        loss = critic().mean() + weight * (penalty.item() if item else penalty)
        return flat(torch.autograd.grad(loss, W1)[0])

    found = []
    for way in ({"create_graph": True}, {"retain_graph": True}, {"create_graph": True, "item": True}):
        try:
            found.append("ignored" if gradient(10, **way) == gradient(0, **way) else "teaches")
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
    question="The slopes g are taken with create_graph=True (A and C) or with retain_graph=True (B). The loss is made "
    "of scores and of ten times a penalty made of g; in C of ten times penalty.item(). What does the penalty do?",
    hints=(
        "Which of the three penalties has a grad_fn when it goes into the loss?",
        "The loss is a sum. Does it require a gradient although one of its terms does not? Then backward begins.",
    ),
    solution='answer = ["teaches", "ignored", "ignored"]',
    why="Only in A has the penalty a history: retain_graph records nothing, and item() takes the number out. In B "
    "and C it is a constant, and the scores in the loss require a gradient, "
    "so backward runs: it just finds no way from the penalty to the weights.",
    alternatives=(
        'answer = {"A": "teaches", "B": "ignored", "C": "ignored"}',
        'answer = ("Teaches", "Ignored", "ignored")',
    ),
    read=read, truth=what_it_does,
    wanted='Give a list of three words, for A, B and C: "teaches", "ignored" or "raises".',
    shown="a term without a history is silent in a sum.",
    mistakes=(
        Mistake("always", "The value of the penalty is right in all three. But in B and C nothing leads back from it "
                "to the weights.", ["teaches", "teaches", "teaches"]),
        Mistake("both raise", "It would raise if the loss were the penalty alone. The scores in the loss require a "
                "gradient, so backward has somewhere to begin.", ["teaches", "raises", "raises"]),
        Mistake("B raises", "B gives no error: the scores in the loss require a gradient, and the critic is called "
                "anew for them.", ["teaches", "raises", "ignored"],
                when=lambda three, _: three[1] == "raises"),
        Mistake("a number is enough", "In C the slopes have a history, and so has the penalty. But item() "
                "hands its number to the loss. What leads from a number to the weights?",
                ["teaches", "ignored", "teaches"],
                when=lambda three, _: three[2] == "teaches"),
        Mistake("C raises", "C gives no error: the scores in the loss require a gradient.",
                ["teaches", "ignored", "raises"], when=lambda three, _: three[2] == "raises"),
        Mistake("B teaches", "retain_graph keeps what the nodes have saved, and records nothing: in B g "
                "has no grad_fn. Without one, how would the weights be found?",
                ["teaches", "teaches", "ignored"], when=lambda three, _: three[1] == "teaches"),
        Mistake("not even A", "In A the slopes have a history, and it leads to both weights: you have seen it in the "
                "picture of g.", ["ignored", "ignored", "ignored"], when=lambda three, _: three[0] != "teaches"),
    ),
    reveals=("the penalty was a *constant*", "All other lines are equal"),
)  # fmt: skip
