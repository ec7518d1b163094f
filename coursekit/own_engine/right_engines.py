"""Right engines that are written in other ways than the reference: every checkpoint has to accept them.

RIGHT lists them as (lesson, what is other, pairs (old, new) for the stage of that lesson); CLOSURES is a whole engine
of lesson 04 without a table: each operation writes its own function for backward.
"""

from coursekit.own_engine import stages
from coursekit.own_engine.mistakes import edited

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
    (0, "backward with a list in place of a function that calls itself", (
        ("    send(gradient_edge(tensor), Tensor(1.0))\n",
         "    walk = [(gradient_edge(tensor), Tensor(1.0))]\n    while walk:\n        node, grad = walk.pop()\n"
         "        walk += [(to, sent) for (to, _), sent in zip(node.next_functions, node(grad))]\n"),
    )),
    (1, "formulas told apart by their position, read with inspect.getfullargspec", (
        ("from inspect import signature\n", "from inspect import getfullargspec\n"),
        ("list(signature(forward).parameters)", "getfullargspec(forward).args"),
        ("list(signature(formula).parameters)[1:]", "getfullargspec(formula).args[1:]"),
    )),
    (2, "no_grad as a class with __enter__ and __exit__", (
        ("def no_grad():\n    return set_grad_enabled(False)\n",
         "class no_grad:\n    def __enter__(self):\n        global recording\n        self.before, recording = "
         "recording, False\n\n    def __exit__(self, *error):\n        global recording\n        recording = "
         "self.before\n"),
    )),
    (3, "relu that saves its operand", (
        ("lambda g, result: g * (result > 0)", "lambda g, a: g * (a > 0)"),
    )),
    (4, "a heap in place of a list that is sorted", (
        ("import math\n", "import heapq\nimport math\n"),
        ("            ready.sort(key=lambda node: node.number)\n            node = ready.pop()",
         "            _, _, node = heapq.heappop(ready)"),
        ("gradient or Tensor(np.ones_like(tensor.array))}, [root]",
         "gradient or Tensor(np.ones_like(tensor.array))}, [(0, 0, root)]"),
        ("                    ready += [to] if waits[to] == 0 else []\n",
         "                    if waits[to] == 0:\n                        heapq.heappush(ready, (-to.number, id(to), "
         "to))\n"),
    )),
    (5, "the accumulators of all leaves in one weak dictionary", (
        ("        self.accumulator = None  # a leaf's node, held weakly: only graphs keep it alive\n", ""),
        ("    node = tensor.accumulator and tensor.accumulator()\n", "    node = accumulators.get(id(tensor))\n"),
        ("        tensor.accumulator = weakref.ref(node)\n", "        accumulators[id(tensor)] = node\n"),
        ("numbers = count()\n", "numbers = count()\naccumulators = weakref.WeakValueDictionary()\n"),
    )),
    (6, "slots in a dictionary that is emptied after the run", (
        ("        for each in self.saved.values():\n            each.tensor = None\n",
         "        self.saved = {name: Empty() for name in self.saved}\n"),
        ("class SavedVariable:\n", "class Empty:\n    tensor = None\n\n    def unpack(self, node):\n        raise "
         'RuntimeError("Trying to backward through the graph a second time")\n\n\nclass SavedVariable:\n'),
    )),
    (7, "the counter is a list with one number", (
        ("version or Version()", "version or [0]"),
        ("property(lambda self: self.version.count)", "property(lambda self: self.version[0])"),
        ("        self.version.count += 1\n", "        self.version[0] += 1\n"),
    )),
    (8, "a view is known by the base of its array", (
        ("if np.may_share_memory(result.array, operands[0].array):",
         "if result.array is operands[0].array or result.array.base is not None and (result.array.base is "
         "operands[0].array or result.array.base is operands[0].array.base):"),
    )),
    (9, "data as a method with a decorator", (
        ("    data = property(lambda self: Tensor(self.array))  # shares the memory, not the counter\n",
         "    @property\n    def data(self):\n        return Tensor(self.array, requires_grad=False)\n"),
    )),
    (10, "a step that adds a negative multiple", (
        ("p.sub_(p.grad * self.lr)", "p.add_(p.grad * -self.lr)"),
    )),
    (11, "saved tensors of a Function in a list of its own", (
        ("        self.to_save = tensors", "        self.to_save = list(tensors)"),
        ("    saved_tensors = property(lambda self: tuple(map(self.read, self.saved)))\n",
         "    @property\n    def saved_tensors(self):\n        return tuple(self.saved[i].unpack(self) for i in "
         "sorted(self.saved))\n"),
    )),
    (11, "each call of a Function has a node class of its own, and a rule that makes the tuple", (
        ("        grads = (grads,) if isinstance(grads, Tensor) else grads\n", ""),
        ("        ctx = Node(cls.__name__ + \"Backward\", cls.backward, [as_tensor(each) for each in args])\n",
         "        def rule(node, grad):\n            answer = cls.backward(node, grad)\n            return answer if "
         "isinstance(answer, tuple) else (answer,)\n\n        ctx = FunctionNode(cls.__name__ + \"Backward\", rule, "
         "[as_tensor(each) for each in args])\n"),
        ("            if any(result is each for each in args):\n                result = result.detach()\n"
         "                result.version.has_views = True  # a write to it would not reach the history of the input\n",
         "            result = Tensor(result.array, version=result.version)\n"),
        ("            ctx.saved = {i: SavedVariable(each, ctx) for i, each in "
         'enumerate(ctx.__dict__.pop("to_save", ()))}\n',
         "            ctx.kept = [SavedVariable(result if each is made else each, ctx) for each in ctx.noted]\n"
         "        del ctx.noted\n"),
        ("            result = cls.forward(ctx, *args)\n", "            result = made = cls.forward(ctx, *args)\n"),
        ("class Function:\n", "class FunctionNode(Node):\n    noted, kept = (), ()\n\n"
         "    def __init__(self, *args):\n        super().__init__(*args)\n        self.noted = ()\n\n"
         "    def save_for_backward(self, *tensors):\n        self.noted = tensors\n\n"
         "    @property\n    def saved_tensors(self):\n        return tuple(each.unpack(self) for each in "
         "self.kept)\n\n    def release(self):\n        for each in self.kept:\n            each.tensor = None\n\n\n"
         "class Function:\n"),
    )),
    (12, "a hook's None told apart from a gradient by `is`", (
        ("                grad = hook(grad) or grad\n",
         "                changed = hook(grad)\n                grad = grad if changed is None else changed\n"),
    )),
    (13, "grad that hands its settings on by name", (
        ("    captured = dict.fromkeys(edges)\n    run_backward(output, grad_outputs, retain_graph, create_graph, "
         "captured)\n",
         "    captured = {edge: None for edge in edges}\n    run_backward(output, gradient=grad_outputs, "
         "retain_graph=retain_graph, create_graph=create_graph, captured=captured)\n"),
    )),
)  # fmt: skip


def right_engines():
    """[(lesson, what is other, text of the engine)]"""
    texts = [(lesson, what, edited(stages.stage(lesson), edits)) for lesson, what, edits in RIGHT]
    texts += [(lesson, "with the stretch of lesson 08", stages.stage(lesson, views=True)) for lesson in (8, 13)]
    return [*texts, (4, "a function for each operation in place of a table", CLOSURES)]
