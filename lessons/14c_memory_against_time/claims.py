"""The claims of part 14c, memory against time, on our engine and on real PyTorch."""

from backscope.memory.ledger import ledger
from lessons.claims_kit import from_lesson

UNIT = 64 * 64 * 4  # bytes of an activation of the lesson


def checkpoint(torch, *args, **options):
    return torch.utils.checkpoint.checkpoint(*args, **options)


def lesson(torch, *names, **given):
    """Return what the lesson defines, with names for the tensors that its programs take."""
    return from_lesson(torch, "14c", *names, "Checkpoint", "begin", "forward", "gelu", **given)


def measured(forward):
    """Activations at the peak of a loss and its backward."""
    with ledger(leaves=False) as held:
        forward().backward()
    return held.peak / UNIT


def test_c14c_1_the_law(torch):
    """With n layers that save one activation each, in segments of k layers, n/k - 1 + k activations are held at the
    peak, which is as many as without checkpoints for k = 1 and k = n, and 2√n - 1 for k = √n."""
    own = lesson(torch, "layer", "plain_layer", "chain", "in_segments")
    for n in (4, 16, 36):
        assert measured(lambda: own.forward(own.layer, n)) == n
        peaks = {k: measured(lambda: own.in_segments(n, k)) for k in range(1, n + 1) if n % k == 0}
        assert peaks == {k: n / k - 1 + k for k in peaks}
        assert peaks[1] == peaks[n] == n and peaks[round(n**0.5)] == 2 * n**0.5 - 1


def test_c14c_2_runs(torch):
    """Each checkpointed layer runs twice; checkpoint_sequential does not checkpoint the last segment."""
    for reentrant in (True, False):
        chosen = f"h, use_reentrant={reentrant}"
        own = lesson(
            torch, "layer", "plain_layer", "runs", "sequential", "in_segments", "chain", "checkpoint_sequential",
            edit=lambda text: text.replace("h, use_reentrant=True", chosen),
        )  # fmt: skip
        runs = own.runs

        def counted(forward):
            runs.clear()
            forward().backward()
            return len(runs)

        def one_by_one():
            ws, h = own.begin(6)
            for w in ws:
                h = checkpoint(torch, own.layer, h, w, use_reentrant=reentrant)
            return h.sum()

        assert counted(lambda: own.sequential(6, segments=3)) == 6 + 4
        assert counted(one_by_one) == 6 + 6
        assert [counted(lambda: own.in_segments(6, length)) for length in (1, 2, 3, 6)] == [6 + 6] * 4


def test_c14c_3_selective(torch):
    """If only GELU is checkpointed and not the product in front of it, less than half of the activations are held and
    no product is computed twice."""
    products = []
    own = lesson(torch, "product", "nothing", "whole_block", "gelu_only", products=products)

    def needs(block):
        products.clear()
        return measured(lambda: own.forward(block, 8)) // 1, len(products)

    assert [needs(block) for block in (own.nothing, own.whole_block, own.gelu_only)] == [(39, 8), (11, 16), (18, 8)]
