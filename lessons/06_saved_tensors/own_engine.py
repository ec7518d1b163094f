"""The learner's engine, lesson 06, saved tensors: its program, wrong engines, other right ones."""

import weakref

from coursekit.own_engine.checkpoints import print
from coursekit.own_engine.mistakes import in_a_ring, keeps, leaf, mistake, raises, runs

NOW = "From now on it frees what nodes saved while backward runs, and refuses a second pass."

HINTS = (
    "`SavedVariable.__init__` asks `tensor.grad_fn is node`. If so, it is the node's own result: keep a second "
    "Tensor on the same array, without `grad_fn`.",
    "`release` sets the tensor of every slot to None, and `unpack` raises when it finds None.",
    "In `run_backward`, release a node right after it was called, inside of the loop.",
)


def lesson_06(torch):
    """A node saves what its formulas read. After a pass that is gone, unless the graph is retained."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    for name, y in (("x + 1", (x + 1).sum()), ("x * x", (x * x).sum()), ("exp", x.exp().sum())):
        try:
            y.backward()
            y.backward()
            print(name, "runs twice")
        except RuntimeError as error:
            print(name, "raises:", str(error)[:48])
    x.grad, y = None, (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    print(x.grad)


@mistake(6, "A second pass through `x * x` works, so the saved tensors are still there. After a node has run, it "
         "has to let go of them.",
         ("            if not retain_graph:\n                node.release()\n", ""))  # fmt: skip
def never_released(torch):
    x = leaf(torch)
    y = x * x
    y.backward()
    return runs(y.backward)


@mistake(6, "The saved tensors are let go of when the whole pass is over. Each node has to release its own right after "
         "it has run, before the next one runs: that is what makes room while backward runs.",
         ("        while ready:\n", "        done = []\n        while ready:\n"),
         ("                node.release()\n", "                done.append(node)\n"),
         ("\n\n\nTensor.backward = run_backward",
          "\n    for node in done:\n        node.release()\n\n\nTensor.backward = run_backward"),
         only=True)  # fmt: skip
def released_at_the_end(torch):
    w, alive = leaf(torch), []
    between = w * 1.0
    look = weakref.ref(between)

    class Watched(type(w)):
        def __setattr__(self, name, value):
            if name == "grad" and value is not None:
                alive.append(look() is not None)
            super().__setattr__(name, value)

    try:
        w.__class__ = Watched
    except TypeError:
        return False  # a tensor that is no plain object of Python's: not a learner's
    loss = between * leaf(torch)
    del between
    loss.backward()
    return alive == [True] and look() is None


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


RIGHT = (
    ("slots in a dictionary that is emptied after the run", (
        ("        for each in self.saved.values():\n            each.tensor = None\n",
         "        self.saved = {name: Empty() for name in self.saved}\n"),
        ("class SavedVariable:\n", "class Empty:\n    tensor = None\n\n    def unpack(self, node):\n        raise "
         'RuntimeError("Trying to backward through the graph a second time")\n\n\nclass SavedVariable:\n'),
    )),
)  # fmt: skip
