"""Exercise 14b.1: half of a double."""

import weakref

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from lessons.checkpoints import hooks_of, no_collector
from lessons.shared import array, flat, near


def held_in(thing, torch, depth=0):
    """The tensors inside what pack returned: itself, or in lists, tuples, dictionaries and the fields of an object."""
    if isinstance(thing, torch.Tensor):
        return [thing]
    if isinstance(thing, dict):
        thing = list(thing.values())
    if isinstance(thing, (list, tuple)) and depth < 4:
        return [tensor for each in thing for tensor in held_in(each, torch, depth + 1)]
    return held_in(vars(thing), torch, depth + 1) if hasattr(thing, "__dict__") and depth < 4 else []


def check(answer, torch):
    """A network in float64, one in float32, an index and a mask; several sizes, 0-d among them."""
    seen = []  # (was it a leaf, its type, its size, what is held: same memory, bytes; does it require a gradient)
    pair = answer(torch)
    if not (isinstance(pair, (tuple, list)) and len(pair) == 2 and all(map(callable, pair))):
        return not_yet("The function should return the pair: pack, unpack.")
    pack, unpack = pair

    def watched(tensor):
        packed = pack(tensor)
        held = held_in(packed, torch)
        same = any(each.data_ptr() == tensor.data_ptr() for each in held)
        kind = str(tensor.dtype).rpartition(".")[2]
        size = sum(each.numel() * each.element_size() for each in held)
        seen.append((tensor.is_leaf, kind, tensor.numel(), same, size, tensor.requires_grad))
        return packed

    for shape in ((20, 15), (3,), (), (1, 4)):
        x = array(torch, *shape, requires_grad=True)
        w, data = array(torch, *shape, requires_grad=True), array(torch, *shape)
        wanted = [flat(g) for g in torch.autograd.grad(network(torch, x, w, data), (x, w))]
        try:
            with hooks_of(torch)(watched, unpack):
                y = network(torch, x, w, data)
            y.backward()
        except (RuntimeError, TypeError, AttributeError) as error:
            if "dtype" in str(error) or "type" in str(error).lower():
                return almost("another type", f"“{str(error).splitlines()[0][:90]}”: ")
            raise
        if any(each.dtype != torch.float64 for each in (x.grad, w.grad)):
            return almost("another type")
        if not all(near(flat(each.grad), one, 1e-4) for each, one in zip((x, w), wanted, strict=True)):
            return not_yet("The gradients are further from the right ones than float32 explains.")
    return judge_seen(seen) or check_single(torch, pack, unpack) or check_rings(torch, pack, unpack)


def network(torch, x, w, data):
    """Saves leaves, plain data, results, an input and a mask."""
    h = torch.tanh(x * w) * data
    return (torch.where(h > 0, h.exp(), h.sin()) * w).sum()


def judge_seen(seen):
    """The verdict on what pack was given and what it held, or None."""
    for leaf, kind, count, same, size, asks in seen:
        if leaf and not same and size:
            return almost("leaves" if asks else "data")
        if not leaf and kind == "float64" and size >= 8 * count and count > 1:
            return almost("small ones" if count < 100 and any(
                not other[0] and other[4] == 4 * other[2] for other in seen if other[2] >= 100
            ) else "nothing saved")  # fmt: skip
    return None


def check_single(torch, pack, unpack):
    """Both types come back as they were, and float32 with the same numbers."""
    for dtype, name in ((torch.float64, "another type"), (torch.float32, "float32 becomes double")):
        held = []

        def watched(tensor, held=held):
            packed = pack(tensor)
            held[:] = [tensor.data_ptr(), *(each.data_ptr() for each in held_in(packed, torch))]
            return packed

        x = torch.tensor([0.5, 1.5], requires_grad=True, dtype=dtype)
        with hooks_of(torch)(watched, unpack):
            y = (x * 1).exp()
        slot = y.grad_fn._saved_result
        if slot.dtype != dtype:
            return almost(name)
    if flat(slot) != flat(y):
        return not_yet("A network in float32 gets other numbers back.")
    if len(held) > 1 and held[0] not in held[1:]:
        return almost("copied for nothing")
    return None


def check_rings(torch, pack, unpack):
    """A result that nobody has a name for is gone, whatever its size."""
    with no_collector():
        for dtype in (torch.float64, torch.float32):
            for count in (2, 300):
                x = torch.ones(count, dtype=dtype, requires_grad=True)
                with hooks_of(torch)(pack, unpack):
                    y = x.exp()
                alive = weakref.ref(y)
                del y
                if alive() is not None:
                    return almost("ring")
    return correct("half the bytes for what is computed, none for what is there, and no ring.")


SOLVED = """\
def pair(torch):
    def pack(tensor):
        if tensor.is_leaf:
            return tensor, tensor.dtype
        if tensor.dtype != torch.float64:
            return tensor.detach(), tensor.dtype
        return tensor.float(), tensor.dtype

    def unpack(packed):
        tensor, dtype = packed
        return tensor.to(dtype)

    return pack, unpack
"""
STARTER = """\
def pair(torch):
    def pack(tensor):
        if tensor.numel() < 100:
            return tensor  # not worth it
        return tensor.float()

    def unpack(packed):
        return packed

    return pack, unpack
"""

EXERCISE = Exercise(
    id="14b.1", kind="repair", title="Half of a double", minutes=10, difficulty=2,
    question="A network computes in float64, and what it saves should wait in float32. In the posted pair three "
    "things are wrong. Return a pair (pack, unpack) with which everything in float64 that was computed is held in "
    "half the bytes, also if it is small; leaves, and what is not in float64, are not copied; everything comes back "
    "in its own type; and nothing is kept alive in a ring. Networks in float32, and masks, must go through unchanged.",
    name="pair", starter=STARTER,
    hints=(
        "Ask for each kind of tensor what pack returns: a leaf, a small result, a large result, a mask, something in "
        "float32.",
        "When unpack gets something in float32, how can it know which type it had? pack may return any object.",
        "Which of the tensors that pack is given may be returned as they are, and what can be done with the others?",
    ),
    solution=SOLVED,
    why="A leaf exists anyway and has no node. A result must not be returned with its history, so it is detached or "
    "converted. And the type waits beside the numbers.",
    alternatives=(
        "def pair(torch):\n    def pack(tensor):\n        if tensor.is_leaf or tensor.dtype != torch.float64:\n"
        "            return tensor if tensor.is_leaf else tensor.detach()\n        return [tensor.float()]\n\n"
        "    def unpack(packed):\n        return packed[0].double() if isinstance(packed, list) else packed\n\n"
        "    return pack, unpack\n",
        edit("return tensor, tensor.dtype\n        if", "return tensor.detach(), tensor.dtype\n        if"),
    ),
    mistakes=(
        Mistake("ring", "A result is still alive although it has lost its last name: pack returned it as it was, with "
                "its node.", edit("tensor.detach(), tensor.dtype", "tensor, tensor.dtype")),
        Mistake("leaves", "A leaf is held as a second copy. It exists anyway.", edit("tensor.is_leaf", "False")),
        Mistake("data", "Data that requires no gradient is held as a second copy. It is a leaf like the weights, and "
                "exists anyway.", edit("tensor.is_leaf", "tensor.is_leaf and tensor.requires_grad")),
        Mistake("copied for nothing", "A result in float32 is held as a second copy, which is no smaller.",
                edit("return tensor.detach()", "return tensor.clone()")),
        Mistake("another type", "A slot gives back another type than was saved, so the formula computes in float32, "
                "or refuses.", edit("tensor.to(dtype)", "tensor")),
        Mistake("float32 becomes double", "What was float32 comes back as float64. How can unpack know which of the "
                "two it was?",
                edit("tensor.to(dtype)", "tensor.double() if tensor.dtype is torch.float32 else tensor")),
        Mistake("small ones", "Small results are held in eight bytes a number. They should be halved, too.",
                edit("!= torch.float64", "!= torch.float64 or tensor.numel() < 100")),
        Mistake("nothing saved", "What was computed in float64 is held in eight bytes a number, as without hooks.",
                edit("tensor.float()", "tensor.detach()")),
    ),
    check=check,
)  # fmt: skip
