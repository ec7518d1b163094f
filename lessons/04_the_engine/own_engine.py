"""The learner's engine, lesson 04, the engine: its program, wrong engines, other right ones."""

import contextlib
import sys

from coursekit.own_engine.checkpoints import print
from coursekit.own_engine.mistakes import leaf, mistake

NOW = "From now on it runs each node once, on its whole sum, however many paths there are."

HINTS = (
    "Count first: walk from the root to every node once, and count how many arrows lead to each.",
    "A node is ready when all its arrows have brought something. Until then add what comes to its buffer.",
    "Of the ready nodes take the one with the largest number; an accumulator counts as the largest of all.",
)


def lesson_04(torch):
    """Each node runs once, on its whole sum: 316 and not 140, and neither paths nor depth cost anything."""
    x = torch.tensor(2.0, requires_grad=True)
    a = x * x
    b = a + x
    c = b * a
    d = c + b
    e = d * a
    e.backward()
    print(x.grad)
    x, h = torch.tensor(1.0, requires_grad=True), 0
    h = x
    for _ in range(50):
        h = h + h  # 2⁵⁰ paths
    h.backward()
    print(x.grad.item() == 2.0**50)
    y = x = torch.tensor(1.0, requires_grad=True)
    for _ in range(2_000):
        y = y + x
    y.backward()
    print(x.grad)


def picture(torch):
    """A result whose graph shows what the lesson has added, the names of its tensors, and the program in words."""
    x = torch.tensor(2.0, requires_grad=True)
    p = x * x  # the program of the lesson, in other letters: formulas call their operands a and b
    q = p + x
    r = q * p
    s = r + q
    t = s * p
    t.backward()  # p waited for three gradients, and 316 is right
    words = "p = x * x;  q = p + x;  r = q * p;  s = r + q;  t = s * p, after t.backward()"
    return t, {"x": x, "p": p, "q": q, "r": r, "s": s, "t": t}, words


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


# A whole engine without a table: each operation writes its own function for backward.
CLOSURES = '''
import contextlib
import numpy as np

numbering, active = 0, True


class Tensor:
    __array_priority__ = 1000
    __array_ufunc__ = None

    def __init__(self, array, requires_grad=False):
        self.array, self.requires_grad = np.asarray(array), requires_grad
        self.grad_fn = self.grad = self.leaf_node = None

    @property
    def is_leaf(self):
        return self.grad_fn is None

    @property
    def shape(self):
        return self.array.shape

    def __repr__(self):
        tail = f", grad_fn=<{self.grad_fn.name()}>" if self.grad_fn else ", requires_grad=True"
        return f"tensor({np.array2string(self.array, separator=', ')}{tail if self.requires_grad else ''})"

    def item(self):
        return self.array.item()

    def tolist(self):
        return self.array.tolist()

    def node(self):
        if self.grad_fn is None and self.requires_grad:
            self.leaf_node = self.leaf_node or Node("AccumulateGrad", [], self.receive, self)
        return self.grad_fn or self.leaf_node

    def receive(self, g):
        self.grad = Tensor(g if self.grad is None else self.grad.array + g)
        return []

    def backward(self, gradient=None):
        if self.node() is None:
            raise RuntimeError("element 0 of tensors does not require grad and does not have a grad_fn")
        if gradient is None:
            if self.array.size != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            gradient = Tensor(np.ones_like(self.array))
        order, seen, stack = [], set(), [(self.node(), False)]
        while stack:  # depth first, each node behind all that it leads to
            node, done = stack.pop()
            if done:
                order.append(node)
            elif node not in seen:
                seen.add(node)
                stack.append((node, True))
                stack.extend((to, False) for to, _ in node.next_functions if to is not None)
        sums = {self.node(): gradient.array}
        for node in reversed(order):
            for (to, _), g in zip(node.next_functions, node.back(sums.pop(node))):
                if to is not None:
                    sums[to] = sums[to] + g if to in sums else g


class Node:
    def __init__(self, title, operands, back, variable=None):
        global numbering
        self.title, self.back, self.made, numbering = title, back, numbering, numbering + 1
        self.next_functions = tuple((each.node(), 0) for each in operands)
        if variable is not None:
            self.variable = variable

    def name(self):
        return self.title


def tensor(data, requires_grad=False):
    return Tensor(np.array(data, dtype=np.float32), requires_grad)


@contextlib.contextmanager
def no_grad():
    global active
    before, active = active, False
    try:
        yield
    finally:
        active = before


def shrink(g, shape):
    while g.ndim > len(shape):
        g = g.sum(0)
    for i, n in enumerate(shape):
        if n == 1 and g.shape[i] != 1:
            g = g.sum(i, keepdims=True)
    return g


def made(title, value, operands, *back):
    """back: for each operand a function from the gradient of the result to its own, called if it is wanted."""
    result = Tensor(np.asarray(value, np.float32))
    if active and any(each.requires_grad for each in operands):
        wanted = [f if each.requires_grad else None for f, each in zip(back, operands)]
        shapes = [each.shape for each in operands]
        fitted = lambda g: [f and shrink(np.asarray(f(g)), shape) for f, shape in zip(wanted, shapes)]
        result.grad_fn, result.requires_grad = Node(title, operands, fitted), True
    return result


def wrap(value):
    return value if isinstance(value, Tensor) else Tensor(np.float32(value))


def two(title, value, left, right):
    def operator(a, b):
        a, b = wrap(a), wrap(b)
        x, y = a.array, b.array
        return made(title + "Backward0", value(x, y), [a, b], lambda g: left(g, x, y), lambda g: right(g, x, y))
    return operator


def one(title, value, back):
    def method(a):
        x, r = a.array, value(a.array)
        return made(title + "Backward0", r, [a], lambda g: back(g, x, r))
    return method


def reshape(a, size):
    return made("ViewBackward0", a.array.reshape(size), [a], lambda g: g.reshape(a.shape))


def expand(a, size):
    return made("ExpandBackward0", np.broadcast_to(a.array, size), [a], lambda g: g)


def power(a, n):
    return made("PowBackward0", a.array ** n, [a], lambda g: g * n * a.array ** (n - 1))


Tensor.__add__ = Tensor.__radd__ = two("Add", lambda a, b: a + b, lambda g, a, b: g, lambda g, a, b: g)
Tensor.__mul__ = Tensor.__rmul__ = two("Mul", lambda a, b: a * b, lambda g, a, b: g * b, lambda g, a, b: g * a)
Tensor.__sub__ = two("Sub", lambda a, b: a - b, lambda g, a, b: g, lambda g, a, b: -g)
Tensor.__truediv__ = two("Div", lambda a, b: a / b, lambda g, a, b: g / b, lambda g, a, b: -g * a / b ** 2)
Tensor.__matmul__ = two("Mm", lambda a, b: a @ b, lambda g, a, b: g @ b.T, lambda g, a, b: a.T @ g)
Tensor.__pow__, Tensor.reshape, Tensor.expand = power, reshape, expand
Tensor.T = property(one("Permute", lambda a: a.T, lambda g, a, r: g.T))
Tensor.exp = one("Exp", np.exp, lambda g, a, r: g * r)
Tensor.relu = one("Relu", lambda a: np.maximum(a, 0), lambda g, a, r: g * (a > 0))
Tensor.tanh = one("Tanh", np.tanh, lambda g, a, r: g * (1 - r * r))
Tensor.sum = one("Sum", lambda a: a.sum(), lambda g, a, r: g * np.ones_like(a))
Tensor.mean = one("Mean", lambda a: a.mean(), lambda g, a, r: g * np.ones_like(a) / a.size)
'''


RIGHT = (
    ("a heap in place of a list that is sorted", (
        ("import math\n", "import heapq\nimport math\n"),
        ("            ready.sort(key=lambda node: node.number)\n            node = ready.pop()",
         "            _, _, node = heapq.heappop(ready)"),
        ("gradient or Tensor(np.ones_like(tensor.array))}, [root]",
         "gradient or Tensor(np.ones_like(tensor.array))}, [(0, 0, root)]"),
        ("                    ready += [to] if waits[to] == 0 else []\n",
         "                    if waits[to] == 0:\n                        heapq.heappush(ready, (-to.number, id(to), "
         "to))\n"),
    )),
)  # fmt: skip


WHOLE = (("a function for each operation in place of a table", CLOSURES),)
