"""Exercise 13.1: A Hessian times a vector."""

import inspect
import random

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, not_yet
from lessons.shared import array, flat

from .shared import IN_PLACE, NO_HISTORY, near, quiet

UNUSED = "appears to not have been used"


class Counted:
    """A function that counts how often a gradient passes through it, and notes whether it was called besides at `x`."""

    def __init__(self, function, x):
        self.function, self.x, self.passes, self.elsewhere = function, x.detach().clone(), 0, False

    def __call__(self, x):
        self.elsewhere |= not near(x.detach(), self.x, 0.0)
        h = x * 1
        if h.requires_grad:
            h.register_hook(self.count)
        return self.function(h)

    def count(self, grad):
        self.passes += 1


def functions_of(torch, x):
    """Functions with a known Hessian: name -> (f, its Hessian times v); and the other leaf that one of them reads."""
    a, c = array(torch, *x.shape, low=1.0, high=2.0), array(torch, *x.shape, low=1.0, high=2.0)
    k = torch.tensor(random.uniform(1, 2), dtype=torch.float64, requires_grad=True)
    now, nothing = x.detach(), torch.zeros_like(x)
    return {
        "curved": (lambda x: (c * x**3).sum() + (a * x).sum() ** 2,
                   lambda v: 6 * c * now * v + 2 * a * (a * v).sum()),
        "mixed": (lambda x: (x.reshape(-1)[1:] * x.reshape(-1)[:-1]).sum() ** 2, None),
        "steep": (lambda x: (c * x**3).sum() + 1e6 * (a * x).sum(), lambda v: 6 * c * now * v),
        "straight": (lambda x: (a * x).sum() * 3, lambda v: nothing),
        "times a weight": (lambda x: (k * x).sum(), lambda v: nothing),
        "with a weight": (lambda x: (k * x * x).sum(), lambda v: 2 * k.detach() * v),
        "relu": (lambda x: (a * torch.relu(x)).sum(), lambda v: nothing),
        "valley": (lambda x: (c * (x - now) ** 2).sum(), lambda v: 2 * c * v),
    }, k  # fmt: skip


def check(answer, torch):
    for shape in ((4,), (2, 3), (), (2, 1, 2)):
        x, v = array(torch, *shape, low=0.5, requires_grad=True), array(torch, *shape)
        if shape != (4,):
            x.detach().mul_(random.choice((-1.0, 1.0)))
            x.grad = array(torch, *shape)  # from an earlier pass of the caller's
        functions, k = functions_of(torch, x)
        for name, (f, product) in (functions.items() if shape else reversed(functions.items())):
            wanted = product(v) if product else torch.autograd.functional.hessian(f, x.detach()).reshape(
                x.numel(), x.numel()) @ v.reshape(-1)  # fmt: skip
            verdict = one_product(answer, torch, name, f, x, v, wanted.reshape(shape))
            if verdict is None and k.grad is not None:
                verdict = almost("another leaf")
            k.grad = None
            if verdict is not None:
                return verdict
    shown = "two passes, no table, and zeros where nothing is left to differentiate."
    return hidden_error(answer, torch) or correct(shown)


def hidden_error(answer, torch):
    """A verdict when an error of the caller's function does not come out.

    Without the guard: PyTorch keeps what a pass that failed had not yet reached, whatever the answer does.
    """

    def overwritten(x):
        h = x * 1
        other = h.detach()  # one memory, one counter

        def write(grad):
            other.add_(0)  # the first pass has read h by now, and its graph has saved it

        h.register_hook(write)
        return (h**3).sum()

    def broken(x):
        raise RuntimeError("an error of f's own")

    def broken_late(x):
        h, passes = x * 1, []

        def hook(grad):
            passes.append(grad)
            if len(passes) == 2:
                raise RuntimeError("an error of f's own, in the second pass")

        h.register_hook(hook)
        return (h**3).sum()

    for f, words in ((overwritten, IN_PLACE), (broken, "f's own"), (broken_late, "f's own")):
        x = array(torch, 3, low=0.5, requires_grad=True)
        x.grad = before = array(torch, 3)
        try:
            inspect.unwrap(answer)(torch, f, x, array(torch, 3))
        except RuntimeError as error:
            if words not in str(error):
                raise
        else:
            return almost("error hidden")
        if x.grad is not before:
            return almost("lost with the error")
    return None


def one_product(answer, torch, name, f, x, v, wanted):
    """The verdict on one function, or None when the product is right."""
    counted, before = Counted(f, x), None if x.grad is None else flat(x.grad)
    try:
        with quiet():
            found = answer(torch, counted, x, v)
    except RuntimeError as error:
        if NO_HISTORY in str(error) and counted.passes:  # otherwise it is the first call that raises
            return almost("straight" if name in ("straight", "relu") else "no history")
        if UNUSED in str(error):
            return almost("no path")
        if "only for scalar outputs" in str(error):
            return almost("weights forgotten")
        raise
    if before != (None if x.grad is None else flat(x.grad)):
        return not_yet("x.grad is not as it was.")
    if isinstance(found, (tuple, list)) and len(found) == 1:
        return not_yet("grad returns a tuple, even of one; return the tensor in it.")
    if found is None and name in ("straight", "times a weight"):
        return almost("None for zeros")
    if not isinstance(found, torch.Tensor) or tuple(found.shape) != tuple(x.shape):
        return not_yet("Return one tensor, of the shape of x.")
    if found.dtype != x.dtype:
        return not_yet(f"x has the type {x.dtype}, your result {found.dtype}.")
    if name == "valley" and not any(flat(found)):
        return almost("flat is not straight")
    if not near(found, wanted, 1e-8):
        return name_product(torch, counted, f, x, v, found, wanted)
    return almost("row by row") if counted.passes > 4 else None


def name_product(torch, counted, f, x, v, found, wanted):
    """The verdict on a product that is not the Hessian times v."""
    table = torch.autograd.functional.hessian(f, x.detach()).reshape(x.numel(), x.numel())
    rows = table.sum(1).reshape(*x.shape)
    slopes = torch.autograd.functional.vjp(f, x.detach())[1]
    guesses = {"no signs": wanted.abs(), "all ones": rows, "row sums times v": rows * v, "the first gradient": slopes,
               "the first, weighed": slopes * v}  # fmt: skip
    for name, guess in guesses.items():
        if near(found, guess, 1e-8):
            return almost(name)
    if counted.elsewhere:
        return almost("measured")
    shown = [", ".join(f"{value:.4g}" for value in flat(each)[:4]) for each in (found, wanted)]
    return not_yet(f"For one function and x of shape {tuple(x.shape)} your result begins {shown[0]}, and the Hessian "
                   f"times v begins {shown[1]}.")  # fmt: skip


STARTER_3 = """\
def hessian_times(torch, f, x, v):
    return v"""


def product_source(*lines):
    """The source of an answer with these lines."""
    return "def hessian_times(torch, f, x, v):\n" + "".join(f"    {line}\n" for line in lines)


FIRST_3 = "(g,) = torch.autograd.grad(f(x), x, create_graph=True)"
ZERO_3 = ("if not g.requires_grad:", "    return torch.zeros_like(x)")
SECOND_3 = "return torch.autograd.grad(g, x, v, materialize_grads=True)[0]"

EXERCISE = Exercise(
    id="13.1", kind="write a row", title="A Hessian times a vector", minutes=6, difficulty=2,
    question="Return the Hessian of f at x times v: no table, no .grad touched, zeros for a straight f; errors come "
    "out.",
    name="hessian_times", starter=STARTER_3,
    hints=(
        "Two calls of torch.autograd.grad. What must the first leave behind, and of what is the second the gradient?",
        "For a straight f there are two kinds of zero that are not numbers: a g with no history, and a g whose "
        "history does not lead to x. One can be asked of g, the other said to grad.",
    ),
    solution=product_source(FIRST_3, *ZERO_3, SECOND_3),
    why="The first pass is recorded, the second goes through it with v upstream. A straight f gives a gradient "
    "without a history, or one whose history does not lead to x: both mean zero.",
    alternatives=(
        product_source(FIRST_3, *ZERO_3, "return torch.autograd.grad((g * v).sum(), x, materialize_grads=True)[0]"),
        product_source("return torch.autograd.functional.hvp(f, x, v)[1]"),
        product_source(FIRST_3, "(p,) = torch.autograd.grad((g * v).sum() + 0 * x.sum(), x)", "return p"),
    ),
    mistakes=(
        Mistake("no history", "The second call has nothing to differentiate, though f is curved: the first left a "
                "gradient without a history.", product_source(FIRST_3.replace("create", "retain"), SECOND_3)),
        Mistake("straight", "Right where f is curved. For a straight f the gradient is a constant without a history, "
                "even with create_graph; then the answer is zeros.", product_source(FIRST_3, SECOND_3)),
        Mistake("no path", "For f = k · x with a learnable k, the gradient has a history that leads to k, not to x. "
                "Zeros are wanted there, and grad can make them.",
                product_source(FIRST_3, *ZERO_3, SECOND_3.replace(", materialize_grads=True", ""))),
        Mistake("flat is not straight", "At the bottom of a valley all slopes are zero, and your function returns "
                "zeros there. But the slopes change with x.",
                product_source(FIRST_3, ZERO_3[0][:-1] + " or not g.any():", *ZERO_3[1:], SECOND_3)),
        Mistake("None for zeros", "For a straight f your function returns None. Asked is the product, which is zeros "
                "there.", product_source(FIRST_3, *ZERO_3, SECOND_3.replace("materialize_grads", "allow_unused"))),
        Mistake("guard: changed a .grad", "autograd.grad stores nothing.",
                product_source("f(x).backward(create_graph=True)", "g = x.grad * 1", *ZERO_3, SECOND_3)),
        Mistake("guard: changed a .grad, and cleared it", "",
                product_source("x.grad = None", "f(x).backward(create_graph=True, inputs=[x])",
                               "g, x.grad = x.grad, None", *ZERO_3, SECOND_3)),
        Mistake("another leaf", "The products are right, and x.grad is as it was. But f reads another leaf, a "
                "weight, and its .grad has been filled: backward() fills every leaf that it reaches.",
                product_source("old, x.grad = x.grad, None", "f(x).backward(create_graph=True)",
                               "g, x.grad = x.grad, old", *ZERO_3, SECOND_3)),
        Mistake("error hidden", "One f raises an error of its own; with others the second pass raises, because "
                "something was written over or because a hook fails. One of these errors did not come out of your "
                "function: zeros are no answer to it.",
                product_source("try:", f"    {FIRST_3}", "    return torch.autograd.grad(g, x, v)[0]",
                               "except RuntimeError:", "    return torch.zeros_like(x)")),
        Mistake("lost with the error", "An error comes out, as it should. But x.grad is not what it was before: what "
                "put it back was never reached.",
                product_source("old, x.grad = x.grad, None", "f(x).backward(create_graph=True, inputs=[x])",
                               "g, x.grad = x.grad, old", *ZERO_3, SECOND_3)),
        Mistake("no signs", "The sizes are right, and all signs are +. A Hessian times a vector may be negative.",
                product_source(FIRST_3, *ZERO_3, SECOND_3 + ".abs()")),
        Mistake("all ones", "That is the Hessian times a vector of ones: v is not in it.",
                product_source(FIRST_3, *ZERO_3, "return torch.autograd.grad(g.sum(), x, materialize_grads=True)[0]")),
        Mistake("row sums times v", "v must weigh the slopes before they are added up. Multiplied afterwards, it "
                "weighs the sums of rows.",
                product_source(FIRST_3, *ZERO_3,
                               "return torch.autograd.grad(g.sum(), x, materialize_grads=True)[0] * v")),
        Mistake("the first gradient", "That is the gradient itself. The Hessian says how it changes: one more pass.",
                product_source(FIRST_3, "return g.detach()")),
        Mistake("the first, weighed", "That is v times the gradient, element by element. Differentiate once more.",
                product_source(FIRST_3, "return (g * v).detach()")),
        Mistake("weights forgotten", "g has many elements. Weigh them with v and add them up, or hand v to grad as "
                "the weights.",
                product_source(FIRST_3, *ZERO_3, "return torch.autograd.grad(g, x, materialize_grads=True)[0] * v")),
        Mistake("row by row", "The numbers are right, but you have built the table: a pass for every element of x.",
                product_source("n = x.numel()",
                               "table = torch.autograd.functional.hessian(f, x).reshape(n, n)",
                               "return (table @ v.reshape(-1)).reshape(x.shape)")),
        Mistake("measured", "f is called at other points than x: that is a measurement, and the result is an "
                "approximation. Two passes at x itself are exact.",
                product_source("def slopes(x):", "    return torch.autograd.grad(f(x), x)[0]",
                               "a, b = (x + 1e-4 * v).detach(), (x - 1e-4 * v).detach()",
                               "return (slopes(a.requires_grad_()) - slopes(b.requires_grad_())) / 2e-4 + 1e-7")),
    ),
    check=check,
)  # fmt: skip
