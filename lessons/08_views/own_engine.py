"""The learner's engine, lesson 08, views: its program, wrong engines, other right ones."""

from coursekit.own_engine.checkpoints import print
from coursekit.own_engine.mistakes import leaf, mistake, raises

NOW = "From now on it notices a write that goes through a view."

HINTS = (
    "`np.may_share_memory(result.array, operand.array)` tells a view. Give it the operand's `version`.",
    "A write is counted on the `Version` object, so views and base see one number as soon as they share it.",
)


def lesson_08(torch):
    """A view looks at the same memory, under the same counter; a copy does not."""
    t = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    turned, flat, copy = t.T, t.reshape((4,)), t.clone()
    t.mul_(10)
    print([each._version for each in (t, turned, flat, copy)], turned.tolist(), copy.tolist())
    x = torch.tensor([[1.0, 2.0]], requires_grad=True)
    h = x * 1
    y = h.T * h.T  # saves views
    with torch.no_grad():
        h.mul_(10)
    try:
        y.sum().backward()
    except RuntimeError as error:
        print("modified by an inplace operation" in str(error))


def stretch_08(torch):
    """Stretch: a write through a view changes the history of its base, and other views catch up."""
    x, w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True), torch.tensor(10.0, requires_grad=True)
    y = x * 2
    old = y[:2]
    y[1:].mul_(w)
    y[0] = w
    y.sum().backward()
    print(y.tolist(), x.grad.tolist(), w.grad.item())
    x.grad = w.grad = None
    y = x * 2
    old = y[:2]
    y[1:].mul_(10)
    old.sum().backward()
    print(x.grad.tolist())
    t = torch.tensor([0.0, 0.0])
    t[0] += 1
    print(t._version, t.tolist())


def picture(torch):
    """A result whose graph shows what the lesson has added, the names of its tensors, and the program in words."""
    x, mask = torch.tensor([1.0, -2.0], requires_grad=True), torch.tensor([3.0, 4.0])
    p = x * mask
    r = p.reshape((2, 1))
    t = r.T
    h = t.exp()
    words = "p = x * mask;  r = p.reshape((2, 1));  t = r.T;  h = t.exp();  y = (h * h).mean()"
    return (h * h).mean(), {"x": x, "mask": mask, "h": h, "p": p, "r": r, "t": t}, words


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


def refused(h, view=True):
    """Tell whether `h.mul_(3)` raises, with a view of h there or without one."""
    seen = h.T if view else h
    return raises("", lambda: h.mul_(3.0)) and seen is not None  # NotImplementedError is a RuntimeError


@mistake(8, "A write that would not be recorded was refused. Memory with views may be written to under `no_grad`, and "
         "where nothing requires a gradient: count the write and let it through. Refuse only what would be recorded.",
         ("if after.grad_fn and self.version.has_views:", "if self.version.has_views:"))  # fmt: skip
def refuses_too_much(torch):
    def too_much(one, other):  # two alike; only the second gets a view
        return (one * 3.0).grad_fn is None and not refused(one, view=False) and refused(other)

    results = [leaf(torch, [[1.0, 2.0]]) * 1.0 for _ in range(2)]
    if too_much(*(torch.tensor([[1.0, 2.0]]) for _ in range(2))):
        return True
    with torch.no_grad():
        return too_much(*results)


@mistake(8, "A recorded write to memory that has views was refused too late: the numbers or the counter had changed by "
         "then. Raise before you write (lesson 07: what is refused changes nothing).",
         ("        if after.grad_fn and self.version.has_views:\n"
          '            raise NotImplementedError("this engine records no write to memory that has views")\n'
          "        self.array[...] = after.array\n        self.version.count += 1\n",
          "        self.array[...] = after.array\n        self.version.count += 1\n"
          "        if after.grad_fn and self.version.has_views:\n"
          '            raise NotImplementedError("this engine records no write to memory that has views")\n'))
def refused_too_late(torch):  # fmt: skip
    h = leaf(torch, [[1.0, 2.0]]) * 1.0
    return refused(h) and (h.tolist(), h._version) != ([[1.0, 2.0]], 0)


RIGHT = (
    ("a view is known by the base of its array", (
        ("if np.may_share_memory(result.array, operands[0].array):",
         "if result.array is operands[0].array or result.array.base is not None and (result.array.base is "
         "operands[0].array or result.array.base is operands[0].array.base):"),
    )),
)  # fmt: skip
