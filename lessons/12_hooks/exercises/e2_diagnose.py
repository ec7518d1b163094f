"""Exercise 12.2: diagnose."""

import random

from coursekit.judge.exercise import Mistake
from coursekit.judge.table import Diagnose
from lessons.shared import agree, leaf, numbers

CHOICES = (
    "bind the name", "detach what you keep", "remove the handle", "return a new tensor", "return None",
    "register it later", "hook the parameter", "call the module",
)  # fmt: skip


def one_line_log(torch, cure):
    """A: does the log have one line for three parameters?"""
    parameters = {name: leaf(torch, numbers(2)) for name in ("a", "b", "c")}
    log = {}
    for name, p in parameters.items():
        if cure == "bind the name":
            p.register_hook(lambda g, name=name: log.update({name: g.norm()}))
        else:
            p.register_hook(lambda g: log.update({name: g.norm()}))  # noqa: B023  the reported bug
    sum((p * p).sum() for p in parameters.values()).backward()
    return len(log) == 1


def keeps_graphs(torch, cure):
    """B: is the graph of a batch still there when its loss is not?"""
    kept, module = [], torch.nn.ReLU()
    if cure == "detach what you keep":
        module.register_forward_hook(lambda m, args, out: kept.append(out.detach()))
    else:
        module.register_forward_hook(lambda m, args, out: kept.append(out))
    module(leaf(torch, numbers(2)) * 2)
    return kept[0].grad_fn is not None


def counts_again(torch, cure):
    """C: is a batch counted more than once in the third evaluation?"""
    module, counts = torch.nn.ReLU(), []
    for _ in range(3):
        counts.clear()
        handle = module.register_forward_hook(lambda m, args, out: counts.append(1))
        module(torch.ones(2))
        if cure == "remove the handle":
            handle.remove()
    return len(counts) > 1


def weight_unclamped(torch, cure):
    """D: does the weight still get a large gradient?"""
    layer = torch.nn.Linear(2, 1)
    if cure == "hook the parameter":
        layer.weight.register_hook(lambda g: g.clamp(-1, 1))
    else:
        layer.register_full_backward_hook(lambda m, gi, go: tuple(None if g is None else g.clamp(-1, 1) for g in gi))
    layer(torch.full((3, 2), 10.0, requires_grad=True)).sum().backward()
    return layer.weight.grad.abs().max().item() > 1


def layers_in_front_rest(torch, cure):
    """E: do the layers in front get no gradient?"""
    front, module, kept = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1), {}

    def hook(m, args, out):
        result = kept.setdefault(m, out.detach())
        return None if cure == "return None" else result

    module.register_forward_hook(hook)
    w = leaf(torch, 2.0)
    (module(front(torch.ones(1, 2))) * w).sum().backward()
    return front.weight.grad is None


def sees_old_value(torch, cure):
    """F: is what the hook sees `scale` times too large?"""
    seen, scale = [], random.uniform(2, 5)
    h = leaf(torch, numbers(2)) * 1
    if cure == "register it later":
        h.mul_(scale)
        h.register_hook(lambda g: seen.append(g.tolist()))
    else:
        h.register_hook(lambda g: seen.append(g.tolist()))
        h.mul_(scale)
    h.sum().backward()
    return not agree(seen, [[1.0, 1.0]])


SYMPTOMS = {"A": one_line_log, "B": keeps_graphs, "C": counts_again, "D": weight_unclamped,
            "E": layers_in_front_rest, "F": sees_old_value}  # fmt: skip

EXERCISE = Diagnose(
    id="12.2", title="Diagnose", minutes=6, difficulty=2,
    question="Six bug reports about hooks; which of the eight changes cures each? Two are not needed.",
    hints=(
        "Ask of each report: is the hook called, how often, on which value, and what does it return or hold?",
        "Two reports are about what a hook keeps. One keeps too much; in the other the keeping is right, and "
        "something else happens besides: what does setdefault give back?",
    ),
    why="A: a function looks the name up when it is called, and by then the loop is over. B: an output holds its "
    "graph. C: each evaluation adds one more hook. D: a full backward hook sees inputs and outputs, no weights. E: "
    "setdefault returns the detached output, and that takes the place of the real one. F: a hook stays with the value "
    "that was there when it was registered.",
    right={"A": "bind the name", "B": "detach what you keep", "C": "remove the handle", "D": "hook the parameter",
           "E": "return None", "F": "register it later"},
    symptoms=SYMPTOMS,
    choices=CHOICES,
    ask="one of the eight changes",
    mistakes=(
        Mistake("one hook too many", "A: there is one hook on each parameter, as wanted, and each runs once. But "
                "which name do they write?", {"A": "remove the handle"}),
        Mistake("update returns", "A: update returns None, so nothing is replaced. All hooks write into the same "
                "line of the log.", {"A": ("return None", "return a new tensor")}),
        Mistake("hooked already", "A: the hooks stand on parameters. They all use one name.",
                {"A": "hook the parameter"}),
        Mistake("later, one name", "A: whenever they are registered, all hooks look up one name, and they do so in "
                "the pass.", {"A": "register it later"}),
        Mistake("no history here", "A: in an ordinary pass a gradient has no history, so there is nothing to detach. "
                "Lines are missing.", {"A": "detach what you keep"}),
        Mistake("what is kept stays", "B: without the handle nothing more is kept, and nothing is read out either. "
                "What is kept holds its graph.", {"B": "remove the handle"}),
        Mistake("append returns", "B: append returns None already. It is the list that holds too much.",
                {"B": "return None"}),
        Mistake("new but held", "B: a new tensor computed from the output has a history too.",
                {"B": "return a new tensor"}),
        Mistake("outputs arrive", "B: outputs are kept, so the module is called. What do they hold?",
                {"B": "call the module"}),
        Mistake("a count returns nothing", "C: whatever it returns, it is called ten times for a batch.",
                {"C": "return None"}),
        Mistake("called too often", "C: the module is called, and the hooks are too: ten of them.",
                {"C": "call the module"}),
        Mistake("later is as often", "C: wherever it is registered, each evaluation adds one more hook.",
                {"C": "register it later"}),
        Mistake("nothing is kept", "C: this hook keeps no tensor. But who takes it away after the evaluation?",
                {"C": "detach what you keep"}),
        Mistake("another tuple", "D: what it returns goes to the layer's inputs, new or not. The weight's gradient "
                "travels by another arrow.", {"D": "return a new tensor"}),
        Mistake("nothing clamped", "D: with None the inputs' gradients stay as they are. The weight's does not pass "
                "this hook at all.", {"D": "return None"}),
        Mistake("later sees no more", "D: whenever it is registered, it is given the inputs' and outputs' gradients "
                "only.", {"D": "register it later"}),
        Mistake("it was called", "D: the hook runs. But the weight's gradient is none of those that it is given.",
                {"D": "call the module"}),
        Mistake("detached already", "E: what is kept is detached, and that is right. Where else does the detached "
                "tensor go?", {"E": "detach what you keep"}),
        Mistake("it was called, too", "E: features arrive, so the hook runs. Look at what the lambda gives back.",
                {"E": "call the module"}),
        Mistake("setdefault later", "E: whenever it is registered, it gives the same tensor back, and that takes the "
                "output's place.", {"E": "register it later"}),
        Mistake("no features then", "E: without the hook the layers in front learn again, and no features are kept. "
                "But those are wanted.", {"E": "remove the handle"}),
        Mistake("a new tensor is the trouble", "E: the lambda does return a new tensor, the detached one. The output "
                "should stay as it is.", {"E": "return a new tensor"}),
        Mistake("no hook left", "F: then check sees nothing at all. It should see the gradient of the new value.",
                {"F": "remove the handle"}),
        Mistake("it only looks", "F: check returns nothing, and nothing is replaced. It is called for another value "
                "than you think.", {"F": "return a new tensor"}),
        Mistake("no loop", "F: there is no loop here, and h is the right tensor. But its value changes after the "
                "registration.", {"F": "bind the name"}),
        Mistake("it returns nothing", "F: what it returns is not the trouble; it sees the gradient of the value "
                "before the edit.", {"F": "return None"}),
        Mistake("another tensor", "F: h is the tensor that is asked about, and the hook is on it. But on which of "
                "its values?", {"F": "hook the parameter"}),
    ),
)  # fmt: skip
