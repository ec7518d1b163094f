"""Which differences between two libraries are nothing but rounding. Used by program_comparison.py.

Two results may differ in their last place, and what follows may make much of it: the tangent near its pole, the
logarithm of what is left when two numbers nearly cancel, an integer that is above another number or not. A list of
such cases would either miss some or hide real differences, so nothing is guessed:

1. A program that shows a difference runs once more, and after each statement our floats are given the very bits of
   PyTorch's where both agree up to rounding (`level`). Only what differs then, from equal operands, is a difference.
   Zeros get PyTorch's sign, too: which of 0.0 and -0.0 is the larger, the instructions of the processor decide.
2. What one statement makes of the last places, such as a backward pass with hooks, `level` cannot reach. There
   PyTorch is asked itself (`shake`): its floats are moved by a last place or a few before the statement. Where its own
   answers then spread out, around ours, the answer is made of last places. A jump, as of a maximum or a floor, has
   few answers to choose from, however it is pushed, and is never excused.
"""

import itertools
import math
import random

import numpy as np

from tests.engine.facts import attempt, same

PUSHES = [(places, seed) for places in (1, 16) for seed in range(8)]  # how many last places, and which way each


# --- the same bits on both sides ---------------------------------------------------------------------------


def level(ours, theirs):
    """Give our floats the bits of PyTorch's, where the two agree up to rounding. Leaves no trace in either."""
    mine, others = ours.tensors(), theirs.tensors()
    pairs = [(mine[name], others[name]) for name in others if name in mine]
    pairs += [(a.meta and a.meta.grad, attempt(lambda b=b: b.grad)) for a, b in pairs]
    for a, b in pairs:
        if isinstance(a, ours.torch.Tensor) and isinstance(b, theirs.torch.Tensor) and b.is_floating_point():
            values = attempt(lambda b=b: b.detach().numpy())
            if isinstance(values, str) or values.shape != a.array.shape or values.dtype != a.array.dtype:
                continue
            if values.tobytes() != a.array.tobytes() and same(a.array.tolist(), values.tolist(), **tolerance(b)):
                put(a, values)


def put(tensor, values):
    """Overwrite a tensor of ours behind the back of its counter."""
    if type(tensor.array) is np.ndarray:
        tensor.array[...] = values
    else:
        tensor.array = values[()]


def tolerance(tensor):
    """How far apart two floats of a tensor's type may be."""
    return {"rel": 1e-3 if tensor.element_size() == 4 else 1e-5}


# --- pushing PyTorch ---------------------------------------------------------------------------------------


def shake(machine, places, seed):
    """Move every float that a machine of PyTorch's has by some last places."""
    torch, draw, seen = machine.torch, random.Random(seed), set()
    with torch.no_grad():
        for tensor in machine.tensors().values():
            storage = tensor.untyped_storage()
            if not tensor.is_floating_point() or storage.data_ptr() in seen or not storage.nbytes():
                continue
            seen.add(storage.data_ptr())
            whole = torch.empty(0, dtype=tensor.dtype).set_(storage)
            push = [1 + places * torch.finfo(tensor.dtype).eps * draw.uniform(-1, 1) for _ in range(whole.numel())]
            whole.mul_(torch.tensor(push, dtype=tensor.dtype))


def numbers_in(facts):
    """All numbers of an answer in order, as floats; truth values and texts count as they are."""
    if isinstance(facts, dict):
        facts = list(facts.values())
    if isinstance(facts, list | tuple):
        return [number for fact in facts for number in numbers_in(fact)]
    return [float(facts)] if isinstance(facts, int | float) and not isinstance(facts, bool) else [facts]


def is_rounding(ours, theirs, pushed):
    """True for answers that differ where PyTorch's own, pushed a little, spread out: see above."""
    mine, real, pushed = numbers_in(ours), numbers_in(theirs), [numbers_in(answer) for answer in pushed]
    if same(mine, real) or any(len(numbers) != len(real) for numbers in (mine, *pushed)):
        return False
    return all(same(a, b) or explained(a, b, numbers) for a, b, *numbers in zip(mine, real, *pushed, strict=True))


def explained(ours, theirs, pushed):
    """True for two numbers as they come of last places: ours is among PyTorch's, or as near as those are far apart."""
    if not all(isinstance(number, float) for number in (ours, theirs, *pushed)):
        return False
    finite = sorted(filter(math.isfinite, pushed))
    if len(finite) < len(pushed):  # what is left when numbers cancel is sometimes nothing: its logarithm or inverse
        return len(finite) > 0 or len(set(map(str, pushed))) > 1
    spread = finite[-1] - finite[0]
    several = sum(b - a > spread / 1000 for a, b in itertools.pairwise(finite)) > len(pushed) // 3
    return several and (not math.isfinite(ours) or finite[0] - spread <= ours <= finite[-1] + spread)
