"""Exercise 14.3: repair the loop."""

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from lessons.checkpoints import quiet
from lessons.shared import array, flat, near

# (layers, length, does the input require grad?)
CASES = ((5, 2, False), (4, 4, False), (6, 1, True), (7, 3, False), (3, 5, True), (9, 2, True))


class Layers:
    """Layers with a weight each, which count their runs; `expected` are the gradients without any checkpoint."""

    def __init__(self, torch, count, asks):
        self.torch, self.runs, self.order = torch, [0] * count, []
        self.weights = [array(torch, 3, 3, requires_grad=True) for _ in range(count)]
        self.h = array(torch, 2, 3, requires_grad=asks)
        plain, self.outs = self.h, []
        for w in self.weights:
            plain = torch.tanh(plain @ w)
            self.outs.append(flat(plain))
        self.out = plain.detach()
        wanted = [*self.weights, self.h] if asks else self.weights
        self.expected = [flat(g) for g in torch.autograd.grad(plain.sum(), wanted)]
        self.wanted = wanted

    def functions(self):
        """The layers as functions."""
        return [lambda a, place=place: self.layer(a, place) for place in range(len(self.weights))]

    def layer(self, a, place):
        self.runs[place] += 1
        self.order.append(place)
        return self.torch.tanh(a @ self.weights[place])


def check(answer, torch):
    for count, length, asks in CASES:
        layers = Layers(torch, count, asks)
        with quiet():
            verdict = one_network(answer, torch, layers, length)
        if verdict is not None:
            return verdict
    return correct("each segment runs its own layers again, and plain data does not stop the gradient.")


def one_network(answer, torch, layers, length):
    """The verdict on one network, or None."""
    count = len(layers.runs)
    packed = []

    def pack(tensor):
        if not tensor.is_leaf:
            packed.append(1)
        return tensor.detach()

    # what is saved outside of the checkpoints goes through this pair: the inputs of segments
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda p: p):
        y = answer(torch, layers.functions(), layers.h, length)
    if not isinstance(y, torch.Tensor):
        return not_yet("The function should return the result of the last layer, a tensor.")
    if not near(flat(y), flat(layers.out)):
        whole = count - count % length
        if whole and near(flat(y), layers.outs[whole - 1]):
            return almost("the rest")
        return not_yet(f"For {count} layers in segments of {length} the result is not that of the layers in a row.")
    if layers.runs != [1] * count:
        return not_yet(f"In forward the layers ran {layers.runs} times; each should run once.")
    if y.grad_fn is None:
        return almost("no node")
    if len(packed) > 2 * count - 2 and length < count:
        return almost("no checkpoint")
    layers.order.clear()
    try:
        y.sum().backward()
    except RuntimeError as error:
        if "different" in str(error):
            return almost("late", "Backward raises a CheckpointError. ")
        raise
    return judge_gradients(layers, length)


def judge_gradients(layers, length):
    """The verdict on the gradients and on the number of runs, or None."""
    count = len(layers.runs)
    reached = [w.grad is not None for w in layers.wanted]
    if not all(reached):
        if layers.runs[0] == 1 and layers.runs[-1] > 2:
            return almost("late")
        return almost("some without a node" if any(reached) else "no node")
    found = [flat(w.grad) for w in layers.wanted]
    if not all(map(near, found, layers.expected)):
        last = count - (count % length or length)
        if last > 0 and max(layers.runs[last:]) > 2:
            return almost("late")
        return not_yet("The gradients are not those of the layers in a row.")
    if max(layers.runs) > 2:
        return not_yet(f"The layers ran {layers.runs} times; twice is enough.")
    if max(layers.runs) == 1 and length < count:
        return almost("no checkpoint")
    segments = [list(range(i, min(i + length, count))) for i in range(0, count, length)]
    for last in range(3):  # the last segment need not run again, nor a short one with the one before
        again = segments[: len(segments) - last]
        if layers.order == [place for segment in reversed(again) for place in segment]:
            return None
    return almost("not in segments" if 1 in layers.runs[: count - length - count % length] else "other segments")


STARTER = """\
def run_in_segments(torch, layers, h, length):
    for i in range(0, len(layers), length):

        def segment(a):
            for layer in layers[i : i + length]:
                a = layer(a)
            return a

        h = torch.utils.checkpoint.checkpoint(segment, h, use_reentrant=True)
    return h
"""
SOLVED = STARTER.replace("segment(a):", "segment(a, i=i):").replace("=True", "=False")

EXERCISE = Exercise(
    id="14.3", kind="repair", title="Repair the loop", minutes=8, difficulty=2, puzzles=(24,),
    question="The loop checkpoints `layers` (a list of functions) in segments. The result is right, and the gradients "
    "are not. Two things are wrong. Repair both.",
    name="run_in_segments", starter=STARTER,
    hints=(
        "`segment` runs twice: in forward and in backward. Which value has each of its names, at both times?",
        "A function looks a name up when it runs. In backward the loop is over. How do you give a function a value of "
        "its own?",
        "And h may be plain data. Which of the two forms needs an argument that requires a gradient?",
    ),
    solution=SOLVED,
    why="In backward every segment looks i up and finds its last value, so all of them run the last layers. A default "
    "value is bound when the function is made. And in the re-entrant form a first segment with plain data has no "
    "node.",
    alternatives=(
        "def run_in_segments(torch, layers, h, length):\n    def run(part, a):\n        for layer in part:\n"
        "            a = layer(a)\n        return a\n\n    for i in range(0, len(layers), length):\n"
        "        part = layers[i : i + length]\n"
        "        h = torch.utils.checkpoint.checkpoint(run, part, h, use_reentrant=False)\n    return h\n",
        "def run_in_segments(torch, layers, h, length):\n    def chain(part):\n        def run(a):\n"
        "            for layer in part:\n                a = layer(a)\n            return a\n\n        return run\n\n"
        "    for i in range(0, len(layers), length):\n        part = layers[i : i + length]\n"
        "        if i + length < len(layers):\n"
        "            h = torch.utils.checkpoint.checkpoint(chain(part), h, use_reentrant=False)\n"
        "        else:\n            h = chain(part)(h)\n    return h\n",
    ),
    mistakes=(
        Mistake("late", "In backward each segment runs the layers of the last one: the function looks up its names "
                "when it runs, and by then the loop is over.", edit("segment(a, i=i):", "segment(a):")),
        Mistake("no node", "With plain data as input, the result has no history at all. In the form that you use, an "
                "argument has to require a gradient.", edit("=False", "=True")),
        Mistake("some without a node", "Some layers get no gradient: what goes into a segment is cut off from the "
                "layers in front of it.", edit("segment, h,", "segment, h.detach(),")),
        Mistake("the rest", "The last layers are missing: the number of layers need not be a multiple of the length.",
                edit("len(layers), length", "len(layers) - length + 1, length")),
        Mistake("no checkpoint", "The gradients are right, but all that the layers save is held until backward.",
                "def run_in_segments(torch, layers, h, length):\n    for layer in layers:\n        h = layer(h)\n"
                "    return h\n"),
        Mistake("not in segments", "The gradients are right, but only a part of the layers is checkpointed. The "
                "others hold what they save until backward.",
                edit("        h = torch", "        h = segment(h) if i else torch")),
        Mistake("other segments", "The gradients are right, but what is computed again are not segments of the length "
                "that was asked for.", edit("i : i + length", "i : i + 1", "len(layers), length", "len(layers)")),
        Mistake("guard: changed a flag", "The data belongs to the caller.",
                edit("    for i", "    h.requires_grad_()\n    for i", "=False", "=True")),
        Mistake("guard: changed a container", "",
                "def run_in_segments(torch, layers, h, length):\n    while layers:\n"
                "        part = [layers.pop(0) for _ in range(min(length, len(layers)))]\n\n"
                "        def segment(a, part=part):\n            for layer in part:\n                a = layer(a)\n"
                "            return a\n\n"
                "        h = torch.utils.checkpoint.checkpoint(segment, h, use_reentrant=False)\n    return h\n"),
    ),
    check=check,
)  # fmt: skip
