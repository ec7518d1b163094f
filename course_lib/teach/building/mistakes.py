"""What often goes wrong in an engine of one's own: how it shows, what to say, and an engine that does it.

A mistake is recognised by what the engine does, whatever its lines look like: `seen(torch)` is a small program which
is True if the mistake is there. `edits` turn the reference into an engine that makes it, so that tests can prove the
sentence.
"""

import gc
import sys
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Mistake:
    """One plausible wrong engine."""

    lesson: int  # from this lesson on it is a mistake
    says: str
    seen: Callable[[Any], bool]
    edits: tuple[tuple[str, str], ...]  # pairs (old, new): each text stands once in the stage of that lesson
    first: bool = False  # to be asked before the programs run, since with it they would not end

    @property
    def name(self):
        return self.seen.__name__


MISTAKES = []


def mistake(lesson, says, *edits, first=False):
    """Record the function below as the sign of a mistake."""

    def record(seen):
        MISTAKES.append(Mistake(lesson, " ".join(says.split()), seen, edits, first))
        return seen

    return record


def leaf(torch, value=2.0):
    return torch.tensor(value, requires_grad=True)


def raises(words, work):
    """True if the work raises a RuntimeError with these words."""
    try:
        work()
    except RuntimeError as error:
        return words in str(error)
    return False


# --- 00: a result remembers how it was made ----------------------------------------------------------------


@mistake(0, "The gradient that arrives at a leaf takes the place of the one that is there already. In `x + x` two "
         "gradients arrive at `x`; they have to be added up in `x.grad`.",
         ("grad if leaf.grad is None else leaf.grad + grad", "grad"))  # fmt: skip
def replaced(torch):
    x = leaf(torch)
    (x + x).backward()
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


# --- 02: who takes part ------------------------------------------------------------------------------------


@mistake(2, "A tensor that does not require a gradient got one. Its arrow has to lead to nothing: `gradient_edge` "
         "answers None for it.",
         ("    if tensor.grad_fn or not tensor.requires_grad:\n", "    if tensor.grad_fn:\n"))  # fmt: skip
def constants_get_gradients(torch):
    x, c = leaf(torch), torch.tensor(5.0)
    (x * c).backward()
    return c.grad is not None


@mistake(2, "The backward pass records itself: `x.grad` has a `grad_fn`. Run the pass with recording off.",
         ("    with no_grad():\n        send(", "    if True:\n        send("))  # fmt: skip
def records_itself(torch):
    x = leaf(torch)
    (x * x).backward()
    return x.grad is not None and x.grad.grad_fn is not None


@mistake(2, "After a `with no_grad():` block recording stays off. What the block switched off has to be switched on "
         "again when it ends, also if it ends with an error (`try: … finally: …`).",
         ("    try:\n        yield\n    finally:\n        recording = before\n", "    yield\n"))  # fmt: skip
def stays_off(torch):
    x = leaf(torch)
    try:
        with torch.no_grad():
            raise KeyError
    except KeyError:
        pass
    return (x * x).grad_fn is None


@mistake(2, "An operation on two constants has left a node. If all arrows lead to nothing there is nothing to record.",
         ("if recording and any(map(gradient_edge, operands)):", "if recording:"))  # fmt: skip
def node_for_constants(torch):
    c = torch.tensor(5.0)
    return (c * c).grad_fn is not None


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
    return not raises("", lambda: (x * x).backward())


@mistake(3, "The slope of a mean is one over the number of elements, for each of them. Yours does not divide.",
         ("g.expand(shape) / math.prod(shape)", "g.expand(shape)"))  # fmt: skip
def mean_is_sum(torch):
    x = leaf(torch, [1.0, 2.0])
    x.mean().backward()
    return x.grad is not None and x.grad.tolist() == [1.0, 1.0]


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
    for _ in range(3 * sys.getrecursionlimit()):
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


# --- 05: where gradients end up ----------------------------------------------------------------------------


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


@mistake(5, "A leaf that is used twice has two accumulators. Let it remember its own by a weak reference, and use it "
         "again.",
         ("    node = tensor.accumulator and tensor.accumulator()\n", "    node = None\n"))  # fmt: skip
def two_accumulators(torch):
    a = leaf(torch)
    first, second = a * 1.0, a * 2.0
    return first.grad_fn.next_functions[0][0] is not second.grad_fn.next_functions[0][0]


@mistake(5, "A leaf keeps its accumulator alive, and with it a place in every graph. Hold it by `weakref.ref`.",
         ("        tensor.accumulator = weakref.ref(node)", "        tensor.accumulator = lambda: node"))  # fmt: skip
def strong_accumulator(torch):
    a = leaf(torch)
    look = weakref.ref((a * 1.0).grad_fn.next_functions[0][0])
    return look() is not None


# --- 06: saved tensors -------------------------------------------------------------------------------------


@mistake(6, "A second pass through `x * x` works, so the saved tensors are still there. After a node has run, it "
         "has to let go of them.",
         ("            if not retain_graph:\n                node.release()\n", ""))  # fmt: skip
def never_released(torch):
    x = leaf(torch)
    y = x * x
    y.backward()
    return not raises("second time", lambda: y.backward())


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
    enabled = gc.isenabled()
    gc.disable()
    try:
        y = leaf(torch).exp()
        look = weakref.ref(y.grad_fn)
        del y
        return look() is not None
    finally:
        if enabled:
            gc.enable()


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


# --- 07: versions ------------------------------------------------------------------------------------------


def overwritten(torch):
    """backward after `h * h` has saved h and h was overwritten."""
    h = leaf(torch, [1.0, 2.0]) * 1.0
    y = (h * h).sum()
    h.mul_(10.0)
    y.backward()


@mistake(7, "A saved tensor was overwritten, and backward noticed nothing. Note the version when you save, in "
         "`SavedVariable.__init__`; compare it when you read, in `unpack`.",
         ("        if tensor._version != self.version:\n", "        if False:\n"))  # fmt: skip
def not_compared(torch):
    return not raises("modified by an inplace operation", lambda: overwritten(torch))


@mistake(7, "`x.mul_(2)` on a leaf that requires a gradient was allowed while recording is on. It has to be "
         "refused: the graph would lose the value that it begins with.",
         ("        if recording and self.requires_grad and self.is_leaf:\n", "        if False:\n"))  # fmt: skip
def leaf_overwritten(torch):
    x = leaf(torch)
    return not raises("leaf", lambda: x.mul_(2.0))


@mistake(7, "An in-place operation has changed the values, but not the history: the gradient of `(x * 1).mul_(3)` "
         "should be 3.",
         ("            self.grad_fn, self.requires_grad = after.grad_fn, True\n", "            pass\n"))  # fmt: skip
def history_lost(torch):
    x = leaf(torch)
    h = x * 1.0
    h.mul_(3.0)
    h.backward()
    return x.grad is not None and x.grad.item() == 1


@mistake(7, "Writing the old value back made the error go away. Count writes; do not compare values: 1 was added "
         "and then subtracted, and that is two writes.",
         ("        self.array[...] = after.array\n        self.version.count += 1\n",
          "        self.version.count += 1 if (after.array > self.array).any() else -1\n"
          "        self.array[...] = after.array\n"))  # fmt: skip
def values_compared(torch):
    h = leaf(torch, [1.0, 2.0]) * 1.0
    before = h._version
    h.add_(1.0).sub_(1.0)
    return h._version == before


@mistake(7, "A detached tensor was written to, and its original does not know: `detach` shares the memory, so it "
         "has to share the counter.",
         ("return Tensor(self.array, version=self.version)", "return Tensor(self.array)"))  # fmt: skip
def detach_counts_alone(torch):
    x = torch.tensor([1.0, 2.0])
    x.detach().mul_(2.0)
    return x._version == 0


# --- 08: views ---------------------------------------------------------------------------------------------


@mistake(8, "A view has a counter of its own. It lies in the memory of its base, so the two have to share one.",
         ("            result.version = operands[0].version\n", ""))  # fmt: skip
def views_count_alone(torch):
    t = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    turned = t.T
    t.mul_(10.0)
    return turned._version == 0


@mistake(8, "A clone shares the counter of its original, though it has a memory of its own. Ask `np.may_share_memory`.",
         ("if np.may_share_memory(result.array, operands[0].array):",
          'if name in ("Permute", "View", "Clone"):'))  # fmt: skip
def clone_counts_too(torch):
    t = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    copy = t.clone()
    t.mul_(10.0)
    return copy._version != 0


@mistake(8, "A recorded write to memory that has views was done, and the views' histories are now wrong without a "
         "word. Refuse it with a sentence (or follow the stretch of this lesson).",
         ("        if after.grad_fn and self.version.has_views:\n", "        if False:\n"))  # fmt: skip
def silent_views(torch):
    x, w = leaf(torch, [[1.0, 2.0]]), leaf(torch, 10.0)
    y = x * 2.0
    turned = y.T
    try:
        y.mul_(w)
        turned.sum().backward()
    except (RuntimeError, NotImplementedError):
        return False
    return x.grad is None or x.grad.tolist() != [[20.0, 20.0]]


# --- 09: ways out ------------------------------------------------------------------------------------------


@mistake(9, "A write through `.data` was counted. `.data` shares the memory, but not the counter: that is what "
         "makes it dangerous.",
         ("property(lambda self: Tensor(self.array))", "property(lambda self: self.detach())"))  # fmt: skip
def data_is_counted(torch):
    x = leaf(torch)
    x.data.mul_(3.0)
    return x._version != 0


@mistake(9, "A write through `.data` did not reach the tensor: it lies in another memory. `.data` looks at the same "
         "numbers.",
         ("property(lambda self: Tensor(self.array))", "property(lambda self: Tensor(self.array.copy()))"))  # fmt: skip
def data_is_a_copy(torch):
    x = leaf(torch)
    x.data.mul_(3.0)
    return x.item() == 2


@mistake(9, "`.data` requires a gradient. It stands outside of the graph, as `detach()` does.",
         ("property(lambda self: Tensor(self.array))", "property(lambda self: Tensor(self.array, True))"))  # fmt: skip
def data_requires_grad(torch):
    return leaf(torch).data.requires_grad


# --- 10: an optimizer --------------------------------------------------------------------------------------


def stepped(torch):
    """A parameter 2 with the gradient 4, after a step with rate 0.5 that should bring it to 0."""
    p, other = leaf(torch), leaf(torch)
    (p * p).backward()
    torch.optim.SGD([p, other], lr=0.5).step()
    return p


@mistake(10, "`step` adds the gradient. The loss falls in the other direction: subtract it.",
         ("p.sub_(p.grad * self.lr)", "p.add_(p.grad * self.lr)"))  # fmt: skip
def uphill(torch):
    return stepped(torch).item() == 4


@mistake(10, "After `step` the parameter has its old value. A new tensor was made, and the old one, which everybody "
         "else holds, was left as it was. Write into it, in place.",
         ("p.sub_(p.grad * self.lr)", "p = p - p.grad * self.lr"))  # fmt: skip
def rebound(torch):
    return stepped(torch).item() == 2


@mistake(10, "`step` forgets the learning rate.", ("p.sub_(p.grad * self.lr)", "p.sub_(p.grad)"))
def no_rate(torch):
    return stepped(torch).item() == -2


@mistake(10, "After `zero_grad` there is still a gradient. Set `.grad` of each parameter to None.",
         ("            p.grad = None\n", "            pass\n"))  # fmt: skip
def not_cleared(torch):
    p = leaf(torch)
    (p * p).backward()
    torch.optim.SGD([p], lr=0.5).zero_grad()
    return p.grad is not None


# --- 11: operations of your own ----------------------------------------------------------------------------


def cube(torch):
    """A Function that saves its input, and one that saves its result."""

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * x * x * 3.0

    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            result = x.exp()
            ctx.save_for_backward(result)
            return result

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0]

    return Cube, Exp


@mistake(11, "What `forward` computes was recorded: the result's node is not the Function's own. Run `forward` with "
         "recording off.",
         ("        with no_grad():\n            result = cls.forward(ctx, *args)\n",
          "        result = cls.forward(ctx, *args)\n"),
         ("            result.grad_fn, result.requires_grad = ctx, True\n",
          "            result.grad_fn, result.requires_grad = result.grad_fn or ctx, True\n"))  # fmt: skip
def forward_recorded(torch):
    y = cube(torch)[0].apply(leaf(torch))
    return y.grad_fn is not None and y.grad_fn.name() != "CubeBackward"


@mistake(11, "A tensor that `save_for_backward` was given was overwritten, and backward noticed nothing. Put it into a "
         "`SavedVariable`, as operations do.",
         ("SavedVariable(kept, ctx) for i", "Bare(kept) for i"),
         ("class Function:\n", "class Bare:\n    def __init__(self, tensor):\n        self.tensor = tensor\n\n"
          "    def unpack(self, node):\n        return self.tensor\n\n\nclass Function:\n"))  # fmt: skip
def saved_unchecked(torch):
    h = leaf(torch, [2.0]) * 1.0
    y = cube(torch)[0].apply(h).sum()
    h.mul_(3.0)
    return not raises("modified by an inplace operation", lambda: y.backward())


@mistake(11, "A Function that saves its result makes a ring: the result holds its node, and the node holds the result. "
         "Save only when `forward` is over and the result has its node, so that it is known as a result.",
         ("        self.to_save = tensors  # kept when forward is over: only then is an output known as one\n",
          "        self.saved = {i: SavedVariable(kept, self) for i, kept in enumerate(tensors)}\n"),
         ("            ctx.saved = {i: SavedVariable(kept, ctx) for i, kept in "
          'enumerate(ctx.__dict__.pop("to_save", ()))}\n', ""))  # fmt: skip
def ring_of_function(torch):
    enabled = gc.isenabled()
    gc.disable()
    try:
        y = cube(torch)[1].apply(leaf(torch))
        look = weakref.ref(y.grad_fn)
        del y
        return look() is not None
    finally:
        if enabled:
            gc.enable()


# --- 12: hooks ---------------------------------------------------------------------------------------------


def seen_by_hooks(torch):
    """What two hooks of h = 3x see when h sends 1 and 4 back, and what arrives at x."""
    x, seen = leaf(torch), []
    h = x * 3.0
    h.register_hook(lambda grad: seen.append(grad.item()))
    h.register_hook(lambda grad: grad * 10.0)
    h.register_hook(lambda grad: seen.append(grad.item()))
    (h + h * 4.0).backward()
    return seen, x.grad.item()


@mistake(12, "A hook was called with a part of the gradient. Call it when the node's sum is complete: just before "
         "the node runs.",
         ("            for hook in node.hooks:\n                grad = hook(grad) or grad\n", ""),
         ("                if to:\n                    buffers[to] =",
          "                if to:\n                    for hook in to.hooks:\n"
          "                        sent = hook(sent) or sent\n                    buffers[to] ="))  # fmt: skip
def parts(torch):
    return len(seen_by_hooks(torch)[0]) > 2


@mistake(12, "What a hook returns was ignored. It takes the gradient's place, for the hooks after it and for the node.",
         ("                grad = hook(grad) or grad\n", "                hook(grad)\n"))  # fmt: skip
def ignored(torch):
    return seen_by_hooks(torch) == ([5.0, 5.0], 15.0)


@mistake(12, "The hook of a leaf was never called. A leaf has no node of its own; its hooks belong to its accumulator.",
         ("        self.hooks = variable.hooks", "        self.hooks = []"))  # fmt: skip
def leaf_hooks(torch):
    x, seen = leaf(torch), []
    x.register_hook(seen.append)
    (x * 3.0).backward()
    return not seen


# --- 13: gradients of gradients ----------------------------------------------------------------------------


@mistake(13, "With `create_graph=True` the gradient has no history. Let the pass record what it computes: run it under "
         "`set_grad_enabled(create_graph)`.",
         ("    with set_grad_enabled(create_graph):\n", "    with no_grad():\n"))  # fmt: skip
def no_history(torch):
    x = leaf(torch)
    (slope,) = torch.autograd.grad(x * x, x, create_graph=True)
    return slope.grad_fn is None


@mistake(13, "`autograd.grad` has stored a gradient in `.grad`. It hands gradients back, and stores none.",
         ("            if captured and isinstance(node, AccumulateGrad):  # grad() stores nothing\n"
          "                continue\n", ""))  # fmt: skip
def stored(torch):
    x = leaf(torch)
    torch.autograd.grad(x * x, x)
    return x.grad is not None


@mistake(13, "An input that the output does not depend on got an answer. There is no gradient for it: raise an error.",
         ("    if None in captured.values():\n", "    if False:\n"))  # fmt: skip
def unused(torch):
    x, other = leaf(torch), leaf(torch)
    return not raises("not have been used", lambda: torch.autograd.grad(x * x, other))


@mistake(13, "The second derivative of `exp` is wrong: a saved result has lost its history. Give it back when the "
         "slot is read.",
         ("return Tensor(tensor.array, False, node, tensor.version) if self.is_output else tensor",
          "return tensor"))  # fmt: skip
def result_without_history(torch):
    x = leaf(torch, 0.0)
    (slope,) = torch.autograd.grad(x.exp(), x, create_graph=True)
    try:
        (second,) = torch.autograd.grad(slope, x)
    except RuntimeError:
        return True
    return not np.isclose(second.item(), 1.0)
