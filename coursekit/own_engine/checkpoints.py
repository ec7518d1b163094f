"""The checkpoints of the learner's engine: one program for each lesson, which prints what PyTorch prints.

Each program is given the engine as `torch`, uses only names that PyTorch has, and only what the lessons up to its own
have added. Its docstring says what it shows. PROGRAMS has them by lesson, NOW what the engine can do after the lesson,
`picture` a graph to draw.
"""

import contextlib
import gc
import weakref

written = None  # while a program runs under `printing`: the texts that it has printed


@contextlib.contextmanager
def printing():
    """Gather what the programs print. What an engine prints itself, to find a mistake, is not among it."""
    global written
    before, written = written, []
    try:
        yield written
    finally:
        written = before


def print(*words, end="\n"):
    """What the programs print with."""
    written.append(" ".join(map(str, words)) + end)


def lesson_00(torch):
    """A result remembers how it was made, and backward follows the arrows."""
    x = torch.tensor(3.0, requires_grad=True)
    y = x * x + x
    product, accumulate = [node for node, _ in y.grad_fn.next_functions]
    print(y.item(), y.grad_fn.name(), product.name(), accumulate.variable is x)
    y.backward()
    print(x.grad.item())  # 1·3 + 1·3 + 1


def lesson_01(torch):
    """Every operation leaves a node. Used twice is one node; computed twice is two."""
    x = torch.tensor(2.0, requires_grad=True)
    h = x * x
    shared, repeated = h * h, (x * x) * (x * x)
    for y in (shared, repeated):
        (left, _), (right, _) = y.grad_fn.next_functions
        print(left is right, y.grad_fn.name())
    e = (x * x).exp()
    print(e.grad_fn.name())
    (e + x).backward()
    print(round(x.grad.item(), 3))  # 2x·exp(x²) + 1


def lesson_02(torch):
    """Constants and frozen tensors get no arrow and no gradient; nothing is recorded for them alone."""
    w, c = torch.tensor(2.0, requires_grad=True), torch.tensor(5.0)
    y = 3 * w * c + 1
    print(y, (c * c).grad_fn, (c * c).is_leaf, y.is_leaf)
    print(y.grad_fn.next_functions[0][0].next_functions[1])
    y.backward()
    print(w.grad, c.grad)
    with torch.no_grad():
        print((w * w).requires_grad)
    try:
        (c * c).backward()
    except RuntimeError as error:
        print(str(error)[:42])


def half_02(torch):
    """Before there is a switch for recording: constants and frozen tensors take no part."""
    w, c = torch.tensor(2.0, requires_grad=True), torch.tensor(5.0)
    y = 3 * w * c + 1
    print(y, (c * c).grad_fn, (c * c).is_leaf, y.is_leaf)
    print(y.grad_fn.next_functions[0][0].next_functions[1])
    y.backward()
    print(w.grad.item(), c.grad)
    try:
        (c * c).backward()
    except RuntimeError as error:
        print(str(error)[:42])


def lesson_03(torch):
    """Many outputs need an upstream gradient; what was broadcast gets a gradient of its own shape."""
    A = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    B = torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]], requires_grad=True)
    c = torch.tensor([100.0, 200.0], requires_grad=True)
    y = A @ B + c
    try:
        y.backward()
    except RuntimeError as error:
        print(error)
    (A @ B + c).backward(torch.tensor([[1.0, 2.0], [10.0, 20.0]]))
    print("A @ B", A.grad.tolist(), B.grad.tolist())
    print("+ c", c.grad.tolist())
    x = torch.tensor([-1.0, 2.0, 3.0], requires_grad=True)
    v = torch.tensor([4.0, 0.5, 2.0], requires_grad=True)
    for words, run in (
        ("x ** 3", lambda: (x**3).sum()),
        ("x.relu() * 3", lambda: (x.relu() * 3).sum()),
        ("x.tanh()", lambda: x.tanh().sum()),
        ("x * v - x / 2", lambda: (x * v - x / 2).sum()),
        ("x / v", lambda: (x / v).sum()),
        ("x.mean()", lambda: x.mean()),
    ):
        x.grad = v.grad = None
        run().backward()
        print(words, *[[round(number, 4) for number in each.grad.tolist()] for each in (x, v) if each.grad is not None])
    w = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    (w.T.reshape(4) * torch.tensor([1.0, 2.0, 3.0, 4.0])).sum().backward()
    print("T and reshape", w.grad.tolist())
    z = torch.tensor([[1.0], [2.0]], requires_grad=True)
    (z.expand((2, 3)) * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    print("expand", z.grad.tolist())


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


def lesson_05(torch):
    """Gradients are added in place, into memory of the leaf's own, by one accumulator for each leaf."""
    a, b = (torch.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    (a + b).sum().backward()
    kept = a.grad
    (a * 3).sum().backward()
    print(kept.tolist(), kept is a.grad, b.grad.tolist())
    y, z = a * 1, a * 2
    print(y.grad_fn.next_functions[0][0] is z.grad_fn.next_functions[0][0])
    a.grad = None
    for part in (torch.tensor([2.0, 4.0]), torch.tensor([6.0, 8.0])):  # micro-batches
        ((a * part).sum() / 4).backward()
    print(a.grad.tolist())


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


def lesson_10(torch):
    """The training loop: zero_grad, backward, step. (Two weights, u and v, both 1; the loss is (uv - 3)².)"""
    u, v = torch.tensor(1.0, requires_grad=True), torch.tensor(1.0, requires_grad=True)
    optimizer = torch.optim.SGD([u, v], lr=0.1)
    for _ in range(5):
        optimizer.zero_grad()
        loss = (u * v - 3) ** 2
        loss.backward()
        optimizer.step()
        print(round(loss.item(), 4), end=" ")
    print("- versions", u._version, v._version)
    loss = (u * v - 3) ** 2
    loss.backward(retain_graph=True)
    optimizer.step()
    try:
        loss.backward()
    except RuntimeError as error:
        print("modified by an inplace operation" in str(error))


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


def lesson_12(torch):
    """A tensor's hooks are called once, on the whole sum, each with what the one before returned."""
    x = torch.tensor(2.0, requires_grad=True)
    h = x * 3
    h.register_hook(lambda grad: print("the first gets", grad.item()))
    h.register_hook(lambda grad: grad * 10)
    h.register_hook(lambda grad: grad + 1)
    x.register_hook(lambda grad: print("x gets", grad.item()))
    (h + h * 4).backward()
    print(x.grad)


def lesson_13(torch):
    """With create_graph=True the pass is recorded, and a gradient is a result like any other."""
    x = torch.tensor(2.0, requires_grad=True)
    (first,) = torch.autograd.grad(x**3, x, create_graph=True)
    (second,) = torch.autograd.grad(first, x, create_graph=True)
    (third,) = torch.autograd.grad(second, x)
    print(first, second, third, x.grad)
    W = torch.tensor([[1.0, 1.0], [2.0, 0.0]], requires_grad=True)
    V = torch.tensor([[2.0], [1.0]], requires_grad=True)
    p = torch.tensor([[1.0, 1.0], [1.0, -1.0]], requires_grad=True)
    (slopes,) = torch.autograd.grad(((p @ W).relu() @ V).sum(), p, create_graph=True)
    (slopes * slopes).mean().backward()  # a gradient penalty
    print(W.grad.tolist(), V.grad.tolist())
    try:
        torch.autograd.grad(x * 1, W)
    except RuntimeError as error:
        print("appears to not have been used in the graph" in str(error))


def lesson_14(torch):
    """No new line: checkpointing is a custom Function that computes its forward again in backward."""

    class Checkpoint(torch.autograd.Function):
        @staticmethod
        def forward(ctx, run, x):
            ctx.run = run
            ctx.save_for_backward(x)
            return run(x)

        @staticmethod
        def backward(ctx, grad):
            x = ctx.saved_tensors[0].detach()
            x.requires_grad = True
            with torch.set_grad_enabled(True):
                again = ctx.run(x)
            again.backward(grad)  # a pass inside a pass: the weights get theirs here
            return None, x.grad

    w, x = torch.tensor([2.0, 3.0], requires_grad=True), torch.tensor([0.5, 1.0], requires_grad=True)
    calls = []

    def block(x):
        calls.append("forward")
        return (x * w).exp() * x

    block(x).sum().backward()
    right = [[round(number, 3) for number in each.grad.tolist()] for each in (w, x)]
    w.grad = x.grad = None
    calls.clear()
    Checkpoint.apply(block, x).sum().backward()
    print([[round(number, 3) for number in each.grad.tolist()] for each in (w, x)] == right, calls)


def lesson_16(torch):
    """No new line: the five bug reports, run on your engine."""
    bias = torch.tensor([1.0, 2.0], requires_grad=True)
    try:  # 1: a start value is written into a parameter, with recording on
        bias.add_(1.0)
    except RuntimeError as error:
        print("a leaf Variable that requires grad" in str(error), end=" ")
    with torch.no_grad():
        bias.add_(1.0)
    print(bias.tolist(), bias.is_leaf, bias._version)

    g, d = torch.tensor([3.0], requires_grad=True), torch.tensor([2.0], requires_grad=True)
    score, optimizer = g * d, torch.optim.SGD([d], lr=0.5)
    (g.detach() * d).sum().backward()
    optimizer.step()
    try:  # 2: the score is older than the weight
        score.sum().backward()
    except RuntimeError as error:
        print("is at version 1; expected version 0" in str(error), g.grad, end=" ")
    (g * d).sum().backward()
    print(g.grad.tolist())

    w = torch.tensor([1.0], requires_grad=True)
    for cut in (False, True):  # 3: a state that is carried over
        h, w.grad = torch.tensor([1.0]), None
        try:
            for _ in range(2):
                h = (w * (h.detach() if cut else h)).tanh()
                (h * h).sum().backward()
            print("with detach", round(w.grad.item(), 4))
        except RuntimeError as error:
            print(str(error)[:48])

    for slot in (False, True):  # 4: a result on ctx, and in a slot

        class Exp(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, slot=slot):
                y = x.exp()
                if slot:
                    ctx.save_for_backward(y)
                else:
                    ctx.y = y
                return y

            @staticmethod
            def backward(ctx, grad):
                return grad * ctx.saved_tensors[0]

        gc.disable()
        y = Exp.apply(w * 2)
        seen = weakref.ref(y)
        del y
        print("freed" if seen() is None else "still alive")
        gc.enable()

    for gradient in (None, torch.tensor([0.0])):  # 5: None rests, zero is a step
        p = torch.tensor([1.0], requires_grad=True)
        p.grad = gradient
        torch.optim.SGD([p], lr=0.1).step()
        print(p.tolist(), p._version)


def lesson_17(torch):
    """No new line: two forwards, one backward, and a buffer that is written in between."""
    w, buffer = torch.tensor([2.0], requires_grad=True), torch.tensor([1.0])
    first = (w * buffer).sum()
    with torch.no_grad():
        buffer.mul_(0).add_(5)  # "broadcast_buffers" before the second forward
    second = (w * buffer).sum()
    try:
        (first + second).backward()
    except RuntimeError as error:
        print(str(error)[str(error).index("is at version") :].split(" instead")[0])


PROGRAMS = {int(name[7:]): each for name, each in list(globals().items()) if name.startswith("lesson_")}

NOW = {
    0: "From now on it finds slopes: of x * x + x, and of whatever else you build from sums and products of tensors.",
    1: "From now on every operation leaves a node, and a new operation takes one line.",
    2: "From now on nothing is recorded or computed for what is frozen, and a switch turns recording off.",
    3: "From now on it differentiates a whole network, with broadcasting and matrices.",
    4: "From now on it runs each node once, on its whole sum, however many paths there are.",
    5: "From now on a leaf has one accumulator. Its gradient has memory of its own, and is added to in place.",
    6: "From now on it frees what nodes saved while backward runs, and refuses a second pass.",
    7: "From now on it raises the most famous error of PyTorch, and only where it is due.",
    8: "From now on it notices a write that goes through a view.",
    9: "From now on it shows why `.data` is dangerous and `detach()` is not.",
    10: "From now on it trains a network with an optimizer.",
    11: "From now on it takes operations that others have written, with their own backward.",
    12: "From now on it lets you look at gradients on their way, and change them.",
    13: "From now on it gives derivatives of every order.",
    14: "Without a new line it trades computing for memory: it runs a block again in backward.",
    16: "Without a new line it gives the same answers to bug reports as PyTorch.",
    17: "Without a new line it shows what two forwards and a buffer do to each other.",
}


def picture(torch, lesson):
    """A result whose graph shows what the lesson has added, the names of its tensors, and the program in words."""
    x, w = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    if lesson == 2:
        c = torch.tensor(5.0)
        return 3 * w * c + 1, {"w": w}, "y = 3 * w * c + 1, where c is frozen and holds 5"
    if lesson < 2:
        h = x * x
        y, names, words = h * w + h, {"x": x, "w": w, "h": h}, "h = x * x;  y = h * w + h"
        return (y, names, words) if lesson == 0 else (y.exp(), names, words + ";  y = y.exp()")
    if lesson == 4:  # the program of the lesson, in other letters: formulas call their operands a and b
        p = x * x
        q = p + x
        r = q * p
        s = r + q
        t = s * p
        t.backward()  # p waited for three gradients, and 316 is right
        words = "p = x * x;  q = p + x;  r = q * p;  s = r + q;  t = s * p, after t.backward()"
        return t, {"x": x, "p": p, "q": q, "r": r, "s": s, "t": t}, words
    if lesson == 13:
        (slope,) = torch.autograd.grad(x * x.exp(), x, create_graph=True)
        return slope, {"x": x, "slope": slope}, "(slope,) = grad(x * x.exp(), x, create_graph=True)"
    if lesson == 5:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        words = "y = (x * x).sum(), after (x * 3).sum().backward() and (x * 5).sum().backward()"
        (x * 3.0).sum().backward()
        (x * 5.0).sum().backward()
        return (x * x).sum(), {"x": x}, words
    if lesson == 10:  # the step has written to what the product saved: the picture says STALE
        y = (x * w - 3.0) ** 2
        y.backward(retain_graph=True)
        torch.optim.SGD([x, w], lr=0.1).step()
        return y, {"u": x, "v": w}, "y = (u * v - 3) ** 2;  y.backward(retain_graph=True);  SGD([u, v], lr=0.1).step()"
    x, mask = torch.tensor([1.0, -2.0], requires_grad=True), torch.tensor([3.0, 4.0])
    h, words, views = (x * mask).relu(), "h = (x * mask).relu();  ", {}
    if lesson == 11:
        x, mask = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([1.0, 0.0])
        h, words = straight_through(torch).apply(x * mask), "h = StraightThrough.apply(x * mask);  "
    if lesson == 8:
        p = x * mask
        r = p.reshape((2, 1))
        t = r.T
        h, words = t.exp(), "p = x * mask;  r = p.reshape((2, 1));  t = r.T;  h = t.exp();  "
        views = {"p": p, "r": r, "t": t}
    if lesson == 12:  # no relu, which saves its result: the line to h would end at the hook below it
        h, words = x * mask, "h = x * mask;  h.register_hook(double);  "
        h.register_hook(lambda grad: grad * 2.0)
    if lesson == 7:
        h.mul_(2.0)  # relu saved its result: the picture says STALE
        words += "h.mul_(2);  "
    return (h * h).mean(), {"x": x, "mask": mask, "h": h, **views}, words + "y = (h * h).mean()"


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
