"""Exercise 11b.3: repair QuickCumsum."""

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, not_yet
from lessons.functions import (
    graph_of_gradient,
    near,
    of_a_function,
    shares,
    slots_of,
    tensors_on,
)
from lessons.shared import array, called


@of_a_function
def check(answer, torch):
    # A ragged start makes every shifted reading of the gradients visible.
    for sizes in ((2, 1, 3), (1, 3, 1, 2), (4,), (1, 1, 1)):
        rank = [3 * segment + 1 for segment, size in enumerate(sizes) for _ in range(size)]
        segment_of = torch.tensor([segment for segment, size in enumerate(sizes) for _ in range(size)])
        x, place = array(torch, len(rank), 2, requires_grad=True), array(torch, len(rank), 3)
        results = answer.apply(x, place, torch.tensor(rank))
        if not isinstance(results, tuple) or len(results) != 2:
            return not_yet("forward returns a tuple of two: the sums, and the places of the kept rows.")
        sums, places = results
        wanted = torch.stack([x.detach()[segment_of == segment].sum(0) for segment in range(len(sizes))])
        if not near(sums, wanted):
            return not_yet("The sums of the cells are wrong now. forward's arithmetic was in order.")
        if not near(places, place[torch.tensor([a != b for a, b in zip(rank, [*rank[1:], None], strict=True)])]):
            return not_yet("The second result should be the places of the kept rows, as before.")
        if not sums.requires_grad:
            return almost("sums marked")
        grad = array(torch, len(sizes), 2)
        try:
            (found,) = torch.autograd.grad(sums, x, grad)
        except IndexError:
            return almost("marked only" if not places.requires_grad else "out of range")
        wanted = grad[segment_of]
        if not near(found, wanted):
            kept = torch.tensor([a != b for a, b in zip(rank, [*rank[1:], None], strict=True)])
            row = kept.cumsum(0)
            only_kept = torch.zeros_like(found)
            only_kept[kept] = grad
            if near(found, only_kept):
                return almost("kept rows only")
            if near(found, only_kept.cumsum(0)):
                return almost("summed forwards")
            if near(found, grad[row - 1]):
                return almost("shifted")
            if near(found, grad[(row - 1).clamp(min=0)]):
                return almost("shifted and clamped")
            if near(found, grad[row.clamp(max=len(sizes) - 1)]):
                return almost("clamped")
            return not_yet("backward runs, but some rows get something else than the gradient of their cell.")
        if places.requires_grad:
            return almost("detached" if mentions_detach(answer) else "unmarked")
    x, place = array(torch, 6, 2, requires_grad=True), array(torch, 6, 3)
    rank = torch.tensor([1, 1, 4, 6, 6, 6])
    if not torch.autograd.gradcheck(lambda x: answer.apply(x, place, rank)[0], (x,), raise_exception=False):
        return not_yet("gradcheck does not agree with it.")
    sums, _ = answer.apply(x, place, rank)
    if tensors_on(sums.grad_fn, torch):
        return almost("rows on ctx")
    if any(shares(slot, x) for slot in slots_of(sums.grad_fn)):
        return almost("x kept")
    if graph_of_gradient(torch, sums, (x,)) == "nothing":
        return almost("cut off")
    return correct("each row reads its own cell's gradient, and nobody can train on the places by accident.")


def mentions_detach(answer):
    """Does its forward call detach? Only chooses between two sentences."""
    return called(answer.forward, "detach")


STARTER_5 = """\
class SegmentSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, place, rank):
        kept = torch.cat((rank[1:] != rank[:-1], torch.ones(1, dtype=torch.bool)))
        total = x.cumsum(0)[kept]
        ctx.save_for_backward(kept)
        return torch.cat((total[:1], total[1:] - total[:-1])), place[kept]

    @staticmethod
    def backward(ctx, grad, grad_place):
        (kept,) = ctx.saved_tensors
        return grad[kept.cumsum(0)], None, None"""
MARKED_5 = STARTER_5.replace(
    "        return torch.cat((total[:1], total[1:] - total[:-1])), place[kept]\n",
    "        place = place[kept]\n        ctx.mark_non_differentiable(place)\n"
    "        return torch.cat((total[:1], total[1:] - total[:-1])), place\n",
)
OLD_5 = "        return grad[kept.cumsum(0)], None, None"
ROWS_5 = "        row = kept.cumsum(0)\n        row[kept] -= 1\n        return grad[row], None, None"

EXERCISE = Exercise(
    id="11b.3", kind="repair", title="Repair QuickCumsum", minutes=10, difficulty=3,
    question="Sums over cells by one running total. Repair the rows that backward reads, and find what is wrong "
    "without an error.",
    name="SegmentSum", starter=STARTER_5,
    hints=(
        "Print kept.cumsum(0) for ranks 5, 5, 7, 9, 9, and beside it the rows you want: 0, 0, 1, 2, 2.",
        "cumsum counts the ends of cells up to and including this row. How many ended before it?",
        "The second result is of floats and passes through apply. What would a loss made of it do?",
    ),
    solution=MARKED_5.replace(OLD_5, ROWS_5) + "\n",
    why="The number of a row's cell is the number of cells that ended before it: the running count, less one where "
    "the row itself is an end. The places are a floating-point output, so without the mark they would require grad. "
    "The mask is a tensor that is neither input nor output, and may be saved all the same. (In float32 a long running "
    "total loses digits: the price of having no loop.)",
    alternatives=(
        MARKED_5.replace(OLD_5, "        return grad[kept.cumsum(0) - kept.to(torch.int64)], None, None"),
        MARKED_5.replace(
            OLD_5,
            "        ends = kept.to(torch.int64)\n"
            "        before = torch.cat((torch.zeros(1, dtype=torch.int64), ends[:-1].cumsum(0)))\n"
            "        return grad[before], None, None",
        ),
        MARKED_5.replace(
            OLD_5,
            "        rows, cell = [], 0\n"
            "        for is_last in kept.tolist():\n"
            "            rows.append(cell)\n"
            "            cell += is_last\n"
            "        return grad[rows], None, None",
        ),
    ),
    mistakes=(
        Mistake("marked only", "The places are marked now. backward still reads a row of the gradient that does not "
                "exist: there is one row for each cell, counted from 0.", MARKED_5),
        Mistake("unmarked", "The sums are right, gradients too. But the places still require grad: a loss made of "
                "them runs without an error, and x gets zeros from it. Mark the tensor that you return.",
                STARTER_5.replace(OLD_5, ROWS_5)),
        Mistake("detached", "detach() inside forward does nothing: nothing is recorded there. It is apply that gives "
                "every floating-point output a node, unless you mark it.",
                STARTER_5.replace(OLD_5, ROWS_5).replace("place[kept]", "place[kept].detach()")),
        Mistake("out of range", "You have changed something, but backward still reads a row of the gradient that "
                "does not exist.", STARTER_5.replace("grad[kept.cumsum(0)]", "grad[kept.cumsum(0)] * 1")),
        Mistake("shifted", "One less everywhere: right for the last row of each cell. All other rows now read the "
                "cell before, and row -1 is the last one.", MARKED_5.replace("kept.cumsum(0)]", "kept.cumsum(0) - 1]")),
        Mistake("shifted and clamped", "One less everywhere: right for the last row of each cell, and for the first "
                "cell. All other rows now read the cell before.",
                MARKED_5.replace("kept.cumsum(0)]", "(kept.cumsum(0) - 1).clamp(min=0)]")),
        Mistake("clamped", "The error is gone because the index is cut off. The last row of each cell still reads "
                "the next cell's gradient.",
                MARKED_5.replace("kept.cumsum(0)]", "kept.cumsum(0).clamp(max=len(grad) - 1)]")),
        Mistake("summed forwards", "Turning a running total round also turns its direction: a row is in the totals "
                "below it. And the subtraction of neighbours has a backward too. Together they are simpler than that.",
                MARKED_5.replace(
                    OLD_5,
                    "        out = torch.zeros(len(kept), grad.shape[1], dtype=grad.dtype)\n"
                    "        out[kept] = grad\n        return out.cumsum(0), None, None")),
        Mistake("sums marked", "The sums do not require grad any more, so nothing flows back at all. Mark the places "
                "alone.",
                MARKED_5.replace("ctx.mark_non_differentiable(place)\n", "ctx.mark_non_differentiable(place, total)\n")
                    .replace("return torch.cat((total[:1], total[1:] - total[:-1])), place",
                             "return total, place")
                    .replace("[kept]\n        ctx.save",
                             "[kept]\n        total[1:] -= total[:-1] * 1\n        ctx.save")
                    .replace(OLD_5, ROWS_5)),
        Mistake("rows on ctx", "The gradients are right. But a tensor on ctx stays until the result is gone; from a "
                "slot, backward releases it.",
                MARKED_5.replace("ctx.save_for_backward(kept)", "ctx.kept = kept")
                    .replace("(kept,) = ctx.saved_tensors", "kept = ctx.kept").replace(OLD_5, ROWS_5)),
        Mistake("x kept", "The gradients are right. But you keep x, the largest tensor here, and no slope of a sum "
                "needs it.",
                MARKED_5.replace("save_for_backward(kept)", "save_for_backward(kept, x)")
                    .replace("(kept,) =", "kept, x =").replace(OLD_5, ROWS_5)),
        Mistake("cut off", "The gradients are right, but they have no history: with detach or no_grad in backward, "
                "second derivatives lose this Function without an error.",
                MARKED_5.replace(OLD_5, ROWS_5.replace("grad[row]", "grad.detach()[row]"))),
        Mistake("kept rows only", "Only the last row of each cell gets a gradient. All rows were added up, so all of "
                "them get it.",
                MARKED_5.replace(
                    OLD_5,
                    "        out = torch.zeros(len(kept), grad.shape[1], dtype=grad.dtype)\n"
                    "        out[kept] = grad\n        return out, None, None")),
    ),
    check=check,
)  # fmt: skip
