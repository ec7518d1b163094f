"""Exercise 12b.1: port an old script."""

import warnings

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from lessons.shared import array


class Boom(Exception):
    """The error that a pass of the check fails with."""


def turned(torch):
    """A network that calls its children in another order than it has them in."""

    class Turned(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.last, self.first = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)

        def forward(self, x):
            return self.last(self.first(x))

    return Turned().double()


def truth_of(torch, net, x, names):
    """The norms, layer by layer, without any hook; and the norms of the outputs' values."""
    values, layers = [x], dict(net.named_children())
    for name in names:
        values.append(layers[name](values[-1]))
    tracked = [value for value in values if value.requires_grad]
    found = dict(zip(map(id, tracked), torch.autograd.grad(values[-1].sum(), tracked), strict=True))
    norms = [found[id(value)].norm().item() if id(value) in found else None for value in values]
    pairs = dict(zip(names, zip(norms, norms[1:], strict=False), strict=True))
    sums = [found[id(value)].sum().item() if id(value) in found else None for value in values]
    shown = dict(zip(names, [value.norm().item() for value in values[1:]], strict=True))
    return pairs, dict(zip(names, zip(sums, sums[1:], strict=False), strict=True)), shown


def check(answer, torch):
    """Networks with and without a first gradient, compared layer by layer."""
    nn = torch.nn
    for wanted_of_x in (True, False):
        net = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2), nn.Sequential(nn.Linear(2, 2), nn.ReLU(),
                            nn.Linear(2, 4)), nn.Tanh()).double()  # fmt: skip
        x = array(torch, 4, 3, requires_grad=wanted_of_x)
        pairs, sums, shown = truth_of(torch, net, x, [name for name, _ in net.named_children()])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found = answer(torch, net, x)
            except RuntimeError as error:
                if "hook returned" in str(error):
                    return almost("something returned", f"“{error}”. ")
                raise
            except AttributeError as error:
                if not wanted_of_x and "NoneType" in str(error):
                    return almost("no norm of None")
                raise
            again = answer(torch, net, x)
        verdict = judged(torch, found, pairs, sums, shown) or judged(torch, again, pairs, sums, shown)
        if verdict:
            return verdict
    fail_a_pass(answer, torch)
    right = correct("each layer by its own name, with the gradients of its own input and output.")
    return check_turned(answer, torch) or right


def check_turned(answer, torch):
    """The verdict on a network whose forward is not the row of its children, or None."""
    net, x = turned(torch), array(torch, 4, 3, requires_grad=True)
    walked = truth_of(torch, net, x, ["last", "first"])[0]
    found = answer(torch, net, x)
    if same(found, walked):
        return almost("the children in a row")
    return judged(torch, found, *truth_of(torch, net, x, ["first", "last"]))


def fail_a_pass(answer, torch):
    """A pass that fails half-way. The guard notices hooks that are left then, and an error that does not come out."""
    net = torch.nn.Sequential(torch.nn.Linear(3, 3), failing(torch), torch.nn.Linear(3, 2)).double()
    try:
        answer(torch, net, array(torch, 4, 3))
    except Boom:
        pass


def judged(torch, found, pairs, sums, shown):
    """The verdict about one dictionary, or None when it is right."""
    if not isinstance(found, dict):
        return not_yet("A dictionary is wanted: the name of each child, and a pair of numbers.")
    if len(found) == 1 and len(pairs) > 1:
        return almost("one name")
    if set(found) != set(pairs):
        return almost("too deep") if set(pairs) < set(found) else not_yet(
            f"The children are {', '.join(pairs)}; your dictionary has {', '.join(map(str, found))}.")  # fmt: skip
    values = [value for pair in found.values() for value in (pair if isinstance(pair, (tuple, list)) else (pair,))]
    if any(isinstance(value, torch.Tensor) for value in values):
        return almost("tensors")
    if same(found, shown):
        return almost("activations")
    if any(not isinstance(pair, (tuple, list)) or len(pair) != 2 for pair in found.values()):
        return not_yet("A pair belongs to each name: the norm for the input, and that for the output.")
    if same(found, pairs):
        return None
    first = next(iter(pairs))
    if same(found, {**pairs, first: (0.0, pairs[first][1])}):
        return almost("zero for None")
    if pairs[first][0] is None and found[first][0] is not None and same(rest(found, first), rest(pairs, first)):
        return almost("more than was asked")
    named = {"turned round": {name: pair[::-1] for name, pair in pairs.items()}, "sums": sums,
             "values and gradients": {name: (shown[name], pair[1]) for name, pair in pairs.items()}}  # fmt: skip
    if name := next((name for name, other in named.items() if same(found, other)), ""):
        return almost(name)
    if all(same(found[name][1:], pairs[name][1:]) for name in pairs):
        return almost("the old kind")
    return not_yet("Those are not the norms of the gradients of each child's input and output.")


def rest(table, first):
    return {name: pair for name, pair in table.items() if name != first}


def failing(torch):
    """A module through which no backward pass comes."""

    def hook(grad):
        raise Boom

    class Failing(torch.nn.Module):
        def forward(self, x):
            y = x * 1
            y.register_hook(hook)
            return y

    return Failing()


def same(found, wanted):
    """Numbers, None, and tuples or dictionaries of these, that agree."""
    if isinstance(wanted, dict):
        return isinstance(found, dict) and set(found) == set(wanted) and all(same(found[k], wanted[k]) for k in wanted)
    if isinstance(wanted, (tuple, list)):
        right = isinstance(found, (tuple, list)) and len(found) == len(wanted)
        return right and all(map(same, found, wanted))
    if wanted is None or not isinstance(found, (int, float)):
        return found is wanted
    return abs(found - wanted) <= 1e-9 * max(1.0, abs(wanted))


STARTER = """\
def norms_by_layer(torch, net, x):
    norms = {}
    for name, layer in net.named_children():
        layer.register_backward_hook(
            lambda layer, grad_input, grad_output: norms.update(
                {name: (grad_input[0].norm().item(), grad_output[0].norm().item())}
            )
        )
    net(x).sum().backward()
    return norms
"""
SOLUTION = """\
def norms_by_layer(torch, net, x):
    norms, handles = {}, []

    def hook_for(name):
        def hook(layer, grad_input, grad_output):
            came, went = grad_output[0], grad_input[0]
            norms[name] = (None if went is None else went.norm().item(), came.norm().item())

        return hook

    for name, layer in net.named_children():
        handles.append(layer.register_full_backward_hook(hook_for(name)))
    try:
        net(x).sum().backward()
    finally:
        for handle in handles:
            handle.remove()
    return norms
"""
PAIR = "(None if went is None else went.norm().item(), came.norm().item())"

EXERCISE = Exercise(
    id="12b.1", kind="repair", title="Port an old script", minutes=10, difficulty=2,
    question="Return for each child of `net` by name the norm of the gradient of its input (None where none is "
    "computed) and of its output, in one pass from net(x).sum(). Each child takes one tensor "
    "and returns one; nobody else uses these two, and no child edits in place. Your "
    "hooks should be gone afterwards, also if the pass fails.",
    name="norms_by_layer", starter=STARTER,
    hints=(
        "Which node does the old hook hang on? For a linear layer, which gradient comes first there?",
        "A function that is made in a loop looks names up when it is called. By then the loop has ended.",
        "Registering gives a handle. Where must its remove() stand, so that it is also called if the pass fails?",
    ),
    solution=SOLUTION,
    why="A full hook gets the gradients of the module's own input and output. Each hook is made by a function of its "
    "own, so it keeps its own name. The handles are removed in `finally`, so also if the pass fails.",
    alternatives=(
        "def norms_by_layer(torch, net, x):\n    import contextlib\n\n    norms = {}\n"
        "    with contextlib.ExitStack() as stack:\n        for name, layer in net.named_children():\n"
        "            def hook(layer, went, came, name=name):\n"
        "                norms[name] = tuple(None if g is None else g.norm().item() for g in (went[0], came[0]))\n"
        "            stack.enter_context(layer.register_full_backward_hook(hook))\n"
        "        net(x).sum().backward()\n    return norms\n",
        """\
def norms_by_layer(torch, net, x):
    import contextlib

    seen = {}
    with contextlib.ExitStack() as stack:
        for name, layer in net.named_children():
            hook = lambda m, args, out, name=name: seen.update({name: (args[0], out)})
            stack.enter_context(layer.register_forward_hook(hook))
        loss = net(x).sum()
    wanted = {id(t): t for pair in seen.values() for t in pair if t.requires_grad}
    grads = dict(zip(wanted, torch.autograd.grad(loss, list(wanted.values()))))
    norm = lambda t: grads[id(t)].norm().item() if id(t) in grads else None
    return {name: (norm(came), norm(out)) for name, (came, out) in seen.items()}
""",
    ),
    mistakes=(
        Mistake("the old kind", "The second numbers are right. The first are what the last node of each layer sends "
                "on, to its own first operand: for a linear layer that is the bias.",
                edit("register_full_backward_hook", "register_backward_hook")),
        Mistake("one name", "Your dictionary has one name, that of the last layer. All hooks look the name up when "
                "they are called, after the loop.",
                edit("hook_for(name)))", "hook_for()))", "def hook_for(name)", "def hook_for()")),
        Mistake("guard: left hooks", "The second call would then count with the hooks of the first.",
                edit("            handle.remove()", "            pass")),
        Mistake("guard: left hooks, after an error", "Your remove() comes behind the call, and an error passes it by.",
                edit("    try:\n        net(x).sum().backward()\n    finally:\n        for handle in handles:\n"
                     "            handle.remove()\n",
                     "    net(x).sum().backward()\n    for handle in handles:\n        handle.remove()\n")),
        Mistake("something returned", "What a hook returns takes the place of grad_input, unless it is None. "
                "setdefault, for one, returns what it has stored.",
                edit("    norms[name] = ", "    return norms.setdefault(name, ",
                     "came.norm().item())\n\n        return", "came.norm().item()))\n\n        return")),
        Mistake("the children in a row", "You call the children one after the other, in the order in which the network "
                "has them. Its own forward may use them in another way. Call net(x).",
                "def norms_by_layer(torch, net, x):\n    values = [x]\n    for layer in net.children():\n"
                "        values.append(layer(values[-1]))\n"
                "    wanted = [value for value in values if value.requires_grad]\n"
                "    grads = [g.norm().item() for g in torch.autograd.grad(values[-1].sum(), wanted)]\n"
                "    grads = [None] * (len(values) - len(grads)) + grads\n"
                "    names = [name for name, _ in net.named_children()]\n"
                "    return dict(zip(names, zip(grads, grads[1:])))\n"),
        Mistake("turned round", "The numbers are right and stand in the wrong order: the input comes first, although "
                "its gradient comes last.",
                edit(PAIR, "(came.norm().item(), None if went is None else went.norm().item())")),
        Mistake("no norm of None", "Here `x` requires no gradient, so `grad_input` of the first child is `(None,)`, "
                "and None has no norm. Ask before you call it.",
                edit("None if went is None else went", "went")),
        Mistake("zero for None", "Where no input requires a gradient you say 0. No gradient was computed there, and "
                "None says so: a gradient of 0 is something else.",
                edit("(None if went", "(0.0 if went")),
        Mistake("more than was asked", "You give a number for the first layer although nobody wants a gradient for x. "
                "Somebody has made x require one, and the pass goes further than it has to.",
                edit("net(x)", "net(x.detach().requires_grad_())")),
        Mistake("guard: changed a flag", "", edit("net(x)", "net(x.requires_grad_())")),
        Mistake("sums", "Those are sums, in which gradients of different signs cancel. The norm is asked for.",
                edit(PAIR, "(None if went is None else went.sum().item(), came.sum().item())")),
        Mistake("tensors", "There are tensors in your pairs, and numbers were asked for.",
                edit("came.norm().item())", "came.norm())")),
        Mistake("activations", "Those are norms of what the layers compute in forward. Asked are their gradients.",
                edit("layer.register_full_backward_hook(hook_for(name))",
                     "layer.register_forward_hook(\n"
                     "            lambda m, a, out, name=name: norms.update({name: out.norm().item()}))")),
        Mistake("too deep", "Your dictionary has more names than there are children: named_modules() also gives the "
                "layers inside of them, and the network itself.", edit("named_children", "named_modules")),
        Mistake("guard: swallows errors", "",
                edit("    finally:\n", "    except Exception:\n        pass\n    finally:\n")),
    ),
    may_change=("net.grad", "x.grad"),
    check=check,
)  # fmt: skip
