"""The gallery: pictures that a gallery notebook and the tests share, one of every kind.

Each entry is (title, function); a function gets the library, course_lib or torch, and returns what a cell would
show. The same calls give the same words on both; what differs is listed in DIFFERENT, with the reason.
"""

import inspect
import textwrap
from importlib import import_module

from course_lib.teach.cells import expect_error
from course_lib.teach.compare import compare
from course_lib.teach.draw import draw
from course_lib.teach.explain import explain


def leaf(torch, *values):
    return torch.tensor(values, requires_grad=True)


def even(torch, model):
    """The model with the same weights everywhere: the two libraries' random numbers differ."""
    for parameter in model.parameters():
        parameter.data.fill_(0.25)
    return model


def tensor_twice(torch):
    x = leaf(torch, 3.0)
    y = x * x
    return draw(y)


def diamond(torch):
    x = leaf(torch, 2.0)
    a = x.sin()
    b = a * 3
    c = a.exp()
    loss = b * c
    return draw(loss)


def leaves_and_constants(torch):
    w = leaf(torch, 1.0, 2.0)
    c = torch.tensor([3.0, 4.0])
    i = torch.tensor([0, 1])
    loss = (w * c)[i].sum()
    return draw(loss)


def after_backward(torch):
    x = leaf(torch, 1.0, 2.0)
    h = x.exp()
    h.retain_grad()
    loss = h.sum()
    loss.backward()
    return draw(loss)


def stale_input(torch):
    w = leaf(torch, 1.0, 2.0)
    x = torch.tensor([3.0, 4.0])
    loss = (w * x).sum()
    x.add_(1)
    return draw(loss)


def stale_after_the_failing_backward(torch):
    w = leaf(torch, 1.0, 2.0)
    loss = (w * w).sum()
    with torch.no_grad():
        w.sub_(0.5)
    with expect_error(RuntimeError, "modified by an inplace operation"):
        loss.backward()
    return draw(loss)


def view_and_base(torch):
    x = leaf(torch, 1.0, 2.0, 3.0)
    h = x * 2
    v = h[0:2]
    loss = v.sum()
    return draw(loss)


def write_through_a_view(torch):
    x = leaf(torch, 1.0, 2.0, 3.0)
    h = x * 2
    v = h[0:2]
    v.mul_(10)
    loss = h.sum()
    return draw(loss, v)


def in_place_history(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x.exp()
    y.mul_(2)
    y.add_(1)
    y[0] = 0.0
    return draw(y)


def ways_out(torch):
    x = leaf(torch, 1.0, 4.0)
    y = x * 3
    d = y.detach()
    p = y.data
    c = y.clone()
    loss = (c * c).sum()
    return draw(loss, d, p)


def several_outputs(torch):
    x = leaf(torch, 1.0, 4.0)
    a, b = (x * 2).unbind()
    loss = a * b
    return draw(loss)


def a_view_that_is_unusable(torch):
    x = leaf(torch, 1.0, 4.0)
    y = x * 2
    a, b = y.unbind()
    y.add_(1)
    loss = y.sum()
    return draw(loss, a)


def hooks_everywhere(torch):
    x = leaf(torch, 1.0, 4.0)
    h = x * 3
    h.register_hook(lambda grad: None)
    h.grad_fn.register_prehook(lambda grads: None)
    h.grad_fn.register_hook(lambda grads_in, grads_out: None)
    x.register_hook(lambda grad: None)
    x.register_post_accumulate_grad_hook(lambda leaf: None)
    loss = h.sum()
    return draw(loss)


def packed(torch):
    x = leaf(torch, 1.0, 4.0)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        loss = (x * x).sum()
    return draw(loss)


def custom_function(torch):
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y, factor):
            ctx.save_for_backward(x, y)
            ctx.factor = factor
            return x * y * factor

        @staticmethod
        def backward(ctx, grad):
            x, y = ctx.saved_tensors
            return grad * y * ctx.factor, grad * x * ctx.factor, None

    x, y = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    z = Scale.apply(x, y, 10)
    return draw(z)


def kept_on_ctx(torch):
    class Remember(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.x = x
            return x * x

        @staticmethod
        def backward(ctx, grad):
            return 2 * ctx.x * grad

    x = leaf(torch, 1.0, 2.0)
    loss = Remember.apply(x).sum()
    return draw(loss)


def graph_of_a_gradient(torch):
    x = leaf(torch, 2.0)
    y = x**3
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    return draw(g)


def not_reached(torch):
    w, v = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    h = (v * 2).detach()
    loss = (w * h).sum()
    return draw(loss, v)


def only_a_leaf(torch):
    x = leaf(torch, 1.0, 2.0)
    return draw(x)


def without_history(torch):
    c = torch.ones(2)
    s = c.sum()
    return draw(s)


def linear_model(torch):
    nn = import_module(torch.__name__ + ".nn")
    model = even(torch, nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)))
    loss = model(torch.ones(5, 3)).mean()
    return draw(model, loss)


def training_step(torch):
    X, target = torch.ones((4, 3)), torch.zeros((4, 2))
    w1, b1 = torch.ones((3, 5), requires_grad=True), torch.zeros(5, requires_grad=True)
    w2, b2 = torch.ones((5, 2), requires_grad=True), torch.zeros(2, requires_grad=True)
    h = (X @ w1 + b1).relu()
    loss = ((h @ w2 + b2 - target) ** 2).mean()
    loss.backward(retain_graph=True)
    with torch.no_grad():
        for parameter in (w1, b1, w2, b2):
            parameter.sub_(parameter.grad * 0.01)
    del parameter
    return draw(loss)


def two_hundred_layers(torch):
    nn = import_module(torch.__name__ + ".nn")
    layers = [layer for _ in range(200) for layer in (nn.Linear(2, 2), nn.ReLU())]
    model = even(torch, nn.Sequential(*layers, nn.Linear(2, 1)))
    loss = model(torch.ones(3, 2)).sum()
    return draw(model, loss)


def a_long_loop(torch):
    x = leaf(torch, 1.0)
    h = x
    for _ in range(60):
        h = (h * 2).sin()
    return draw(h)


def many_leaves(torch):
    total = torch.stack([leaf(torch, 1.0) for _ in range(100)]).sum()
    return draw(total)


def more_detail(torch):
    x = leaf(torch, 1.0, 2.0)
    y = (x**3).sum(0, keepdim=True)
    return draw(y, detail=2)


def less_detail(torch):
    x = leaf(torch, 1.0, 2.0)
    y = (x**3).sum()
    return draw(y, detail=0)


def before_and_after_a_write(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x.exp()
    loss = (y * 3).sum()
    before = draw(loss)
    y.mul_(2)
    return compare(before, draw(loss))


def before_and_after_backward(torch):
    x = leaf(torch, 1.0, 2.0)
    loss = (x * x).sum()
    before = draw(loss)
    loss.backward()
    return compare(before, draw(loss))


def an_error_explained(torch):
    x = leaf(torch, 1.0, 4.0)
    y = x.sqrt()
    loss = y.sum()
    y += 1
    with expect_error(RuntimeError, "modified by an inplace operation"):
        loss.backward()
    return explain()


GALLERY = [
    ("A tensor used twice is saved twice", tensor_twice),
    ("A diamond", diamond),
    ("Leaves, constants and an index", leaves_and_constants),
    ("After backward: .grad, a retained grad, freed slots", after_backward),
    ("A stale saved tensor, before backward", stale_input),
    ("A stale saved tensor, after the backward that failed", stale_after_the_failing_backward),
    ("A view and its base share one memory", view_and_base),
    ("A write through a view makes history anew", write_through_a_view),
    ("Four writes in a row", in_place_history),
    ("detach, .data and clone", ways_out),
    ("A node with several outputs", several_outputs),
    ("A view that may not be used any more", a_view_that_is_unusable),
    ("Hooks, where they are registered", hooks_everywhere),
    ("Saved tensors packed by hooks", packed),
    ("What a custom Function saved", custom_function),
    ("A tensor kept on ctx, without a version check", kept_on_ctx),
    ("The graph of a gradient", graph_of_a_gradient),
    ("A leaf that no gradient reaches", not_reached),
    ("Only a leaf", only_a_leaf),
    ("Nothing to differentiate", without_history),
    ("A model, by the names of its parameters", linear_model),
    ("A training step of matrices", training_step),
    ("An MLP of 200 layers", two_hundred_layers),
    ("A long loop", a_long_loop),
    ("A hundred leaves", many_leaves),
    ("detail=2", more_detail),
    ("detail=0", less_detail),
    ("What a write changed", before_and_after_a_write),
    ("What backward changed", before_and_after_backward),
    ("An error explained", an_error_explained),
]

# Pictures whose words differ between the two libraries, and why.
DIFFERENT = {
    graph_of_a_gradient: (
        "PyTorch's derivative of a power multiplies by the exponent as a plain number (MulBackward1, which saves "
        "nothing "
        "for it); ours multiplies by it as by any other operand (MulBackward0, which saves the 3)"
    ),
}


# --- the gallery as cells of a notebook --------------------------------------------------------------------

IMPORTS = """\
from importlib import import_module

import course_lib as torch
from course_lib.teach import compare, draw, expect_error, explain"""


def cells():
    """(title, code) for each picture; the first entry, without a title, holds imports and helpers."""
    helpers = "\n\n\n".join(inspect.getsource(function).rstrip() for function in (leaf, even))
    found = [("", f"{IMPORTS}\n\n\n{helpers}")]
    for title, function in GALLERY:
        lines = inspect.getsource(function).splitlines()[1:]
        code = textwrap.dedent("\n".join(lines)).strip()
        before, _, shown = code.rpartition("\nreturn ")
        found.append((title, f"{before}\n{shown}"))
    return found


def notebook_source():
    """The gallery as a notebook source in percent format."""
    parts = [
        "# %% [markdown]\n# # Gallery: one picture of every kind\n#\n"
        "# Nothing to learn by heart: look at a picture, then at the lines above it. With `import torch` in the first "
        "cell the pictures show real PyTorch's graphs."
    ]
    for title, code in cells():
        if title:
            parts.append(f"# %% [markdown]\n# ## {title}")
        parts.append(f"# %%\n{code}")
    return "\n\n".join(parts) + "\n"
