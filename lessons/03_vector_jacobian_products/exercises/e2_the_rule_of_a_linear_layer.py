"""Exercise 03.2: the rule of a linear layer."""

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from lessons.shared import agree

from .shared import WRITTEN, numbers


def pair_of_tensors(answer, torch):
    """True for a pair of tensors: what a rule for two operands must return."""
    return isinstance(answer, (list, tuple)) and len(answer) == 2 and all(
        isinstance(part, torch.Tensor) for part in answer
    )


def one_of_the_products(found, a, b):
    """True for a product of two square matrices, in either order, each turned over or not."""
    return any(agree(found, m) for p in (a, a.T) for q in (b, b.T) for m in (p @ q, q @ p))


def check(answer, torch):
    for rows, inputs, outputs in ((3, 3, 3), (2, 3, 4), (4, 1, 2), (1, 2, 2), (1, 1, 1)):
        dtype = torch.float64 if inputs == 1 else torch.float32
        sizes = ((rows, inputs), (outputs, inputs), (rows, outputs))
        x, W, grad = (torch.tensor(numbers(*size), dtype=dtype) for size in sizes)
        leaves = [x.clone().requires_grad_(), W.clone().requires_grad_()]
        truth = torch.autograd.grad(leaves[0] @ leaves[1].T, leaves, grad)
        found = answer(torch, grad, x, W)
        if not pair_of_tensors(found, torch):
            return not_yet("Return two tensors: the gradient for x, then the one for W.")
        if all(agree(got, right) for got, right in zip(found, truth, strict=True)):
            if any(got.dtype != dtype for got in found):
                return almost("another dtype")
            continue
        if rows == inputs == outputs:  # with square matrices every order of factors runs, and can be recognised
            ones = torch.ones(rows, rows)
            wrong = {
                "exchanged": [(truth[1], truth[0])],
                "the lesson's rule": [(grad @ W.T, x.T @ grad)],
                "turned over": [(grad @ W, x.T @ grad)],
                "x turned over": [(W.T @ grad.T, x.T @ grad), (W.T @ grad.T, grad.T @ x)],
                "other side": [(W @ grad, x @ grad.T), (W @ grad, grad.T @ x)],
                "other side of W": [(grad @ W, x @ grad.T), (grad @ W, grad @ x.T)],
                "weight turned over": [(grad @ W.T, grad.T @ x)],
                "divided by the rows": [(grad @ W, grad.T @ x / rows), (grad @ W / rows, grad.T @ x / rows)],
                "only one": [(grad @ W, x), (W, grad.T @ x)],
                "weights forgotten": [(ones @ W, ones @ x)],
                "slopes only": [(W, x), (W.T, x.T), (W, x.T)],
                "element by element": [(grad * W, grad.T * x), (grad * W, grad * x), (grad * W.T, x.T * grad)],
            }
            for name, pairs in wrong.items():
                for pair in pairs:
                    if all(agree(got, expected) for got, expected in zip(found, pair, strict=True)):
                        return almost(name)
            if all(one_of_the_products(got, grad, other) for got, other in zip(found, (W, x), strict=True)):
                return almost("another order")
        for name, got, operand in zip("xW", found, (x, W), strict=True):
            if got.shape != operand.shape:
                return not_yet(
                    f"{name} had shape {tuple(operand.shape)}, and its gradient came back with {tuple(got.shape)}."
                )
        right = [name for name, got, wanted in zip("xW", found, truth, strict=True) if agree(got, wanted)]
        which = f"only the gradient for {right[0]} is right" if right else "neither gradient is right"
        return not_yet(f"With x {rows} by {inputs} and W {outputs} by {inputs}, {which}.")
    return correct("a layer runs backwards by two products, whichever way its weight is written down.")


def linear_rule(returned):
    return f"def linear_vjp(torch, grad, x, W):\n    return {returned}\n"


EXERCISE = Exercise(
    id="03.2", kind="write a row", title="The rule of a linear layer", minutes=5, difficulty=1,
    question="`nn.Linear` computes `x @ W.T`. `grad` is the upstream gradient of that product. Return the gradients "
    "for `x` and for `W`.",
    name="linear_vjp", starter=linear_rule("None, None"),
    hints=(
        "Write down the shapes: x 2 by 3, W 4 by 3, grad 2 by 4. Which product of grad and W has the shape of x?",
        "Call W.T by the name B and use the rule of the lesson. What you get for B must then be turned over, to be a "
        "gradient for W.",
        "For square matrices the shapes do not decide. Output [i, j] adds up x[i, k] * W[j, k] for all k: which "
        "outputs does W[j, k] act on, and with which slopes?",
    ),
    solution=linear_rule("grad @ W, grad.T @ x"),
    why="With B = W.T the lesson's rule gives grad @ B.T = grad @ W for x, and x.T @ grad for B; turned over, that is "
    "grad.T @ x for W. No operand has to be turned over that was not.",
    alternatives=(
        linear_rule("(W.T @ grad.T).T, (x.T @ grad).T"),
        edit("return grad @ W, grad.T @ x",
             "for_x = (grad.unsqueeze(2) * W.unsqueeze(0)).sum(1)\n"
             "    for_W = (grad.unsqueeze(2) * x.unsqueeze(1)).sum(0)\n    return for_x, for_W"),
    ),
    mistakes=(
        Mistake("the lesson's rule", "That is the rule of x @ W. Here W is turned over first: with B = W.T, the B.T "
                "of the rule is W itself.", linear_rule("grad @ W.T, x.T @ grad")),
        Mistake("turned over", "The gradient for x is right. The other is worked out for W.T, where an output has a "
                "column; in W it has a row.", linear_rule("grad @ W, x.T @ grad")),
        Mistake("x turned over", "Every number is right, but the gradient for x is turned over: each gradient must "
                "have the shape of its tensor.", linear_rule("W.T @ grad.T, x.T @ grad")),
        Mistake("other side", "The factors are there, not all of them in their places. x is the left factor of the "
                "product, and in its gradient grad takes its place on the left.",
                linear_rule("W @ grad, x @ grad.T")),
        Mistake("other side of W", "The gradient for x is right. In the other, grad and x are both there, and each "
                "row of W belongs to an output: it wants the column of grad that belongs to it.",
                linear_rule("grad @ W, x @ grad.T")),
        Mistake("another order", "grad meets the right matrices, but not in the right order, or not turned the right "
                "way. Square ones hide that. Take x 2 by 3 and W 4 by 3, so that grad is 2 by 4: which products have "
                "the shapes of x and W?", linear_rule("grad @ W.T, grad @ x.T")),
        Mistake("weight turned over", "The gradient for W is right. In the one for x, W has been turned over once "
                "more: the forward pass did that already.", linear_rule("grad @ W.T, grad.T @ x")),
        Mistake("divided by the rows", "You divide by the number of samples. If the loss is a mean, grad is that "
                "much smaller already; the rule of a product only adds.",
                linear_rule("grad @ W, grad.T @ x / x.shape[0]")),
        Mistake("only one", "One of the two is a product with grad, as it should be. The other operand's gradient "
                "needs grad as well.", linear_rule("grad @ W, x")),
        Mistake("guard: changed a flag", "Asking autograd is fine, with leaves of your own: detach() and clone() "
                "make them.",
                "def linear_vjp(torch, grad, x, W):\n    x.requires_grad_()\n    W.requires_grad_()\n"
                "    return torch.autograd.grad(x @ W.T, [x, W], grad)\n"),
        Mistake("weights forgotten", "That is the gradient of the sum of all outputs: each counts 1. Use the "
                "numbers in grad.", linear_rule("torch.ones(*grad.shape) @ W, torch.ones(*grad.shape).T @ x")),
        Mistake("exchanged", "Both are right, in the wrong order: first the gradient for x, then the one for W.",
                linear_rule("grad.T @ x, grad @ W")),
        Mistake("slopes only", "W and x hold the slopes that grad must be multiplied by. grad itself is "
                "missing.", linear_rule("W, x")),
        Mistake("element by element", "You multiplied element by element. Each element of x acts on a whole row of "
                "outputs, so products have to be added: use @.", linear_rule("grad * W, grad.T * x")),
        Mistake("another dtype", "The numbers are right. But a gradient has the dtype of its tensor, float32 or "
                "float64, and not both of yours have.", linear_rule("(grad @ W).float(), (grad.T @ x).float()")),
        Mistake("guard: wrote into an argument", WRITTEN + " A transposed view, .t(), leaves grad alone.",
                linear_rule("grad @ W, grad.t_() @ x")),
    ),
    check=check,
)  # fmt: skip
