"""What often goes wrong in lessons 07 to 13: versions, views, ways out, SGD, Functions, hooks, second derivatives."""

import numpy as np

from coursekit.own_engine.mistakes import in_a_ring, leaf, mistake, raises, runs

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
    x = torch.tensor([1.0, 2.0])
    other = x.detach()
    x.mul_(3.0)
    return x.tolist() == [3.0, 6.0] and other.tolist() == [1.0, 2.0]


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


def refused(h, view=True):
    """Whether `h.mul_(3)` raises, with a view of h there or without one."""
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
    return x.item() == 2 and not new_array(torch)


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


@mistake(10, "`step` writes into the array behind the engine's back: no version was counted, so a graph that has saved "
         "the old weights would give wrong gradients in silence. Use `sub_`, with recording off.",
         ("p.sub_(p.grad * self.lr)", "p.array -= p.grad.array * self.lr"))  # fmt: skip
def step_is_not_counted(torch):
    p = stepped(torch)
    return p.item() == 0 and p._version == 0


@mistake(10, "With every learning rate `step` goes equally far. Multiply the gradient by the `lr` that the optimizer "
         "was given.",
         ("p.sub_(p.grad * self.lr)", "p.sub_(p.grad * 0.1)"))  # fmt: skip
def always_one_rate(torch):
    ends = []
    for rate in (0.5, 0.25):
        p = leaf(torch)
        (p * p).backward()
        torch.optim.SGD([p], lr=rate).step()
        ends.append(p.item())
    return ends[0] == ends[1] != 2


@mistake(10, "After `step` a parameter's `.grad` is not what it was before. `step` only reads it: it may be printed "
         "afterwards, or more may be added to it. Clearing is the work of `zero_grad`.",
         ("                    p.sub_(p.grad * self.lr)\n",
          "                    p.sub_(p.grad * self.lr)\n                    p.grad = None\n"))  # fmt: skip
def step_clears(torch):
    p = leaf(torch)
    (p * 1.0).backward()
    before = p.grad.item()
    torch.optim.SGD([p], lr=0.5).step()
    return p.grad is None or p.grad.item() != before


@mistake(10, "`step` gives the parameter a new array: what shares its memory, such as `p.detach()`, still holds the "
         "old values. Write into the array that is there; `sub_` does.",
         ("                    p.sub_(p.grad * self.lr)\n",
          "                    p.array = p.array - p.grad.array * self.lr\n"
          "                    p.version.count += 1\n"))  # fmt: skip
def step_makes_an_array(torch):
    p = leaf(torch, [2.0])
    shared = p.detach()
    (p * p).sum().backward()
    torch.optim.SGD([p], lr=0.5).step()
    return p.tolist() == [0.0] and shared.tolist() == [2.0] and not new_array(torch)


@mistake(10, "Given a generator, as `model.parameters()` is one, your optimizer comes to the parameters once and never "
         "again: after `zero_grad`, `step` finds none. Keep `list(params)`.",
         ("list(params), lr", "params, lr"))  # fmt: skip
def generator_used_up(torch):
    p = leaf(torch)
    optimizer = torch.optim.SGD((each for each in [p]), lr=0.5)
    optimizer.zero_grad()
    (p * p).backward()
    optimizer.step()
    return p.item() == 2 and stepped(torch).item() != 2


@mistake(10, "`step` stops at a parameter whose `.grad` is None. It took no part in this loss: skip it.",
         ("                if p.grad is not None:\n    ", ""))  # fmt: skip
def none_is_not_skipped(torch):
    p, other = leaf(torch), leaf(torch)
    (p * p).backward()
    torch.optim.SGD([p], lr=0.5).step()
    try:
        torch.optim.SGD([other], lr=0.5).step()
    except (AttributeError, TypeError):
        return True
    return False


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


@mistake(11, "The node of a Function has another name than in PyTorch. It is the name of the class with `Backward` "
         "behind it, without a number: `cls.__name__ + \"Backward\"`.",
         ('        ctx = Node(cls.__name__ + "Backward", ', "        ctx = Node(cls.__name__, "),
         only=True)  # fmt: skip
def another_name(torch):
    node = cube(torch)[0].apply(leaf(torch)).grad_fn
    return node is not None and hasattr(node, "saved_tensors") and node.name() in ("Cube", "CubeBackward0", "Function",
                                                                                  "FunctionBackward")


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
         ("SavedVariable(each, ctx) for i", "Bare(each) for i"),
         ("class Function:\n", "class Bare:\n    def __init__(self, tensor):\n        self.tensor = tensor\n\n"
          "    def unpack(self, node):\n        return self.tensor\n\n\nclass Function:\n"))  # fmt: skip
def saved_unchecked(torch):
    h = leaf(torch, [2.0]) * 1.0
    y = cube(torch)[0].apply(h).sum()
    h.mul_(3.0)
    return runs(y.backward) and not runs(lambda: overwritten(torch))


@mistake(11, "A Function that saves its result makes a ring: the result holds its node, and the node holds the result. "
         "Save only when `forward` is over and the result has its node, so that it is known as a result. And then "
         "throw away what `save_for_backward` had noted: that note holds the result as well.",
         ("        self.to_save = tensors  # saved when forward is over: only then is an output known as one\n",
          "        self.saved = {i: SavedVariable(each, self) for i, each in enumerate(tensors)}\n"),
         ("            ctx.saved = {i: SavedVariable(each, ctx) for i, each in "
          'enumerate(ctx.__dict__.pop("to_save", ()))}\n', ""))  # fmt: skip
def ring_of_function(torch):
    exp = cube(torch)[1]
    return in_a_ring(lambda: exp.apply(leaf(torch))) and not in_a_ring(lambda: leaf(torch).exp())


def straight_through(torch, act=lambda ctx, x: None, answer=lambda grad: grad):
    """A Function of one argument that returns it as it is; `act` is called in forward, `answer` gives the gradient."""

    class Through(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            act(ctx, x)
            return x

        @staticmethod
        def backward(ctx, grad):
            return answer(grad)

    return Through


@mistake(11, "A `backward` that returns its one gradient as it is, without a tuple around it, does not work; with the "
         "tuple it does. Most Functions have one argument: let `Node.__call__` put a single tensor into a tuple.",
         ("        grads = (grads,) if isinstance(grads, Tensor) else grads\n", ""))  # fmt: skip
def single_gradient_refused(torch):
    def works(answer):
        x = leaf(torch, [1.0, 2.0])
        try:
            straight_through(torch, answer=answer).apply(x * 1.0).sum().backward()
        except Exception:  # a tensor that is taken for a tuple fails in many ways
            return False
        return x.grad is not None and x.grad.tolist() == [1.0, 1.0]

    return works(lambda grad: (grad,)) and not works(lambda grad: grad)


@mistake(11, "`forward` returned the tensor that it was given, and the Function's node was hung on that: a leaf of "
         "the caller has a history now, and is no leaf any more. Hang the node on `result.detach()` then.",
         ("                result = result.detach()\n", ""))  # fmt: skip
def input_given_a_node(torch):
    x = leaf(torch)
    straight_through(torch).apply(x)
    return x.grad_fn is not None


@mistake(11, "`forward` ran with recording on: what it computes on the way leaves nodes. The only node is to be the "
         "Function's own, so run `forward` under `no_grad`.",
         ("        with no_grad():\n            result = cls.forward(ctx, *args)\n",
          "        result = cls.forward(ctx, *args)\n"))  # fmt: skip
def recording_on_in_forward(torch):
    seen = []
    straight_through(torch, lambda ctx, x: seen.append(x * 2.0)).apply(leaf(torch))
    return seen[0].grad_fn is not None


@mistake(11, "Under `no_grad` the result of a Function has a node. Hang it on only if recording is on, as for any "
         "other operation.",
         ("        if recording and any(ctx.needs_input_grad):\n", "        if any(ctx.needs_input_grad):\n")
         )  # fmt: skip
def node_under_no_grad(torch):
    with torch.no_grad():
        y = cube(torch)[0].apply(leaf(torch))
    return y.grad_fn is not None


@mistake(11, "No argument of a Function requires a gradient, and its result has a node all the same. Hang it on only "
         "if something wants a gradient.",
         ("        if recording and any(ctx.needs_input_grad):\n", "        if recording:\n"))  # fmt: skip
def node_for_nobody(torch):
    node = cube(torch)[0].apply(torch.tensor(2.0)).grad_fn
    return node is not None and not any(node.needs_input_grad)


@mistake(11, "A second call of `save_for_backward` has added to the first one. It replaces it, as in PyTorch: only "
         "what the last call names is saved.",
         ("        self.to_save = tensors  #", '        self.to_save = (*getattr(self, "to_save", ()), *tensors)  #')
         )  # fmt: skip
def second_call_adds(torch):
    def act(ctx, x):
        ctx.save_for_backward(x)
        ctx.save_for_backward(x)

    return len(straight_through(torch, act).apply(leaf(torch)).grad_fn.saved_tensors) == 2


@mistake(11, "What `save_for_backward` was given is still there after the pass: a second pass through a Function runs, "
         "and the memory waits. Put it where `release()` empties it, as for other nodes.",
         ("            ctx.saved = {i: SavedVariable(each, ctx) for i, each in "
          'enumerate(ctx.__dict__.pop("to_save", ()))}\n',
          '            ctx.kept = [SavedVariable(each, ctx) for each in ctx.__dict__.pop("to_save", ())]\n'),
         ("tuple(map(self.read, self.saved))", "tuple(each.unpack(self) for each in self.kept)"))  # fmt: skip
def never_released(torch):
    def second_pass(operation):
        y = operation(leaf(torch))
        y.backward()
        return runs(y.backward)

    return second_pass(cube(torch)[0].apply) and not second_pass(lambda x: x.exp())


@mistake(11, "`forward` is given a tensor where the caller has given a plain number. Turn numbers into tensors for the "
         "node only; `forward` gets the arguments as they are.",
         ("            result = cls.forward(ctx, *args)\n",
          "            result = cls.forward(ctx, *(as_tensor(each) for each in args))\n"))  # fmt: skip
def numbers_turned_into_tensors(torch):
    seen = []

    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            seen.append(factor)
            return x * 2.0

        @staticmethod
        def backward(ctx, grad):
            return grad * 2.0, None

    Scaled.apply(leaf(torch), 2.0)
    return isinstance(seen[0], torch.Tensor)


@mistake(11, "The result of a Function has a node, but its `requires_grad` is False: another operation on it leaves no "
         "node, and the gradient is lost there. Set `requires_grad` with the node.",
         ("            result.grad_fn, result.requires_grad = ctx, True\n", "            result.grad_fn = ctx\n"),
         only=True)  # fmt: skip
def result_without_the_flag(torch):
    y = cube(torch)[0].apply(leaf(torch))
    return y.grad_fn is not None and not y.requires_grad


@mistake(11, "`needs_input_grad` is a list. In PyTorch it is a tuple, and prints like one.",
         ("tuple(to is not None for to, _ in ctx.next_functions)", "[to is not None for to, _ in ctx.next_functions]")
         )  # fmt: skip
def flags_in_a_list(torch):
    return isinstance(cube(torch)[0].apply(leaf(torch)).grad_fn.needs_input_grad, list)


@mistake(11, "`needs_input_grad` says True for an argument that wants no gradient. There is one flag for each argument "
         "of `apply`, and a number, or a tensor that requires no gradient, has False.",
         ("tuple(to is not None for to, _ in ctx.next_functions)", "tuple(True for _ in ctx.next_functions)"),
         ("        if recording and any(ctx.needs_input_grad):\n",
          "        if recording and any(to is not None for to, _ in ctx.next_functions):\n"))  # fmt: skip
def flags_all_true(torch):
    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            return x * 2.0

        @staticmethod
        def backward(ctx, grad):
            return grad * 2.0, None

    node = Scaled.apply(leaf(torch), 2.0).grad_fn
    return node.next_functions[-1][0] is None and all(node.needs_input_grad)  # the arrow is right, the flag is not


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


@mistake(12, "Each hook was given the gradient that came. It should get what the hook before it returned.",
         ("            for hook in node.hooks:\n                grad = hook(grad) or grad\n",
          "            came = grad\n            for hook in node.hooks:\n"
          "                grad = hook(came) or grad\n"))  # fmt: skip
def unchained(torch):
    seen, arrived = seen_by_hooks(torch)
    return seen == [5.0, 5.0] and arrived == 150.0


@mistake(12, "Hooks were called in another order than they were registered.",
         ("            for hook in node.hooks:\n", "            for hook in node.hooks[::-1]:\n"))  # fmt: skip
def out_of_order(torch):
    x, seen = leaf(torch), []
    x.register_hook(lambda grad: seen.append(1))
    x.register_hook(lambda grad: seen.append(2))
    (x * 3.0).backward()
    return seen == [2, 1]


@mistake(12, "The hook of a leaf was never called. Keep it in a list of the leaf, which each accumulator of this leaf "
         "uses: the accumulator of the pass may be another one than you have asked for.",
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
    return runs(lambda: torch.autograd.grad(x * x, other))


@mistake(13, "With `create_graph` the first pass has released what it saved, and the second one still needs it. Let "
         "`create_graph` retain the graph, as `retain_graph` does.",
         ("            if not (retain_graph or create_graph):", "            if not retain_graph:"))  # fmt: skip
def not_retained(torch):
    x = leaf(torch)

    def twice(**flags):
        y = x * x
        torch.autograd.grad(y, x, **flags)
        return runs(lambda: torch.autograd.grad(y, x))

    return twice(create_graph=True, retain_graph=True) and not twice(create_graph=True)


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


@mistake(13, "The second pass was added in place to a gradient that has a history: what was computed from it now "
         "stands on numbers that have changed. While recording is on, put a new tensor, the sum, into `.grad`.",
         ("        elif recording:\n            leaf.grad = leaf.grad + grad  # a new tensor, with a history\n", "")
         )  # fmt: skip
def history_overwritten(torch):
    x = leaf(torch)
    (x * x * x).backward(create_graph=True)
    first = x.grad
    (x * x * x).backward(create_graph=True)
    return x.grad is first and first.grad_fn is not None and first.item() == 24
