"""Exercise 01.3: build this graph."""

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, not_yet

from .shared import DRAWN, given, run_program, shape_of


def check(answer, torch):
    for _ in range(2):
        space = given(torch)
        leaves = {name: space[name] for name in "ab"}
        y = answer(torch, space["a"], space["b"])
        if not isinstance(y, torch.Tensor) or y.grad_fn is None:
            return not_yet("Return a tensor that was computed from a and b.")
        found, wanted = shape_of(y, leaves), shape_of(run_program(DRAWN["G"], space), leaves)
        if found != wanted:
            break
    else:
        return correct("you can write a program for a graph, with one node for what is used twice.")
    named = {
        "y = b.exp() * (a + b.exp())": "computed twice",
        "e = b.exp(); y = (a + e) * e": "factors swapped",
        "e = b.exp(); y = e * (e + a)": "terms swapped",
        "e = a.exp(); y = e * (b + e)": "the other leaf",
        "e = b.exp(); y = e * a + e * e": "multiplied out",
        "e = b.exp(); y = e.item() * (a + e)": "a number",
        "e = b.exp(); y = e * (a + b)": "added before exp",
        "e = b.exp(); y = b * (a + e)": "multiplied by the leaf",
    }
    for program, name in named.items():
        if found == shape_of(run_program(program, dict(space)), leaves):
            return almost(name)
    boxes = [name for name, _ in found]
    if sorted(boxes) != sorted(name for name, _ in wanted):
        return not_yet(f"Behind your y are the boxes {', '.join(boxes)}. Compare their names with picture G.")
    ends = [to for _, arrows in found for to, _ in arrows]
    if None in ends:
        return not_yet("The boxes are those of picture G. But one of your arrows leads to nothing, and in the picture "
            "every operand has an arrow.")
    if "another leaf" in ends:
        return not_yet("The boxes are those of picture G. But one of your arrows ends in a leaf that is neither the a "
            "nor the b that was given.")
    return not_yet("The boxes are those of picture G, the arrows are not. For each box, where do arrows 0 and 1 lead?")


BUILD = "def build(torch, a, b):\n"

EXERCISE = Exercise(
    id="01.3", kind="edges", title="Build this graph", minutes=5, difficulty=1,
    question="Return a tensor with exactly the graph of picture G behind it; `a` and `b` are given.",
    name="build", starter=BUILD + "    y = a * b\n    return y",
    hints=(
        "Build in the order of the numbers: first the box whose arrow leads to a leaf only.",
        "Two arrows run into box 1. Give its result a name, and use the name twice.",
    ),
    solution=BUILD + "    e = b.exp()\n    return e * (a + e)\n",
    why="One call of exp, used twice. Writing b.exp() twice would have the same value and one box more.",
    alternatives=(
        BUILD + "    e = torch.exp(b)\n    return torch.mul(e, torch.add(a, e))\n",
        BUILD + "    e = b.exp()\n    e.sin()  # leaves nothing behind y\n    s = a.add(e)\n    return e.mul(s)\n",
    ),
    mistakes=(
        Mistake("computed twice", "You call exp twice, and so there are two boxes. In the picture both arrows run "
                "into one.", BUILD + "    return b.exp() * (a + b.exp())\n"),
        Mistake("factors swapped", "All boxes are there. Of the product, which operand leads to the addition: 0 or 1?",
                BUILD + "    e = b.exp()\n    return (a + e) * e\n"),
        Mistake("terms swapped", "All boxes are there. Of the addition, which operand leads to the leaf: 0 or 1?",
                BUILD + "    e = b.exp()\n    return e * (e + a)\n"),
        Mistake("the other leaf", "a and b have changed places: look to which accumulator the arrow from exp leads.",
                BUILD + "    e = a.exp()\n    return e * (b + e)\n"),
        Mistake("multiplied out", "The same value, by other operations. The graph is that of the operations.",
                BUILD + "    e = b.exp()\n    return e * a + e * e\n"),
        Mistake("added before exp", "All boxes are there. But two arrows run into box 1, and in your graph only one: "
                "where does arrow 1 of the addition lead?", BUILD + "    e = b.exp()\n    return e * (a + b)\n"),
        Mistake("multiplied by the leaf", "All boxes are there. But two arrows run into box 1, and in your graph "
                "only one: where does arrow 0 of the product lead?",
                BUILD + "    e = b.exp()\n    return b * (a + e)\n"),
        Mistake("a number", "A number was used in place of a result, as item() gives one: that operand's arrow leads "
                "to nothing.", BUILD + "    e = b.exp()\n    return e.item() * (a + e)\n"),
    ),
    check=check,
)  # fmt: skip
