"""Exercise 03b.p2: the best step."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import as_number

STEPS = (0.1, 1e-3, 1e-5, 1e-7)


def f(x):
    """The function of the lesson."""
    return (x * x * x).sum()


def truth(torch):
    """The step whose central difference in float32 comes nearest to the slope that float64 gives."""
    x = torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64, requires_grad=True)
    d = torch.tensor([3.0, -1.0, 2.0], dtype=torch.float64)
    slope = (torch.autograd.grad(f(x), x)[0] * d).sum().item()
    x, d = x.detach().float(), d.float()

    def miss(step):
        return abs(((f(x + step * d) - f(x - step * d)) / (2 * step)).item() - slope)

    return min(STEPS, key=miss)


EXERCISE = Predict(
    id="03b.p2", title="The best step", minutes=2, difficulty=2,
    question="In float32 the slope of a sum of cubes, whose value is about 9, is measured with the steps 0.1, "
    "0.001, 0.00001 and 0.0000001. Which one gives the best result?",
    hints=(
        "Near 9, float32 numbers are 0.000001 apart. For each step: by how much is the difference of the two results "
        "wrong, and by what is it divided?",
        "With the step 0.00001, an error of 0.000001 is divided by 0.00002. And with 0.1, how far do the two ends lie "
        "from x?",
    ),
    solution="answer = 0.001",
    why="0.000001 divided by twice the step is 0.000005, 0.0005, 0.05 and 5. The first step is too long: between its "
    "two ends the curve bends.",
    alternatives=("answer = 1e-3",),
    read=as_number, truth=truth, wanted="Give one of the four steps, as a number.",
    shown="a step can be too long for the curve, and too short for the digits.",
    otherwise="Give one of the four steps: 0.1, 0.001, 0.00001 or 0.0000001.",
    mistakes=(
        Mistake("the shortest", "With exact numbers it would be the best. In float32 both results are rounded to "
                "steps of 0.000001, and that is divided by 0.0000002.", 1e-7),
        Mistake("short", "The rounding, 0.000001, is divided by 0.00002 here: that may be an error of 0.05.", 1e-5),
        Mistake("the longest", "It has the most digits left. But its two ends are so far apart that the curve bends "
                "between them.", 0.1),
        Mistake("which of them", "Give the step itself, not its place in the list.", 2, also=(1, 3, 4)),
    ),
    reveals=("23.2501", "too long for the curve", "too short for the digits"),
)  # fmt: skip
