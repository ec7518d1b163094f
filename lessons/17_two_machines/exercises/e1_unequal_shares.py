"""Exercise 17.1: unequal shares."""

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from lessons.shared import array, flat, near

COUNTS = ((1, 3), (5, 2, 1), (0, 4), (4,), (2, 6))


def check(answer, torch):
    """Several worlds, with an empty share and with a single rank."""
    for counts in COUNTS:
        grads = [array(torch, 2) * (1 if n else 0) for n in counts]
        total = sum(g * n for g, n in zip(grads, counts, strict=True))
        found = answer([g.clone() for g in grads], list(counts))
        if not isinstance(found, torch.Tensor) or tuple(found.shape) != (2,):
            return not_yet("A tensor of the shape of one gradient is wanted.")
        if near(flat(found), flat(total / sum(counts))):
            continue
        named = {
            "average": sum(grads) / len(grads),
            "sum": sum(grads),
            "world": total / len(grads),
            "not divided": total,
            "first": grads[0],
            "samples only": sum(grads) / sum(counts),
        }
        for name, value in named.items():
            if near(flat(found), flat(value)):
                return almost(name)
        return not_yet(f"For shares of {list(counts)} samples the result is not the gradient of the whole batch.")
    return correct("every sample counts the same, whatever its rank.")


EXERCISE = Exercise(
    id="17.1", kind="repair", title="Unequal shares", minutes=3, difficulty=1,
    question="Each rank has a gradient of the mean loss of its own samples. Return the gradient of the mean "
    "loss of all "
    "samples. A rank may have no sample; its gradient is zero then.",
    name="combine",
    starter="def combine(gradients, counts):\n    return sum(gradients) / len(gradients)\n",
    hints=(
        "A mean times the number of its samples is a sum.",
        "What is the total divided by, if every sample shall count the same?",
    ),
    solution="def combine(gradients, counts):\n"
    "    return sum(n * g for n, g in zip(counts, gradients)) / sum(counts)\n",
    why="A mean times its count is the sum of the share, and the sum of all is divided by the count of all.",
    alternatives=(
        "def combine(gradients, counts):\n    total = sum(counts)\n"
        "    return sum(g * (n / total) for n, g in zip(counts, gradients))\n",
    ),
    mistakes=(
        Mistake("sum", "The gradients are added up, but each is a mean of its own.",
                "def combine(gradients, counts):\n    return sum(gradients)\n"),
        Mistake("world", "You weight by the samples, and divide by the number of ranks.",
                edit("/ sum(counts)", "/ len(counts)")),
        Mistake("not divided", "That is the gradient of the sum of all losses. Asked is the mean.",
                edit(" / sum(counts)", "")),
        Mistake("first", "That is the gradient of rank 0 alone.",
                "def combine(gradients, counts):\n    return gradients[0]\n"),
        Mistake("samples only", "Each gradient is divided already by its own count. Undo this before you add.",
                edit("n * g", "g")),
        Mistake("average", "That is a plain average over ranks: one with one sample counts as much as one with many.",
                "def combine(gradients, counts):\n    total = gradients[0] * 0\n    for g in gradients:\n"
                "        total = total + g / len(gradients)\n    return total\n"),
    ),
    check=check,
)  # fmt: skip
