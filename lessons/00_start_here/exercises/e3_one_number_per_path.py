"""Exercise 00.3: one number per path."""

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, not_yet


def check(answer, torch):
    """Give every occurrence of x a leaf of its own: each of them receives exactly one path's product."""
    uses = [torch.tensor(2.0, requires_grad=True) for _ in range(4)]
    y = uses[0] * uses[1] * uses[2] + 2 * uses[3]
    y.backward()
    truth = sorted(use.grad.item() for use in uses)
    try:
        given = sorted(float(number) for number in answer)
    except (TypeError, ValueError):
        return not_yet("A list of numbers is wanted, one for each path.")
    if given == truth:
        return correct("Four paths, 4 + 4 + 4 + 2 = 14: what calculus says of 3x² + 2 at 2.")
    named = (
        ([12.0, 2.0], "one per term"),
        ([14.0], "the sum"),
        ([4.0, 2.0], "equal paths once"),
        ([8.0, 4.0], "values"),
        ([4.0, 4.0, 4.0, 4.0], "the value of 2x"),
        ([2.0, 2.0, 2.0, 2.0], "last factor only"),
        ([2.0, 4.0, 8.0], "two paths in one"),
        ([2.0, 4.0, 4.0], "one path of three"),
        ([4.0, 4.0, 4.0], "one term only"),
        ([4.0, 4.0, 4.0, 1.0], "a factor lost"),
        ([8.0, 8.0, 8.0, 4.0], "its own factor too"),
        ([8.0, 8.0, 8.0, 2.0], "its own factor too"),
        ([4.0, 4.0, 4.0, 2.0, 2.0], "a path to the 2"),
        ([4.0, 4.0, 4.0, 2.0, 0.0], "a path to the 2"),
    )
    for numbers, name in named:
        if given == sorted(numbers):
            return almost(name)
    seen = f"You gave {len(given)} numbers with the sum {sum(given):g}. Is each path there, and is each product right?"
    return not_yet(seen)


EXERCISE = Exercise(
    id="00.3", kind="edges", title="One number per path", minutes=4, difficulty=2,
    question="`y = x * x * x + 2 * x` at `x = 2`, evaluated as `((x * x) * x) + (2 * x)`. For every path of arrows "
    "from `y` down to `x`, give the product of the slopes along it, in any order.",
    name="paths", starter="paths = None\n",
    hints=(
        "Each place where `x` is written is the end of one path.",
        "On the way through a multiplication, the slope is multiplied by the value of the other operand.",
    ),
    solution="paths = [2 * 2, 2 * 2, 2 * 2, 2]\n",
    why="Two paths go through both multiplications (other operands 2 and 2), one through the outer one only (other "
    "operand x*x = 4), and one through 2*x. Their sum, 14, is what lands in x.grad.",
    alternatives=("x = 2\npaths = (2, x * x, x * x, x * x)\n",),
    mistakes=(
        Mistake("one per term", "These are the slopes of the two terms; x³ alone has three paths, one for each "
                "factor.", "paths = [12, 2]\n"),
        Mistake("the sum", "That is what arrives in the end. The question is what is added up to make it.",
                "paths = [14]\n"),
        Mistake("equal paths once", "Both numbers occur, but several paths carry the same number, and each of them "
                "counts.", "paths = [4, 2]\n"),
        Mistake("values", "Those are the values of the two terms; a path carries a slope.", "paths = [8, 4]\n"),
        Mistake("the value of 2x", "Three are right. The slope of 2 * x is the other operand, 2, whatever x is.",
                "paths = [4, 4, 4, 4]\n"),
        Mistake("two paths in one", "The sum is right, but 8 is two paths in one: `x * x` has two arrows, with 4 "
                "along each.", "paths = [8, 4, 2]\n"),
        Mistake("one path of three", "x * x * x holds three x's, so three paths lead through it. You have two of "
                "them.", "paths = [4, 4, 2]\n"),
        Mistake("one term only", "These are the three paths of x³. `2 * x` adds one more.", "paths = [4, 4, 4]\n"),
        Mistake("a factor lost", "The three of x³ are right. The way through `2 * x` leads through a multiplication "
                "as well.", "paths = [4, 4, 4, 1]\n"),
        Mistake("its own factor too", "A multiplication hands on the slope times the *other* operand. You multiply "
                "the x at the end of the path in as well.", "paths = [8, 8, 8, 2]\n"),
        Mistake("a path to the 2", "You have a path too many: the plain 2 of `2 * x` requires no grad, so its arrow "
                "leads to nothing.", "paths = [4, 4, 4, 2, 2]\n"),
        Mistake("last factor only", "On the way through two multiplications there are two factors; multiply both "
                "into the path.", "paths = [2, 2, 2, 2]\n"),
    ),
    check=check,
)  # fmt: skip
