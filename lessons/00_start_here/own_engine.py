"""The learner's engine, lesson 00, a result remembers how it was made: its program, wrong engines, other right ones."""

from coursekit.own_engine.checkpoints import print
from coursekit.own_engine.mistakes import leaf, mistake

NOW = "From now on it finds slopes: of x * x + x, and of whatever else you build from sums and products of tensors."

HINTS = (
    "`add` is `mul` with another rule. Which numbers does a sum send back, if `g` arrives?",
    "`gradient_edge(tensor)` has two cases: a tensor with a `grad_fn`, and a leaf, for which a new "
    "`AccumulateGrad` is made.",
    "For `backward`, write a function that takes a node and a gradient. It calls the node, goes through "
    "`node.next_functions` and what the node returned side by side (`zip`), and calls itself for each pair.",
)


def lesson_00(torch):
    """A result remembers how it was made, and backward follows the arrows."""
    x = torch.tensor(3.0, requires_grad=True)
    y = x * x + x
    product, accumulate = [node for node, _ in y.grad_fn.next_functions]
    print(y.item(), y.grad_fn.name(), product.name(), accumulate.variable is x)
    y.backward()
    print(x.grad.item())  # 1·3 + 1·3 + 1


def picture(torch):
    """A result whose graph shows what the lesson has added, the names of its tensors, and the program in words."""
    x, w = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    h = x * x
    return h * w + h, {"x": x, "w": w, "h": h}, "h = x * x;  y = h * w + h"


@mistake(0, "The gradient that arrives at a leaf takes the place of the one that is there already. Two gradients "
         "arrived at `x`, one after the other; they have to be added up in `x.grad`.",
         ("grad if leaf.grad is None else leaf.grad + grad", "grad"))  # fmt: skip
def replaced(torch):
    x, one = leaf(torch), leaf(torch, 1.0)
    (x * one).backward()
    (x * one).backward()
    return x.grad is not None and x.grad.item() == 1


@mistake(0, "The product sends each operand the wrong number. In `a * b` the slope for `a` is `b`, and the slope for "
         "`b` is `a`: each gets the *other* one, times the gradient.",
         ("(g * b, g * a)", "(g * a, g * b)"))  # fmt: skip
def own_value(torch):
    a, b = leaf(torch, 2.0), leaf(torch, 5.0)
    (a * b).backward()
    return a.grad is not None and (a.grad.item(), b.grad.item()) == (2, 5)


@mistake(0, "After `backward()` the leaf still has no gradient. An input that no operation made needs a node as well: "
         "an `AccumulateGrad`, which adds what arrives to `.grad` of its tensor.",
         ("        leaf.grad = grad if leaf.grad is None else leaf.grad + grad\n", ""))  # fmt: skip
def nothing_arrives(torch):
    x = leaf(torch)
    (x + x).backward()
    return x.grad is None


@mistake(0, "The product forgets the gradient that it is given: it sends on its own slopes alone. The chain rule "
         "multiplies: what arrives, times the slope.",
         ("(g * b, g * a)", "(b, a)"))  # fmt: skip
def forgets_upstream(torch):
    x, one = leaf(torch, 2.0), leaf(torch, 1.0)
    ((x * x) * (one + one + one)).backward()
    return x.grad is not None and x.grad.item() == 4


RIGHT = (
    ("backward with a list in place of a function that calls itself", (
        ("    send(gradient_edge(tensor), Tensor(1.0))\n",
         "    walk = [(gradient_edge(tensor), Tensor(1.0))]\n    while walk:\n        node, grad = walk.pop()\n"
         "        walk += [(to, sent) for (to, _), sent in zip(node.next_functions, node(grad))]\n"),
    )),
)  # fmt: skip
