"""Exercise 14c.2: only what is cheap."""

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from lessons.checkpoints import quiet
from lessons.shared import array, flat, near


def check(answer, torch):
    for rows, wide in ((3, 4), (1, 2), (5, 5)):
        verdict = one_block(answer, torch, rows, wide)
        if verdict is not None:
            return verdict
    if not trains_the_gate(answer, torch):
        return almost("the story")
    return correct("the expensive operation runs once, and of the cheap ones nothing is stored.")


def one_block(answer, torch, rows, wide):
    """The verdict on a block of this size, or None."""
    x, w = array(torch, rows, wide, requires_grad=True), array(torch, wide, wide, requires_grad=True)
    g = array(torch, wide, requires_grad=True)
    runs, stored = [], {}

    def product(h, w):
        runs.append(1)
        return h @ w

    def pack(tensor):
        if tensor.numel() == rows * wide and not tensor.is_leaf:
            stored[tensor.data_ptr()] = tensor.detach()  # held, so that no address is used twice
        return tensor.detach()

    h = x * 1
    u = x @ w
    wanted = u * torch.sigmoid(g * u)
    slopes = [flat(each) for each in torch.autograd.grad(wanted.sum(), (x, w, g))]
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda packed: packed):
        y = answer(torch, product, h, w, g)
    if not isinstance(y, torch.Tensor) or not near(flat(y), flat(wanted)):
        return not_yet("The result is not that of the starter.")
    if len(runs) != 1:
        return almost("twice in forward") if runs else almost("another product")
    if y.grad_fn is None:
        return almost("cut")
    y.sum().backward()
    if x.grad is None or w.grad is None:
        return almost("cut")
    if g.grad is None or not near(flat(g.grad), slopes[2]):
        return almost("g is left out")
    if not all(near(flat(each.grad), one) for each, one in zip((x, w), slopes, strict=False)):
        return almost("another gradient")
    if len(runs) > 1:
        return almost("the product again")
    if len(stored) > 2:
        return almost("nothing saved") if len(stored) > 3 else almost("half of it")
    return None


def trains_the_gate(answer, torch):
    """True when g gets its gradient also where nothing else requires one."""
    h, w, g = array(torch, 3, 4), array(torch, 4, 4), array(torch, 4, requires_grad=True)
    u = h @ w
    (wanted,) = torch.autograd.grad((u * torch.sigmoid(g * u)).sum(), g)
    with quiet():  # the re-entrant form warns when nothing that it is given requires a gradient
        y = answer(torch, lambda h, w: h @ w, h, w, g)
    if y.requires_grad:
        y.sum().backward()
    return g.grad is not None and near(flat(g.grad), flat(wanted))


STARTER = """\
def gated(torch, product, h, w, g):
    u = product(h, w)
    return u * torch.sigmoid(g * u)
"""
SOLVED = """\
def gated(torch, product, h, w, g):
    def gate(u, g):
        return u * torch.sigmoid(g * u)

    return torch.utils.checkpoint.checkpoint(gate, product(h, w), g, use_reentrant=False)
"""

OWN = """\
def gated(torch, product, h, w, g):
    class Checkpoint(torch.autograd.Function):
        @staticmethod
        def forward(ctx, part, *given):
            ctx.part = part
            ctx.save_for_backward(*given)
            return part(*given)

        @staticmethod
        def backward(ctx, grad):
            given = [each.detach().requires_grad_() for each in ctx.saved_tensors]
            with torch.enable_grad():
                result = ctx.part(*given)
            result.backward(grad)
            return None, *(each.grad for each in given)

    return Checkpoint.apply(lambda u: u * torch.sigmoid(g * u), product(h, w))
"""

EXERCISE = Exercise(
    id="14c.2", kind="repair", title="Only what is cheap", minutes=6, difficulty=2,
    question="`product(h, w)` is expensive, and the gate after it is cheap. Rewrite `gated` so that the product is "
    "computed once, in forward and backward together, and that of what is computed only its operand `h` and its "
    "result stay in memory. Value and gradients (of `h`, `w` and `g`) remain the same.",
    name="gated", starter=STARTER,
    hints=(
        "Which operations of the block save what? Which of these tensors are steps in the middle of the gate?",
        "What is computed inside of a checkpoint runs twice. What is given to it as an argument does not.",
    ),
    solution=SOLVED,
    why="The result of the product is an argument of the checkpoint, so it is put aside and not computed again. Of "
    "the gate nothing is saved.",
    alternatives=(
        OWN.replace("(lambda u:", "(lambda u, g:").replace("h, w))", "h, w), g)"),
        edit("(u, g)", "(u)", ", g, use", ", use"),
        "def gated(torch, product, h, w, g):\n    u = product(h, w)\n"
        "    return torch.utils.checkpoint.checkpoint(lambda u, g: u * torch.sigmoid(g * u), u, g, "
        "use_reentrant=True)\n",
    ),
    mistakes=(
        Mistake("the story", "With a frozen `w` and plain `h` nothing that you give to the checkpoint requires a "
                "gradient, so it makes no node, and `g` is never trained. That is the encoder of the story. Give it "
                "`g` as an argument.", OWN),
        Mistake("the product again", "The product is computed twice: it stands inside of the checkpoint.",
                "def gated(torch, product, h, w, g):\n    def whole(h, w, g):\n        u = product(h, w)\n"
                "        return u * torch.sigmoid(g * u)\n\n"
                "    return torch.utils.checkpoint.checkpoint(whole, h, w, g, use_reentrant=False)\n"),
        Mistake("nothing saved", "Value and gradients are right, and everything is stored as before. What is not "
                "called inside of the checkpoint is saved as usual.",
                "def gated(torch, product, h, w, g):\n"
                "    u = torch.utils.checkpoint.checkpoint(lambda u: u, product(h, w), use_reentrant=False)\n"
                "    return u * (1 * torch.sigmoid(g * u))\n"),
        Mistake("half of it", "One activation too many is stored: an operation of the gate stands outside of the "
                "checkpoint.",
                "def gated(torch, product, h, w, g):\n    u = product(h, w)\n"
                "    s = torch.utils.checkpoint.checkpoint(lambda u: torch.sigmoid(g * u), u, use_reentrant=False)\n"
                "    return u * s\n"),
        Mistake("cut", "Nothing of the gradient reaches h or w: the result of the product goes on without its history.",
                edit("product(h, w), g", "product(h, w).detach(), g")),
        Mistake("g is left out", "The gate has a gradient for g as well, and g does not get it.",
                edit("product(h, w), g,", "product(h, w), g.detach(),")),
        Mistake("another gradient", "The gradients of h and w are not those of the starter: a part of the gate is "
                "hidden from backward.", edit("sigmoid(g * u)", "sigmoid(g * u.detach())")),
        Mistake("twice in forward", "The product runs more than once in forward already.",
                edit("    return torch.utils", "    product(h, w)\n    return torch.utils")),
        Mistake("another product", "Your product is not the one that was given. The given one may be any "
                "kernel.", edit("product(h, w), g", "h @ w, g")),
    ),
    check=check,
)  # fmt: skip
