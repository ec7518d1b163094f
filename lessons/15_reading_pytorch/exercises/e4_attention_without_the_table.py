"""Exercise 15.4: attention without the table."""

import gc

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, not_yet
from lessons.shared import array, flat, near

STARTER = """\
def attention(torch, q, k, v):
    time, size = q.shape[-2:]
    ahead = torch.ones(time, time).triu(1) == 1
    scores = q @ k.transpose(-2, -1) / size**0.5
    return scores.masked_fill(ahead, float("-inf")).softmax(-1) @ v
"""
SHAPES = (2, 5, 3), (1, 4, 4), (2, 48, 2)  # heads, time, size; the last is long enough to see a table


def reference(torch, q, k, v):
    """Attention, written out."""
    time, size = q.shape[-2:]
    scores = q @ k.transpose(-2, -1) / size**0.5
    ahead = torch.ones(time, time, dtype=torch.float64).triu(1) == 1
    return scores.masked_fill(ahead, float("-inf")).softmax(-1) @ v


def check(answer, torch):
    for shape in SHAPES:
        leaves = [array(torch, *shape, requires_grad=True) for _ in range(3)]
        coming = array(torch, *shape)
        wanted = reference(torch, *leaves)
        slopes = torch.autograd.grad(wanted, leaves, coming)
        packed = {}  # numbers by place in memory: what is saved twice is kept once

        def pack(tensor, packed=packed):
            packed[tensor.data_ptr()] = tensor.numel()
            return tensor

        hooks = torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor)
        before = tables(torch, shape)
        with hooks:
            found = answer(torch, *(each * 1 for each in leaves))
        verdict = judged(torch, found, wanted, sum(packed.values()), before, shape)
        if verdict is not None:
            return verdict
        found.backward(coming)  # not autograd.grad, which a re-entrant checkpoint refuses
        got = [leaf.grad for leaf in leaves]
        if any(grad is None for grad in got):
            return almost("one is cut off")
        if not all(near(flat(grad), flat(slope)) for grad, slope in zip(got, slopes, strict=True)):
            return almost("a wrong gradient")
    return correct("the table is computed twice and never kept, as in PyTorch's kernel.")


def judged(torch, found, wanted, packed, before, shape):
    """The verdict on one result, before its backward pass; None when all is well. before: the tables alive before."""
    if not isinstance(found, torch.Tensor) or tuple(found.shape) != tuple(wanted.shape):
        return not_yet("attention should return a tensor of the shape of v.")
    if not near(flat(found), flat(wanted)):
        return almost("other numbers")
    if found.grad_fn is None:
        return almost("no history")
    heads, time, _ = shape
    if time > 8 and packed > heads * time * time / 3:  # row by row, half of the table looks ahead and is not computed
        return almost("the table")
    if elsewhere(torch, shape, before):
        gc.collect()  # what only waits for the collector is not held
        if elsewhere(torch, shape, before):
            return almost("the table, elsewhere")
    return None


def tables(torch, shape):
    """The tensors of the size of the table that are alive, whoever holds them; for a long text only."""
    heads, time, _ = shape
    if time <= 8:
        return []
    alive = [each for each in gc.get_objects() if issubclass(type(each), torch.Tensor)]
    return [each for each in alive if each.numel() == heads * time * time]


def elsewhere(torch, shape, before):
    """Are there tables that were not there before?"""
    known = {id(each) for each in before}
    return any(id(each) not in known for each in tables(torch, shape))


INSIDE = "    " + STARTER.replace("def attention(torch, ", "def whole(").replace("\n    ", "\n        ")
CHECKPOINT = (
    f"def attention(torch, q, k, v):\n{INSIDE}\n"
    "    return torch.utils.checkpoint.checkpoint(whole, q, k, v, use_reentrant=False)\n"
)
FUNCTION = f"""\
def attention(torch, q, k, v):
{INSIDE}
    class Again(torch.autograd.Function):
        @staticmethod
        def forward(ctx, q, k, v):
            ctx.save_for_backward(q, k, v)
            return whole(q, k, v)

        @staticmethod
        def backward(ctx, grad):
            inputs = [each.detach().requires_grad_() for each in ctx.saved_tensors]
            with torch.enable_grad():
                result = whole(*inputs)
            return torch.autograd.grad(result, inputs, grad)

    return Again.apply(q, k, v)
"""


def instead(text, *pairs):
    """A text with replacements, each of which must find its place."""
    for old, new in zip(pairs[::2], pairs[1::2], strict=True):
        assert old in text
        text = text.replace(old, new)
    return text


EXERCISE = Exercise(
    id="15.4", kind="write it yourself", title="Attention without the table", minutes=10, difficulty=2,
    question="Write attention (causal, written out) so that no node keeps a tensor with a number for each pair of "
    "places: the same result, the right gradients for q, k and v. The table may be computed as a whole.",
    name="attention", starter=STARTER,
    hints=(
        "In backward the table is needed again. If it may not be kept, where does it come from?",
        "Lesson 14 has a function for this: it keeps the inputs of a part, and runs the part again in backward.",
        "torch.utils.checkpoint.checkpoint(function, *inputs, use_reentrant=False).",
    ),
    solution=CHECKPOINT,
    why="The checkpoint keeps q, k and v, and in backward it computes the table once more. A kernel does the same, and "
    "never has more than a block of it.",
    alternatives=(FUNCTION, CHECKPOINT.replace("use_reentrant=False", "use_reentrant=True")),
    mistakes=(
        Mistake("the table", "The numbers are right, but nodes keep the table, or pieces that make it up. (Our engine "
                "computes scaled_dot_product_attention by hand; the kernel is PyTorch's.)",
                "def attention(torch, q, k, v):\n"
                "    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)\n"),
        Mistake("the table, elsewhere", "No slot holds the table, but something else does, such as an attribute of ctx "
                "or a hook. It takes as many bytes there.",
                instead(FUNCTION, "return whole(q, k, v)", "ctx.table = q @ k.transpose(-2, -1)\n"
                        "            return whole(q, k, v)")),
        Mistake("other numbers", "The result is not that of by_hand. Is the table scaled, and is looking ahead "
                "ruled out?", instead(CHECKPOINT, ".masked_fill(ahead, float(\"-inf\"))", "")),
        Mistake("no history", "The result has no history: nothing is kept, and nothing will learn.",
                "def attention(torch, q, k, v):\n" + INSIDE + "\n    with torch.no_grad():\n"
                "        return whole(q, k, v)\n"),
        Mistake("one is cut off", "One of q, k and v gets no gradient any more.",
                instead(CHECKPOINT, "(whole, q,", "(whole, q.detach(),")),
        Mistake("a wrong gradient", "The result is right, and a gradient is wrong. Does your backward use the gradient "
                "that comes in, and the numbers that went in?",
                instead(FUNCTION, "(result, inputs, grad)", "(result, inputs, torch.ones_like(grad))")),
        Mistake("guard: wrote into an argument", "", instead(CHECKPOINT, "    return torch.utils",
                "    q.mul_(1)\n    return torch.utils")),
    ),
    check=check,
)  # fmt: skip
