"""Exercise 15.5: who is not reached?"""

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from lessons.shared import as_names


def models(torch):
    """(model, loss, names that backward from the loss does not reach), of several kinds."""
    nn = torch.nn
    cut = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 3), nn.Linear(3, 1))
    yield "a model with a detach()", cut, cut[2](cut[1](cut[0](torch.ones(4, 2))).detach()).sum(), {
        "0.weight", "0.bias", "1.weight", "1.bias"}  # fmt: skip

    plain = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    yield "a model as usual", plain, plain(torch.ones(4, 2)).sum(), set()

    frozen = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    frozen[0].bias.requires_grad_(False)
    yield "a model with a frozen bias", frozen, frozen(torch.ones(1, 2)).sum(), {"0.bias"}

    unused = nn.ModuleDict({"used": nn.Linear(2, 2), "spare": nn.Linear(2, 2)})
    loss = unused["used"](torch.ones(3, 2)).sum()
    loss.backward(retain_graph=True)  # .grad is filled, and a second step is asked about
    for parameter in unused["spare"].parameters():
        parameter.grad = torch.zeros_like(parameter)
    yield "a model with a spare part, in its second step", unused, loss, {"spare.weight", "spare.bias"}

    twins = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False))
    with torch.no_grad():
        twins[1].weight.copy_(twins[0].weight)
    yield "two layers with equal numbers, of which one is used", twins, twins[0](torch.ones(1, 2)).sum(), {"1.weight"}

    deep, side = nn.Linear(2, 2, bias=False), nn.Linear(2, 2)
    h = torch.ones(1, 2)
    for _ in range(40):
        h = deep(h) * 0.5
        h = h + h.tanh()  # 2 ** 40 ways
    both = nn.ModuleDict({"deep": deep, "side": side})
    yield "a deep model with many ways through it", both, (side(torch.ones(1, 2)) * h).sum(), set()

    chain = nn.Linear(1, 1)
    h = chain(torch.ones(1, 1))
    for _ in range(3000):
        h = h * 1.0
    yield "a chain of 3000 nodes", chain, h.sum(), set()

    later = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    loss = later(torch.ones(1, 2)).sum()
    later[1].weight.requires_grad_(False)  # its node and its arrow stay
    yield "a model with a weight that was frozen after forward", later, loss, {"1.weight"}


def check(answer, torch):
    for what, model, loss, wanted in models(torch):
        names = {name for name, _ in model.named_parameters()}
        passes = []
        handle = loss.register_hook(passes.append)
        try:
            given = answer(model, loss)
        except RecursionError:
            return almost("too deep")
        finally:
            handle.remove()
        found = as_names(given)
        if found is None:
            return not_yet("Return a list of names.")
        if set(found) != wanted:
            return wrong(what, set(found), wanted, names)
        try:
            loss.backward()
        except RuntimeError:
            return almost("the graph is gone")
        if passes:
            return almost("a pass has run")
        del loss, model
    return correct("a walk over the graph tells which parameters will learn, before any gradient is computed.")


def wrong(what, found, wanted, names):
    """The verdict on a wrong set of names."""
    if not found <= names:
        return not_yet("Names are wanted as model.named_parameters() gives them, such as 0.weight.")
    if found == names - wanted:
        return almost("the other way round")
    if "after forward" in what and not found:
        return almost("frozen since")
    if "frozen" in what:
        return almost("the frozen one") if not found else not_yet(f"For {what}, {sorted(wanted)} is not reached.")
    if "second step" in what and not found:
        return almost("an old gradient")
    if "equal numbers" in what and not found:
        return almost("equal is not the same")
    if found == names:
        return almost("nobody at all")
    if found > wanted:
        return almost("not every arrow", f"For {what}: ")
    return not_yet(f"For {what}, {sorted(wanted)} is not reached; you return {sorted(found)}.")


SOLVED = """\
def not_reached(model, loss):
    met, waiting, reached = set(), [loss.grad_fn], set()
    while waiting:
        node = waiting.pop()
        if node is None or node in met:
            continue
        met.add(node)
        if hasattr(node, "variable") and node.variable.requires_grad:
            reached.add(id(node.variable))
        waiting += [after for after, _ in node.next_functions]
    return [name for name, p in model.named_parameters() if id(p) not in reached]
"""

EXERCISE = Exercise(
    id="15.5", kind="write it yourself", title="Who is not reached?", minutes=10, difficulty=2, puzzles=(9, 11),
    question="Return the names of the parameters of `model` that `loss.backward()` would give no gradient. Look at the "
    "graph; do not run the pass. (A node of a leaf has an attribute `variable`.) The graph may be deep, and may have "
    "many ways.",
    name="not_reached",
    slow="Many ways lead to one node here. Does your walk visit a node again each time that it comes there? Remember "
    "the nodes that you have met.",
    starter="def not_reached(model, loss):\n    return ...\n",
    hints=(
        "nodes_of in the lesson walks over all nodes. Which of them belong to leaves, and how do you come from the "
        "node to the parameter?",
        "Two parameters may hold equal numbers. Compare with `is`, or by id().",
        "A parameter may be frozen after forward. What does the node of this leaf do then (lesson 02)?",
        "Meet every node once only, and do not let a function call itself: Python allows about a thousand levels.",
    ),
    solution=SOLVED,
    why="A parameter gets a gradient if an arrow of the graph leads to its AccumulateGrad node, and if it has not been "
    "frozen since. No number has to be computed to know that.",
    alternatives=(
        "def not_reached(model, loss):\n    met = [loss.grad_fn]\n    known = set(met)\n    for node in met:\n"
        "        for after, _ in node.next_functions:\n            if after is not None and after not in known:\n"
        "                known.add(after)\n                met.append(after)\n"
        "    leaves = [node.variable for node in met if hasattr(node, 'variable')]\n"
        "    return {\n        name for name, p in model.named_parameters()\n"
        "        if not p.requires_grad or not any(p is leaf for leaf in leaves)\n    }\n",
    ),
    mistakes=(
        Mistake("the other way round", "These are the parameters that are reached. The others were asked for.",
                edit("not in reached", "in reached")),
        Mistake("the frozen one", "A frozen parameter gets no gradient either: no arrow leads to it. It belongs to the "
                "answer.",
                edit("if id(p)", "if p.requires_grad and id(p)")),
        Mistake("frozen since", "A weight was frozen after forward. Its arrow and the node of its leaf are still "
                "there, but this node does nothing as long as the weight does not require a gradient.",
                edit(' and node.variable.requires_grad', "")),
        Mistake("an old gradient", "In the second step, .grad may be filled from before. It does not say what the "
                "next pass will do.", SOLVED.replace("if id(p) not in reached", "if p.grad is None and id(p) not in "
                "reached")),
        Mistake("equal is not the same", "Two parameters may hold the same numbers. Only one of them was used.",
                edit("reached.add(id(node.variable))", "reached.add(str(node.variable.tolist()))",
                     "id(p) not in reached", "str(p.tolist()) not in reached")),
        Mistake("not every arrow", "some parameter is reached, and you do not find it. A node can have several arrows, "
                "and each of them may lead on.", edit("node.next_functions]", "node.next_functions[:1]]")),
        Mistake("nobody at all", "By your answer, no parameter is reached in a model that trains. Do you come to the "
                "nodes of the leaves, and from them to the parameters?", edit("hasattr(node, \"variable\")", "node in "
                "reached")),
        Mistake("the graph is gone", "Right, but afterwards the graph is gone: your function has run a pass that frees "
                "it.",
                "def not_reached(model, loss):\n    learn = {n: p for n, p in model.named_parameters() if "
                "p.requires_grad}\n    grads = torch.autograd.grad(loss, list(learn.values()), allow_unused=True)\n"
                "    got = {n for n, g in zip(learn, grads) if g is not None}\n"
                "    return [n for n, _ in model.named_parameters() if n not in got]\n"),
        Mistake("a pass has run", "The names are right, but your function has run a pass. It took the time of a "
                "backward, and computed gradients that are not needed. Look at the arrows instead.",
                "def not_reached(model, loss):\n    learn = {n: p for n, p in model.named_parameters() if "
                "p.requires_grad}\n    grads = torch.autograd.grad(loss, list(learn.values()), allow_unused=True, "
                "retain_graph=True)\n"
                "    got = {n for n, g in zip(learn, grads) if g is not None}\n"
                "    return [n for n, _ in model.named_parameters() if n not in got]\n"),
        Mistake("too deep", "The graph is deep, and Python lets functions call each other about a thousand times. Keep "
                "a list of the nodes that you have still to visit.",
                "def not_reached(model, loss):\n    met, reached = set(), set()\n\n    def visit(node):\n"
                "        if node is None or node in met:\n            return\n        met.add(node)\n"
                "        if hasattr(node, 'variable'):\n            reached.add(id(node.variable))\n"
                "        for after, _ in node.next_functions:\n            visit(after)\n\n    visit(loss.grad_fn)\n"
                "    return [name for name, p in model.named_parameters() if id(p) not in reached]\n"),
        Mistake("guard: changed a .grad", "Ask the graph, and no gradient has to be computed.",
                "def not_reached(model, loss):\n    for p in model.parameters():\n        p.grad = None\n"
                "    loss.backward(retain_graph=True)\n"
                "    return [name for name, p in model.named_parameters() if p.grad is None]\n"),
    ),
    check=check,
)  # fmt: skip
