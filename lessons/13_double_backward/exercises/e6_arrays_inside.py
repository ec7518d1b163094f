"""Exercise 13.6: arrays inside."""

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, not_yet
from lessons.shared import array, flat

from .shared import IN_PLACE, near


def check(answer, torch):
    if not isinstance(answer, type) or not issubclass(answer, torch.autograd.Function):
        return not_yet("Keep the class line: the answer is a subclass of torch.autograd.Function.")
    for shape in ((3,), (1,), (2, 1, 2)):
        verdict = one_reciprocal(answer, torch, shape)
        if verdict is not None:
            return verdict
    if verdict := after_a_write(answer, torch):
        return verdict
    if left_on_ctx(answer, torch):
        return almost("left on ctx")
    return correct("all orders, from a library that knows only arrays.")


def some_input(torch, *shape):
    """Numbers of either sign, away from zero."""
    x = array(torch, *shape, low=0.5, high=2.0, requires_grad=True)
    with torch.no_grad():
        x.view(-1)[::2] *= -1
    return x


def one_reciprocal(answer, torch, shape):
    """The verdict on the values and derivatives for one shape, or None when they are right."""
    x = some_input(torch, *shape)
    y = answer.apply(x)
    if not isinstance(y, torch.Tensor) or not near(y, 1 / x.detach(), 1e-9):
        return not_yet(f"For x of shape {shape}, forward should give 1 / x, as before.")
    if not y.requires_grad:
        return not_yet("The result does not require grad, so nothing flows back.")
    if answer.apply(x.detach().float()).dtype is not torch.float32:
        return almost("another type")
    for weights in (torch.ones_like(y), array(torch, *shape, low=1.5, high=3.0)):
        (g,) = torch.autograd.grad(answer.apply(x), x, weights)
        if not near(g, -weights / x.detach() ** 2):
            found, wanted, came = flat(g)[0], flat(-weights / x.detach() ** 2)[0], flat(weights)[0]
            return not_yet(f"The first derivative at {flat(x)[0]:.4g}, times the {came:.4g} that comes in, is "
                           f"{wanted:.4g}; yours is {found:.4g}.")  # fmt: skip
    if not torch.autograd.gradcheck(answer.apply, (x,), raise_exception=False):
        return not_yet("The first derivative is wrong: gradcheck does not agree.")
    if refuses(answer, torch, x):
        return almost("refused")
    (g,) = torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)
    if not g.requires_grad:
        (g,) = torch.autograd.grad((answer.apply(x) ** 2).sum(), x, create_graph=True)
        return almost("history of grad only" if g.requires_grad else "no history")
    h = torch.zeros_like(x)
    try:
        (h,) = torch.autograd.grad(g.sum(), x, create_graph=True)
        (k,) = torch.autograd.grad(h.sum(), x, allow_unused=True)
    except RuntimeError:
        return almost("only twice" if near(h, 2 / x.detach() ** 3) else "a constant left")
    if not near(h, 2 / x.detach() ** 3):
        if near(h, 1 / x.detach() ** 3):
            return almost("a constant left")
        found, wanted = flat(h)[0], flat(2 / x.detach() ** 3)[0]
        return not_yet(f"The second derivative at {flat(x)[0]:.4g} is {wanted:.4g}; yours is {found:.4g}.")
    (g,) = torch.autograd.grad((answer.apply(x) ** 2).sum(), x, create_graph=True)
    if not near(torch.autograd.grad(g.sum(), x)[0], 6 / x.detach() ** 4):
        return almost("grad cut off")
    if k is None or not near(k, -6 / x.detach() ** 4):
        return almost("only twice")
    if not torch.autograd.gradgradcheck(answer.apply, (x,), raise_exception=False):
        return not_yet("gradgradcheck does not agree with it.")
    return None


def refuses(answer, torch, x):
    """Is differentiating the gradient an error of once_differentiable?"""
    weights = torch.full(tuple(x.shape), 0.5, dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad(answer.apply(x), x, weights, create_graph=True)
    try:
        if g.requires_grad:
            torch.autograd.grad((g * g).sum(), [x, weights], allow_unused=True)
            (g * g).sum().backward()
    except RuntimeError as error:
        return "once_differentiable" in str(error)
    finally:
        x.grad = None
    return False


def after_a_write(answer, torch):
    """The verdict when somebody writes into the result, or into the input, before backward; None when all is well."""
    for written in ("result", "input"):
        x = some_input(torch, 3)
        before = x * 1
        y = answer.apply(before)
        wanted = (-2 if written == "result" else -1) / x.detach() ** 2
        (y if written == "result" else before).mul_(2)
        try:
            (found,) = torch.autograd.grad(y.sum(), x)
        except RuntimeError as error:
            if IN_PLACE not in str(error):
                raise
            continue
        if written == "input" and not near(found, wanted):
            return almost("the input unchecked")
        if written == "result":
            return almost("input saved" if near(found, wanted) else "unchecked")
    return None


def left_on_ctx(answer, torch):
    """Does the node hold a tensor or an array beside its slots?"""
    node = answer.apply(some_input(torch, 3)).grad_fn
    return any(hasattr(value, "shape") and len(value.shape) for value in vars(node).values())


STARTER_6 = """\
class Reciprocal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.r = 1 / x.detach().numpy()
        return torch.from_numpy(ctx.r)

    @staticmethod
    def backward(ctx, grad):
        return torch.from_numpy(-grad.detach().numpy() * ctx.r * ctx.r)"""


def reciprocal(forward, *backward, refused=False):
    """The source of an answer with these lines in forward and in backward."""
    source = STARTER_6.partition("        ctx.r =")[0] + "".join(f"        {line}\n" for line in forward)
    mark = "    @torch.autograd.function.once_differentiable\n" if refused else ""
    source += f"\n    @staticmethod\n{mark}    def backward(ctx, grad):\n"
    return source + "".join(f"        {line}\n" for line in backward)


ARRAY_6 = "r = torch.from_numpy(1 / x.detach().numpy())"
RESULT_6 = (ARRAY_6, "ctx.save_for_backward(r)", "return r")
INPUT_6 = (ARRAY_6, "ctx.save_for_backward(x)", "return r")
READ_6 = "(r,) = ctx.saved_tensors"

EXERCISE = Exercise(
    id="13.6", kind="write a Function", title="Arrays inside", minutes=8, difficulty=3,
    question="1/x from a library that knows only arrays. All derivatives right, and an error if the result is "
    "overwritten before backward.",
    name="Reciprocal", starter=STARTER_6,
    hints=(
        "backward should be made of tensor operations on something that has a history. Lesson 11: which tensors come "
        "out of their slots with a history?",
        "The slope of 1/x is -1/x²: can it be said with the result alone? Then the result is what the node should "
        "keep, and an overwritten result is noticed.",
    ),
    solution=reciprocal(RESULT_6, READ_6, "return -grad * r * r"),
    why="The result comes out of its slot with this very node as its history. So the gradient -grad · r · r depends "
    "on x through Reciprocal again, at every order, and the slot notices when somebody has written into the result.",
    alternatives=(
        reciprocal(RESULT_6, READ_6, "return -(r**2) * grad"),
        reciprocal((ARRAY_6, "ctx.save_for_backward(x, r)", "return r"), "x, r = ctx.saved_tensors",
                   "s = Reciprocal.apply(x)", "return -grad * s * s"),
    ),
    mistakes=(
        Mistake("no history", "First derivatives are right. But with create_graph=True the gradient has no history "
                "at all: backward ends in an array, or what it does is not recorded.",
                STARTER_6.replace("ctx.r * ctx.r", "(ctx.r * ctx.r)")),
        Mistake("another type", "For x of type float32 the result has another type. 1 / x has the type of x, as "
                "before.",
                reciprocal(("r = torch.from_numpy(1 / x.detach().double().numpy())", *RESULT_6[1:]), READ_6,
                           "return -grad * r * r")),
        Mistake("history of grad only", "backward multiplies tensors now. But what it multiplies grad with has no "
                "history: only grad has one, and a term is missing.",
                STARTER_6.replace("torch.from_numpy(-grad.detach().numpy() * ctx.r * ctx.r)",
                    "-grad * torch.from_numpy(ctx.r * ctx.r)")),
        Mistake("input saved", "All derivatives are right, even when the result is overwritten. But an error is "
                "asked for then, and there is none: no slot keeps the result itself.",
                reciprocal(INPUT_6, "(x,) = ctx.saved_tensors", "s = Reciprocal.apply(x)", "return -grad * s * s")),
        Mistake("a constant left", "The gradient has a history, but one of its factors is still a constant in it: a "
                "term of the second derivative is missing.",
                reciprocal(RESULT_6, READ_6, "return -grad * r * r.detach()")),
        Mistake("grad cut off", "r has its history. But the gradient that comes in has one, too, and your backward "
                "cuts it off: with anything behind Reciprocal, a term is missing.",
                reciprocal(RESULT_6, READ_6, "return -grad.detach() * r * r")),
        Mistake("the input unchecked", "All derivatives are right. But when somebody writes into the input before "
                "backward, your gradient is wrong, and there is no error: a tensor that is read in backward belongs "
                "into a slot.",
                reciprocal((ARRAY_6, "ctx.x = x", "ctx.save_for_backward(r)", "return r"), READ_6,
                           "return -grad * r * Reciprocal.apply(ctx.x)")),
        Mistake("left on ctx", "All derivatives are right, and every write is noticed. But ctx holds a tensor or an "
                "array as an attribute, too: nothing reads it, nothing checks it, and no pass frees it.",
                reciprocal((*RESULT_6[:2], "ctx.x = x", RESULT_6[2]), READ_6, "return -grad * r * r")),
        Mistake("refused", "Your backward is marked once_differentiable: it may be wrong to differentiate what it "
                "gives. Here second and third derivatives are asked for.",
                reciprocal(RESULT_6, READ_6, "return -grad * r * r", refused=True)),
        Mistake("unchecked", "All derivatives are right. But when somebody overwrites the result before backward, "
                "your gradient is wrong and there is no error: what backward reads comes out of no slot that keeps "
                "the result.", reciprocal((ARRAY_6, "ctx.r = r", "return r"), "return -grad * ctx.r * ctx.r")),
        Mistake("only twice", "First and second derivatives are right, the third is not: something that the second "
                "derivative is made of has no history.",
                reciprocal(RESULT_6, READ_6, "return grad * Slope.apply(r)") + '''

class Slope(torch.autograd.Function):
    @staticmethod
    def forward(ctx, r):
        ctx.twice = 2 * r.detach().numpy()
        return -r * r

    @staticmethod
    def backward(ctx, grad):
        return -grad * torch.from_numpy(ctx.twice)
'''),
    ),
    check=check,
)  # fmt: skip
