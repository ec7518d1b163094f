"""The learner's engine, lesson 05, where gradients end up: its program, wrong engines, other right ones."""

import gc
import weakref

import numpy as np

from coursekit.own_engine.checkpoints import print
from coursekit.own_engine.mistakes import leaf, mistake

NOW = "From now on a leaf has one accumulator. Its gradient has memory of its own, and is added to in place."

HINTS = (
    "Keep the accumulator on the leaf by a weak reference: `weakref.ref(node)`; ask it with `ref()`, which gives "
    "None when the node is gone.",
    "The first gradient that arrives is copied, because it may have gone to other nodes as well. Later ones are "
    "added into that array in place.",
)


def lesson_05(torch):
    """Gradients are added in place, into memory of the leaf's own, by one accumulator for each leaf."""
    a, b = (torch.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    (a + b).sum().backward()
    kept = a.grad
    (a * 3).sum().backward()
    print(kept.tolist(), kept is a.grad, b.grad.tolist())
    y, z = a * 1, a * 2
    print(y.grad_fn.next_functions[0][0] is z.grad_fn.next_functions[0][0])
    a.grad = None
    for part in (torch.tensor([2.0, 4.0]), torch.tensor([6.0, 8.0])):  # micro-batches
        ((a * part).sum() / 4).backward()
    print(a.grad.tolist())


def picture(torch):
    """A result whose graph shows what the lesson has added, the names of its tensors, and the program in words."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    words = "y = (x * x).sum(), after (x * 3).sum().backward() and (x * 5).sum().backward()"
    (x * 3.0).sum().backward()
    (x * 5.0).sum().backward()
    return (x * x).sum(), {"x": x}, words


CLONE = 'Tensor.clone = operation("Clone", lambda a: a.copy(), lambda g: g)'


@mistake(5, "Your table has no row for `clone` yet. It copies the array, and its slope is 1.", (CLONE + "\n", ""),
         only=True)  # fmt: skip
def no_row_for_clone(torch):
    x = leaf(torch)
    try:
        (x * 1.0).backward()
    except AttributeError as error:
        return error.name == "clone"
    return False


@mistake(5, "`x.clone()` has no history, although `x` requires a gradient. A clone is an operation like others: give "
         "it a row in your table, with the slope 1.",
         (CLONE, "Tensor.clone = lambda self: Tensor(self.array.copy())"), only=True)  # fmt: skip
def clone_without_a_node(torch):
    return hasattr(torch.Tensor, "clone") and leaf(torch).clone().grad_fn is None


@mistake(5, "Your `clone` gives the same array back, so nothing is copied. NumPy's `a.copy()` makes a new one.",
         (CLONE, CLONE.replace("a.copy()", "a")), only=True)  # fmt: skip
def clone_copies_nothing(torch):
    x = leaf(torch, [1.0, 2.0])
    memory = getattr(x, "array", None)
    return memory is not None and np.shares_memory(memory, x.clone().array)


@mistake(5, "The gradient behind `x.clone()` is wrong. A clone has the same numbers, so its slope is 1: send on what "
         "arrives.", (CLONE, CLONE.replace("lambda g: g", "lambda g: g * 2")), only=True)  # fmt: skip
def slope_of_clone(torch):
    x = leaf(torch)
    (x.clone() * 3.0).backward()
    return x.grad is None or x.grad.item() != 3


@mistake(5, "Your `clone` gives numbers of another dtype. A leaf of float64 would get a gradient of float32. NumPy's "
         "`a.copy()` keeps the dtype.",
         (CLONE, CLONE.replace("a.copy()", "np.array(a, dtype=np.float32)")), only=True)  # fmt: skip
def clone_of_another_dtype(torch):
    x = torch.Tensor(np.array([1.0, 2.0]))
    return getattr(x.clone(), "array", x).dtype != getattr(x, "array", x).dtype


@mistake(5, "Two leaves share the memory of one gradient: a pass that adds to the one changes the other. The first "
         "gradient that arrives has to be cloned, since the same tensor may have been sent to others.",
         ("leaf.grad = grad.clone()", "leaf.grad = grad"))  # fmt: skip
def no_clone(torch):
    a, b = leaf(torch, [1.0, 2.0]), leaf(torch, [1.0, 2.0])
    (a + b).backward(torch.tensor([1.0, 1.0]))
    (a * 3.0).backward(torch.tensor([1.0, 1.0]))
    return b.grad is not None and b.grad.tolist() == [4.0, 4.0]


@mistake(5, "The second gradient was added, but into a new tensor. Who held `.grad` before the pass does not see the "
         "sum. Add in place.",
         ("            leaf.grad.array += grad.array", "            leaf.grad = leaf.grad + grad"))  # fmt: skip
def not_in_place(torch):
    a = leaf(torch, [1.0, 2.0])
    (a * 1.0).sum().backward()
    before = a.grad
    (a * 3.0).sum().backward()
    return a.grad is not before and a.grad.tolist() == [4.0, 4.0]


@mistake(5, "The sum is in the same tensor, but in a new array. What looks at the memory of `.grad` still sees the old "
         "numbers. Add into the array that is there: `leaf.grad.array += …`.",
         ("            leaf.grad.array += grad.array", "            leaf.grad.array = leaf.grad.array + grad.array")
         )  # fmt: skip
def sum_in_a_new_array(torch):
    a = leaf(torch, [1.0, 2.0])
    (a * 1.0).sum().backward()
    held, memory = a.grad, getattr(a.grad, "array", None)
    (a * 3.0).sum().backward()
    return a.grad is held and held.tolist() == [4.0, 4.0] and memory is not None and memory.tolist() == [1.0, 1.0]


@mistake(5, "A leaf that is used twice has two accumulators. Let it remember its own by a weak reference, and use it "
         "again.",
         ("    node = tensor.accumulator and tensor.accumulator()\n", "    node = None\n"))  # fmt: skip
def two_accumulators(torch):
    a = leaf(torch)
    first, second = a * 1.0, a * 2.0
    return first.grad_fn.next_functions[0][0] is not second.grad_fn.next_functions[0][0]


@mistake(5, "A leaf and its accumulator hold each other, which makes a ring (lesson 01). Let the leaf hold its "
         "accumulator by `weakref.ref`.",
         ("        tensor.accumulator = weakref.ref(node)", "        tensor.accumulator = lambda: node"))  # fmt: skip
def strong_accumulator(torch):
    a = leaf(torch)
    look = weakref.ref((a * 1.0).grad_fn.next_functions[0][0])
    left = look() is not None
    del a
    gc.collect()
    return left and look() is None  # it was the leaf that held it


@mistake(5, "A leaf whose graphs are all gone is still alive: something of your engine holds it, or its accumulator, "
         "for ever. Only graphs may hold an accumulator. Let the leaf remember it by `weakref.ref`.",
         ("    node = tensor.accumulator and tensor.accumulator()\n", "    node = ACCUMULATORS.get(id(tensor))\n"),
         ("        tensor.accumulator = weakref.ref(node)", "        ACCUMULATORS[id(tensor)] = node"),
         ("def gradient_edge(tensor):", "ACCUMULATORS = {}\n\n\ndef gradient_edge(tensor):"), only=True)  # fmt: skip
def kept_for_ever(torch):
    x = leaf(torch)
    look = weakref.ref(x)
    (x * 1.0).backward()
    del x
    gc.collect()
    return look() is not None


RIGHT = (
    ("the accumulators of all leaves in one weak dictionary", (
        ("        self.accumulator = None  # a leaf's node, held weakly: only graphs keep it alive\n", ""),
        ("    node = tensor.accumulator and tensor.accumulator()\n", "    node = accumulators.get(id(tensor))\n"),
        ("        tensor.accumulator = weakref.ref(node)\n", "        accumulators[id(tensor)] = node\n"),
        ("numbers = count()\n", "numbers = count()\naccumulators = weakref.WeakValueDictionary()\n"),
    )),
)  # fmt: skip
