"""Exercise 12.1: reverse one branch."""

import math
import random

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, not_yet
from lessons.hooks import PLAIN, hooks_in_words, leaf_like, mixed
from lessons.shared import flat, near

SHAPES_4 = ((3,), (), (1, 2), (2, 1, 3), (1,))


@hooks_in_words
def check(answer, torch):
    for shape in SHAPES_4:
        strength = 1.0 if shape == (1,) else random.uniform(0.3, 3.0)
        x, a = leaf_like(torch, *shape), leaf_like(torch, *shape).detach()
        h = x * a if shape != (1, 2) else (x * a).float()
        before, dtype = flat(h), h.dtype
        r = answer(torch, h, strength)
        if not isinstance(r, torch.Tensor):
            return not_yet("Return a tensor.")
        if tuple(r.shape) != shape or r.dtype != dtype or not near(flat(r), before, 1e-5):
            return almost("values turned")
        if not r.requires_grad:
            return almost("cut off")
        b, c = (mixed(torch, shape).to(dtype) for _ in range(2))
        named = judge_reversal(torch, x, a, b, c, h, r, strength)
        if named:
            return named
        if named := reversal_in_place(torch, answer, x, a, b, strength):
            return named
        again = answer(torch, h, 2 * strength)
        (found,) = torch.autograd.grad((r * c + again * b).sum(), x, retain_graph=True)
        if not near(flat(found), flat(-strength * a * c - 2 * strength * a * b)):
            return not_yet("Called twice for one h, the two branches disturb each other.")
        if named := recorded_reversal(torch, x, a, r, strength):
            return named
        refused = refuses_writes(torch, answer, x, a)
        r.detach().fill_(0)
        if not refused and not near(flat(h), before, 1e-9):
            return almost("one memory")
    return reversal_of_plain(answer, torch, refused)


def refuses_writes(torch, answer, x, a):
    """Is a write into the result an error, as into a view that a Function has made?"""
    r = answer(torch, x * a, 1.0)
    try:
        r.mul_(2)
    except RuntimeError:
        return True
    return False


def judge_reversal(torch, x, a, b, c, h, r, strength):
    """The name of the mistake in these gradients as a verdict, otherwise None."""
    (found,) = torch.autograd.grad((h * b).sum(), x, retain_graph=True)
    if not near(flat(found), flat(a * b)):
        return almost("both heads")
    (found,) = torch.autograd.grad((r * c).sum(), x, retain_graph=True, allow_unused=True)
    if found is None:
        return almost("cut off")
    wrong = {
        "the sign": strength * a * c,
        "the strength": -a * c,
        "no hook": a * c,
        "twice turned": strength * strength * a * c,
    }
    if not near(flat(found), flat(-strength * a * c)):
        for name, gradient in wrong.items():
            if near(flat(found), flat(gradient)):
                return almost(name)
        pairs = enumerate(zip(flat(found), flat(-strength * a * c), strict=True))
        at = next(place for place, (one, other) in pairs if not near([one], [other]))
        came, went = flat(c)[at], flat(found)[at] / flat(a)[at]
        return not_yet(f"With strength {strength:.4g}, {came:.4g} came back to an element of your tensor, and "
                       f"{went:.4g} went on to h.")  # fmt: skip
    (again,) = torch.autograd.grad((r * c).sum(), x, retain_graph=True)
    if not near(flat(found), flat(again)):
        return almost("the first pass only")
    (found,) = torch.autograd.grad((h * b + r * c).sum(), x, retain_graph=True)
    if not near(flat(found), flat(a * b - strength * a * c)):
        return not_yet("Alone, each head sends what it should. When both are in one loss, h gets something else.")
    return None


def recorded_reversal(torch, x, a, r, strength):
    """A verdict when the gradient has lost its history: somebody may differentiate it again."""
    weights = torch.ones_like(a).to(r.dtype).requires_grad_()
    (found,) = torch.autograd.grad((r * weights).sum(), x, create_graph=True)
    if not found.requires_grad:
        return almost("history cut")
    (second,) = torch.autograd.grad(found.sum(), weights, allow_unused=True)
    if second is None or not near(flat(second), flat(-strength * a)):
        return almost("history cut")
    return None


def reversal_in_place(torch, answer, x, a, b, strength):
    """A verdict when the gradient was changed in place: a sum sends one tensor to h and to the new one."""
    for turn in (False, True):
        h, other = (x * a).to(b.dtype), (x * 1).to(b.dtype)  # made before, so that its turn comes after the hook's
        r = answer(torch, h, strength)
        total = r + other if turn else other + r
        (found,) = torch.autograd.grad((total * b).sum(), x)
        if not near(flat(found), flat(b - strength * a * b)):
            return almost("in place")
    return None


def reversal_of_plain(answer, torch, refused):
    """In evaluation: nothing requires grad, and nothing may raise. refused: in training nobody can write to it."""
    try:
        with torch.no_grad():
            h = leaf_like(torch, 3) * 1
            r = answer(torch, h, 0.5)
        ones = torch.ones(3)
        s = answer(torch, ones, 0.5)
    except RuntimeError as error:
        if PLAIN in str(error):
            return almost("evaluation")
        raise
    if isinstance(s, torch.Tensor) and isinstance(r, torch.Tensor):
        for plain, result in ((h, r), (ones, s)):
            if not refused and plain.data_ptr() == result.data_ptr():
                return almost("one memory in evaluation")
    if not isinstance(r, torch.Tensor) or not near(flat(r), flat(h)) or not near(flat(s), [1.0, 1.0, 1.0]):
        return not_yet("In evaluation, where h requires no grad, the values are other ones.")
    if r.requires_grad or s.requires_grad:
        return almost("a graph in evaluation")
    if not exact(answer, torch):
        return correct("one branch is reversed, and nobody else has noticed. (Your values are not exactly "
                       "those of h: a sum is rounded, and makes NaN of infinity. h * 1 is exactly h.)")  # fmt: skip
    if refused:
        return correct("one branch is reversed, and nobody else has noticed. (Your tensor lies in the memory of h: a "
                       "head that begins with relu_ or mul_ is refused. h * 1 has a memory of its own.)")  # fmt: skip
    return correct("one branch is reversed, and nobody else has noticed.")


def exact(answer, torch):
    """Is the result h to the last digit, and where h is infinite?"""
    h = torch.tensor([0.7, 1.1, math.inf], requires_grad=True)
    return answer(torch, h * 1, 0.3).tolist() == h.tolist()


STARTER_4 = """\
def turn_round(torch, h, strength):
    ..."""


def turned(*lines):
    return "def turn_round(torch, h, strength):\n" + "".join(f"    {line}\n" for line in lines)


GUARDED = "if r.requires_grad:"
HOOK_4 = "    r.register_hook(lambda grad: -strength * grad)"

REVERSE = """\
def turn_round(torch, h, strength):
    class Reverse(torch.autograd.Function):
        @staticmethod
        def forward(ctx, h):
            return h * 1

        @staticmethod
        def backward(ctx, grad):
            return -strength * grad

    return Reverse.apply(h)
"""

EXERCISE = Exercise(
    id="12.1", kind="write a hook", title="Reverse one branch", minutes=8, difficulty=2,
    question="Return a tensor with the values of h whose gradient goes on to h times "
    "-strength; nobody else may notice. A gradient of the gradient must come out right, too.",
    name="turn_round", starter=STARTER_4,
    hints=(
        "Whose gradient does a hook on h change? The section above, about one of two branches, had a cure.",
        "In evaluation the new tensor requires no grad. What does register_hook say to that?",
    ),
    solution=turned("r = h * 1", GUARDED, HOOK_4, "return r"),
    why="h * 1 is a tensor of its own, and a node of its own, so the hook sees what comes from this branch only. What "
    "requires no grad takes no hook and needs none.",
    alternatives=(
        turned("r = h.clone()", "if r.requires_grad:", "    r.register_hook(lambda grad: grad * -strength)",
               "return r"),
        REVERSE,
        REVERSE.replace("return h * 1", "return h.view_as(h)"),
        REVERSE.replace("return h * 1", "return h"),
        turned("return h.detach() * (1 + strength) - h * strength"),
    ),
    mistakes=(
        Mistake("both heads", "What comes back to h from the other head is changed, too. The branch that is to be "
                "turned needs a tensor of its own, and a node of its own.",
                turned("if h.requires_grad:", "    h.register_hook(lambda grad: -strength * grad)", "return h * 1")),
        Mistake("one memory", "Your tensor is a view of h: they share one memory. Whoever writes into one in place "
                "(relu_, mul_) changes the other, or is refused. Make a tensor with memory of its own.",
                turned("r = h.view_as(h)", GUARDED, HOOK_4, "return r")),
        Mistake("one memory in evaluation", "In evaluation your tensor lies in the memory of h: whoever writes into "
                "one in place changes the other. It wants memory of its own there, too.",
                turned("if not h.requires_grad:", "    return h", "r = h * 1", HOOK_4.strip(), "return r")),
        Mistake("history cut", "The numbers are right. But in a pass with create_graph=True, what goes on to h is no "
                "longer connected with what came back: in a gradient penalty it is a constant.",
                turned("r = h * 1", GUARDED, "    r.register_hook(lambda grad: -strength * grad.detach())",
                       "return r")),
        Mistake("the first pass only", "The first pass is right. A second pass over the same graph sends something "
                "else on to h.",
                turned("r = h * 1", GUARDED, "    def hook(grad):", "        handle.remove()",
                       "        return -strength * grad", "    handle = r.register_hook(hook)", "return r")),
        Mistake("values turned", "The head must read the values of h, in the shape and the type of h. You changed "
                "more than the gradient.", turned("return h * -strength")),
        Mistake("cut off", "Nothing leads from your tensor to h: a pass that asks for the gradient of the features "
                "gets none through this head.", turned("return h.detach() * 1")),
        Mistake("the sign", "The gradient is scaled, but not turned round: -strength, not strength.",
                turned("r = h * 1", GUARDED, HOOK_4.replace("-strength", "strength"), "return r")),
        Mistake("the strength", "The sign is right. It should be -strength times as much, and is -1 times.",
                turned("r = h * 1", GUARDED, HOOK_4.replace("-strength * grad", "-grad"), "return r")),
        Mistake("no hook", "The gradient goes through unchanged. Does your hook return something, and on which "
                "tensor is it?",
                turned("r = h * 1", GUARDED, "    (r * 1).register_hook(lambda grad: -strength * grad)", "return r")),
        Mistake("twice turned", "What goes on to h has the sign of what came, and strength is in it twice: -strength "
                "has been applied two times.", turned("r = h * 1", GUARDED, HOOK_4, HOOK_4, "return r")),
        Mistake("guard: wrote into the gradient", "An addition sends one tensor to all its operands: their gradients "
                "would be changed, too.",
                turned("r = h * 1", GUARDED, "    r.register_hook(lambda grad: grad.mul_(-strength))", "return r")),
        Mistake("in place", "Right for this branch. But the gradient that comes in is changed in place, and an "
                "addition had sent the same tensor to others: their gradient is turned round, too. Return a new "
                "one.", """\
def turn_round(torch, h, strength):
    class Reverse(torch.autograd.Function):
        @staticmethod
        def forward(ctx, h):
            return h * 1

        @staticmethod
        def backward(ctx, grad):
            return grad.mul_(-strength)

    return Reverse.apply(h)
"""),
        Mistake("guard: changed a flag", "h belongs to the caller, and in evaluation it requires no grad on purpose.",
                turned("if not h.requires_grad:", "    h.requires_grad_()", "r = h * 1", GUARDED, HOOK_4, "return r")),
        Mistake("a graph in evaluation", "In evaluation h requires no grad, and the tensor that you return does: a "
                "graph begins where none should be.",
                turned("r = h * 1", "if not r.requires_grad:", "    r.requires_grad_()", HOOK_4.strip(), "return r")),
        Mistake("evaluation", "Training works. In evaluation the tensor requires no grad, and register_hook raises.",
                turned("r = h * 1", HOOK_4.strip(), "return r")),
    ),
    check=check,
)  # fmt: skip
