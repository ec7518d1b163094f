"""Exercise 03b.3: what does it cost?"""

import math

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet

SIZES = (100, 20, 5, 2)


def counted(torch):
    """The three costs, counted while the products are really made."""
    spent = []

    def times(a, b):
        spent.append(a.shape[0] * b.numel())
        return a @ b

    def total():
        number = sum(spent)
        spent.clear()
        return number

    J1, J2, J3 = (torch.ones(after, before) for before, after in zip(SIZES, SIZES[1:], strict=False))
    times(times(times(torch.ones(1, SIZES[-1]), J3), J2), J1)
    one = total()
    times(times(times(torch.eye(SIZES[-1]), J3), J2), J1)
    backwards = total()
    times(J3, times(J2, times(J1, torch.eye(SIZES[0]))))
    return {"one pass": one, "backwards": backwards, "forwards": total()}


COST = {"one pass": 2110, "backwards": 4220, "forwards": 211000}


def check(answer, torch):
    if not isinstance(answer, dict) or any(type(answer.get(name)) not in (int, float) for name in COST):
        return not_yet("Put a number in the place of each None; keep the three names.")
    truth = counted(torch)
    if all(answer[name] == truth[name] for name in COST):
        return correct("one pass an output backwards, one pass an input forwards, and you can price both.")
    one, backwards, forwards = (answer[name] for name in COST)
    first, last = SIZES[0], SIZES[-1]
    if one == truth["backwards"]:
        return almost("two sets of weights")
    if one == sum(SIZES[1:]) or one == sum(SIZES):
        return almost("one a number")
    if one == math.prod(SIZES) or one == 2000 * 100 * 10:
        return almost("multiplied")
    if one == SIZES[0] * SIZES[1]:
        return almost("the largest step")
    if one != truth["one pass"]:
        return not_yet("Begin with one pass: a row of two numbers times a 2 by 5 table, then 5 by 20, then 20 by 100.")
    if backwards == truth["forwards"] and forwards == truth["backwards"]:
        return almost("exchanged")
    if backwards == one:
        return almost("one output only")
    if forwards == one:
        return almost("one direction only")
    if backwards == truth["backwards"] - last * last * SIZES[-2] or forwards == truth["forwards"] - first * 2000:
        return almost("first step free")
    if backwards == forwards:
        return almost("one price")
    if backwards == truth["forwards"] or forwards == truth["backwards"]:
        return almost("exchanged")
    return not_yet("How many passes are needed for the whole table, in each direction? Each costs the same.")


def cost_but(**changed):
    return f"cost = {COST | {name.replace('_', ' '): value for name, value in changed.items()}!r}"


EXERCISE = Exercise(
    id="03b.3", kind="predict state", title="What does it cost?", minutes=5, difficulty=2,
    question="A chain 100 → 20 → 5 → 2 of three matrix steps: multiplications for one backward pass, for the whole "
    "Jacobian by backward passes, and for it by forward passes?",
    name="cost", starter='cost = {"one pass": None, "backwards": None, "forwards": None}',
    hints=(
        "A row of n numbers times a table of n by m takes n * m multiplications. Add the three steps.",
        "Backwards, one pass gives one row of the Jacobian. Forwards, one pass gives one column.",
    ),
    solution=f"cost = {COST!r}",
    why="A pass touches every slope once: 10 + 100 + 2000. The Jacobian has 2 rows and 100 columns, so backwards "
    "takes 2 passes and forwards 100.",
    alternatives=('cost = {"one pass": 10 + 100 + 2000, "backwards": 2 * 2110, "forwards": 100 * 2110}',),
    mistakes=(
        Mistake("two sets of weights", "That is the price of two passes. One pass carries one row, with one "
                "number for each output.", edit("2110,", "4220,")),
        Mistake("one a number", "You counted one multiplication for each number that is passed on. Each of them is a "
                "sum of products: a row of n numbers times an n by m table takes n * m.", edit("2110,", "27,")),
        Mistake("multiplied", "You multiplied. The three steps are done one after the other, so their costs are "
                "added.", edit("2110,", "2000000,")),
        Mistake("the largest step", "That is one of the three steps, the largest. A pass goes through all of them.",
                edit("2110,", "2000,")),
        Mistake("exchanged", "The other way round: a backward pass serves one output, and there are only 2 of them; "
                "a forward pass serves one input, and there are 100.", cost_but(backwards=211000, forwards=4220)),
        Mistake("one price", "A pass costs the same in both directions, but the number of passes is another: one for "
                "each output backwards, one for each input forwards.", edit("211000", "4220")),
        Mistake("one output only", "One backward pass gives one row. The chain has two outputs, so the Jacobian has "
                "two rows.", edit("4220", "2110")),
        Mistake("one direction only", "One forward pass tells what one input does. There are 100.",
                edit("211000", "2110")),
        Mistake("first step free", "That is the price of multiplying the Jacobians with each other, without the rows "
                "of 1 and 0. Clever, but a pass starts from an upstream gradient; count all three steps of each pass.",
                edit("211000", "11000")),
    ),
    check=check,
)  # fmt: skip
