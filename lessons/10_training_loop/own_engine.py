"""The learner's engine, lesson 10, an optimizer: its program, wrong engines, other right ones."""

from coursekit.own_engine.checkpoints import print
from coursekit.own_engine.mistakes import leaf, mistake, writes_to_a_new_array

NOW = "From now on it trains a network with an optimizer."

HINTS = (
    "An optimizer holds a list of parameters. `step` goes through them, and leaves out those whose `.grad` is "
    "None.",
    "Write in place, under `no_grad`: the parameter stays a leaf, and whoever holds its memory sees the new "
    "numbers.",
    "`zero_grad` sets `.grad` to None.",
)


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


def picture(torch):
    """A result whose graph shows what the lesson has added, the names of its tensors, and the program in words."""
    x, w = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    y = (x * w - 3.0) ** 2
    y.backward(retain_graph=True)
    torch.optim.SGD([x, w], lr=0.1).step()  # it writes to what the product saved: the picture says STALE
    return y, {"u": x, "v": w}, "y = (u * v - 3) ** 2;  y.backward(retain_graph=True);  SGD([u, v], lr=0.1).step()"


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
    return p.tolist() == [0.0] and shared.tolist() == [2.0] and not writes_to_a_new_array(torch)


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


RIGHT = (
    ("a step that adds a negative multiple", (
        ("p.sub_(p.grad * self.lr)", "p.add_(p.grad * -self.lr)"),
    )),
)  # fmt: skip
