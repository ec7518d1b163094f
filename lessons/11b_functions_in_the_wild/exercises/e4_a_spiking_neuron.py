"""Exercise 11b.4: A spiking neuron."""

import random

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, not_yet
from lessons.functions import (
    COUNT,
    FIRST_6,
    REFUSED_6,
    graph_of_gradient,
    near,
    of_a_function,
    tensors_on,
)
from lessons.shared import array, finite_differences

NO_HISTORY, NOT_WANTED = "does not require grad and does not have a grad_fn", "does not require grad"


def potential(torch, x, weight):
    """Compute what forward of 11b.4 computes before the threshold."""
    return torch.nn.functional.conv1d(x, weight, padding=weight.shape[2] - 1)[:, :, : x.shape[2]]


def through_filter(torch, x, weight, grad_u, ahead=False):
    """The gradients of the filter alone, for a given gradient of u; ahead: of one that looks into the future."""
    x, weight = x.detach().requires_grad_(), weight.detach().requires_grad_()
    if ahead:
        u = torch.nn.functional.conv1d(x, weight, padding=weight.shape[2] - 1)[:, :, -x.shape[2] :]
    else:
        u = potential(torch, x, weight)
    return torch.autograd.grad(u, (x, weight), grad_u)


def draw_neurons(torch, n, c, t, o, k):
    """Random inputs, weights and a threshold such that some neurons fire and some do not."""
    while True:
        x, weight, threshold = array(torch, n, c, t), array(torch, o, c, k), random.uniform(0.2, 0.6)
        fired = (potential(torch, x, weight) >= threshold).to(torch.float64).mean().item()
        if 0 < fired < 1:
            return x.requires_grad_(), weight.requires_grad_(), threshold


@of_a_function
def check(answer, torch):
    one, half = (torch.tensor([[[value]]], dtype=torch.float64) for value in (1.0, 0.5))
    if answer.apply(one, half, 0.5, 2.0).item() == 0:
        return almost("above only")
    for n, c, t, o, k in ((2, 2, 5, 3, 3), (1, 1, 6, 2, 4), (2, 3, 4, 1, 1)):
        x, weight, threshold = draw_neurons(torch, n, c, t, o, k)
        steepness = random.uniform(2.0, 4.0)
        grad = array(torch, n, o, t, low=0.2, high=1.0)
        fired = answer.apply(x, weight, threshold, steepness)
        with torch.no_grad():
            u = potential(torch, x, weight)
            if not near(fired, (u >= threshold).to(torch.float64)):
                return not_yet("forward no longer gives 1 where the potential reaches the threshold, and 0 elsewhere.")
        try:
            found = torch.autograd.grad(fired, (x, weight), grad, allow_unused=True)
        except RuntimeError as error:
            if COUNT not in str(error) and NO_HISTORY not in str(error):
                raise
            return almost("two gradients" if COUNT in str(error) else "not recorded")
        if None in found:
            return almost("nothing" if found[0] is None else "the weight forgotten")
        if x.grad is not None or weight.grad is not None:
            return almost("backward in backward")

        def smooth(x, weight, grad=grad, threshold=threshold, steepness=steepness):
            with torch.no_grad():
                s = torch.sigmoid(steepness * (potential(torch, x, weight) - threshold))
                return (grad * s).sum().item()

        wanted = finite_differences(torch, smooth, (x.detach(), weight.detach()))
        if all(map(near, found, wanted)):
            s = torch.sigmoid(steepness * (u - threshold))
            exact = through_filter(torch, x, weight, grad * steepness * s * (1 - s))
            if not all(near(*pair, 1e-12) for pair in zip(found, exact, strict=True)):
                return almost("float32")
            continue
        named = name_surrogate(torch, found, wanted, x, weight, grad, u, threshold, steepness)
        if named:
            return almost(named)
        return not_yet(
            "backward runs. The smooth neuron's finite differences differ, for x and for the weight: so look at the "
            "slope at the threshold first, and then at the filter."
        )
    frozen = answer.apply(x, weight.detach(), threshold, steepness)
    try:
        (found,) = torch.autograd.grad(frozen, x, grad)
    except RuntimeError as error:
        if NOT_WANTED not in str(error):
            raise
        return almost("stops at a frozen weight")
    if not near(found, wanted[0]):
        return not_yet("With a frozen weight the gradient of x comes out different.")
    fired = answer.apply(x, weight, threshold, steepness)
    if tensors_on(fired.grad_fn, torch):
        return almost("on ctx")
    if graph_of_gradient(torch, fired, (x, weight)) != "an error":
        return almost("not refused")
    return correct("the step in forward, the smooth slope in backward: the neuron can learn.")


def name_surrogate(torch, found, wanted, x, weight, grad, u, threshold, steepness):
    """The name of the mistake that gives these gradients, or None."""
    s = torch.sigmoid(steepness * (u - threshold))
    low = torch.sigmoid(steepness * u)
    fired = (u >= threshold).to(torch.float64)
    slope_of = {
        "true slope": fired * 0,
        "straight through": fired * 0 + 1,
        "no steepness": s * (1 - s),
        "no threshold": steepness * low * (1 - low),
        "slope of the spikes": steepness * fired * (1 - fired),
        "only where it fired": steepness * s * (1 - s) * fired,
        "half a slope": steepness * s,
    }
    for name, slope in slope_of.items():
        if all(map(near, found, through_filter(torch, x, weight, grad * slope))):
            return "true slope" if name == "slope of the spikes" else name
    if all(map(near, found, through_filter(torch, x, weight, steepness * s * (1 - s)))):
        return "weights forgotten"
    if near(found[1], wanted[1]) or near(found[0], wanted[0]):
        return "half right"
    if all(map(near, found, through_filter(torch, x, weight, grad * steepness * s * (1 - s), ahead=True))):
        return "ahead"
    return None


STARTER_7 = """\
class Spikes(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, threshold, steepness):
        u = torch.nn.functional.conv1d(x, weight, padding=weight.shape[2] - 1)[:, :, : x.shape[2]]
        ctx.save_for_backward(x, weight, u)
        ctx.threshold, ctx.steepness = threshold, steepness  # plain numbers: attributes
        return (u >= threshold).to(x.dtype)

    @staticmethod
    def backward(ctx, grad):
        ..."""


def spikes(slope, *lines):
    """The source of an answer: the slope's line, then how it goes on through the filter."""
    body = ("x, weight, u = ctx.saved_tensors", *slope, *lines)
    source = STARTER_7.replace("        ...", "\n".join(f"        {line}" for line in body)) + "\n"
    return source.replace(FIRST_6, REFUSED_6)


SMOOTH = ("s = torch.sigmoid(ctx.steepness * (u - ctx.threshold))", "grad_u = grad * ctx.steepness * s * (1 - s)")
RERUN = (
    "with torch.enable_grad():",
    "    x, weight = x.detach().requires_grad_(), weight.detach().requires_grad_()",
    "    again = torch.nn.functional.conv1d(x, weight, padding=weight.shape[2] - 1)[:, :, : x.shape[2]]",
)
GRADS = "return *torch.autograd.grad(again, (x, weight), grad_u), None, None"
BY_HAND = (
    "conv1d, last = torch.nn.functional.conv1d, weight.shape[2] - 1",
    "grad_x = conv1d(grad_u, weight.flip(2).transpose(0, 1), padding=last)[:, :, last:]",
    "grad_weight = conv1d(x.transpose(0, 1), grad_u.transpose(0, 1), padding=last)[:, :, : last + 1]",
    "return grad_x, grad_weight.transpose(0, 1), None, None",
)

EXERCISE = Exercise(
    id="11b.4", kind="write a Function", title="A spiking neuron", minutes=12, difficulty=3,
    question="A causal filter and a threshold; write the backward with the slope of a smooth step in place of the "
    "step's, and refuse second derivatives.",
    name="Spikes", starter=STARTER_7,
    hints=(
        "Two parts. First the gradient of u: the gradient of the spikes times the replaced slope at u.",
        "Then through the filter, whose own derivative is exact. You may let the engine do it: build the filter once "
        "more from detached x and weight, recorded, and ask torch.autograd.grad for both with the gradient of u.",
        "forward has four arguments. And the line that refuses second derivatives stands above def backward.",
    ),
    solution=spikes(SMOOTH, *RERUN, GRADS),
    why="The slope is replaced in one place only, at the threshold. The filter is run again under enable_grad, so "
    "that the engine gives its exact gradients; by hand it is a convolution with the weight turned round, and one of "
    "the inputs with the gradient. threshold and steepness are plain numbers: on ctx, and None at the end. u is an "
    "intermediate without a history: @once_differentiable says so.",
    alternatives=(
        spikes(SMOOTH, *BY_HAND),
        spikes((), *RERUN, "    s = torch.sigmoid(ctx.steepness * (again - ctx.threshold))",
                   "return *torch.autograd.grad(s, (x, weight), grad), None, None")
            .replace("(x, weight, u)", "(x, weight)").replace("x, weight, u =", "x, weight ="),
    ),
    mistakes=(
        Mistake("true slope", "That is the step's true slope: 0 everywhere. It is honest, and nothing learns.",
                spikes(("grad_u = grad * 0",), *RERUN, GRADS)),
        Mistake("straight through", "You passed the gradient on as if the step were not there. Asked is the smooth "
                "step's slope, which is small far from the threshold.", spikes(("grad_u = grad",), *RERUN, GRADS)),
        Mistake("no steepness", "Almost: the sigmoid's argument has the factor steepness inside, so the chain rule "
                "gives one more.", spikes((SMOOTH[0], "grad_u = grad * s * (1 - s)"), *RERUN, GRADS)),
        Mistake("guard: wrote into the gradient", "",
                spikes((SMOOTH[0], "grad *= ctx.steepness * s * (1 - s)", "grad_u = grad"), *RERUN, GRADS)),
        Mistake("no threshold", "The smooth step stands at 0. It must stand at the threshold, where the hard step is.",
                spikes(("s = torch.sigmoid(ctx.steepness * u)", SMOOTH[1]), *RERUN, GRADS)),
        Mistake("weights forgotten", "That is the slope alone, as if every spike counted once. backward is handed a "
                "weight for each of them, grad, and it must be in the gradient of u.",
                spikes((SMOOTH[0], "grad_u = ctx.steepness * s * (1 - s)"), *RERUN, GRADS)),
        Mistake("only where it fired", "Neurons that did not fire get no gradient. Those just below the threshold "
                "are the ones that should learn most.",
                spikes((SMOOTH[0], SMOOTH[1] + " * (u >= ctx.threshold).to(u.dtype)"), *RERUN, GRADS)),
        Mistake("two gradients", "The numbers may be right. But forward has four arguments, so backward returns a "
                "tuple of four; the two settings get None.",
                spikes(SMOOTH, *RERUN, GRADS.replace("*", "").replace(", None, None", ""))),
        Mistake("not recorded", "Inside of your backward, autograd.grad was asked about something without a history. "
                "The pass records nothing: compute it again under `with torch.enable_grad():`, from tensors that "
                "require a gradient (`detach().requires_grad_()`).", spikes(SMOOTH, "if True:", *RERUN[1:], GRADS)),
        Mistake("stops at a frozen weight", "The gradients are right. With a frozen weight backward stops: the weight "
                "in the slot requires no gradient then, and autograd.grad refuses it. `detach().requires_grad_()` "
                "makes one that does.", spikes(SMOOTH, RERUN[0], RERUN[2], GRADS)),
        Mistake("half right", "One of the two gradients agrees with finite differences, the other does not. By hand, "
                "the weight is turned round in time for x, and x and gradient change batch with channels for the "
                "weight.", spikes(SMOOTH, *BY_HAND).replace(".flip(2)", "")),
        Mistake("above only", "A potential that is equal to the threshold must fire, as in the forward that you were "
                "given: it asks >=.", spikes(SMOOTH, *RERUN, GRADS).replace("u >= threshold", "u > threshold")),
        Mistake("float32", "The slopes are right to seven digits only. Somewhere on the way float64 became float32; "
                "the gradient that you return is turned back to float64, the digits are lost.",
                spikes((SMOOTH[0].replace("(ctx", "((ctx").replace("hold))", "hold)).float())"), SMOOTH[1]), *RERUN,
                       GRADS)),
        Mistake("nothing", "x got None: nothing flows back.", spikes(SMOOTH, "return None, None, None, None")),
        Mistake("the weight forgotten", "x has a gradient. But the weight got None, and it is the weight that should "
                "learn.", spikes(SMOOTH, *RERUN, "return torch.autograd.grad(again, x, grad_u)[0], None, None, None")),
        Mistake("half a slope", "The slope of a sigmoid is s · (1 − s). You have only the first half.",
                spikes((SMOOTH[0], SMOOTH[1].replace(" * (1 - s)", "")), *RERUN, GRADS)),
        Mistake("ahead", "The slope is right, but the filter that you run again looks into the future: forward keeps "
                "the first T steps, you keep the last T.",
                spikes(SMOOTH, *RERUN[:2], RERUN[2].replace(": x.shape[2]]", "-x.shape[2] :]"), GRADS)),
        Mistake("guard: changed a .grad", "backward() inside backward adds to the .grad of the leaves by itself, so "
                "they get their gradient twice. torch.autograd.grad returns the gradients and adds to nothing.",
                spikes(SMOOTH, RERUN[0], RERUN[2], "    again.backward(grad_u)",
                       "return x.grad, weight.grad, None, None")),
        Mistake("on ctx", "The gradients are right. But there is a tensor on ctx: backward does not release it, and "
                "for an input nobody compares versions. Only the two numbers belong there.",
                spikes(SMOOTH, *RERUN, GRADS).replace("(x, weight, u)", "(x, weight)\n        ctx.u = u")
                    .replace("x, weight, u = ctx.saved_tensors", "(x, weight), u = ctx.saved_tensors, ctx.u")),
        Mistake("not refused", "The gradients are right. Still asked: who differentiates them once more should get "
                "an error, not a number that lacks terms.", spikes(SMOOTH, *RERUN, GRADS).replace(REFUSED_6, FIRST_6)),
    ),
    check=check,
)  # fmt: skip
