"""What often goes wrong in lessons 00 to 06: the first result, nodes, leaves, shapes, the engine, what is saved."""

import contextlib
import gc
import numbers
import re
import sys
import weakref

import numpy as np

from coursekit.own_engine.drawable import held
from coursekit.own_engine.mistakes import in_a_ring, leaf, mistake, raises, runs

# --- 00: a result remembers how it was made ----------------------------------------------------------------


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


# --- 01: every operation leaves a node ---------------------------------------------------------------------


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


# --- 02: who takes part ------------------------------------------------------------------------------------


def keeps(torch, compute):
    """Whether the graph of what is computed from a result keeps that result alive."""
    h = leaf(torch) * leaf(torch)
    y, look = compute(h), weakref.ref(h)
    del h
    left = look() is not None
    del y
    gc.collect()
    return left and look() is None  # it was the graph that held it


@mistake(2, "A number has come where a tensor was expected: `3 * w` or `w * 3` stops. Turn it into a tensor first "
         "(step 1).",
         ("        operands = [as_tensor(each, dtype) for each in operands]\n", ""))  # fmt: skip
def numbers_left(torch):
    w = leaf(torch)
    w * w  # this at least has to run
    try:
        3 * w, w * 3  # noqa: B018  only whether they run
    except (AttributeError, TypeError):
        return True
    return False


@mistake(2, "A number gets another dtype than the operand beside it. In `w * 0.1` the 0.1 has to become a tensor of "
         "the dtype of `w`: float32 beside float32, float64 beside float64 (step 1).",
         ("[as_tensor(each, dtype) for each in operands]", "[as_tensor(each, np.float32) for each in operands]"))
def dtype_of_numbers(torch):  # fmt: skip
    for number in (np.float32(0.1), np.float64(0.1)):
        w = torch.tensor(np.array(number))
        if w.item() == number and (w * 0.1).item() != (number * type(number)(0.1)).item():
            return True
    return False


@mistake(2, "A tensor that does not require a gradient got one. Its arrow has to lead to nothing: `gradient_edge` "
         "answers None for it.",
         ("    if tensor.grad_fn or not tensor.requires_grad:\n", "    if tensor.grad_fn:\n"))  # fmt: skip
def constants_get_gradients(torch):
    x, c = leaf(torch), torch.tensor(5.0)
    (x * c).backward()
    return c.grad is not None


@mistake(2, "An operation on two constants has left a node. If all arrows lead to nothing there is nothing to record.",
         ("if recording and any(map(gradient_edge, operands)):", "if recording:"))  # fmt: skip
def node_for_constants(torch):
    c = torch.tensor(5.0)
    return (c * c).grad_fn is not None


@mistake(2, "An arrow that leads to nothing was followed. Nothing is to be sent there: when the pass goes along the "
         "arrows, step over those that are None (step 2).",
         ("        if to:\n            send(to, sent)\n", "        send(to, sent)\n"))  # fmt: skip
def follows_nothing(torch):
    x, c = leaf(torch), torch.tensor(5.0)
    (x * x).backward()  # this at least has to run
    y = x * c
    try:
        y.backward()
    except (AttributeError, TypeError) as error:
        led_nowhere = y.grad_fn.next_functions[1][0] is None
        return led_nowhere and "NoneType" in str(error) and re.search("next_functions|not callable", str(error))
    return False


@mistake(2, "A formula was run for an operand whose arrow leads to nothing: in `x * c` the gradient for the frozen `c` "
         "was computed, and then thrown away. Run a formula only if its arrow leads somewhere (step 2).",
         ("[formula(g, *map(node.read, read)) if to else None for", "[formula(g, *map(node.read, read)) for"),
         ("if to for each in read}", "for each in read}"))  # fmt: skip
def runs_all_formulas(torch):
    for kind, size in ((np.float32, 1e30), (np.float64, 1e200)):
        with np.errstate(all="ignore"):
            x, large = leaf(torch, np.array(size, kind)), torch.tensor(np.array(size, kind))
            y = x * torch.tensor(np.array(1 / size, kind)) * large
        try:
            with np.errstate(all="ignore", over="raise"):
                y.backward()  # only the gradient for the frozen factor, size², is too large a number
        except FloatingPointError:
            return True
    return False


@mistake(2, "A product keeps a tensor that no formula will read: in `h * c`, with a frozen `c`, only the formula for "
         "`c` would read `h`. Save what those formulas read whose arrow leads somewhere (step 2).",
         ("if to for each in read}", "for each in read}"))  # fmt: skip
def saves_for_the_frozen(torch):
    return keeps(torch, lambda h: h * torch.tensor(5.0))


@mistake(2, "`backward()` on a tensor that does not require a gradient has not raised the error of step 3: \"element 0 "
         "of tensors does not require grad …\".",
         ("    if gradient_edge(tensor) is None:\n        raise RuntimeError(\"element 0 of tensors does not require "
          "grad and does not have a grad_fn\")\n", ""))  # fmt: skip
def no_error_for_constants(torch):
    y = torch.tensor(5.0) * torch.tensor(5.0)
    try:
        y.backward()
    except Exception as error:
        return "element 0 of tensors does not require grad" not in str(error)
    return True


@mistake(2, "`is_leaf` does not say True for a leaf and False for a result. Step 4 asks for a property, so there are "
         "no brackets behind it: True if `grad_fn` is None.",
         ("    is_leaf = property(lambda self: self.grad_fn is None)\n", ""))  # fmt: skip
def no_is_leaf(torch):
    x = leaf(torch)
    return [getattr(each, "is_leaf", None) for each in (x, x * x)] != [True, False]


@mistake(2, "The backward pass records itself: `x.grad` has a `grad_fn`. Run the pass with recording off.",
         ("    with no_grad():\n        send(", "    if True:\n        send("))  # fmt: skip
def records_itself(torch):
    x = leaf(torch)
    (x * x).backward()
    return hasattr(torch, "no_grad") and x.grad is not None and x.grad.grad_fn is not None


def recorded_after_a_block(torch, *errors):
    """Whether an operation leaves a node behind a `no_grad` block, which ends with an error if one is given."""
    try:
        with torch.no_grad():
            for error in errors:
                raise error
    except errors:
        pass
    x = leaf(torch)
    return (x * x).grad_fn is not None


@mistake(2, "After a `with no_grad():` block recording stays off. When the block ends, put the variable's old "
         "value back.",
         ("    try:\n        yield\n    finally:\n        recording = before\n", "    yield\n"))  # fmt: skip
def stays_off(torch):
    return not recorded_after_a_block(torch)


@mistake(2, "After a `with no_grad():` block that ended with an error recording stays off. Restore the variable in any "
         "case: `try: … finally: …`.",
         ("    try:\n        yield\n    finally:\n        recording = before\n",
          "    yield\n    recording = before\n"))  # fmt: skip
def stays_off_after_an_error(torch):
    return recorded_after_a_block(torch) and not recorded_after_a_block(torch, KeyError)


# --- 03: tensors of every shape ----------------------------------------------------------------------------


@mistake(3, "A tensor that was broadcast has a gradient of the wrong shape. Each of its copies sends one back, and "
         "they have to be added up until the gradient has the tensor's own shape. `fit` is the place.",
         ("    return grad if grad.shape == shape else grad.sum(copied).reshape(shape)\n",
          "    return grad\n"))  # fmt: skip
def broadcast_not_undone(torch):
    x, m = leaf(torch, [1.0, 2.0]), torch.tensor([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]])
    (x * m).sum().backward()
    return x.grad is not None and tuple(x.grad.shape) != (2,)


@mistake(3, "The rule of the matrix product has its factors in the wrong order, or lacks a transpose: the gradient for "
         "A is `g @ B.T`, and that for B is `A.T @ g`.",
         ("lambda g, b: g @ b.T, lambda g, a: a.T @ g", "lambda g, b: b.T @ g, lambda g, a: g @ a.T"))  # fmt: skip
def matrix_order(torch):
    A, B = leaf(torch, [[1.0, 2.0], [3.0, 4.0]]), leaf(torch, [[0.0, 1.0], [5.0, 0.0]])
    (A @ B).backward(torch.tensor([[1.0, 0.0], [0.0, 2.0]]))
    return A.grad is not None and A.grad.tolist() != [[0.0, 5.0], [2.0, 0.0]]


@mistake(3, "`backward()` without an upstream gradient has started from a tensor with several elements. It cannot know "
         "how much each of them counts, so it has to refuse.",
         ("    if gradient is None and tensor.array.size != 1:\n"
          '        raise RuntimeError("grad can be implicitly created only for scalar outputs")\n', ""))  # fmt: skip
def starts_anywhere(torch):
    x = leaf(torch, [1.0, 2.0])
    return runs(lambda: (x * x).backward())


@mistake(3, "The slope of a mean is one over the number of elements, for each of them. Yours does not divide.",
         ("g.expand(shape) / math.prod(shape)", "g.expand(shape)"))  # fmt: skip
def mean_is_sum(torch):
    x = leaf(torch, [1.0, 2.0])
    x.mean().backward()
    return x.grad is not None and x.grad.tolist() == [1.0, 1.0]


@mistake(3, "The rule of `relu` hands on the gradient where the operand is negative, too. There the result is 0, "
         "whatever the operand is, so its slope is 0.",
         ("g * (result > 0)", "g"))  # fmt: skip
def relu_everywhere(torch):
    x = leaf(torch, [-1.0, 2.0])
    x.relu().sum().backward()
    return x.grad is not None and x.grad.tolist() == [1.0, 1.0]


@mistake(3, "The slope of `x ** 3` at 2 is 12, and your engine finds 6. The rule of the power is `n * a ** (n - 1)`; "
         "`n * a` is right for n = 2 only.",
         ("g * n * a ** (n - 1)", "g * n * a"))  # fmt: skip
def power_of_two_only(torch):
    x = leaf(torch, 2.0)
    (x**3).backward()
    return x.grad is not None and x.grad.item() == 6


# --- 04: the engine ----------------------------------------------------------------------------------------


def diamonds(torch):
    """The slope of the program of lesson 04, 316, or what an engine takes for it."""
    x = leaf(torch)
    a = x * x
    b = a + x
    c = b * a
    e = (c + b) * a
    e.backward()
    return x.grad is not None and x.grad.item()


@mistake(4, "Your engine walks along every path from the result to the leaves. Twelve doublings have 4,096 paths, and "
         "fifty would keep it busy for years. Let each node run once, when all gradients that lead to it have arrived.",
         ("        while ready:\n            ready.sort(key=lambda node: node.number)\n            node = ready.pop()  "
          "# the newest; a leaf's accumulator before all others\n            grad = buffers.pop(node)\n",
          "        walk = [(root, buffers[root])]\n        while walk:\n            node, grad = walk.pop()\n"),
         ("                    buffers[to] = buffers[to] + sent if to in buffers else sent\n"
          "                    waits[to] -= 1\n                    ready += [to] if waits[to] == 0 else []\n",
          "                    walk.append((to, sent))\n"), first=True)  # fmt: skip
def every_path(torch):
    x, calls = leaf(torch, 1.0), 0
    h = x
    for _ in range(12):
        h = h + h

    def count(frame, event, _):
        nonlocal calls
        calls += event == "call" and type(h).__module__ == frame.f_globals.get("__name__")

    profile = sys.getprofile()
    sys.setprofile(count)
    try:
        h.backward()
    finally:
        sys.setprofile(profile)
    return calls > 4096


@mistake(4, "A node waits for a gradient that never comes. It has counted a use that does not lead to the tensor where "
         "backward began: count only arrows of nodes that you find from there.",
         ("        self.number = next(numbers)  # in which order nodes were made\n",
          "        self.number = next(numbers)  # in which order nodes were made\n        self.uses = 0\n"
          "        for to, _ in self.next_functions:\n            if to:\n                to.uses += 1\n"),
         ("            waits[to] += 1\n", "            if to:\n                waits[to] = to.uses\n"))  # fmt: skip
def waits_for_ever(torch):
    x, other = leaf(torch), leaf(torch)
    (other * 2.0).backward()
    h = x * 1.0
    unused = h * 5.0
    (h * 2.0).backward()
    return unused is not None and x.grad is None and other.grad is not None


@mistake(4, "The slope should be 316, and your engine finds 140. A node ran when the first gradient had arrived, and "
         "what came later was lost. It has to wait until as many have come as there are arrows that lead to it.",
         ("                    waits[to] -= 1\n                    ready += [to] if waits[to] == 0 else []\n",
          "                    waits[to] -= 1\n"
          "                    ready += [to] if to not in done else []\n                    done.add(to)\n"),
         ("    with no_grad():\n        while ready:", "    done = set()\n    with no_grad():\n        while ready:"),
         ("            ready.sort(key=lambda node: node.number)\n            node = ready.pop()  # the newest; a "
          "leaf's accumulator before all others\n", "            node = ready.pop(0)\n"))  # fmt: skip
def first_arrival(torch):
    return diamonds(torch) == 140


@mistake(4, "A chain of thousands of operations is too deep: something in your engine calls itself once for each node. "
         "Walk along the graph with a list and a loop.",
         ("    waits, found = Counter(), [root]\n", "    waits, found = Counter(), []\n\n    def visit(node):\n"
          "        found.append(node)\n        for to, _ in node.next_functions:\n"
          "            if to and to not in found:\n                visit(to)\n\n    visit(root)\n"),
         ("            if to and to not in waits:\n                found.append(to)\n", ""))  # fmt: skip
def recursion(torch):
    y = x = leaf(torch, 1.0)
    for _ in range(min(3 * sys.getrecursionlimit(), 12_000)):
        y = y + x
    try:
        y.backward()
    except RecursionError:
        return True
    return False


@mistake(4, "Two gradients have arrived at a node that waits, and the second has taken the place of the first. Add "
         "it to what is in the node's buffer.",
         ("buffers[to] = buffers[to] + sent if to in buffers else sent", "buffers[to] = sent"))  # fmt: skip
def buffer_replaced(torch):
    x = leaf(torch)
    h = x * 1.0
    (h + h).backward()
    return x.grad is not None and x.grad.item() == 1


COUNTED = ("                    waits[to] -= 1\n                    ready += [to] if waits[to] == 0 else []\n",
           "                    ready += [to] if to not in ready else []\n")  # fmt: skip
NEWEST = ("            ready.sort(key=lambda node: node.number)\n            node = ready.pop()  # the newest; a "
          "leaf's accumulator before all others\n", "            node = ready.pop(0)\n")  # fmt: skip


@mistake(4, "The slopes are right, but some nodes run several times in one pass: each gradient that arrives sends them "
         "off again, and on a larger graph that takes for ever. A node runs once, when its count is down to 0.",
         COUNTED, NEWEST, only=True)  # fmt: skip
def runs_again(torch):
    h = leaf(torch, 1.0)
    for _ in range(6):
        h = h * 1.0 * 1.0 + h
    ran = nodes_called(h)
    return len(ran) > len({id(node) for node in ran})


@mistake(4, "The slopes are right. But of several nodes that are ready your engine does not take the newest one, as "
         "step 3 asks. PyTorch does, and so hooks and accumulators are called in its order.",
         NEWEST, only=True)  # fmt: skip
def not_the_newest(torch):
    x, found = leaf(torch), []
    for turned in (False, True):
        older, newer = x * 2.0, x * 3.0
        total = newer + older if turned else older + newer
        ran = [id(node) for node in nodes_called(total)]
        found += [ran.index(id(each.grad_fn)) for each in (newer, older) if id(each.grad_fn) in ran]
    return len(found) == 4 and (found[0] > found[1] or found[2] > found[3])


def nodes_called(result):
    """The nodes that are called in a pass, in order; none for an engine where that cannot be seen, as PyTorch's."""
    nodes, ran, inside = [result.grad_fn], [], []
    for node in nodes:
        nodes += [to for to, _ in node.next_functions if to is not None and to not in nodes]
    kinds = {kind for node in nodes for kind in type(node).__mro__ if "__call__" in vars(kind)}
    begun = {kind: kind.__call__ for kind in kinds}

    def counting(call):
        def counted(self, *args):
            if not inside:  # a class that calls its parent's is one run
                ran.append(self)
            inside.append(self)
            try:
                return call(self, *args)
            finally:
                inside.pop()

        return counted

    try:
        with contextlib.suppress(TypeError):  # a class that cannot be changed
            for kind, call in begun.items():
                kind.__call__ = counting(call)
            result.backward()
    finally:
        with contextlib.suppress(TypeError):
            for kind, call in begun.items():
                kind.__call__ = call
    return ran


# --- 05: where gradients end up ----------------------------------------------------------------------------


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


# --- 06: saved tensors -------------------------------------------------------------------------------------


@mistake(6, "A second pass through `x * x` works, so the saved tensors are still there. After a node has run, it "
         "has to let go of them.",
         ("            if not retain_graph:\n                node.release()\n", ""))  # fmt: skip
def never_released(torch):
    x = leaf(torch)
    y = x * x
    y.backward()
    return runs(y.backward)


@mistake(6, "With `retain_graph=True` the saved tensors are gone all the same. Release them only if the graph is not "
         "retained.",
         ("            if not retain_graph:\n                node.release()\n",
          "            node.release()\n"))  # fmt: skip
def released_all_the_same(torch):
    x = leaf(torch)
    y = x * x
    y.backward(retain_graph=True)
    return raises("second time", lambda: y.backward())


@mistake(6, "A result of `exp` and its node hold each other: the graph is not freed when you let go of it, but waits "
         "for the garbage collector. Save a result as a second tensor on the same memory, without history.",
         ("tensor.detach() if self.is_output else tensor", "tensor"))  # fmt: skip
def ring(torch):
    return in_a_ring(lambda: leaf(torch).exp())


@mistake(6, "`x + 1` cannot run twice. An addition saves nothing, so nothing of it can be missing: the error "
         "belongs to a slot that is empty, not to a graph that was used.",
         ("            if not retain_graph:\n                node.release()\n",
          "            if not retain_graph:\n                node.release()\n                node.rule = None\n"),
         ("        grads = self.rule(self, grad)\n",
          '        if not self.rule:\n            raise RuntimeError("Trying to backward through the graph a second '
          'time: saved tensors were freed")\n        grads = self.rule(self, grad)\n'))  # fmt: skip
def refuses_everything(torch):
    x = leaf(torch)
    y = x + 1.0
    y.backward()
    return raises("second time", lambda: y.backward())


@mistake(6, "A tensor that no formula will read is kept alive by the graph: `x + 1` needs neither `x` nor 1 in "
         "backward. Save only what the formulas name.",
         ("for each in wanted & known.keys()}", "for each in known}"))  # fmt: skip
def saves_too_much(torch):
    return keeps(torch, lambda h: h + 1.0)
