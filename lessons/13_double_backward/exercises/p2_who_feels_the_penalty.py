"""Exercise 13.p2: who feels the penalty?"""

from coursekit.judge.exercise import Mistake, not_yet
from coursekit.judge.predict import Predict
from lessons.shared import array, flat


def what_the_penalty_gives(torch):
    """ "numbers", "zeros" or "none" for W1, b1, W2, b2 of a random critic."""
    W1, b1 = array(torch, 2, 3, low=0.5, high=1.5, requires_grad=True), array(torch, 3, low=0.2, requires_grad=True)
    W2, b2 = array(torch, 3, 1, low=0.5, high=1.5, requires_grad=True), array(torch, 1, requires_grad=True)
    x = array(torch, 4, 2, low=0.5, requires_grad=True)
    scores = torch.relu(x @ W1 + b1) @ W2 + b2
    (g,) = torch.autograd.grad(scores.sum(), x, create_graph=True)
    ((g.norm(dim=1) - 1) ** 2).mean().backward()
    grads = [p.grad for p in (W1, b1, W2, b2)]
    return ["none" if grad is None else "numbers" if any(flat(grad)) else "zeros" for grad in grads]


def read(answer):
    """A word for each of the four."""
    if isinstance(answer, dict):
        answer = [answer.get(name) for name in ("W1", "b1", "W2", "b2")]
    if not isinstance(answer, (list, tuple)) or len(answer) != 4:
        return None
    given = [str(word).strip().lower() for word in answer]
    if any(word not in ("numbers", "zeros", "none") for word in given):
        return not_yet('Each of the four is "numbers", "zeros" or "None".')
    return given


EXERCISE = Predict(
    id="13.p2", title="Who feels the penalty?", minutes=3, difficulty=2,
    question="What does a penalty on the slopes for x leave in the .grad of W1, b1, W2, b2?",
    hints=(
        "Write down the slopes of one score for x: which of the four letters stand in them?",
        "relu's backward reads its result (where is it positive?), and that depends on W1 and b1. What was the second "
        "derivative of relu a moment ago: no path, or a path with a number?",
        "How do the slopes change when the same number is added to every score? Is there a path at all?",
    ),
    solution='answer = ["numbers", "zeros", "numbers", "None"]',
    why="The slopes are W2, where relu lets it pass, times W1: both weights. b1 is only in relu's result, which "
    "relu's backward reads: a path, and zeros along it. b2 is in the scores and in no slope: no path.",
    alternatives=(
        'answer = ("Numbers", "Zeros", "Numbers", None)',
        'answer = {"W1": "numbers", "b1": "zeros", "W2": "numbers", "b2": "none"}',
    ),
    read=read, truth=what_the_penalty_gives,
    wanted='Give a list of four words, for W1, b1, W2, b2: "numbers", "zeros" or "None".',
    shown="the penalty moves the weights, and it knows nothing of where the critic stands.",
    mistakes=(
        Mistake("as for the scores", "That is what the scores give. The penalty is made of the slopes of the scores: "
                "ask what stands in those.", ["numbers", "numbers", "numbers", "numbers"]),
        Mistake("no way to the weights", "The slopes for x are made of both weights: for a single layer they would "
                "be the weight itself. The pass is recorded, so the path is there.",
                ["numbers", "zeros", "None", "None"], when=lambda four, _: "none" in (four[0], four[2])),
        Mistake("constant weights", "Where relu is straight, the slopes for x do not depend on x. They do depend on "
                "the weights, which are their factors.",
                ["zeros", "zeros", "numbers", "None"], when=lambda four, _: "zeros" in (four[0], four[2])),
        Mistake("the last bias", "Add 1 to b2: every score rises by 1, and no slope moves.",
                ["numbers", "zeros", "numbers", "numbers"], when=lambda four, _: four[3] == "numbers"),
        Mistake("the first bias", "b1 decides which units are on. But relu's slope is 0 or 1, and a small change of "
                "b1 moves neither.",
                ["numbers", "numbers", "numbers", "None"], when=lambda four, _: four[1] == "numbers"),
        Mistake("zeros for both", "Right that both do not matter. But zeros need a path for them to come along. "
                "relu's backward reads what b1 went into; nothing in the slopes has read anything of b2.",
                ["numbers", "zeros", "numbers", "zeros"]),
        Mistake("None for both", "Right that both do not matter. But relu's backward read its result, and b1 is in "
                "that: a path, with zeros on it.", ["numbers", "None", "numbers", "None"]),
        Mistake("the other way round", "b1 and b2 are exchanged: which of the two went into something that a "
                "backward formula reads?", ["numbers", "None", "numbers", "zeros"]),
    ),
    reveals=("`b1` has zeros", "`b2` has no box"),
)  # fmt: skip
