"""Exercise 11b.6: in place."""

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, not_yet
from lessons.functions import (
    COUNT,
    FIRST_6,
    IN_PLACE,
    REFUSED_6,
    SHAPE,
    graph_of_gradient,
    near,
    of_a_function,
    scalar,
    shares,
    slots_of,
    tensors_on,
)
from lessons.shared import array, finite_differences


@of_a_function
def check(answer, torch):
    for needs_x, needs_k in ((True, True), (True, False), (False, True)):
        x, k = array(torch, 4, low=0.5, high=2.0), array(torch, 1, low=1.5, high=2.5).reshape(())
        x, k = x.detach().requires_grad_(needs_x), k.detach().requires_grad_(needs_k)
        start, weights = x.detach().clone(), array(torch, 4, low=0.5, high=1.5)
        h = x * 1
        try:
            y = answer.apply(h, k)
        except RuntimeError as error:
            if "marked as dirty" in str(error):
                return almost("not returned")
            raise
        wanted = start * k.detach()
        if near(h.detach(), start):
            return almost("not in place")
        if not isinstance(y, torch.Tensor) or not near(h.detach(), wanted) or not near(y.detach(), wanted):
            return not_yet("h should hold x · k afterwards, and be returned.")
        if y is not h:
            return almost("unmarked")
        on_ctx = any(value.numel() == 4 for value in tensors_on(h.grad_fn, torch))
        copies = [slot for slot in slots_of(h.grad_fn) if slot.numel() == 4]
        if not needs_k and any(shares(copy, h) for copy in copies):
            return almost("divided")
        if not needs_k and copies:
            return almost("always a copy" if k_learns(answer, torch) else "the wrong flag")
        leaves = [leaf for leaf in (x, k) if leaf.requires_grad]
        try:
            found = torch.autograd.grad((h * weights).sum(), leaves, allow_unused=True)
        except RuntimeError as error:
            if COUNT in str(error):
                return almost("one gradient")
            raise
        if None in found:
            return almost("no gradient for k") if leaves[found.index(None)] is k else not_yet("x got None.")
        for leaf, grad, right in zip(leaves, found, scale_slopes(torch, x, k, weights, needs_x), strict=True):
            if not near(grad, right):
                if leaf is k and near(grad, right * k.detach()):
                    return almost("saved after the write")
                return not_yet(f"The gradient of {'k' if leaf is k else 'x'} differs from finite differences.")
        if on_ctx:
            return almost("copy on ctx")
    shown = correct("in place, marked, checked, refused twice, and without a copy that nobody reads.")
    return (when_k_is_zero(answer, torch) or when_k_is_overwritten(answer, torch) or
            when_k_has_a_dimension(answer, torch) or shown)


def scale_slopes(torch, x, k, weights, needs_x):
    """Central differences of the weighted sum of x · k, for those of x and k that require grad."""

    def value(*moved):
        with torch.no_grad():
            values = list(moved)
            first = values.pop(0) if needs_x else x
            return (first * (values.pop(0) if values else k) * weights).sum().item()

    return finite_differences(torch, value, [leaf.detach() for leaf in (x, k) if leaf.requires_grad])


def k_learns(answer, torch):
    """Does k get a gradient when only k requires one?"""
    h, k = array(torch, 4), scalar(torch, 2)
    return torch.autograd.grad((answer.apply(h, k) * 1).sum(), k, allow_unused=True)[0] is not None


def when_k_is_zero(answer, torch):
    """The verdict on k = 0, where nothing can be had back by dividing, and on second derivatives; or None."""
    x, k = array(torch, 4, low=0.5, requires_grad=True), scalar(torch, 0)
    h = answer.apply(x * 1, k)
    (found,) = torch.autograd.grad((h * 1).sum(), k, retain_graph=True)
    if not near(found.reshape(()), x.detach().sum()):
        return almost("divided")
    return None if graph_of_gradient(torch, h, (x, k)) == "an error" else almost("twice")


def when_k_has_a_dimension(answer, torch):
    """The verdict on a k of shape (1,), which has one element too; or None."""
    x, k = array(torch, 4, low=0.5, requires_grad=True), torch.tensor([2.0], dtype=torch.float64, requires_grad=True)
    try:
        (found,) = torch.autograd.grad((answer.apply(x * 1, k) * 1).sum(), k)
    except RuntimeError as error:
        if SHAPE not in str(error):
            raise
        return almost("the shape of k")
    return None if near(found, x.detach().sum().reshape(1)) else not_yet("With k of shape (1,) its gradient is wrong.")


def when_k_is_overwritten(answer, torch):
    """The verdict on a write into k between forward and backward, or None."""
    x, k = array(torch, 3, requires_grad=True), scalar(torch, 2)
    h, k_now = x * 1, k * 1
    y = (answer.apply(h, k_now) * 1).sum()  # sum alone sends one number, expanded
    on_ctx = tensors_on(h.grad_fn, torch)
    k_now.detach().mul_(5)
    try:
        y.backward()
    except RuntimeError as error:
        if IN_PLACE not in str(error):
            raise
        return None
    if near(x.grad, torch.full((3,), 2.0, dtype=torch.float64)):
        return almost("a copy of k")
    return almost("k unchecked" if on_ctx else "another counter")


STARTER_6 = """\
class Scale_(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        ...

    @staticmethod
    def backward(ctx, grad):
        ..."""


def scaled(forward, backward):
    """The source of an answer with these lines in forward and in backward."""
    first, second = ("\n".join(f"        {line}" for line in lines) for lines in (forward, backward))
    return STARTER_6.replace("        ...", first, 1).replace("        ...", second, 1) + "\n"


def scaled_once(forward, backward):
    """The same, with second derivatives refused."""
    return scaled(forward, backward).replace(FIRST_6, REFUSED_6)


BACK_6 = ("before, k = ctx.saved_tensors", "return grad * k, None if before is None else grad * before")
SAVE_6 = "ctx.save_for_backward(x.clone() if ctx.needs_input_grad[1] else None, k)"
WRITE_6 = ("x.mul_(k)", "ctx.mark_dirty(x)", "return x")

EXERCISE = Exercise(
    id="11b.6", kind="write a Function", title="In place", minutes=12, difficulty=3, puzzles=(2, 17),
    question="Multiply h in place by a tensor k: right gradients for both, also through h; an error when k is "
    "overwritten, and when somebody differentiates twice; a copy of h only if it is needed.",
    name="Scale_", starter=STARTER_6,
    hints=(
        "The gradient of x needs k. The gradient of k needs x as it was before the write: who asks for it?",
        "Three things in forward: keep (before you write), write, tell ctx that you wrote. And return x itself.",
        "save_for_backward accepts None in a place where there is nothing to keep.",
        "The copy is made in forward: has it a history? What did the lesson do with a backward that uses such a thing?",
    ),
    solution=scaled_once((SAVE_6, *WRITE_6), BACK_6),
    why="mark_dirty moves x itself on to the new node. The old values are copied only when k needs a gradient, since "
    "only then they are read; grad * before is wider than k, and the engine sums it to the shape of k. k is in a "
    "slot, so a later write into it is noticed. The copy is an intermediate without a history, so second derivatives "
    "would lack a term, and are refused.",
    alternatives=(
        scaled_once(
            ("before = x.clone() if ctx.needs_input_grad[1] else None", "x *= k", "ctx.mark_dirty(x)",
             "ctx.save_for_backward(k, before)", "return x"),
            ("k, before = ctx.saved_tensors", "return grad * k, grad * before if before is not None else None"),
        ),
        scaled_once(
            ("ctx.mark_dirty(x)", "ctx.save_for_backward(k, x * 1 if k.requires_grad else None)",
             "return x.copy_(x * k)"),
            ("k, before = ctx.saved_tensors",
             "return grad * k, None if before is None else (grad * before).sum().reshape(k.shape)"),
        ),
    ),
    mistakes=(
        Mistake("unmarked", "The values are right, but what apply returns is not h itself: unmarked, a returned "
                "input becomes a view, and h keeps its old history.",
                scaled_once((SAVE_6, "x.mul_(k)", "return x"), BACK_6)),
        Mistake("guard: wrote into the gradient", "",
                scaled_once((SAVE_6, *WRITE_6),
                            (BACK_6[0], "grad_k = None if before is None else grad * before",
                             "return grad.mul_(k), grad_k"))),
        Mistake("not in place", "h has not changed. (x * k, for one, makes a new tensor.) Asked is a write into x.",
                scaled_once((SAVE_6, "return x * k"), BACK_6)),
        Mistake("saved after the write", "The gradient of k is k times what it should be: what you kept is x after "
                "the write. Keep a copy made before it.",
                scaled_once(("x.mul_(k)", "ctx.mark_dirty(x)", SAVE_6, "return x"), BACK_6)),
        Mistake("always a copy", "Right, and dearer than need be: when k is frozen nobody reads the old values, and "
                "they are still kept.", scaled_once(("ctx.save_for_backward(x.clone(), k)", *WRITE_6), BACK_6)),
        Mistake("the wrong flag", "You ask whether x needs a gradient, and keep the old values then. They are read "
                "for the gradient of k: the flags stand in the order of forward's arguments.",
                scaled_once((SAVE_6.replace("[1]", "[0]"), *WRITE_6), BACK_6)),
        Mistake("copy on ctx", "The gradients are right. But the copy is on ctx, and stays there after backward, as "
                "long as h lives. From a slot it is released.",
                scaled_once(("ctx.save_for_backward(k)",
                             "ctx.before = x.clone() if ctx.needs_input_grad[1] else None", *WRITE_6),
                            ("(k,) = ctx.saved_tensors",
                             "return grad * k, None if ctx.before is None else (grad * ctx.before).sum()"))),
        Mistake("divided", "You keep x after the write, and divide to get the old values back. With k = 0 nothing "
                "comes back, and the caller's next in-place line makes the slot stale. Keep a copy made before.",
                scaled_once(("ctx.save_for_backward(x, k)", *WRITE_6),
                            ("after, k = ctx.saved_tensors", "return grad * k, (grad * after / k).sum()"))),
        Mistake("k unchecked", "Everything is right until somebody overwrites k: on ctx it has no version, and the "
                "gradient is wrong without an error.",
                scaled_once(("ctx.save_for_backward(x.clone() if ctx.needs_input_grad[1] else None)", "ctx.k = k",
                             *WRITE_6),
                            ("(before,) = ctx.saved_tensors",
                             "return grad * ctx.k, None if before is None else (grad * before).sum()"))),
        Mistake("another counter", "Everything is right until somebody overwrites k: what you keep shares the memory "
                "of k but not its version counter, and the gradient is wrong without an error.",
                scaled_once((SAVE_6.replace(", k)", ", k.data)"), *WRITE_6), BACK_6)),
        Mistake("a copy of k", "When k is overwritten, the gradient is still right, because you keep a copy of its "
                "value. Asked is an error, at the price of no copy: keep k itself in a slot.",
                scaled_once((SAVE_6.replace(", k)", ", k.clone())"), *WRITE_6), BACK_6)),
        Mistake("the shape of k", "Right for a k without dimensions. With k of shape (1,), which has one element "
                "too, the gradient must have that shape: what is wider than k is summed for you, what is smaller is "
                "refused.",
                scaled_once((SAVE_6, *WRITE_6),
                            (BACK_6[0], "return grad * k, None if before is None else (grad * before).sum()"))),
        Mistake("twice", "First derivatives are right, and checked. But the copy of the old values has no history, "
                "so second derivatives lack a term without an error. Let them be refused.",
                scaled((SAVE_6, *WRITE_6), BACK_6)),
        Mistake("no gradient for k", "k is a tensor and may require grad, and it gets None.",
                scaled_once(("ctx.save_for_backward(None, k)", *WRITE_6), (BACK_6[0], "return grad * k, None"))),
        Mistake("not returned", "What is marked must be what forward writes into, and must be returned: mark x "
                "alone, and return x itself.", scaled_once((SAVE_6, *WRITE_6[:2], "return x.clone()"), BACK_6)),
        Mistake("one gradient", "forward has two arguments, x and k; backward returns two things.",
                scaled_once((SAVE_6, *WRITE_6), (BACK_6[0], "return grad * k"))),
    ),
    may_change=("x",),
    check=check,
)  # fmt: skip
