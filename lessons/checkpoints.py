"""Helpers that the exercises of lesson 14 and of its parts 14b and 14c share."""

import contextlib
import gc
import warnings


@contextlib.contextmanager
def quiet():
    """No warning comes out of the block: the re-entrant form warns of inputs that require no gradient."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def no_collector():
    """The garbage collector waits, so that a ring stays."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def hooks_of(torch):
    """PyTorch's name for a pair of hooks is long."""
    return torch.autograd.graph.saved_tensors_hooks


def checkpoint_of(torch):
    """The function that is called checkpoint."""
    return torch.utils.checkpoint.checkpoint


class Checkpoint:
    """The Function of the lesson, for an engine: Checkpoint(torch).apply(part, h)."""

    def __init__(self, torch):
        class Function(torch.autograd.Function):
            @staticmethod
            def forward(ctx, part, h):
                ctx.part = part
                ctx.save_for_backward(h)
                return part(h)

            @staticmethod
            def backward(ctx, grad):
                (h,) = ctx.saved_tensors
                h = h.detach().requires_grad_()
                with torch.enable_grad():
                    result = ctx.part(h)
                result.backward(grad)
                return None, h.grad

        self.apply = Function.apply


class Chain:
    """Layers tanh(h @ w) in a row, as in the lesson, which count how often they run."""

    def __init__(self, torch, count):
        self.torch, self.runs = torch, 0
        self.weights = [(torch.eye(8) * 0.5).requires_grad_() for _ in range(count)]
        self.begin = torch.ones(8, 8, requires_grad=True)

    UNIT = 8 * 8 * 4

    def part(self, start, end):
        """The layers from start to before end, as a function."""

        def run(h):
            for w in self.weights[start:end]:
                self.runs += 1
                h = self.torch.tanh(h @ w)
            return h

        return run


def peak_and_runs(torch, lengths, plain=0):
    """(activations at the peak, layers run): segments of these lengths, and after them so many layers without one."""
    from backscope.memory.ledger import ledger

    chain, apply = Chain(torch, sum(lengths) + plain), Checkpoint(torch).apply
    with ledger(leaves=False) as held:
        h, start = chain.begin, 0
        for length in lengths:
            h = apply(chain.part(start, start + length), h)
            start += length
        chain.part(start, start + plain)(h).sum().backward()
    return held.peak // Chain.UNIT, chain.runs
