"""Exercise 15b.3: who would fail?"""

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from lessons.shared import as_names


def graphs(torch):
    """(what, loss, names of the nodes that would raise)."""
    x = torch.tensor([0.5, 1.0], requires_grad=True)
    yield "a healthy graph", (x.exp() * x.sin()).sum(), set()

    h = x * 1
    h.mul_(2)  # before it is saved: no harm
    yield "a tensor that was saved at version 1", h.sin().sum(), set()

    h = x * 1
    e, s = x.exp(), x.sigmoid()
    loss = (h.cos() + h.sin() + e.tanh() + s).sum()
    for each in (h, e, s):
        each.mul_(3)
    yield "four nodes with overwritten slots", loss, {
        "CosBackward0", "SinBackward0", "ExpBackward0", "SigmoidBackward0"}  # fmt: skip

    shared = x.exp()
    shared.sum().backward()
    yield "a part that was freed by an earlier pass", (shared * 2).sin().sum(), {"ExpBackward0"}

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.save_for_backward(a)
            return a * a

        @staticmethod
        def backward(ctx, grad):
            (a,) = ctx.saved_tensors
            return 2 * a * grad

    h = x * 1
    y = Square.apply(h)
    h.add_(1)
    yield "a custom Function", y.sum(), {"SquareBackward"}

    h = x * 1
    s = h.sigmoid()
    for _ in range(30):
        s = s + s
    s.add_(1)  # an addition has saved nothing
    yield "a write that harms nobody, and many ways", s.sum(), set()


def check(answer, torch):
    for what, loss, wanted in graphs(torch):
        found = as_names(answer(loss))
        if found is None:
            return not_yet("Return a list of names.")
        found = {name.removeprefix("torch::autograd::") for name in found}
        if found == wanted:
            continue
        if name := mistake(what, found, wanted):
            return almost(name)
        return not_yet(f"For {what}: {sorted(wanted)} would raise, you return {sorted(found)}.")
    return correct("reading a slot asks the questions of unpack, and no pass has to run for it.")


def mistake(what, found, wanted):
    """The name of the mistake behind a wrong list for this graph; None when there is none."""
    if what == "a healthy graph":
        return "healthy nodes"
    if what == "a tensor that was saved at version 1":
        return "compared with zero"
    if what.startswith("four nodes") and found < wanted:
        return {0: "nothing is read", 1: "only the first"}.get(len(found), "only one kind of slot")
    if what.startswith("a part that was freed") and not found:
        return "freed ones, too"
    return "a Function's slots" if what == "a custom Function" and not found else None


SOLVED = """\
def would_fail(loss):
    failing, met = [], [loss.grad_fn]
    known = set(met)
    for node in met:
        names = [name for name in dir(node) if name.startswith("_saved_") or name == "saved_tensors"]
        try:
            for name in names:
                getattr(node, name)
        except RuntimeError:
            failing.append(node.name())
        for after, _ in node.next_functions:
            if after is not None and after not in known:
                known.add(after)
                met.append(after)
    return failing
"""

EXERCISE = Exercise(
    id="15b.3", kind="write it yourself", title="Who would fail?", minutes=12, difficulty=3, puzzles=(2, 5),
    question="Return the names of all nodes in the graph of `loss` that could not read what they have saved, because "
    "it was overwritten or freed. Each name need stand there only once. Run no pass. "
    "(The slots of a node are its attributes whose names begin with `_saved_`; "
    "those of a custom Function are read with `saved_tensors`. Reading a slot asks the questions of `unpack`.)",
    name="would_fail",
    starter="def would_fail(loss):\n    return ...\n",
    hints=(
        "dir(node) lists the names of all attributes. What happens when you read one whose tensor was overwritten?",
        "Each node stands for itself: after the first that fails there may be others.",
        "hasattr(node, name) reads the attribute, too.",
    ),
    solution=SOLVED,
    why="`node._saved_x` goes through SavedVariable::unpack, as the formula would. So the error comes without a pass, "
    "for each node by itself.",
    alternatives=(
        "def would_fail(loss):\n    found, known, waiting = set(), set(), [loss.grad_fn]\n    while waiting:\n"
        "        node = waiting.pop()\n        if node is None or node in known:\n            continue\n"
        "        known.add(node)\n        waiting.extend(each[0] for each in node.next_functions)\n"
        "        for name in dir(node):\n            if name.startswith('_saved') or name == 'saved_tensors':\n"
        "                try:\n                    getattr(node, name)\n                except RuntimeError:\n"
        "                    found.add(node.name())\n    return found\n",
    ),
    mistakes=(
        Mistake("only the first", "There are more nodes that would fail than the first one. A pass stops there; you "
                "need not.",
                edit("failing.append(node.name())", "return [node.name()]")),
        Mistake("nothing is read", "Nothing is found in a graph with overwritten tensors. The name of a slot alone "
                "says nothing: it has to be read.", edit("getattr(node, name)", "name")),
        Mistake("compared with zero", "A tensor may be at version 1 when it is saved. What counts is whether it has "
                "moved since.",
                edit("                getattr(node, name)", "                value = getattr(node, name)\n"
                     "                if getattr(value, \"_version\", 0) > 0:\n"
                     "                    raise RuntimeError")),
        Mistake("only one kind of slot", "One of them is missing. Some nodes save an operand, others their result: the "
                "names of the slots differ.",
                edit('name.startswith("_saved_")', 'name.startswith("_saved_result")')),
        Mistake("freed ones, too", "A slot that an earlier pass has freed cannot be read either.",
                edit("except RuntimeError:\n", "except RuntimeError as error:\n"
                     "            if \"inplace\" not in str(error):\n                continue\n")),
        Mistake("a Function's slots", "The custom Function is missing. Its slots have no names of their own; they are "
                "read with saved_tensors.", edit(' or name == "saved_tensors"', "")),
        Mistake("healthy nodes", "By your answer, nodes of a healthy graph would fail.",
                edit("        except RuntimeError:\n            failing.append(node.name())",
                     "            failing.append(node.name())\n        except RuntimeError:\n            pass")),
    ),
    check=check,
)  # fmt: skip
