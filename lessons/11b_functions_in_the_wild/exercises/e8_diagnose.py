"""Exercise 11b.8: diagnose."""

import gc
import weakref

from coursekit.judge.exercise import Mistake
from coursekit.judge.table import Diagnose
from lessons.functions import IN_PLACE, function, scalar

METHODS = ("save_for_backward", "needs_input_grad", "once_differentiable", "mark_dirty", "mark_non_differentiable",
           "set_materialize_grads")  # fmt: skip
CURES = dict(zip("ABCDEFG", ("save_for_backward", "mark_non_differentiable", "mark_dirty", "needs_input_grad",
                             "once_differentiable", "set_materialize_grads", "save_for_backward"),
                 strict=True))  # fmt: skip


def memory_waits(torch, method):
    """A: is the result still alive when nobody has a name for it?"""

    def forward(ctx, x):
        out = x.exp()
        if method == "save_for_backward":
            ctx.save_for_backward(out)
        else:
            ctx.out = out
        return out

    collecting = gc.isenabled()
    gc.disable()
    try:
        result = function(torch, forward, lambda ctx, g: g).apply(scalar(torch, 1))
        seen = weakref.ref(result)
        del result
        return seen() is not None
    finally:
        if collecting:
            gc.enable()


def trains_on_places(torch, method):
    """B: does a loss made of the places run, and teach nothing?"""

    def forward(ctx, x):
        ctx.set_materialize_grads(method != "set_materialize_grads")
        places = x * 0 + 1
        if method == "mark_non_differentiable":
            ctx.mark_non_differentiable(places)
        return x * 2, places

    x = scalar(torch, 1)
    _, places = function(torch, forward, lambda ctx, g, _: None if g is None else 2 * g).apply(x)
    try:
        places.backward()
    except RuntimeError:
        return False
    return x.grad is None or x.grad.item() == 0


def forgets_the_write(torch, method):
    """C: does the tensor that was passed in have gradients as if forward had not run?"""

    def forward(ctx, x):
        x.mul_(3)
        if method == "mark_dirty":
            ctx.mark_dirty(x)
        return x

    x = scalar(torch, 1)
    h = x * 1
    function(torch, forward, lambda ctx, g: 3 * g).apply(h)
    return torch.autograd.grad(h, x)[0].item() == 1


def works_for_nothing(torch, method):
    """D: is the gradient of a frozen weight computed?"""
    computed = []

    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x * weight

    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        if method == "needs_input_grad" and not ctx.needs_input_grad[1]:
            return grad * weight, None
        computed.append("weight")
        return grad * weight, grad * x

    function(torch, forward, backward).apply(scalar(torch, 1), scalar(torch, 2).detach()).backward()
    return bool(computed)


def second_is_wrong(torch, method):
    """E: does a gradient penalty run, with a term missing?"""

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    def backward(ctx, grad):
        return grad * 2 * ctx.saved_tensors[0].detach()  # outside the graph, as NumPy is

    if method == "once_differentiable":
        backward = torch.autograd.function.once_differentiable(backward)
    x = scalar(torch, 3)
    y = function(torch, forward, backward).apply(x)
    (g,) = torch.autograd.grad(y * y, x, create_graph=True)
    try:
        (g * g).backward()
    except RuntimeError:
        return False
    return True


def fills_with_zeros(torch, method):
    """F: does backward get tensors for outputs that nobody used?"""
    got = []

    def forward(ctx, x):
        ctx.set_materialize_grads(method != "set_materialize_grads")
        return x * 2, x * 3

    def backward(ctx, first, second):
        got.append(second)
        return 2 * first

    function(torch, forward, backward).apply(scalar(torch, 1))[0].backward()
    return got[0] is not None


def overlooks_a_write(torch, method):
    """G: is the gradient wrong, without an error, when the caller writes into the input after forward?"""

    def forward(ctx, x):
        if method == "save_for_backward":
            ctx.save_for_backward(x)
        else:
            ctx.x = x
        return x * x

    def backward(ctx, grad):
        return grad * 2 * (ctx.saved_tensors[0] if method == "save_for_backward" else ctx.x)

    x = scalar(torch, 3)
    h = x * 1
    y = function(torch, forward, backward).apply(h)
    h.mul_(10)
    try:
        y.backward()
    except RuntimeError as error:
        if IN_PLACE not in str(error):
            raise
        return False
    return x.grad.item() != 6


SYMPTOMS = {"A": memory_waits, "B": trains_on_places, "C": forgets_the_write, "D": works_for_nothing,
            "E": second_is_wrong, "F": fills_with_zeros, "G": overlooks_a_write}  # fmt: skip


def method_meant(text):
    """A method's name as it may be written: with ctx., brackets or an @."""
    return text.split("(")[0].strip("@ ").removeprefix("ctx.")


EXERCISE = Diagnose(
    id="11b.8", title="Diagnose", minutes=5, difficulty=2, puzzles=(17,),
    question="Seven bug reports; name the method that is the cure of each. One of the six methods cures two.",
    hints=(
        "Ask of each report: is it about inputs, about outputs, about what is kept, or about backward itself?",
        "Say for each of the six methods what the engine does not know as long as it is left out. Which report shows "
        "that?",
    ),
    why="A is a ring through ctx, and G a tensor on ctx whose version nobody noted: one slot cures both. B and F are "
    "about outputs: one should have no gradient, the others should cost nothing when unused. C is a write the engine "
    "was not told of. D asks about an input. E turns a wrong number into an error.",
    right={"A": "save_for_backward", "B": "mark_non_differentiable", "C": "mark_dirty", "D": "needs_input_grad",
           "E": "once_differentiable", "F": "set_materialize_grads", "G": "save_for_backward"},
    symptoms=SYMPTOMS,
    choices=METHODS,
    ask="the name of a method",
    read=method_meant,
    alternatives=(f"cures = { {k: f'ctx.{v}(…)' for k, v in CURES.items()}!r}",),
    mistakes=(
        Mistake("zeros for a ring", "A: the zeros are made in backward and soon gone. What waits for the collector "
                "is a ring: the result holds its node, and ctx, the node, holds the result.",
                {"A": "set_materialize_grads"}),
        Mistake("asking for keeping", "A: asking who needs a gradient may save work. The ring through ctx.out is "
                "still there.", {"A": "needs_input_grad"}),
        Mistake("zeros for nothing", "B: with None instead of zeros the loss still runs and still teaches nothing. "
                "The places must not require grad at all.", {"B": "set_materialize_grads"}),
        Mistake("inputs for outputs", "B: that flag speaks of forward's inputs. The places are an output.",
                {"B": "needs_input_grad"}),
        Mistake("the slot for the write", "C: keeping the tensor does not tell anybody that forward wrote into it.",
                {"C": "save_for_backward"}),
        Mistake("an error for the write", "C: that concerns second derivatives. Here the first is wrong, because the "
                "write is missing in the history of the tensor.", {"C": "once_differentiable"}),
        Mistake("outputs for inputs", "D: that changes what backward gets for unused outputs. The frozen weight is "
                "an input.", {"D": "set_materialize_grads"}),
        Mistake("the output marked", "D: then the layer's output would have no gradient, and nothing before it would "
                "learn.", {"D": "mark_non_differentiable"}),
        Mistake("a slot for NumPy", "E: what is kept is not the trouble. backward leaves the graph, so its own "
                "derivative is lost.", {"E": "save_for_backward"}),
        Mistake("no gradient at all", "E: the first derivative is right and wanted. Only differentiating it again "
                "should raise.", {"E": "mark_non_differentiable"}),
        Mistake("all outputs marked", "F: each of the outputs has a gradient when somebody uses it. Marking them "
                "would take it away.", {"F": "mark_non_differentiable"}),
        Mistake("flags of the inputs", "F: those flags speak of inputs. The zeros stand for outputs that nobody used.",
                {"F": "needs_input_grad"}),
        Mistake("a mark for a ring", "A: a mark says something about the result. It does not take it off ctx, and "
                "there the ring is.", {"A": ("mark_dirty", "mark_non_differentiable")}),
        Mistake("second for frozen", "D: that is about differentiating the gradients again. Here a first gradient is "
                "computed that nobody wants.", {"D": "once_differentiable"}),
        Mistake("kept for frozen", "D: where a tensor is kept does not change what backward computes from it.",
                {"D": "save_for_backward"}),
        Mistake("asked for twice", "E: the flags tell you who wants a gradient, and he does want one. That backward "
                "leaves the graph must be said.", {"E": "needs_input_grad"}),
        Mistake("not your write", "G: forward has not written into the input, the caller did, and later. Who "
                "compares versions?", {"G": "mark_dirty"}),
        Mistake("the first is wrong", "G: nobody differentiates twice. The first gradient is made of values that "
                "have changed.", {"G": "once_differentiable"}),
    ),
)  # fmt: skip
