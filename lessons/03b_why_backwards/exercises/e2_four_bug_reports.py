"""Exercise 03b.2: four bug reports."""

from coursekit.judge.exercise import Exercise, Mistake, correct, edit, not_yet
from coursekit.judge.table import judged_rows
from lessons.shared import agree, numbers


def mean_of_losses(torch, letter):
    """Report 1: does the change give the gradient of the mean loss?"""
    x, t = torch.tensor(numbers(8)), torch.tensor(numbers(8))
    w = torch.tensor(0.7, requires_grad=True)
    loss = (x * w - t) ** 2
    changes = {
        "a": lambda: loss.backward(torch.ones(8)),
        "b": lambda: loss[0].backward(),
        "c": lambda: loss.mean().backward(),
    }
    changes[letter]()
    slopes = [2 * (a * 0.7 - b) * a for a, b in zip(x.tolist(), t.tolist(), strict=True)]
    return agree(w.grad, sum(slopes) / 8)


def bias_by_hand(torch, letter):
    """Report 2: does the change give the gradient of the bias?"""
    bias, g = torch.tensor(numbers(3), requires_grad=True), torch.tensor([numbers(3) for _ in range(8)])
    (truth,) = torch.autograd.grad(torch.zeros(8, 3) + bias, bias, g)
    bias.grad = {"a": lambda: g.sum(0), "b": lambda: g.mean(0), "c": lambda: g[0]}[letter]()
    return agree(bias.grad, truth)


def unused_input(torch, letter):
    """Report 3: can the squares of all gradients be added?"""
    w, extra = torch.tensor(numbers(2), requires_grad=True), torch.ones(2, requires_grad=True)
    change = {"a": {"retain_graph": True}, "b": {"materialize_grads": True}, "c": {"allow_unused": True}}[letter]
    try:
        gradients = torch.autograd.grad((w * w).sum(), [w, extra], **change)
        total = sum((gradient * gradient).sum().item() for gradient in gradients)
    except (RuntimeError, TypeError):
        return False
    return agree(total, sum(4 * value * value for value in w.tolist()))


def measured_slope(torch, letter):
    """Report 4: is the measured slope of w**3 at 1 within a hundredth of 3?"""
    dtype, step = {"a": (torch.float64, 1e-5), "b": (torch.float32, 1e-12), "c": (torch.float32, 1.0)}[letter]
    w = torch.tensor(1.0, dtype=dtype)
    return abs(((w + step) ** 3 - w**3).item() / step - 3) < 0.03


REPORTS = {1: mean_of_losses, 2: bias_by_hand, 3: unused_input, 4: measured_slope}
CURES = {1: "c", 2: "a", 3: "b", 4: "a"}


def check(answer, torch):
    if not isinstance(answer, dict) or set(answer) != set(REPORTS):
        return not_yet("Keep the dictionary with the keys 1, 2, 3 and 4.")
    given = answer
    if strange := [number for number, letter in given.items() if letter not in ("a", "b", "c")]:
        return not_yet(f"Report {strange[0]}: choose one of the letters a, b, c.")
    wrong = [number for number, works in REPORTS.items() if not works(torch, given[number])]
    named = {number: f"{number}{given[number]}" for number in wrong}
    judged = judged_rows(wrong, list(REPORTS), named, "changes do what was wanted")
    return judged or correct("you can tell a cure from something that only ends the message.")


EXERCISE = Exercise(
    id="03b.2", kind="diagnose", title="Four bug reports", minutes=6, difficulty=2,
    question="Which change, a, b or c, does what each of the four reports wants?",
    name="cures", starter="cures = {1: None, 2: None, 3: None, 4: None}",
    hints=(
        "A change that makes the message go away need not give the number that was wanted. Compute that number in "
        "your head for two samples.",
        "Report 4: float32 keeps about seven digits. What is 1 + 0.00000001 in seven digits?",
    ),
    solution=f"cures = {CURES!r}",
    why="The mean is a tensor with one element, and its gradient is the one that was wanted. The bias is used once "
    "for each sample, so gradients add. Zeros come from materialize_grads. And a difference needs digits to live on.",
    alternatives=('cures = {1: "C", 2: "A", 3: "B", 4: "A"}',),
    mistakes=(
        Mistake("1a", "Report 1: eight ones give the gradient of the sum, eight times too large for the "
                "mean. The message is gone, and the learning rate is off by 8.", edit("'c", "'a")),
        Mistake("1b", "Report 1: that is the gradient of the first sample. Seven are never learned from.",
                edit("'c", "'b")),
        Mistake("2b", "Report 2: whether the loss is a mean is already in g. The eight uses of the bias are added, "
                "as any uses are.", edit(" 'a',", " 'b',")),
        Mistake("2c", "Report 2: that has the right shape, and it is the gradient of the first sample only.",
                edit(" 'a',", " 'c',")),
        Mistake("3a", "Report 3: retain_graph keeps the graph for another pass. extra is still in no graph, and the "
                "message stays.", edit("b", "a")),
        Mistake("3c", "Report 3: allow_unused gives None in the place of extra, and squaring None raises on the next "
                "line.", edit("b", "c")),
        Mistake("4b", "Report 4: a smaller step makes it worse. 1 + 1e-12 is still exactly 1 in float32, and the "
                "difference is 0.", edit(" 'a'}", " 'b'}")),
        Mistake("4c", "Report 4: (8 - 1) / 1 is 7. A step of 1 measures a chord far from the slope of a curve.",
                edit(" 'a'}", " 'c'}")),
    ),
    check=check,
)  # fmt: skip
