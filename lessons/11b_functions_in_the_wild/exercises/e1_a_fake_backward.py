"""Exercise 11b.1: a fake backward."""

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from lessons.functions import COUNT
from lessons.shared import alike, array


def check(answer, torch):
    try:
        return checked(answer, torch)
    except TypeError as error:
        if "can only save variables" in str(error):
            return almost("a number in a slot")
        raise


def checked(answer, torch):
    if not (isinstance(answer, type) and issubclass(answer, torch.nn.Module)):
        return not_yet("Keep the class line: the answer is a module, made with a factor.")
    layers = answer(0.25), answer(-3.0)
    for layer, factor in zip(layers, (0.25, -3.0), strict=True):
        for shape in ((3,), (2, 4), ()):
            verdict = judged(torch, layer, factor, array(torch, *shape, requires_grad=True), array(torch, *shape))
            if verdict:
                return verdict
    many = array(torch, 1000, requires_grad=True)
    exact = torch.equal(answer(-300.3)(many * 1), many)
    plain = array(torch, 3)
    if not alike(layers[0](plain), plain):
        return almost("other values")
    x = array(torch, 3, requires_grad=True)
    y, z = (layer(x * 1) for layer in layers)  # both layers run before one pass
    (found,) = torch.autograd.grad((y + 10 * z).sum(), x)
    if not alike(found, torch.full((3,), -29.75, dtype=torch.float64)):
        return almost("the last factor for all")
    layer = answer(2.0)
    x = array(torch, 3, requires_grad=True)
    y = layer(x * 1)
    layer.factor = 5.0
    (found,) = torch.autograd.grad(y.sum(), x)
    if alike(found, torch.full((3,), 5.0, dtype=torch.float64)):
        return almost("the factor of later")
    if not alike(found, torch.full((3,), 2.0, dtype=torch.float64)):
        return not_yet("The factor was 2 in forward and 5 later. The gradient should be multiplied by 2.")
    if not exact:
        return correct("what comes back is multiplied by the factor. (Your values are not exactly those of x: a sum is "
                       "rounded, and makes NaN of infinity. x * 1 is exactly x.)")  # fmt: skip
    return correct("a node of your own does the work, and the module only calls apply, or an equal of it.")


def judged(torch, layer, factor, x, upstream):
    """The verdict about one layer, or None when it is right."""
    h, before = x * 1, upstream.clone()
    y = layer(h)
    if not isinstance(y, torch.Tensor) or not alike(y, x.detach()):
        return almost("other values")
    if not y.requires_grad:
        return almost("cut off")
    try:
        (found,) = torch.autograd.grad(y, h, upstream, retain_graph=True, allow_unused=True)
    except RuntimeError as error:
        if COUNT in str(error):
            return almost("one gradient")
        raise
    if not alike(upstream, before):
        return almost("writes into the gradient")
    wanted = upstream * factor
    if found is None:
        return not_yet("No gradient comes back from the layer to its input.")
    if not alike(found, wanted):
        named = {"never called": upstream, "no upstream gradient": torch.full_like(upstream, factor),
                 "twice": wanted * factor, "divided": upstream / factor,
                 "one factor for all": upstream * (-3.0 if factor == 0.25 else 0.25)}  # fmt: skip
        name = next((name for name, other in named.items() if alike(found, other)), "")
        return almost(name) if name else not_yet(f"The gradient should be multiplied by {factor}, and is not.")
    (both,) = torch.autograd.grad((y * upstream).sum() + (h * upstream).sum(), x)
    if not alike(both, upstream + wanted):
        return almost("the others notice")
    return None


STARTER = """\
class ScaleGradient(torch.nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x):
        return x

    def backward(self, grad):
        return grad * self.factor
"""
SOLUTION = """\
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor, None


class ScaleGradient(torch.nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x):
        return Scale.apply(x, self.factor)
"""
MODULE = SOLUTION[SOLUTION.index("class ScaleGradient") :]

EXERCISE = Exercise(
    id="11b.1", kind="repair", title="A fake backward", minutes=6, difficulty=1,
    question="The layer should leave the values as they are and multiply the gradient by its factor, as it is at the "
    "time of forward. Its method backward is called by nobody. Repair it.",
    name="ScaleGradient", starter=STARTER,
    hints=(
        "In which kind of class does the engine call a method backward? How does an object of that kind come into the "
        "graph?",
        "Write a Function above the module. Its forward gets the factor as a second argument, and backward owes an "
        "answer for it, too.",
    ),
    solution=SOLUTION,
    why="A Function's apply hangs a node on the result, and that node calls its backward. The module holds the factor "
    "and hands it to apply. The factor is a number, so it goes on ctx, and its gradient is None.",
    alternatives=(
        MODULE.replace("        return Scale.apply(x, self.factor)\n",
                       "        y, factor = x * 1, self.factor\n        if y.requires_grad:\n"
                       "            y.register_hook(lambda grad: grad * factor)\n        return y\n"),
        MODULE.replace("return Scale.apply(x, self.factor)", "return x * self.factor + (x - x * self.factor).detach()"),
        edit("return x.view_as(x)", "return x.clone()"),
        edit("return x.view_as(x)", "return x"),
    ),
    mistakes=(
        Mistake("never called", "The gradient comes back as it was: whatever you have written is not on its way. Which "
                "node hangs on the result of your layer?",
                edit("Scale.apply(x, self.factor)", "Scale.forward(self, x, self.factor)")),
        Mistake("other values", "The values have changed. Only the gradient should be multiplied.",
                edit("return x.view_as(x)", "return x * factor")),
        Mistake("one gradient", "forward of the Function has two arguments, x and the factor. backward owes an answer "
                "for each: None for the number.", edit("ctx.factor, None", "ctx.factor")),
        Mistake("writes into the gradient", "Your backward writes into the gradient that arrives, and others may hold "
                "that tensor as well. Compute a new one.",
                edit("grad * ctx.factor, None", "grad.mul_(ctx.factor), None")),
        Mistake("no upstream gradient", "Your backward returns the factor itself. What arrives has to be in it.",
                edit("grad * ctx.factor", "torch.full_like(grad, ctx.factor)")),
        Mistake("the others notice", "Whatever else is computed from the input gets another gradient, too. A hook on "
                "the input stands in everybody's way; the result is yours alone.",
                MODULE.replace("        return Scale.apply(x, self.factor)\n",
                               "        factor = self.factor\n        if x.requires_grad:\n"
                               "            x.register_hook(lambda grad: grad * factor)\n        return x * 1\n")),
        Mistake("one factor for all", "Two layers with two factors, and both use one of them: the factor is kept where "
                "there is only one place for it, in a class.",
                edit("        ctx.factor = factor\n", "", "ctx.factor, None", "ScaleGradient.factor, None",
                     "self.factor = factor", "ScaleGradient.factor = factor")),
        Mistake("the last factor for all", "One layer is right. When two layers with two factors have run before the "
                "pass, both use the factor of the one that ran last: it is kept where there is only one place for it. "
                "Each call of forward needs a place of its own, and that is ctx.",
                edit("        ctx.factor = factor\n", "        Scale.factor = factor\n",
                     "ctx.factor, None", "Scale.factor, None")),
        Mistake("a number in a slot", "save_for_backward takes tensors and None. The factor is a number: keep it as an "
                "attribute of ctx.",
                edit("ctx.factor = factor", "ctx.save_for_backward(factor)", "grad * ctx.factor",
                     "grad * ctx.saved_tensors[0]")),
        Mistake("the factor of later", "The factor was changed between forward and backward, and yours uses the new "
                "one. Note the number in forward.",
                edit("(ctx, x, factor)", "(ctx, x, layer)", "ctx.factor = factor", "ctx.layer = layer",
                     "ctx.factor, None", "ctx.layer.factor, None", "(x, self.factor)", "(x, self)")),
        Mistake("cut off", "The result requires no gradient, so nothing comes back at all.",
                edit("return Scale.apply(x, self.factor)", "return Scale.apply(x, self.factor).detach()")),
        Mistake("twice", "The gradient is multiplied by the factor twice.",
                edit("return Scale.apply(x, self.factor)",
                     "return Scale.apply(Scale.apply(x, self.factor), self.factor)")),
        Mistake("divided", "The gradient is divided by the factor.", edit("grad * ctx.factor", "grad / ctx.factor")),
    ),
    check=check,
)  # fmt: skip
