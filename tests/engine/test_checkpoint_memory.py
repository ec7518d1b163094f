"""What `checkpoint(use_reentrant=False)` holds, measured without ledger(), which does not see all of it."""

import functools
import tracemalloc
import weakref

import course_lib


def chain(torch, part):
    def run(h):
        for w in part:
            h = torch.tanh(h @ w)
        return h

    return run


def segmented(torch, ws, k):
    """The result of the layers, in segments of k, in the form with hooks."""
    h = torch.ones(128, 128, requires_grad=True)
    for i in range(0, len(ws), k):
        h = torch.utils.checkpoint.checkpoint(chain(torch, ws[i : i + k]), h, use_reentrant=False)
    return h


def large(torch, n):
    torch.manual_seed(0)
    return [(torch.randn(128, 128) / 12).requires_grad_() for _ in range(n)]


def test_the_form_with_hooks_puts_as_much_aside(real_torch):
    """On PyTorch, after forward, as many pieces of memory are alive as there are segments, and the first input."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Meter(TorchDispatchMode):
        alive = set()

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            storage = out.untyped_storage()
            if storage._cdata not in self.alive:
                self.alive.add(storage._cdata)
                weakref.finalize(storage, self.alive.discard, storage._cdata)
            return out

    ws = large(real_torch, 16)
    for k in (1, 4, 16):
        with Meter() as meter:
            h = segmented(real_torch, ws, k)
            assert len(meter.alive) == 16 // k + 1
        del h
        meter.alive.clear()


def test_the_form_with_hooks_follows_the_law():
    """On our engine the peak of all memory, gradients on their way and all, has its valley at √n, too."""
    torch = course_lib
    ws, unit, most = large(torch, 64), 128 * 128 * 4, {}
    for w in ws:
        w.grad = torch.zeros_like(w)  # gradients are added in place, so they are no new memory
    for k in (1, 8, 64):
        tracemalloc.start()
        segmented(torch, ws, k).sum().backward()
        most[k] = tracemalloc.get_traced_memory()[1] / unit
        tracemalloc.stop()
    assert most[8] < 30 and most[1] > 64 and most[64] > 64, most


def test_products_of_a_step(real_torch):
    """A product costs two more in backward; a checkpoint adds one; with its result stored inside, it adds none."""
    from torch.utils._python_dispatch import TorchDispatchMode

    torch = real_torch
    product, contexts = torch.ops.aten.mm.default, torch.utils.checkpoint.create_selective_checkpoint_contexts

    class Count(TorchDispatchMode):
        seen = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.seen += func is product
            return func(*args, **(kwargs or {}))

    def block(h, w):
        u = h @ w
        return u * torch.sigmoid(u)

    def step(run):
        h, w = torch.ones(4, 4, requires_grad=True), torch.ones(4, 4, requires_grad=True)
        with Count() as count:
            run(h, w).sum().backward()
        return count.seen

    def checkpointed(**options):
        return lambda h, w: torch.utils.checkpoint.checkpoint(block, h, w, use_reentrant=False, **options)

    assert step(block) == 3
    assert step(checkpointed()) == 4
    assert step(checkpointed(context_fn=functools.partial(contexts, [product]))) == 3
