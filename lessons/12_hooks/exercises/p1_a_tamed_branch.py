"""Exercise 12.p1: A tamed branch."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import agree, leaf, some_numbers


def residual(torch, hook):
    """The gradient of x in the lesson's block, with this hook on the branch."""
    x = leaf(torch, [1.0, 2.0])
    f = x * 3
    out = x + f
    f.register_hook(hook)
    (out * torch.tensor([1.0, 2.0])).sum().backward()
    return x.grad.tolist()


EXERCISE = Predict(
    id="12.p1", title="A tamed branch", minutes=2, difficulty=1,
    question="`f = x * 3`, `out = x + f`, the loss weighs `out` with 1 and 2, and a hook on `f` returns "
    "`grad.clamp(-0.01, 0.01)`. What is `x.grad`?",
    hints=(
        "Which gradient comes back to out? The addition hands it on, unchanged, along both arrows.",
        "The hook stands on f, the result of the product. Is it called before or after the node of that product "
        "multiplies by 3?",
    ),
    solution="answer = [1.03, 2.03]",
    why="[1, 2] comes to out and goes on to x and to f. At f it is cut to [0.01, 0.01], then the node multiplies by "
    "3, and x gets [1, 2] + [0.03, 0.03].",
    alternatives=("answer = (1.03, 2.03)", "answer = [1.030, 2.030]"),
    read=some_numbers(2), truth=lambda torch: residual(torch, lambda grad: grad.clamp(-0.01, 0.01)), equal=agree,
    wanted="Give a list of two numbers.",
    shown="the connection kept its gradient, the branch was cut off before its node ran.",
    otherwise="Two gradients are added at x: one through the connection, one through the branch. Work out each.",
    mistakes=(
        Mistake("only looked", "That would be so if the hook had returned None. It returns a tensor, and that takes "
                "the place of the gradient.", [4, 8]),
        Mistake("all of x", "The hook stands on f, not on x. What comes through the connection never passes it.",
                [0.01, 0.01]),
        Mistake("after the node", "You cut off what the product sends to x, after the multiplication by 3. The hook "
                "stands on the result of the product: it is called before that node runs.", [1.01, 2.01]),
        Mistake("both ways", "You cut off the gradient of the connection as well. The hook stands on f, and what goes "
                "to x over the connection does not pass f.", [0.04, 0.04]),
        Mistake("the branch alone", "That is what comes through the branch. The connection sends [1, 2] besides.",
                [0.03, 0.03]),
        Mistake("the connection alone", "That is what comes through the connection. The branch sends something "
                "besides: cut off, but not 0.", [1, 2]),
        Mistake("scaled", "You took a hundredth of the gradient of f. clamp(-0.01, 0.01) does not scale: what is above "
                "0.01 becomes 0.01.", [1.03, 2.06]),
        Mistake("ones for the loss", "The loss weighs the two numbers of out with 1 and 2, so [1, 2] comes back to "
                "it, not [1, 1].", [1.03, 1.03]),
    ),
    reveals=("[1.0300, 2.0300]", "1 + 0.03 and 2 + 0.03"),
)  # fmt: skip
