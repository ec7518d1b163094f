"""The learner's engine, lesson 07, versions: its program, wrong engines, other right ones."""

from coursekit.own_engine.checkpoints import print
from coursekit.own_engine.mistakes import leaf, mistake, overwritten, raises, runs, writes_to_a_new_array

NOW = "From now on it raises the most famous error of PyTorch, and only where it is due."

HINTS = (
    "A detached tensor has to count with its relatives: hand the `Version` object itself on, not its number.",
    "In `in_place`, the copy keeps the old `grad_fn`: it is the operand of the computation. Compute with the "
    "copy, then write into `self.array[...]`.",
    "The guard comes first, before anything is written: recording is on, `self.requires_grad`, and "
    "`self.is_leaf`.",
)


def lesson_07(torch):
    """Writes are counted. What was saved may not be written to before backward; the rest may."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)

    def outcome(run):
        x.grad = None
        try:
            run().sum().backward()
            return x.grad.tolist()
        except RuntimeError as error:
            return str(error)[max(0, str(error).find("is at version")) :].split(" instead")[0]

    print(outcome(lambda: (x * 2).add_(1)))  # the product saved the 2
    print(outcome(lambda: (x + 1).mul_(3)))  # an addition saves nothing
    print(outcome(lambda: x.relu().add_(1)))  # relu saved its result
    h = x * 1
    h.add_(1)  # before it is saved: harmless
    y = h * h
    h.add_(1).sub_(1)  # undone, and yet two writes
    print(outcome(lambda: y), h._version)
    try:
        x.mul_(2)
    except RuntimeError as error:
        print(error)
    with torch.no_grad():
        x.mul_(2)
    print(x, x._version)
    total = torch.tensor([0.0, 0.0])
    total.add_(x)  # plain data takes part in the history from now on
    print(total.requires_grad, outcome(lambda: total))


def picture(torch):
    """A result whose graph shows what the lesson has added, the names of its tensors, and the program in words."""
    x, mask = torch.tensor([1.0, -2.0], requires_grad=True), torch.tensor([3.0, 4.0])
    h = (x * mask).relu()
    h.mul_(2.0)  # relu saved its result: the picture says STALE
    words = "h = (x * mask).relu();  h.mul_(2);  y = (h * h).mean()"
    return (h * h).mean(), {"x": x, "mask": mask, "h": h}, words


@mistake(7, "A saved tensor was overwritten, and backward noticed nothing. Note the version when you save, in "
         "`SavedVariable.__init__`; compare it when you read, in `unpack`.",
         ("        if tensor._version != self.version:\n", "        if False:\n"))  # fmt: skip
def not_compared(torch):
    return runs(lambda: overwritten(torch)) and not noted_when_read(torch)


@mistake(7, "`x.mul_(2)` on a leaf that requires a gradient was allowed while recording is on. It has to be "
         "refused: the graph would lose the value that it begins with.",
         ("        if recording and self.requires_grad and self.is_leaf:\n", "        if False:\n"))  # fmt: skip
def leaf_overwritten(torch):
    x = leaf(torch)
    return runs(lambda: x.mul_(2.0))


@mistake(7, "An in-place operation has changed the values, but not the history: the gradient of `(x * 1).mul_(3)` "
         "should be 3.",
         ("            self.grad_fn, self.requires_grad = after.grad_fn, True\n", "            pass\n"))  # fmt: skip
def history_lost(torch):
    x = leaf(torch)
    h = x * 1.0
    h.mul_(3.0)
    h.backward()
    return x.grad is not None and x.grad.item() == 1


@mistake(7, "After a recorded write into plain data, such as `total.add_(x)`, the tensor has a node and says "
         "`requires_grad` False. It takes part in the history from then on: set `requires_grad`, too.",
         ("            self.grad_fn, self.requires_grad = after.grad_fn, True\n",
          "            self.grad_fn = after.grad_fn\n"))  # fmt: skip
def asks_for_nothing(torch):
    total = torch.tensor(0.0)
    total.add_(leaf(torch))
    return total.grad_fn is not None and not total.requires_grad


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


@mistake(7, "A slot notes the version when it is first read, and not when the tensor is saved. What was written "
         "between the two goes unnoticed. Note it in `SavedVariable.__init__`.",
         ("        self.version = tensor._version\n", "        self.version = None\n"),
         ("        if tensor._version != self.version:\n",
          "        self.version = tensor._version if self.version is None else self.version\n"
          "        if tensor._version != self.version:\n"))  # fmt: skip
def noted_when_read(torch):
    h = leaf(torch, [1.0, 2.0]) * 1.0
    y = (h * h).sum()
    h.mul_(10.0)
    try:
        y.backward(retain_graph=True)
    except RuntimeError:
        return False
    h.mul_(10.0)
    return raises("modified by an inplace operation", lambda: y.backward())


@mistake(7, "A saved tensor counts as overwritten, though nothing was written at all. Compare two numbers: what "
         "`_version` was when the tensor was saved, and what it is when the slot is read.",
         ("        if tensor._version != self.version:\n", "        if tensor.version != self.version:\n"))  # fmt: skip
def always_stale(torch):
    x = leaf(torch)
    return raises("modified by an inplace operation", (x * x).backward)


@mistake(7, "An in-place operation gives the tensor a new array: `detach()` goes on looking at the old one. Write into "
         "the array that is there, `self.array[...] = …`.",
         ("        self.array[...] = after.array\n", "        self.array = after.array\n"))  # fmt: skip
def new_array(torch):
    return writes_to_a_new_array(torch)


@mistake(7, "A result was refused as if it were a leaf: `(x * 1).mul_(3)` is a recorded operation like any other. Only "
         "a leaf has to be guarded, `self.is_leaf`.",
         ("        if recording and self.requires_grad and self.is_leaf:\n",
          "        if recording and self.requires_grad:\n"))  # fmt: skip
def results_guarded(torch):
    h = leaf(torch) * 1.0
    return raises("a leaf Variable", lambda: h.mul_(3.0))


@mistake(7, "Under `no_grad` a write to a leaf was refused. Nothing is recorded there, so the leaf stays a leaf, and "
         "the write is allowed: ask whether recording is on.",
         ("        if recording and self.requires_grad and self.is_leaf:\n",
          "        if self.requires_grad and self.is_leaf:\n"))  # fmt: skip
def guarded_under_no_grad(torch):
    x = leaf(torch)

    def write():
        with torch.no_grad():
            x.mul_(3.0)

    return raises("a leaf Variable", write)


@mistake(7, "The two numbers of the message are swapped. \"At version\" is what the counter says now, \"expected\" is "
         "what was noted when the tensor was saved.",
         ("is at version {tensor._version}; expected version {self.version} instead",
          "is at version {self.version}; expected version {tensor._version} instead"))  # fmt: skip
def numbers_swapped(torch):
    return raises("is at version 0; expected version 1", lambda: overwritten(torch))


@mistake(7, "After `y.mul_(w)` the gradient of `w` is not the old `y`. The product has saved its operand, and then "
         "your engine writes over this memory. Compute from a copy of the old numbers.",
         ("compute(Tensor(self.array.copy(), grad_fn=self.grad_fn), *others)",
          "compute(Tensor(self.array, grad_fn=self.grad_fn), *others)"))  # fmt: skip
def no_copy(torch):
    w, y = leaf(torch, [3.0, 4.0]), leaf(torch, [1.0, 2.0]) * 1.0
    y.mul_(w)
    try:
        y.backward(torch.tensor([1.0, 1.0]))
    except RuntimeError as error:
        return "modified by an inplace operation" in str(error)
    return w.grad.tolist() == [3.0, 8.0]


@mistake(7, "A second pass adds to `.grad` in place, and this write is not counted. Let `AccumulateGrad` use `add_`.",
         ("            leaf.grad.add_(grad)", "            leaf.grad.array += grad.array"))  # fmt: skip
def grad_not_counted(torch):
    x = leaf(torch)
    (x * 2.0).backward()
    grad, before = x.grad, x.grad._version
    (x * 2.0).backward()
    return x.grad is grad and grad.item() == 4 and grad._version == before


@mistake(7, "A write under `no_grad` has cut a result off from its history: after it no gradient reaches `x`. Change "
         "`grad_fn` only if the computation has left a node.",
         ("        if after.grad_fn:\n            self.grad_fn, self.requires_grad = after.grad_fn, True\n",
          "        self.grad_fn = after.grad_fn\n"
          "        self.requires_grad = self.requires_grad or after.grad_fn is not None\n"))  # fmt: skip
def history_cut(torch):
    x = leaf(torch)
    y = x * 2.0
    with torch.no_grad():
        y.mul_(3.0)
    try:
        y.backward()
    except RuntimeError:
        pass
    return y.grad_fn is None and x.grad is None


RIGHT = (
    ("the counter is a list with one number", (
        ("version or Version()", "version or [0]"),
        ("property(lambda self: self.version.count)", "property(lambda self: self.version[0])"),
        ("        self.version.count += 1\n", "        self.version[0] += 1\n"),
    )),
)  # fmt: skip
