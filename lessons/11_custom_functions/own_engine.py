"""The learner's engine, lesson 11, operations of your own: its program, wrong engines, other right ones."""

from coursekit.own_engine.checkpoints import print
from coursekit.own_engine.mistakes import in_a_ring, leaf, mistake, overwritten, runs

NOW = "From now on it takes operations that others have written, with their own backward."

HINTS = (
    "The node is the `ctx`: make it before `forward` runs, and hand it to `forward` as the first argument.",
    "What `save_for_backward` was given becomes slots only after `forward` has returned. Before that, an output "
    "is not known as one.",
    "`backward` may return one tensor or a tuple. Make a tuple of both.",
)


def lesson_11(torch):
    """Functions of your own: a saved tensor with its version check, released after the pass; an input handed back."""

    class Step(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.factor = factor
            ctx.save_for_backward(x)
            return x.relu()

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * x * ctx.factor, None

    x = torch.tensor([2.0, -1.0], requires_grad=True)
    y = Step.apply(x * 1, 10.0)
    print(y.tolist(), y.grad_fn.name(), y.grad_fn.needs_input_grad)
    y.sum().backward()
    print(x.grad)
    h = x * 1
    y = Step.apply(h, 10.0)
    h.mul_(3)
    try:
        y.sum().backward()
    except RuntimeError as error:
        print("modified by an inplace operation" in str(error))
    y = Step.apply(x * 1, 10.0)
    y.sum().backward()
    try:
        y.sum().backward()
    except RuntimeError as error:
        print("a second time" in str(error))

    class Through(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * 3

    x = torch.tensor([2.0, -1.0], requires_grad=True)
    y = Through.apply(x)
    (y * y).sum().backward()
    print(y is x, x.is_leaf, x.grad)
    with torch.no_grad():
        print(Step.apply(x, 10.0).requires_grad)
    print(Step.apply(torch.tensor([2.0, -1.0]), 10.0).requires_grad)


def straight_through(torch):
    """A custom Function: forward keeps what is positive, backward pretends that it kept everything."""

    class StraightThrough(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.relu()

        @staticmethod
        def backward(ctx, grad):
            return grad

    return StraightThrough


def picture(torch):
    """A result whose graph shows what the lesson has added, the names of its tensors, and the program in words."""
    x, mask = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([1.0, 0.0])
    h = straight_through(torch).apply(x * mask)
    words = "h = StraightThrough.apply(x * mask);  y = (h * h).mean()"
    return (h * h).mean(), {"x": x, "mask": mask, "h": h}, words


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


def straight_through_with(torch, act=lambda ctx, x: None, answer=lambda grad: grad):
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
            straight_through_with(torch, answer=answer).apply(x * 1.0).sum().backward()
        except Exception:  # a tensor that is taken for a tuple fails in many ways
            return False
        return x.grad is not None and x.grad.tolist() == [1.0, 1.0]

    return works(lambda grad: (grad,)) and not works(lambda grad: grad)


@mistake(11, "`forward` returned the tensor that it was given, and the Function's node was hung on that: a leaf of "
         "the caller has a history now, and is no leaf any more. Hang the node on `result.detach()` then.",
         ("                result = result.detach()\n", ""))  # fmt: skip
def input_given_a_node(torch):
    x = leaf(torch)
    straight_through_with(torch).apply(x)
    return x.grad_fn is not None


@mistake(11, "`forward` ran with recording on: what it computes on the way leaves nodes. The only node is to be the "
         "Function's own, so run `forward` under `no_grad`.",
         ("        with no_grad():\n            result = cls.forward(ctx, *args)\n",
          "        result = cls.forward(ctx, *args)\n"))  # fmt: skip
def recording_on_in_forward(torch):
    seen = []
    straight_through_with(torch, lambda ctx, x: seen.append(x * 2.0)).apply(leaf(torch))
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

    return len(straight_through_with(torch, act).apply(leaf(torch)).grad_fn.saved_tensors) == 2


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


RIGHT = (
    ("saved tensors of a Function in a list of its own", (
        ("        self.to_save = tensors", "        self.to_save = list(tensors)"),
        ("    saved_tensors = property(lambda self: tuple(map(self.read, self.saved)))\n",
         "    @property\n    def saved_tensors(self):\n        return tuple(self.saved[i].unpack(self) for i in "
         "sorted(self.saved))\n"),
    )),
    ("each call of a Function has a node class of its own, and a rule that makes the tuple", (
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
)  # fmt: skip
