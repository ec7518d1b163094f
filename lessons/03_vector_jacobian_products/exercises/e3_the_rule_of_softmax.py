"""Exercise 03.3: the rule of softmax."""

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, not_yet
from lessons.shared import agree

from .shared import WRITTEN, numbers


def check(answer, torch):
    for size, signed in ((3, False), (5, False), (2, False), (4, True), (1, True)):
        x = torch.tensor(numbers(size), requires_grad=True)
        shares = x.exp() / x.exp().sum()
        grad = torch.tensor([1.0 + abs(value) for value in numbers(size)])  # its sum is far from 0 and 1
        if signed:
            grad = torch.tensor([*numbers(size - 1), 0.0])
        (truth,) = torch.autograd.grad(shares, x, grad)
        s = shares.detach()
        found = answer(torch, grad.clone(), s.clone())
        if not isinstance(found, torch.Tensor):
            return not_yet("Return one tensor: the gradient for x.")
        if found.shape == truth.shape and agree(found, truth):
            continue
        mixed, again = (grad * s).sum(), s.exp() / s.exp().sum()
        wrong = {
            "diagonal only": grad * s * (1 - s), "own share only": grad * s, "others only": -s * mixed,
            "not scaled": grad - mixed, "plain sum": s * (grad - grad.sum()), "added": s * (grad + mixed),
            "weights forgotten": grad * 0, "sign": s * (mixed - grad), "diagonal twice": grad * s * (1 - s) - s * mixed,
            "a mean": s * (grad - mixed / size), "log softmax": grad - s * grad.sum(), "weights of the square":
            s * grad - s * s * grad.sum(), "half scaled": s * grad - mixed, "no eye": grad - s * mixed,
            "slopes of the diagonal": s * (1 - s), "softmax of the shares": again * (grad - (grad * again).sum()),
        }
        for name, value in wrong.items():
            if found.shape == value.shape and agree(found, value):
                return almost(name)
        if found.shape == (size, size):
            return almost("a table")
        if found.shape != truth.shape:
            return not_yet(f"x has shape {tuple(truth.shape)}, what came back has shape {tuple(found.shape)}.")
        return not_yet("The values are not grad times the table. For two numbers, write the table down and multiply.")
    return correct(
        "your rule agrees with autograd for any upstream gradient. With a table or without? L.solution needs only "
        "one sum."
    )


def softmax_rule(*lines):
    return "def softmax_vjp(torch, grad, s):\n" + "".join(f"    {line}\n" for line in lines)


EXERCISE = Exercise(
    id="03.3", kind="write a row", title="The rule of softmax", minutes=8, difficulty=3,
    question="The slope of `s[i]` for `x[j]` is `s[i] * (1 - s[i])` if i is j, else `-s[i] * s[j]`. Given s and its "
    "upstream gradient grad, return the gradient for x.",
    name="softmax_vjp", starter=softmax_rule("return grad"),
    hints=(
        "The gradient for x[j] is the sum over i of grad[i] times the slope of s[i] for x[j].",
        "Both cases of the slope have -s[i] * s[j] in them; the diagonal has s[i] in addition. Sum the two parts "
        "separately.",
        "In the sum over i of grad[i] * s[i] * s[j], which factor does not depend on i?",
    ),
    solution=softmax_rule("return s * (grad - (grad * s).sum())"),
    why="The diagonal gives grad[j] * s[j]; the rest gives -s[j] times one number, the sum of grad * s, which is the "
    "same for every j. So n numbers and one sum do the work of n * n slopes.",
    alternatives=(
        softmax_rule("J = torch.eye(len(s)) * s - torch.outer(s, s)", "return grad @ J"),
        softmax_rule("return grad * s - s * (grad * s).sum()"),
    ),
    mistakes=(
        Mistake("diagonal only", "That is the diagonal alone, as if s[i] depended on x[i] only. Raise one x, and all "
                "other shares shrink.", softmax_rule("return grad * s * (1 - s)")),
        Mistake("own share only", "That treats the denominator as a constant. It holds every x, so each share "
                "depends on all of them.", softmax_rule("return grad * s")),
        Mistake("others only", "The part that is common to all i is there; the diagonal has s[i] in addition, with "
                "the factor grad[i].", softmax_rule("return -s * (grad * s).sum()")),
        Mistake("a mean", "You took the mean of grad * s. The slopes of all s[i] for x[j] are added up, and nothing "
                "divides by their number.", softmax_rule("return s * (grad - (grad * s).mean())")),
        Mistake("log softmax", "That is the rule of log_softmax, the logarithm of the shares. The shares themselves "
                "have the slopes of the question.", softmax_rule("return grad - s * grad.sum()")),
        Mistake("softmax of the shares", "You took s for x, and made shares of the shares. s is what softmax gave.",
                softmax_rule("x = s.clone().requires_grad_()", "y = x.exp() / x.exp().sum()",
                             "return torch.autograd.grad(y, x, grad)[0]")),
        Mistake("half scaled", "The diagonal part has its factor s[j]. In the sum over all i, each slope -s[i] * "
                "s[j] has one too.", softmax_rule("return s * grad - (grad * s).sum()")),
        Mistake("no eye", "The second part is right. On the diagonal stands s[j] times grad[j], not grad[j] "
                "alone.", softmax_rule("J = torch.eye(len(s)) - torch.outer(s, s)", "return grad @ J")),
        Mistake("slopes of the diagonal", "Those are the slopes on the diagonal, without grad, and without all "
                "the slopes beside it.", softmax_rule("return s * (1 - s)")),
        Mistake("weights of the square", "In the sum over i of grad[i] * s[i] * s[j] you replaced s[i] by s[j]: each "
                "grad[i] goes with the share of its own output.", softmax_rule("return s * grad - s * s * grad.sum()")),
        Mistake("not scaled", "The bracket is right. Every slope for x[j] also has the factor s[j].",
                softmax_rule("return grad - (grad * s).sum()")),
        Mistake("plain sum", "You added the numbers of grad alone. In the sum over i, each grad[i] is multiplied by "
                "its share s[i].", softmax_rule("return s * (grad - grad.sum())")),
        Mistake("added", "The sign: off the diagonal the slopes are negative, because the shares compete.",
                softmax_rule("return s * (grad + (grad * s).sum())")),
        Mistake("sign", "Every number is right but for its sign: raise x[j], and its own share s[j] grows.",
                softmax_rule("return s * ((grad * s).sum() - grad)")),
        Mistake("diagonal twice", "The slope for i = j is in there twice: s[j] * (1 - s[j]) on the diagonal, and "
                "once more -s[j] * s[j] in the sum over all i.",
                softmax_rule("return grad * s * (1 - s) - s * (grad * s).sum()")),
        Mistake("a table", "A table came back. What is wanted is grad times table: for each x one number, the sum "
                "over i of grad[i] times the slope of s[i].",
                softmax_rule("J = torch.eye(len(s)) * s - torch.outer(s, s)", "return grad * J")),
        Mistake("weights forgotten", "That comes to zero: in each column the slopes alone add up to 0, for the "
                "shares always add up to 1. Every slope of s[i] must be multiplied by its own grad[i] before they are "
                "added.", softmax_rule("return s * (1 - s.sum())")),
        Mistake("guard: wrote into an argument", WRITTEN + " A difference is a new tensor, too.",
                softmax_rule("grad -= (grad * s).sum()", "return s * grad")),
    ),
    check=check,
)  # fmt: skip
