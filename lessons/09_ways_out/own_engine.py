"""The learner's engine, lesson 09, ways out: its program, wrong engines, other right ones."""

from coursekit.own_engine.checkpoints import print
from coursekit.own_engine.mistakes import leaf, mistake, writes_to_a_new_array

NOW = "From now on it shows why `.data` is dangerous and `detach()` is not."

HINTS = (
    "`.data` is one line: a new Tensor on `self.array`. What must it *not* share?",
)


def lesson_09(torch):
    """detach() shares memory and counter, .data only the memory: one is caught, the other is silent."""
    for leave in (lambda x: x.detach(), lambda x: x.data):
        x = torch.tensor([3.0], requires_grad=True)
        y = (x * x).sum()
        leave(x).mul_(10)
        try:
            y.backward()
            print("no error:", x.grad.item(), "where 6 is right; version", x._version)
        except RuntimeError as error:
            print("caught:", "modified by an inplace operation" in str(error), "- version", x._version)
    x = torch.tensor(3.0, requires_grad=True)
    (x * x.detach()).backward()
    print(x.grad, x.detach().requires_grad, x.detach().is_leaf)


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
    return x.item() == 2 and not writes_to_a_new_array(torch)


@mistake(9, "`.data` requires a gradient. It stands outside of the graph, as `detach()` does.",
         ("property(lambda self: Tensor(self.array))", "property(lambda self: Tensor(self.array, True))"))  # fmt: skip
def data_requires_grad(torch):
    return leaf(torch).data.requires_grad


RIGHT = (
    ("data as a method with a decorator", (
        ("    data = property(lambda self: Tensor(self.array))  # shares the memory, not the counter\n",
         "    @property\n    def data(self):\n        return Tensor(self.array, requires_grad=False)\n"),
    )),
)  # fmt: skip
