"""The stage of lesson 12: the story, hooks that tell of themselves, the order of all hooks."""

from backscope import draw
from backscope.pictures.chart import Figure, chart
from backscope.pictures.style import Page, as_image, wrapped


def story(torch, repaired=False, steps=30):
    """The loss of a branch with a connection around it: without a hook, with the line of the story, and repaired."""

    def losses(hook):
        a, b, found = torch.tensor(0.2, requires_grad=True), torch.tensor(0.1, requires_grad=True), []
        for _ in range(steps):
            x = a * torch.tensor([1.0, 2.0])
            f = b * x
            if hook:
                f.register_hook(hook)
            loss = ((x + f - torch.tensor([2.0, 4.0])) ** 2).sum()
            found.append(loss.item())
            a.grad = b.grad = None
            loss.backward()
            with torch.no_grad():
                a -= 0.01 * a.grad
                b -= 0.01 * b.grad
        return dict(enumerate(found, 1))

    lines = {"without the hook": losses(None), "with the line": losses(lambda grad: grad.clamp_(-0.01, 0.01))}
    if repaired:
        lines["with clamp"] = losses(lambda grad: grad.clamp(-0.01, 0.01))
    return chart({"the story, small": lines}, across="step", up="loss")


def tell(letter, what):
    """A hook that prints its letter and what it is given; pictures call it by its letter."""

    def hook(*given):
        print(f"{letter}, {what}:", *given)

    hook.__name__ = letter
    return hook


def identities(layer, x):
    """A picture of one call of a layer that has a full backward hook."""
    inside = []
    with layer.register_forward_hook(lambda module, args, out: inside.extend(args)):
        out = layer(x)
    return draw(out, names={"x": x, "inside": inside[0], "weight": layer.weight, "out": out}, detail=0)


TENSOR, NODE, RUNS = "tensor", "node", "acc"
ROWS = (
    ("a result, and the node that made it", (
        ("B", "hook of the tensor", "log, clip, mask or reverse a gradient on its way", TENSOR),
        ("", "retain_grad()", "keep it in .grad", TENSOR),
        ("E", "prehook of the node", "change what this node runs on", NODE),
        ("", "the node runs", "", RUNS),
        ("C", "hook of the node", "change what it sends on", NODE),
    )),
    ("a leaf, and its accumulator", (
        ("D", "hook of the tensor", "the same, for one parameter", TENSOR),
        ("F", "prehook of the accumulator", "(rare)", NODE),
        ("", ".grad += …", "", RUNS),
        ("A", "post-accumulate hook", "update the parameter, clear its .grad", TENSOR),
        ("G", "hook of the accumulator", "(rare)", NODE),
    )),
    ("a module: forward, and later backward", (
        ("", "forward pre-hook", "replace the arguments", TENSOR),
        ("", "forward runs", "", RUNS),
        ("", "forward hook", "read or replace the output", TENSOR),
        ("", "the pass goes through", "", RUNS),
        ("", "full backward hook", "gradients of inputs and outputs", TENSOR),
    )),
)  # fmt: skip
IN_WORDS = """at a result:  B → retain_grad() → E → the node runs → C
at a leaf:    D → F → .grad += … → A → G
at a module:  forward pre-hook → forward → forward hook, and in backward: full backward hook"""


class Order(Figure):
    """The order of all hooks: three time lines, and below each hook what it is for."""

    def __init__(self):
        self.text = IN_WORDS

    @property
    def html(self):
        """The picture, described by its text."""
        wide, gap, high, row = 124, 18, 42, 126
        page = Page(20 + 5 * wide + 4 * gap, 8 + row * len(ROWS), "")
        for number, (title, boxes) in enumerate(ROWS):
            top = 12 + row * number
            page.text(10, top + 12, title, "strong", "ink2", "start")
            for k, (letter, name, use, kind) in enumerate(boxes):
                left = 10 + k * (wide + gap)
                page.rect(kind, left, top + 22, wide, high)
                words = wrapped(f"{letter}  {name}" if letter else name, wide - 14, "strong")
                colour = {TENSOR: "tensor_t", NODE: "ink", RUNS: "acc_t"}[kind]
                for line, part in enumerate(words):
                    page.text(left + wide / 2, top + 47 + 15 * line - 7 * (len(words) - 1), part, "strong", colour)
                for line, part in enumerate(wrapped(use, wide - 4, "small") if use else ()):
                    page.text(left + wide / 2, top + 79 + 14 * line, part, "small", "ink2")
                if k:
                    page.arrow("back", [(left - gap + 1, top + 22 + high / 2), (left - 2, top + 22 + high / 2)])
        return as_image(page.svg(), self.text.replace("\n", "; "))


def order():
    """The order of all hooks, and which is for what."""
    return Order()
