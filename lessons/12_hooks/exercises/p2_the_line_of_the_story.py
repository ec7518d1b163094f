"""Exercise 12.p2: one character more."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import agree, as_number, flat, leaf


def truth(torch):
    """The gradient of x when the branch's hook writes into what it is given."""
    x = leaf(torch, [1.0, 2.0])
    f = x * 3
    loss = ((x + f) * torch.tensor([1.0, 2.0])).sum()
    f.register_hook(lambda grad: grad.clamp_(-0.01, 0.01))
    loss.backward()
    return flat(x.grad)


def read(answer):
    """A list of two numbers; None when it is anything else."""
    if not isinstance(answer, (list, tuple)) or len(answer) != 2:
        return None
    pair = [as_number(number) for number in answer]
    return None if None in pair else pair


EXERCISE = Predict(
    id="12.p2", title="One character more", minutes=2, difficulty=2,
    question="f = x * 3; out = x + f; the loss weighs out with [1, 2]. The hook of f returns "
    "grad.clamp_(-0.01, 0.01). What is x.grad? (With clamp it was [1.03, 2.03].)",
    hints=(
        "What does the line below clamp_ do besides returning something?",
        "In step 3 the addition sends one tensor along both of its arrows. What is in it after the hook?",
    ),
    solution="answer = [0.04, 0.04]",
    why="The tensor that the hook writes into is the one that waits for x. So the connection brings 0.01 as well, and "
    "the branch 0.03.",
    alternatives=("answer = (0.04, 0.04)", 'answer = ["0.04", "0.04"]'),
    read=read, truth=truth, equal=agree, wanted="A list of two numbers is wanted.",
    shown="a hook that writes into its gradient writes for everybody who was sent it.",
    otherwise="The branch brings 0.03. What does the connection bring, after the hook has written?",
    mistakes=(
        Mistake("as before", "That is what clamp gives. clamp_ writes into the gradient that it is given. Who else was "
                "sent this tensor?", [1.03, 2.03]),
        Mistake("nothing over the connection", "The branch brings 0.03, as you say. But the connection brings "
                "something, too: what the addition has sent is smaller now, and not gone.", [0.03, 0.03]),
        Mistake("the branch alone", "0.01 is what is left of the gradient. The branch multiplies it by 3, and the "
                "connection adds it once more.", [0.01, 0.01]),
        Mistake("no factor", "Both bring something, but the branch multiplies by 3 before its gradient reaches x.",
                [0.02, 0.02]),
        Mistake("no hook", "That is x.grad without a hook.", [4, 8]),
    ),
    reveals=("[0.0400, 0.0400]", "[0.04, 0.04]"),
)  # fmt: skip
