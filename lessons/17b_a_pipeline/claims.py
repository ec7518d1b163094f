"""The claims of part 17b, a pipeline, on our engine and on real PyTorch."""

import re

from coursekit.notebook.processes import processes
from lessons.claims_kit import from_lesson, raises


def run(torch, capsys, step):
    """Read what the pipeline prints: {turn: (version used, version now, gradients)}, and its last three lines."""
    processes(from_lesson(torch, "17b", "pipeline").pipeline, torch, step)
    lines = capsys.readouterr().out.splitlines()
    pattern, turns = re.compile(r"(B\d): made with v(\d), weights now at v(\d), .*\[(.*), (.*)\]"), {}
    for line in lines[:-3]:
        turn, made, now, one, two = pattern.fullmatch(line).groups()
        turns[turn] = int(made), int(now), [float(one), float(two)]
    return turns, lines[-3:]


def slopes(torch, a, b, *inputs):
    """The gradients of a and b for these inputs, on one machine."""
    weights = [torch.tensor(value, requires_grad=True) for value in (a, b)]
    return [g.item() for g in torch.autograd.grad(sum(weights[0] * x * weights[1] for x in inputs), weights)]


def test_c17b_1_one_step(torch, capsys):
    """In a pipeline of two stages that take turns, the gradients of the micro-batches add up to that of the whole batch
    if no step comes in between; the first stage has two micro-batches under way and the last one."""
    _, last = run(torch, capsys, "at the end")
    whole = slopes(torch, 2.0, 3.0, 1.0, 2.0, 3.0)
    assert last == [
        "stage 0: at most 2 under way", f"gradients added up: {whole}", "stage 1: at most 1 under way",
    ]  # fmt: skip


def test_c17b_2_stepped_too_early(torch):
    """A stage that steps before an older micro-batch comes back raises the version error."""
    own = from_lesson(torch, "17b", "pipeline")
    raises("is at version 1; expected version 0", lambda: processes(own.pipeline, torch, "sub_"))


def test_c17b_3_two_versions(torch, capsys):
    """If the step is hidden from the counters, the gradient of the older micro-batch mixes two versions of the weights
    without an error."""
    turns, _ = run(torch, capsys, ".data")
    old, new = slopes(torch, 2.0, 3.0, 2.0), slopes(torch, -1.0, 1.0, 2.0)
    assert turns["B1"] == (0, 1, [new[0], old[1]]) and old != new


def test_c17b_4_stashed(torch, capsys):
    """With copies of the weights each micro-batch gets the gradient of the weights that it used."""
    turns, _ = run(torch, capsys, "copies")
    weights = [(2.0, 3.0)]
    for k, turn in enumerate(("B0", "B1", "B2")):
        made, now, found = turns[turn]
        assert now == k and found == slopes(torch, *weights[made], k + 1.0)
        weights.append(tuple(w - g for w, g in zip(weights[-1], found, strict=True)))
    assert [turns[turn][0] for turn in turns] == [0, 0, 1]
