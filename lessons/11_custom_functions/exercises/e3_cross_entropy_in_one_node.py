"""Exercise 11.3: cross-entropy in one node."""

import random

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from lessons.functions import (
    COUNT,
    graph_of_gradient,
    near,
    of_a_function,
    slots_of,
    tensors_on,
)
from lessons.shared import array


def softmax_and_loss(torch, scores, targets):
    """Compute what the Function should know: the probabilities, a table with 1 at the right answers, and the loss."""
    right = torch.nn.functional.one_hot(targets, scores.shape[1]).to(scores.dtype)
    log_p = scores.detach().log_softmax(1)
    return log_p.exp(), right, -(log_p * right).sum() / len(scores)


@of_a_function
def check(answer, torch):
    for rows, kinds, scale in ((3, 4, 1.0), (5, 3, 3.0), (1, 6, 1.0), (4, 4, 1000.0)):
        scores = (array(torch, rows, kinds) * scale).requires_grad_(True)
        targets = torch.tensor([random.randrange(kinds) for _ in range(rows)])
        verdict = judged(answer, torch, scores, targets, scale)
        if verdict:
            return verdict
    scores, targets = array(torch, 3, 4, requires_grad=True), torch.tensor([0, 3, 1])
    if graph_of_gradient(torch, answer.apply(scores, targets), (scores,)) == "an error":
        return correct("the loss, its gradient with any upstream gradient, one table kept, second derivatives refused.")
    if not torch.autograd.gradgradcheck(lambda s: answer.apply(s, targets), (scores,), raise_exception=False):
        return almost("second derivatives")
    return correct("the loss, its gradient with any upstream gradient, one table kept, and right twice.")


def judged(answer, torch, scores, targets, scale):
    """The verdict about one batch, or None when it is right."""
    probabilities, right, wanted = softmax_and_loss(torch, scores, targets)
    loss = answer.apply(scores, targets)
    if not isinstance(loss, torch.Tensor) or loss.dim():
        return not_yet("forward should return the mean cross-entropy, a tensor without dimensions.")
    if not near(loss, wanted):
        return wrong_loss(torch, loss, wanted, scores, targets, scale)
    upstream, rows = random.uniform(2.0, 4.0), len(scores)
    first = gradient(torch, loss * upstream, scores, again=True)
    if isinstance(first, str):
        return almost(first)
    right_one = (probabilities - right) / rows
    if scale > 100 and not bool(first.isfinite().all()):
        return almost("too large for exp in backward")
    if not near(first, right_one * upstream, 1e-9):
        return wrong_gradient(torch, first, right_one, probabilities, right, upstream, targets)
    second = gradient(torch, loss * upstream, scores)
    if isinstance(second, str) or not near(second, first):
        return almost("only once")
    if tensors_on(loss.grad_fn, torch):
        return almost("on ctx")
    loss = answer.apply(scores, targets)
    if sum(slot.numel() for slot in slots_of(loss.grad_fn)) > scores.numel() + 3 * rows:
        return almost("two tables")
    return None


def gradient(torch, loss, scores, again=False):
    """The gradient for the scores, or the name of what went wrong."""
    try:
        (found,) = torch.autograd.grad(loss, scores, retain_graph=again, allow_unused=True)
    except RuntimeError as error:
        if COUNT in str(error):
            return "one gradient"
        if "modified by an inplace operation" in str(error):
            return "only once"
        raise
    return "none" if found is None else found


def wrong_loss(torch, loss, wanted, scores, targets, scale):
    """The verdict about a loss."""
    rows = len(scores)
    if scale > 100 and not bool(loss.isfinite()):
        return almost("too large for exp")
    named = {"a sum": wanted * rows, "the sign": -wanted}
    name = next((name for name, other in named.items() if near(loss, other)), "")
    if not name and near(loss, -scores.detach().log_softmax(1)[:, targets].mean()) and rows > 1:
        name = "every pair in forward"
    return almost(name) if name else not_yet(f"The loss should be {wanted.item():.4f}; yours is {loss.item():.4f}.")


def wrong_gradient(torch, found, right_one, probabilities, right, upstream, targets):
    """The verdict about a gradient."""
    rows, table = len(found), probabilities.clone()
    table[:, targets] -= 1
    named = {
        "no upstream gradient": right_one,
        "not divided": right_one * rows * upstream,
        "the sign of backward": -right_one * upstream,
        "softmax alone": probabilities / rows * upstream,
        "only the right ones": -right / rows * upstream,
        "divided by all": right_one * upstream / found.shape[1],
        "every pair": table / rows * upstream,
        "divided twice": right_one * upstream / rows,
    }
    name = next((name for name, other in named.items() if near(found, other, 1e-9)), "")
    if not name and near(found, right_one * upstream):
        return almost("float32")
    return almost(name) if name else not_yet("The gradient of the scores is another one.")


STARTER = """\
class CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores, targets):
        ...

    @staticmethod
    def backward(ctx, grad):
        ...
"""
SOLUTION = """\
class CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores, targets):
        log_p = scores.log_softmax(1)
        ctx.save_for_backward(log_p, targets[:, None])
        return -log_p.gather(1, targets[:, None]).mean()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        log_p, index = ctx.saved_tensors
        ones = torch.ones(index.shape, dtype=log_p.dtype)
        return grad * log_p.exp().scatter_add(1, index, -ones) / len(log_p), None
"""
RETURN = "return grad * log_p.exp().scatter_add(1, index, -ones) / len(log_p), None"

EXERCISE = Exercise(
    id="11.3", kind="write a Function", title="Cross-entropy in one node", minutes=12, difficulty=3,
    question="The mean cross-entropy of scores (N, K) and targets (N) as one Function. Backward: softmax, minus 1 at "
    "the right answer of each row, divided by N. Keep at most one table of N times K numbers. Scores may be as large "
    "as 1000. Second derivatives must be right, or refused.",
    name="CrossEntropy", starter=STARTER,
    hints=(
        "log_softmax is safe for large scores. Which numbers of it does the loss need, and which shape must the index "
        "have?",
        "The exponential of log_softmax is the softmax. scatter_add can take away 1 at one place of each row.",
        "What arrives in backward is one number, and forward has two arguments.",
    ),
    solution=SOLUTION,
    why="gather picks one number in each row, and its backward puts -1 / N at these places. Together with the backward "
    "of log_softmax this is (softmax - 1 at the right answer) / N. Only log_softmax and the index are kept.",
    alternatives=(
        "class CrossEntropy(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, scores, targets):\n"
        "        ctx.save_for_backward(scores, targets)\n"
        "        rows = torch.arange(len(scores))\n"
        "        return (scores.logsumexp(1) - scores[rows, targets]).mean()\n\n"
        "    @staticmethod\n    def backward(ctx, grad):\n        scores, targets = ctx.saved_tensors\n"
        "        right = torch.nn.functional.one_hot(targets, scores.shape[1])\n"
        "        return grad * (scores.softmax(1) - right) / len(scores), None\n",
        edit("        log_p, index = ctx", "        table, index = ctx",
             "        ones = torch.ones(index.shape, dtype=log_p.dtype)\n", "",
             "save_for_backward(log_p,", "save_for_backward(log_p.exp().scatter_add(1, targets[:, None], "
             "-torch.ones(len(scores), 1, dtype=scores.dtype)),",
             RETURN, "return grad * table / len(table), None"),
    ),
    mistakes=(
        Mistake("a sum", "forward gives the sum over the samples. The mean is wanted.", edit(".mean()", ".sum()")),
        Mistake("the sign", "The loss is the logarithm itself. It needs a minus: a probability near 0 is a large loss.",
                edit("return -log_p", "return log_p")),
        Mistake("too large for exp", "Scores of 1000 give inf or NaN. e to the power of 1000 is no number any more; "
                "log_softmax takes the largest score away first.",
                edit("scores.log_softmax(1)", "(scores.exp() / scores.exp().sum(1, keepdim=True)).log()")),
        Mistake("too large for exp in backward", "The loss is right, but with scores of 1000 the gradient has inf or "
                "NaN in it. e to the power of 1000 is no number any more: use softmax, or the exponential of "
                "log_softmax.",
                edit("(log_p, targets[:, None])", "(scores.exp() / scores.exp().sum(1, keepdim=True), "
                     "targets[:, None])", "log_p, index = ctx", "p, index = ctx", "dtype=log_p.dtype", "dtype=p.dtype",
                     "log_p.exp().scatter_add", "p.scatter_add", "/ len(log_p)", "/ len(p)")),
        Mistake("every pair in forward", "forward takes the right answers of all samples from each row, as a table. "
                "One number in each row is wanted.",
                edit("-log_p.gather(1, targets[:, None]).mean()", "-log_p[:, targets].mean()")),
        Mistake("one gradient", "backward returned one thing, and forward has two arguments. The targets are whole "
                "numbers: they get None.", edit("len(log_p), None", "len(log_p)")),
        Mistake("no upstream gradient", "backward forgets the gradient that arrives. It is 1 only if this loss is the "
                "last thing that is computed.", edit("grad * log_p.exp", "log_p.exp")),
        Mistake("not divided", "The loss is a mean, so each sample has only one part in N of it. Your gradient is that "
                "of the sum.", edit(" / len(log_p), None", ", None")),
        Mistake("divided by all", "You divide by the number of all scores. The mean was taken over the samples.",
                edit("/ len(log_p)", "/ log_p.numel()")),
        Mistake("softmax alone", "The 1 at the right answer of each row is missing. Like this every score is pushed "
                "down, the right one too.", edit(".scatter_add(1, index, -ones)", "")),
        Mistake("only the right ones", "You push the right scores up, and leave the others. The softmax has them in "
                "its sum, so they have a gradient, too.",
                edit("log_p.exp().scatter_add", "torch.zeros(log_p.shape, dtype=log_p.dtype).scatter_add")),
        Mistake("every pair", "You take away 1 in whole columns: in each row at the right answers of all samples.",
                edit("        ones = torch.ones(index.shape, dtype=log_p.dtype)\n",
                     "        table = log_p.exp()\n        table[:, index[:, 0]] -= 1\n",
                     "log_p.exp().scatter_add(1, index, -ones)", "table")),
        Mistake("the sign of backward", "Your gradient points the other way: a step against it makes the loss larger.",
                edit("return grad", "return -grad")),
        Mistake("only once", "The first backward is right, and the second one is not, or fails: your backward writes "
                "into what it has saved.",
                edit("log_p, index = ctx.saved_tensors", "log_p, index = ctx.saved_tensors\n        log_p.exp_()",
                     "log_p.exp().scatter_add", "log_p.scatter_add")),
        Mistake("on ctx", "The gradients are right, but a tensor is kept on ctx, without a version check. Keep tensors "
                "with save_for_backward.",
                edit("ctx.save_for_backward(log_p, targets[:, None])", "ctx.kept = log_p, targets[:, None]",
                     "ctx.saved_tensors", "ctx.kept")),
        Mistake("two tables", "The gradients are right, but more than one table of N times K numbers is kept. Each can "
                "be computed from the other.",
                edit("(log_p, targets[:, None])", "(log_p, log_p.exp(), targets[:, None])",
                     "log_p, index = ctx", "log_p, _, index = ctx")),
        Mistake("float32", "Right to seven digits: somewhere in backward float64 becomes float32. Give the ones the "
                "type of the scores.",
                edit("log_p.exp().scatter_add(1, index, -ones)",
                     "log_p.exp().float().scatter_add(1, index, -ones.float())")),
        Mistake("second derivatives", "The first derivative is right. Whoever differentiates it once more gets a wrong "
                "number, or a constant, without an error. Compute the softmax from saved *scores* in backward, or let "
                "second derivatives be refused.", edit("    @torch.autograd.function.once_differentiable\n", "")),
        Mistake("none", "The scores got None, so nothing in front of this loss learns. They are the first argument.",
                edit(RETURN, "return None, None")),
    ),
    check=check,
)  # fmt: skip
