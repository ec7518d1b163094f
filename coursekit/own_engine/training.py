"""`L.train()`: the learner's engine trains a network, beside ours and, where it is installed, PyTorch.

The data are two half-moons of 20 points each; the network has eight hidden units, and its first values are fixed, so
that every engine starts at the same place.
"""

import base64
import functools
import html
import importlib
import importlib.util
import io
import math
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from coursekit.judge import bounds
from coursekit.judge import exercise as ex
from coursekit.own_engine import judge as judging

ROUNDS = 301
SHOWN = 50  # every so many rounds a line of the table
CLOSE = 1e-4  # float32, added up in another order, differs by some millionths
NAMES = ("W1", "b1", "W2", "b2")
SECONDS = bounds.SECONDS
ANGLES = [math.pi * i / 19 for i in range(20)]
POINTS = [[math.cos(a), math.sin(a)] for a in ANGLES] + [[1 - math.cos(a), 0.5 - math.sin(a)] for a in ANGLES]
TARGETS = [[1.0]] * 20 + [[-1.0]] * 20


@dataclass
class Course:
    """The results of a training run, round by round."""

    losses: list = field(default_factory=list)
    grads: list = field(default_factory=list)  # for each round a list of arrays, in the order of NAMES
    right: int = 0  # how many of the 40 points are on the right side in the end
    scores: object = None  # what the network says on a grid of points, for the picture


def train(torch, course) -> Course:
    """Return the training loop of lesson 10. Everything in it has PyTorch's names."""
    x, t = torch.tensor(POINTS), torch.tensor(TARGETS)
    W1 = torch.tensor([[math.sin(3.0 * i + j) for j in range(8)] for i in range(2)], requires_grad=True)
    b1 = torch.tensor([0.1 * j - 0.4 for j in range(8)], requires_grad=True)
    W2 = torch.tensor([[math.cos(2.0 * j)] for j in range(8)], requires_grad=True)
    b2 = torch.tensor([0.0], requires_grad=True)
    optimizer = torch.optim.SGD([W1, b1, W2, b2], lr=0.1)
    for _ in range(ROUNDS):
        hidden = (x @ W1 + b1).tanh()
        loss = ((hidden @ W2 + b2 - t) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        course.losses.append(loss.item())
        course.grads.append([np.array(each.grad.tolist()) for each in (W1, b1, W2, b2)])
        optimizer.step()
    with torch.no_grad():
        score = ((x @ W1 + b1).tanh() @ W2 + b2) * t
        course.right = sum(number > 0 for (number,) in score.tolist())
        course.scores = ((torch.tensor(grid().tolist()) @ W1 + b1).tanh() @ W2 + b2).tolist()
    return course


def grid() -> np.ndarray:
    """Return the points at which the picture asks the network."""
    return np.array([[i / 16, j / 16] for j in range(-16, 25) for i in range(-22, 39)])


@functools.cache
def course_of(name) -> Course | None:
    """Return the run on course_lib or torch; None where it is not installed."""
    if importlib.util.find_spec(name) is None:
        return None
    module = importlib.import_module(name)
    return bounds.run(lambda: train(module, Course()), [module], seconds=60.0).value


def trained_on(source, course) -> Course:
    """Return the run on an engine of this source."""
    return train(judging.load(source), course)


def trained(path=None) -> tuple:
    """Return (a Result, a Training or None): the learner's engine runs the loop. Raises nothing."""
    ident = "10.t"
    try:
        source = (Path(judging.NAME) if path is None else Path(path)).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return ex.Result(ident, ex.NOT_ATTEMPTED, judging.MISSING, judging.how_to_begin(11)), None
    except (OSError, UnicodeDecodeError) as error:
        return ex.Result(ident, ex.ERROR, f"{judging.NAME} cannot be read: {ex.error_text(error)}"), None
    courses = {name: course for name in ("course_lib", "torch") if (course := course_of(name))}
    for _ in range(2):  # a second time if the machine was busy
        mine = Course()
        with judging.as_it_was():
            ran = bounds.run(functools.partial(trained_on, source, mine), seconds=SECONDS)
        if not ran.busy:
            break
    described = bounds.run(lambda: result_of(ident, ran, mine, courses))
    result = described.value or ex.Result(ident, ex.ERROR, "what your engine gave cannot be put into words.")
    result.printed = ex.without_addresses(ran.printed)
    return result, Training({"yours": mine, **courses}) if result.outcome == ex.CORRECT else None


def result_of(ident, ran, mine, courses) -> ex.Result:
    """From a run to a Result."""
    right = courses["course_lib"]
    if (step := first_difference(mine, right)) is not None:
        return difference(ident, step, mine, right)
    if ran.busy:
        return ex.machine_was_busy(ident)
    if isinstance(ran.error, bounds.TimeUp):
        text = f"after {SECONDS:g} seconds your engine had done {len(mine.losses)} of {ROUNDS} rounds."
        advice = "Does the graph of a round hold that of the round before? Or does one pass visit nodes twice?"
        return ex.Result(ident, ex.ERROR, text, [*judging.place_of(ran.error), advice])
    if ran.error is not None:
        text = f"in round {len(mine.losses)}: {ex.error_text(ran.error)}"
        advice = 'L.build("10") runs the checkpoints of the lessons up to this one.'
        return ex.Result(ident, ex.ERROR, text, [*judging.details_of_error(ran.error), advice])
    worst = max(largest_difference(mine, course) for course in courses.values())
    whose = "PyTorch's" if "torch" in courses else "that of course_lib"
    text = f"your engine has trained a network. The loss fell from {mine.losses[0]:.4f} to {mine.losses[-1]:.4f}, and "
    text += f"{mine.right} of 40 points are on the right side. In {ROUNDS} rounds no gradient differs from "
    text += f"{whose} by more than {worst:.0e}."
    return ex.Result(ident, ex.CORRECT, text)


def largest_difference(one, other) -> float:
    pairs = zip(one.grads, other.grads, strict=True)
    return max(np.abs(a - b).max() for mine, theirs in pairs for a, b in zip(mine, theirs, strict=True))


def first_difference(mine, right) -> int | None:
    """Return the first round in which a loss or a gradient is not what it should be."""
    for step, loss in enumerate(mine.losses):
        if not np.isclose(loss, right.losses[step], rtol=CLOSE, atol=CLOSE):
            return step
        if step < len(mine.grads) and wrong_names(mine.grads[step], right.grads[step]):
            return step
    return None


def wrong_names(mine, right) -> list:
    """Return the parameters whose gradients differ."""
    return [
        name for name, a, b in zip(NAMES, mine, right, strict=True)
        if a.shape != b.shape or not np.allclose(a, b, rtol=CLOSE, atol=CLOSE)
    ]  # fmt: skip


def difference(ident, step, mine, right) -> ex.Result:
    """Return the round in which it went wrong, and where."""
    details = [f"the loss is {mine.losses[step]:.6g}; it should be {right.losses[step]:.6g}"]
    names = wrong_names(mine.grads[step], right.grads[step]) if step < len(mine.grads) else []
    if names:
        where = NAMES.index(names[0])
        a, b = mine.grads[step][where], right.grads[step][where]
        shapes = f" of shape {a.shape}; it should have {b.shape}" if a.shape != b.shape else ""
        values = "" if shapes else f": {a.flat[0]:.6g} first; it should be {b.flat[0]:.6g}"
        details.append(f"the gradient of {names[0]} differs{shapes}{values}")
    details.append('L.build("10") runs the checkpoints of the lessons up to this one.')
    text = f"in round {step} your engine does not compute what PyTorch computes."
    return ex.Result(ident, ex.NOT_YET, text, details)


class Training:
    """The table of the losses, and a picture: losses, and on which side the trained network sees each point."""

    def __init__(self, courses):
        self.courses = courses

    @property
    def text(self) -> str:
        heads = {"yours": "your engine", "course_lib": "course_lib", "torch": "PyTorch"}
        lines = ["round" + "".join(f"{heads[name]:>14}" for name in self.courses)]
        for step in range(0, ROUNDS, SHOWN):
            lines.append(f"{step:5}" + "".join(f"{course.losses[step]:14.4f}" for course in self.courses.values()))
        right = [f"{course.right} of 40" for course in self.courses.values()]
        lines.append("right" + "".join(f"{words:>14}" for words in right))
        return "\n".join(lines)

    @functools.cached_property
    def svg(self) -> str | None:
        """The picture as SVG text; None without matplotlib."""
        try:
            return plotted(self.courses)
        except ImportError:
            return None

    @property
    def html(self) -> str:
        table = f"<pre>{html.escape(self.text)}</pre>"
        if self.svg is None:
            return table
        data = base64.b64encode(self.svg.encode()).decode()
        alt = "Left: the losses of all engines lie on one falling curve. Right: two half-moons, and the line that the "
        alt += "trained network draws between them."
        return f'{table}<img alt="{alt}" src="data:image/svg+xml;base64,{data}">'

    def __repr__(self):
        return self.text

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": self.text, "text/html": self.html}


def plotted(courses) -> str:
    """Return the two plots, side by side. ImportError without matplotlib."""
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with matplotlib.rc_context({"svg.hashsalt": "course", "svg.fonttype": "none", "font.family": "sans-serif"}):
        figure = Figure(figsize=(8.4, 3.2), facecolor="white", layout="constrained")
        left, right = figure.subplots(1, 2)
        widths = dict(zip(courses, (6.0, 3.0, 1.2), strict=False))
        for (name, course), colour in zip(courses.items(), ("#F0C27B", "#2A6FBB", "#111111"), strict=False):
            label = {"yours": "your engine", "torch": "PyTorch"}.get(name, name)
            left.plot(course.losses, label=label, linewidth=widths[name], color=colour)
        left.set(xlabel="round", ylabel="loss", ylim=(0, None), title=f"{len(courses)} engines, one curve")
        left.legend(frameon=False)
        scores = np.array(courses["yours"].scores).reshape(41, 61)
        xs, ys = np.arange(-22, 39) / 16, np.arange(-16, 25) / 16
        right.contourf(xs, ys, scores, levels=[-99, 0, 99], colors=["#DCE9F7", "#FBE7CD"])
        points = np.array(POINTS)
        right.scatter(*points[:20].T, color="#C46A00", s=18, marker="o")
        right.scatter(*points[20:].T, color="#2A6FBB", s=18, marker="s")
        right.set(title="what your network has learned", xticks=[], yticks=[], aspect="equal")
        buffer = io.StringIO()
        FigureCanvasSVG(figure).print_svg(buffer, metadata={"Date": None, "Creator": None})
    return buffer.getvalue()
