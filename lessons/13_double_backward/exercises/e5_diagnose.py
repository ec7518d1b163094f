"""Exercise 13.5: diagnose."""

import weakref

from coursekit.judge.exercise import Mistake
from coursekit.judge.table import Diagnose
from lessons import shared
from lessons.shared import flat, leaf

from .shared import no_collector, quiet

CHANGES = ("create_graph=True", "retain_graph=True", "autograd.grad", "materialize_grads=True", "a new tensor",
           "a Function")  # fmt: skip


def leaves_rings(torch, change):
    """A: is the x of a step still there when all its names are gone, and the gradients of the weights cleared?"""

    def step():
        w, x = leaf(torch, [2.0, 3.0]), leaf(torch, [1.0, 2.0])
        score = (w * x**3).sum()
        if change == "autograd.grad":
            g = torch.autograd.grad(score, x, create_graph=True)[0]
        else:
            score.backward(create_graph=True, retain_graph=True)
            g = x.grad
        (w.sum() + (g * g).sum()).backward()
        w.grad = None
        return weakref.ref(x)

    with quiet(), no_collector():
        left = step()
        if left() is None:
            return False
        left().grad = None
        return True


def penalty_is_constant(torch, change):
    """B: is the gradient that of the loss without the penalty?"""
    w, x = leaf(torch, 3.0), leaf(torch, 2.0)
    flags = {change.partition("=")[0]: True} if change in ("create_graph=True", "materialize_grads=True") else {}
    (g,) = torch.autograd.grad(w * x * x, x, **{"retain_graph": True, **flags})
    (w + 10 * (g - 1) ** 2).backward()
    return w.grad.item() == 1.0


def rate_learns_nothing(torch, change):
    """C: does the gradient for lr stay None?"""
    w, lr = leaf(torch, 2.0), leaf(torch, 0.125)
    (g,) = torch.autograd.grad((w - 5) ** 2, w, create_graph=True)
    if change == "a new tensor":
        new = w - lr * g
    else:
        with torch.no_grad():
            w -= lr * g
        new = w
    (new**2).backward()
    return lr.grad is None


def unused_raises(torch, change):
    """D: does a pair of weights without a path raise?"""
    a, b = leaf(torch, 2.0), leaf(torch, 3.0)
    first = torch.autograd.grad(a**3 + b**3, [a, b], create_graph=True)
    flags = {"materialize_grads": True} if change == "materialize_grads=True" else {}
    try:
        seconds = [torch.autograd.grad(g, [a, b], retain_graph=True, **flags) for g in first]
    except RuntimeError:
        return True
    return sum(s.item() ** 2 for row in seconds for s in row) != 12.0**2 + 18.0**2


def layer_cuts(torch, change):
    """E: does a penalty behind a layer that computes on arrays have a wrong gradient?"""

    class Layer(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return torch.from_numpy(1 / x.detach().numpy())

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            r = Layer.apply(x) if change == "a Function" else torch.from_numpy(1 / x.detach().numpy())
            return -grad * r * r

    x = leaf(torch, [2.0], torch.float64)
    (g,) = torch.autograd.grad((Layer.apply(x) ** 2).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(g.sum(), x)
    return not shared.near(flat(second), [6 / 16], 1e-9)


def second_call_raises(torch, change):
    """F: does the second call raise, or are the slopes no plain numbers?"""
    x, W = leaf(torch, 2.0), leaf(torch, 3.0)
    score = (W * x) ** 2
    flags = {change.partition("=")[0]: True} if change.endswith("=True") else {}
    try:
        (first,) = torch.autograd.grad(score, x, **flags)
        torch.autograd.grad(score, W)
    except RuntimeError:
        return True
    return first.requires_grad


SYMPTOMS = {"A": leaves_rings, "B": penalty_is_constant, "C": rate_learns_nothing, "D": unused_raises,
            "E": layer_cuts, "F": second_call_raises}  # fmt: skip


def squeezed(text):
    """A change as it may be written: without spaces, an article or "=True", in lower case."""
    text = " ".join(text.lower().split()).removeprefix("torch.").removeprefix("a ")
    return text.replace(" ", "").replace("=true", "")


EXERCISE = Diagnose(
    id="13.5", title="Diagnose", minutes=5, difficulty=2, puzzles=(18,),
    question="Six reports, six changes: which change cures each?",
    hints=(
        "Ask of each report: is something missing in a graph, is too much of it alive, or is it alive no longer?",
        "Each change is used once. Begin with the reports that quote an error.",
    ),
    why="A is the ring from x to .grad to graph; B a gradient without a history; C an update that is not in "
    "the graph; D a zero without a path; E a history cut inside a layer; F a graph that the first call released, and "
    "since plain numbers will do, retaining is enough.",
    right={"A": "autograd.grad", "B": "create_graph=True", "C": "a new tensor", "D": "materialize_grads=True",
           "E": "a Function", "F": "retain_graph=True"},
    symptoms=SYMPTOMS,
    choices=CHANGES,
    ask="one of the six changes",
    read=squeezed,
    alternatives=('cures = {"A": "torch.autograd.grad", "B": "create_graph", "C": "new tensor", '
                  '"D": "materialize_grads", "E": "Function", "F": "retain_graph"}',),
    mistakes=(
        Mistake("already there", "A: create_graph=True is there. In backward() it is what closes the ring: .grad "
                "gets a history.", {"A": "create_graph=True"}),
        Mistake("keeps even more", "A: create_graph retains already. What is never let go here is a ring: x, "
                "its .grad, the graph of that.", {"A": "retain_graph=True"}),
        Mistake("no write", "A: nothing is written in place. x holds its .grad, and the .grad's history holds x.",
                {"A": "a new tensor"}),
        Mistake("kept, not recorded", "B: a retained graph does not give the gradient a history. The penalty stays a "
                "constant.", {"B": "retain_graph=True"}),
        Mistake("the function is not it", "B: with either function the gradient is a plain number, unless you ask "
                "for more.", {"B": "autograd.grad"}),
        Mistake("nothing is None", "B: the slopes are there, and so is the penalty, 8.0 at first. None stands "
                "nowhere.", {"B": "materialize_grads=True"}),
        Mistake("zeros would hide it", "C: zeros in the place of None would hide that lr is in no graph. It would "
                "learn as little.", {"C": "materialize_grads=True"}),
        Mistake("grad says so", "D: this message comes from grad. backward() stores in leaves, and you want "
                "derivatives of each gradient.", {"D": "autograd.grad"}),
        Mistake("nothing written over", "D: the message does not speak of a version. Some pairs of weights do not "
                "meet in any term.", {"D": "a new tensor"}),
        Mistake("nothing released", "E: had something been released too early, there would be an error. Here a "
                "number is wrong.", {"E": "retain_graph=True"}),
        Mistake("released, not overwritten", "F: an overwritten tensor has another message, with two versions in it. "
                "Here the graph was released.", {"F": "a new tensor"}),
        Mistake("recorded, not used", "C: g is recorded, the report says so. The update is not: under no_grad nobody "
                "notes that w depends on lr.", {"C": "create_graph=True"}),
        Mistake("nothing to retain", "C: nothing was released too early. The step from lr to w is in no graph.",
                {"C": "retain_graph=True"}),
        Mistake("the gradient is fine", "C: g is what it should be. What happens with it afterwards leaves no trace.",
                {"C": "autograd.grad"}),
        Mistake("no path to record", "D: that derivatives can be taken shows that it is recorded. Between some pairs "
                "there is no path, and grad calls that an error unless you ask for zeros.", {"D": "create_graph=True"}),
        Mistake("retained anyway", "D: the message does not speak of a graph that was released. Some pairs have no "
                "path at all.", {"D": "retain_graph=True"}),
        Mistake("the layer is plain", "E: however you ask, inside the layer's backward the slope comes from arrays, "
                "and has no history.", {"E": ("create_graph=True", "autograd.grad")}),
        Mistake("too much", "F: it would run, since it retains as well. But it also records the whole pass, for "
                "numbers that nobody differentiates, and memory is short.", {"F": "create_graph=True"}),
        Mistake("it is grad already", "F: grad releases what it ran through just as backward does.",
                {"F": "autograd.grad"}),
    ),
)  # fmt: skip
