"""The learner's engine, lesson 01, every operation leaves a node: its program, wrong engines, other right ones."""

import contextlib
import numbers

from coursekit.own_engine.checkpoints import print
from coursekit.own_engine.drawable import held
from coursekit.own_engine.mistakes import leaf, mistake

NOW = "From now on every operation leaves a node, and a new operation takes one line."

HINTS = (
    "Let `operation` return a function `run(*args)`: it computes with `forward(*[each.array for each in args])`, "
    "and makes the node.",
    "The names of an operand come from `inspect.signature(forward).parameters`; those of a formula the same way. "
    "Save what stands in both.",
    "The node's rule calls each formula with `g` and with those saved tensors that the formula names, and returns "
    "the answers in order.",
)


def lesson_01(torch):
    """Every operation leaves a node. Used twice is one node; computed twice is two."""
    x = torch.tensor(2.0, requires_grad=True)
    h = x * x
    shared, repeated = h * h, (x * x) * (x * x)
    for y in (shared, repeated):
        (left, _), (right, _) = y.grad_fn.next_functions
        print(left is right, y.grad_fn.name())
    e = (x * x).exp()
    print(e.grad_fn.name())
    (e + x).backward()
    print(round(x.grad.item(), 3))  # 2x·exp(x²) + 1


def picture(torch):
    """A result whose graph shows what the lesson has added, the names of its tensors, and the program in words."""
    x, w = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    h = x * x
    return (h * w + h).exp(), {"x": x, "w": w, "h": h}, "h = x * x;  y = h * w + h;  y = y.exp()"


@mistake(1, "The slope of `exp` at a is exp(a), which is the operation's *result*. Your formula reads something else.",
         ("lambda g, result: g * result", "lambda g, a: g * a"))  # fmt: skip
def slope_of_exp(torch):
    x = leaf(torch, 0.0)
    x.exp().backward()
    return x.grad is not None and x.grad.item() != 1


@mistake(1, "Nodes have PyTorch's names: the operation's name and then `Backward0`, such as `MulBackward0`.",
         ('name + "Backward0"', "name"))  # fmt: skip
def names(torch):
    x = leaf(torch)
    return not (x * x).grad_fn.name().endswith("Backward0")


@mistake(1, "`x * x`, computed twice, gives one and the same node. Each time an operation runs it leaves a node of "
         "its own, even if its operands are the same.",
         ("    def run(*args):\n", "    kept = {}\n\n    def run(*args):\n"),
         ("node = result.grad_fn = Node(", "node = result.grad_fn = kept.setdefault(args, None) or Node("),
         ("            result.requires_grad = True\n",
          "            kept[args] = node\n            result.requires_grad = True\n"))  # fmt: skip
def one_node_for_all(torch):
    x = leaf(torch)
    first, second = (x * x).grad_fn, (x * x).grad_fn
    return first is second and first is not None


@mistake(1, "A node keeps a tensor that none of its formulas reads: a sum needs none of its tensors, and a product "
         "does not need its result. Save what the formulas name, and nothing else.",
         ("wanted = {each for read in reads for each in read}", 'wanted = {*names, "result"}'), only=True)  # fmt: skip
def saves_what_no_formula_reads(torch):
    x, w = leaf(torch), leaf(torch, 3.0)
    total, product = x.exp() + w, x * w
    if not hasattr(total.grad_fn, "__dict__"):
        return False  # a node of PyTorch's, which holds nothing where Python can look
    kept = held(product.grad_fn, torch.Tensor).values()
    return bool(held(total.grad_fn, torch.Tensor)) or any(each is product for each in kept)


@mistake(1, "Your nodes have no numbers. Give each node a number, in the order in which nodes are made, and keep it on "
         "the node: lesson 04 asks for it.",
         ("        self.number = next(numbers)  # in which order nodes were made\n", ""), only=True)  # fmt: skip
def no_numbers(torch):
    x = leaf(torch)
    first = x * x
    second = first.exp()
    nodes = [each.grad_fn for each in (first, second, second * first, x * x, x + x)]

    def number(node, name):
        with contextlib.suppress(Exception):
            value = getattr(node, name)
            value = value() if callable(value) else value
            return value if isinstance(value, numbers.Real) else None

    for name in {name for name in dir(nodes[0]) if not name.startswith("__")}:
        found = [number(node, name) for node in nodes]
        if None not in found and len(set(found)) == 5 and found in (sorted(found), sorted(found, reverse=True)):
            return False
    return True


RIGHT = (
    ("formulas told apart by their position, read with inspect.getfullargspec", (
        ("from inspect import signature\n", "from inspect import getfullargspec\n"),
        ("list(signature(forward).parameters)", "getfullargspec(forward).args"),
        ("list(signature(formula).parameters)[1:]", "getfullargspec(formula).args[1:]"),
    )),
)  # fmt: skip
