"""Exercise 03.1: undo the broadcast."""

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from lessons.shared import agree

from .shared import WRITTEN, numbers

LISTED = (((3,), (2, 3)), ((2, 1), (2, 3)), ((1, 3), (2, 3)), ((1, 1), (2, 3)), ((), (2, 3)), ((2, 3), (2, 3)))
ALIKE = (((3,), (3, 3)), ((3, 1), (3, 3, 3)))  # sizes do not tell which dimension was put in front
PAIRS = (  # shapes of x and of m
    *LISTED,
    ((2, 3), (3,)),
    ((4, 1, 3), (2, 1)),
    ((3,), (4, 2, 3)),
    ((2, 1), (4, 2, 3)),
    ((1, 2, 1), (4, 2, 3)),
    ((1, 1, 1), (4, 1, 3)),
    ((), (4, 2, 3)),
    ((), ()),
    ((1,), (1,)),
    *ALIKE,
)


def product_shape(x_shape, m_shape):
    """The shape of the product of two shapes, laid side by side from the right."""
    n = max(len(x_shape), len(m_shape))
    both = ((1,) * (n - len(x_shape)) + x_shape, (1,) * (n - len(m_shape)) + m_shape)
    return tuple(a if b == 1 else b for a, b in zip(*both, strict=True))


def stretched(pair):
    """Count the dimensions of size 1 of x that the product has stretched."""
    x_shape, shape = pair[0], product_shape(*pair)
    return sum(a == 1 != b for a, b in zip(x_shape[::-1], shape[::-1], strict=False))


def in_front(pair):
    """Count the dimensions that the product has in front of those of x."""
    return len(product_shape(*pair)) - len(pair[0])


def try_every_pair(answer, torch):
    """{pair of shapes: (what came back, the right gradient, grad, x, m)} for all PAIRS."""
    tried = {}
    for place, (x_shape, m_shape) in enumerate(PAIRS):
        dtype = torch.float64 if place % 3 == 2 else torch.float32
        x, m = torch.tensor(numbers(*x_shape), dtype=dtype), torch.tensor(numbers(*m_shape), dtype=dtype)
        leaf = x.clone().requires_grad_()
        product = leaf * m
        grad = torch.tensor(numbers(*product.shape), dtype=dtype)
        if grad.dim():
            grad[(0,) * grad.dim()] = 0.0  # 0 counts, too
        (truth,) = torch.autograd.grad(product, leaf, grad)
        found = answer(torch, grad.clone(), x.clone(), m.clone())
        if not isinstance(found, torch.Tensor):
            return None
        tried[x_shape, m_shape] = (found, truth, grad, x, m)
    return tried


def check(answer, torch):
    tried = try_every_pair(answer, torch)
    if tried is None:
        return not_yet("Return one tensor: the gradient for x.")
    wrong = [pair for pair, (found, truth, *_) in tried.items() if not (found.shape == truth.shape
                                                                        and agree(found, truth))]  # fmt: skip
    if not wrong:
        if strange := [pair for pair, (found, truth, *_) in tried.items() if found.dtype != truth.dtype]:
            truth = tried[strange[0]][1]
            return not_yet(f"The numbers are right. x was {truth.dtype}, and its gradient came back as another dtype.")
        return correct("whatever broadcasting did, your rule takes it back.")
    name = name_of_values(*tried[LISTED[0]]) or name_of_shapes(tried, wrong)
    if name:
        return almost(name)
    pair = wrong[0]
    found, truth = tried[pair][:2]
    return not_yet(
        f"Right for {len(PAIRS) - len(wrong)} of {len(PAIRS)} pairs of shapes. For x of shape {pair[0]} and a product "
        f"of shape {product_shape(*pair)}, a gradient of shape {tuple(found.shape)} came back, and "
        + ("its values are not right." if found.shape == truth.shape else "x has another shape.")
    )


def name_of_values(found, truth, grad, x, m):
    """The mistake that gives these numbers for x of shape (3,) and a product of shape (2, 3), or None."""
    if found.shape == (2, 3) and agree(found, grad * m):
        return "not added"
    if found.shape == (2, 3) and agree(found, grad.sum(0) * m):
        return "added too early"
    wrong = {
        "averaged": truth / 2, "first copy": (grad * m)[0], "last copy": (grad * m)[1], "weights forgotten": m.sum(0),
        "added apart": grad.sum(0) * m.sum(0), "own factor": (grad * x).sum(0), "no factor": grad.sum(0),
        "everything added": (grad * m).sum() + 0 * truth, "both factors": (grad * m * x).sum(0),
    }  # fmt: skip
    return next((name for name, value in wrong.items() if found.shape == (3,) and agree(found, value)), None)


def name_of_shapes(tried, wrong):
    """The mistake that explains for which shapes a rule is right and for which not, or None.

    Each is a question about all pairs at once: one wrong result may have many causes.
    """
    if all(found.numel() == truth.numel() and agree(found.reshape(-1), truth.reshape(-1))
           for found, truth, *_ in (tried[pair] for pair in wrong)):  # fmt: skip
        return "shape lost"
    if all(agree(found, (grad * m).sum(0) if grad.dim() else grad * m) for found, _, grad, _, m in tried.values()):
        return "always the first"
    if wrong == [pair for pair in tried if stretched(pair)] and all(
        agree(tried[pair][0], front_only(*tried[pair][2:])) for pair in wrong
    ):
        return "leading only"
    if set(wrong) <= set(ALIKE):
        return "sizes alike"
    if {pair for pair in tried if in_front(pair) > 1 and pair[0]} <= set(wrong) <= {
        pair for pair in tried if in_front(pair) > 1
    }:
        return "one in front"
    if wrong == [pair for pair in tried if stretched(pair) > 1]:
        return "one stretched"
    if not set(wrong) & set(LISTED):
        return "as listed"
    return None


def front_only(grad, x, m):
    """Apply a rule that takes back the dimensions in front and no others."""
    g = grad * m
    while g.dim() > x.dim():
        g = g.sum(0)
    return g


def mul_rule(*lines):
    return "def mul_vjp(torch, grad, x, m):\n" + "".join(f"    {line}\n" for line in lines)


LEAD = ("g = grad * m", "while g.dim() > x.dim():", "    g = g.sum(0)")

EXERCISE = Exercise(
    id="03.1", kind="write a row", title="Undo the broadcast", minutes=8, difficulty=2,
    question="`grad` is the upstream gradient of `x * m`. Return the gradient for `x`, in the shape of `x`, whatever "
    "was broadcast.",
    name="mul_vjp", starter=mul_rule("return grad * m"),
    hints=(
        "First ask what each single element of the product sends back. Then: which of these belong to the same "
        "element of x?",
        "Broadcasting does two things: it puts dimensions in front, and it stretches dimensions of size 1. Take back "
        "each in its own step.",
        "Adding with keepdim=True leaves a dimension of size 1 where it was.",
    ),
    solution=mul_rule(*LEAD, "for d, size in enumerate(x.shape):", "    if size == 1:",
                      "        g = g.sum(d, keepdim=True)", "return g"),
    why="grad * m holds one gradient for each use of an element of x. Dimensions put in front and dimensions "
    "stretched from 1 hold uses of the same element, so they are added; this is what the engine's unbroadcast does.",
    alternatives=(
        edit("while g.dim() > x.dim():\n        g = g.sum(0)\n    for d, size in enumerate(x.shape",
             "lead = g.dim() - x.dim()\n    for d in range(g.dim()",
             " size =", " d < lead or x.shape[d - lead] =",
             "return g", "return g.reshape(x.shape)"),
        edit("while",
             "for d in range(1, x.dim() + 1):\n        if x.shape[-d] != g.shape[-d]:\n"
             "            g = g.sum(-d, keepdim=True)\n    return g.sum(list(range(g.dim() - x.dim()))) if",
             ":\n        g = g.sum(0)\n    for d, size in enumerate(x.shape):\n        if size == 1:\n"
             "            g = g.sum(d, keepdim=True)\n    return", " else"),
        mul_rule("leaf = x.detach().clone().requires_grad_()",
                 "return torch.autograd.grad(leaf.expand(grad.shape), leaf, grad * m)[0]"),
    ),
    mistakes=(
        Mistake("not added", "Every element of that is right, and it has the shape of the product. Elements that "
                "belong to the same element of x must be added.", mul_rule("return m * grad")),
        Mistake("added too early", "You added the rows of grad before you multiplied. Each use of x has a factor "
                "of its own in m: multiply first, then add.",
                mul_rule("return grad.sum(0) * m if x.dim() < grad.dim() else grad * m")),
        Mistake("averaged", "You took the mean over the copies. Each use of a number adds its share; nothing divides.",
                mul_rule("g = grad * m", "return g.mean(0) if x.dim() < g.dim() else g")),
        Mistake("first copy", "You kept the gradient of the first copy and dropped the others. They are uses of the "
                "same numbers, too.", mul_rule("g = grad * m", "return g[0] if x.dim() < g.dim() else g")),
        Mistake("last copy", "You kept the gradient of the last copy, as if it replaced the others. Uses add up.",
                mul_rule("g = grad * m", "while g.dim() > x.dim():", "    g = g[-1]", "return g")),
        Mistake("both factors", "The slope of x * m for x is m alone. x itself does not come in.",
                mul_rule("g = grad * m * x", *LEAD[1:], "return g")),
        Mistake("one in front", "You take back one dimension that was put in front. There may be several: x of shape "
                "(3,) has two in front of it when the product is (4, 2, 3).",
                edit("while", "if x.dim() == 0:\n        return g.sum()\n    if")),
        Mistake("one stretched", "You take back one dimension of size 1. In x of shape (1, 1) two are stretched.",
                edit("g = g.sum(d", "return g.sum(d")),
        Mistake("as listed", "Right for each shape that the question lists, and not for other products. Ask how x "
                "differs from its product, whatever the two shapes are.",
                mul_rule("g = grad * m", "if x.shape == (3,):", "    return g.sum(0)", "if x.shape == (1, 3):",
                         "    return g.sum(0, keepdim=True)", "if x.shape == (2, 1):",
                         "    return g.sum(1, keepdim=True)", "if x.numel() == 1:",
                         "    return g.sum().reshape(x.shape)", "return g")),
        Mistake("added apart", "You added grad and m separately and multiplied the sums. The products must be made "
                "first, one for each use, and then added.", mul_rule("return grad.sum(0) * m.sum(0)")),
        Mistake("own factor", "The slope of x * m for x is the other factor, m, not x.",
                mul_rule("g = grad * x", "return g.sum(0) if x.dim() < g.dim() else g")),
        Mistake("no factor", "That is the rule of an addition: the factor m is missing.",
                mul_rule("return grad.sum(0)")),
        Mistake("weights forgotten", "That is the gradient of the plain sum of the product. The numbers in grad are "
                "missing.", mul_rule("return m.sum(0)")),
        Mistake("everything added", "You added all elements of the product. Each element of x has uses of its own, "
                "and only those are added.", mul_rule("g = (grad * m).sum()", "return g + 0 * x if x.dim() else g")),
        Mistake("guard: wrote into an argument", WRITTEN + " grad times m is new already.",
                edit("g = grad * m", "grad *= m\n    g = grad")),
        Mistake("always the first", "You always add along the first dimension. Which dimensions were broadcast "
                "depends on the shape of x: with (2, 1) it is the last.", mul_rule("return (grad * m).sum(0)")),
        Mistake("leading only", "Dimensions that were put in front are taken back. A dimension of size 1 that was "
                "stretched is not: x of shape (2, 1) stands in every column.", mul_rule(*LEAD, "return g")),
        Mistake("sizes alike", "Right as long as the sizes differ. With x of shape (3,) and a product (3, 3), sizes "
                "do not tell which dimension was put in front: shapes are laid side by side from the right.",
                mul_rule("g = grad * m", "for d in reversed(range(g.dim())):", "    if g.shape[d] not in x.shape:",
                         "        g = g.sum(d)", "return g.reshape(x.shape) if g.numel() == x.numel() else g")),
        Mistake("shape lost", "The numbers are right, the shape is not: a dimension of size 1 must stay.",
                mul_rule(*LEAD, "for d in range(x.dim() - 1, -1, -1):", "    if x.shape[d] == 1:",
                         "        g = g.sum(d)", "return g")),
    ),
    check=check,
)  # fmt: skip
