"""Exercise 11b.2: superpixel pooling."""

import random

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, not_yet
from lessons.functions import (
    COUNT,
    SHAPE,
    graph_of_gradient,
    near,
    of_a_function,
    shares,
    slots_of,
    tensors_on,
)
from lessons.shared import array, flat


def random_labels(torch, height, width, regions):
    """A label map in which every region has a pixel."""
    labels = list(range(regions)) + [random.randrange(regions) for _ in range(height * width - regions)]
    random.shuffle(labels)
    return torch.tensor(labels).reshape(height, width)


def region_means(image, labels, regions):
    """The mean of each region by plain loops, as a nested list's flat form."""
    names, pixels, means = labels.reshape(-1).tolist(), image.shape[2] * image.shape[3], []
    for start in range(0, image.numel(), pixels):
        plane = flat(image)[start : start + pixels]
        for region in range(regions):
            inside = [value for value, name in zip(plane, names, strict=True) if name == region]
            means.append(sum(inside) / len(inside))
    return means


@of_a_function
def check(answer, torch):
    for n, c, h, w, regions in ((2, 3, 3, 4, 5), (1, 2, 4, 3, 3), (2, 1, 3, 3, 1)):
        image, labels = array(torch, n, c, h, w, requires_grad=True), random_labels(torch, h, w, regions)
        pooled = answer.apply(image, labels)
        if tuple(pooled.shape) != (n, c, regions) or not near(
            pooled, torch.tensor(region_means(image, labels, regions), dtype=torch.float64).reshape(n, c, regions)
        ):
            return not_yet("forward no longer gives the mean of each region; only backward was missing.")
        grad = array(torch, n, c, regions)
        try:
            (found,) = torch.autograd.grad(pooled, image, grad, retain_graph=True, allow_unused=True)
        except RuntimeError as error:
            if COUNT in str(error):
                return almost("one gradient")
            if SHAPE in str(error) and f"got {[n, c, regions]}" in str(error):
                return almost("not spread")
            if SHAPE in str(error) and f"got {[n, c, h * w]}" in str(error):
                return almost("flat")
            raise
        if found is None:
            return almost("none")
        size = torch.tensor([float((labels == region).sum()) for region in range(regions)], dtype=torch.float64)
        spread = grad[:, :, labels]
        wanted = (grad / size)[:, :, labels]
        if near(found, wanted, 1e-12):
            continue
        if near(found, wanted):
            return almost("float32")
        if near(found, spread):
            return almost("no division")
        if near(found, spread / labels.numel()):
            return almost("all pixels")
        if near(found, (grad * size)[:, :, labels]):
            return almost("multiplied")
        return not_yet("backward runs, but finite differences give other numbers.")
    image, labels = array(torch, 1, 2, 3, 3, requires_grad=True), random_labels(torch, 3, 3, 4)
    if not torch.autograd.gradcheck(lambda image: answer.apply(image, labels), (image,), raise_exception=False):
        return not_yet("gradcheck does not agree with it.")
    pooled = answer.apply(image, labels)
    if tensors_on(pooled.grad_fn, torch):
        return almost("on ctx")
    if any(shares(slot, image) for slot in slots_of(pooled.grad_fn)):
        return almost("image kept")
    if any(slot.numel() > labels.numel() for slot in slots_of(pooled.grad_fn)):
        return almost("table kept")
    if graph_of_gradient(torch, pooled, (image,)) == "nothing":
        return almost("cut off")
    return correct("gradcheck agrees: a mean spreads its gradient evenly over its own pixels.")


STARTER_3 = """\
class SuperpixelMean(torch.autograd.Function):
    @staticmethod
    def forward(ctx, image, labels):
        member = (labels.reshape(-1, 1) == torch.arange(labels.max().item() + 1)).to(image.dtype)
        size = member.sum(0)  # pixels in each region
        ctx.save_for_backward(labels, size)
        return image.reshape(*image.shape[:2], -1) @ member / size

    @staticmethod
    def backward(ctx, grad):
        ..."""


def pooling(*lines):
    """The source of an answer with these lines as the body of backward."""
    return STARTER_3.replace("        ...", "\n".join(f"        {line}" for line in lines)) + "\n"


UNPACK_3 = "labels, size = ctx.saved_tensors"

EXERCISE = Exercise(
    id="11b.2", kind="write a Function", title="Superpixel pooling", minutes=8, difficulty=2,
    question="Write the backward of a mean over regions: un-pooling, and no gradient for the labels.",
    name="SuperpixelMean", starter=STARTER_3,
    hints=(
        "Move one pixel by d. Which mean moves, and by how much?",
        "So each pixel needs the number that belongs to its own region. What does table[:, :, labels] do when table "
        "is (N, C, K) and labels is (H, W)?",
        "forward has two arguments, so backward returns two things.",
    ),
    solution=pooling(UNPACK_3, "return (grad / size)[:, :, labels], None"),
    why="A pixel moves the mean of its region by 1 / size, so it gets that region's gradient divided by size. "
    "Indexing with the label map looks up one number for each pixel: that is un-pooling. The image itself was never "
    "needed, and is not kept.",
    alternatives=(
        pooling(
            UNPACK_3,
            "member = (labels.reshape(-1, 1) == torch.arange(len(size))).to(grad.dtype)",
            "return ((grad / size) @ member.T).reshape(*grad.shape[:2], *labels.shape), None",
        ),
        pooling(UNPACK_3, "return grad[:, :, labels] / size[labels], None"),
        pooling(UNPACK_3, "member = (labels.unsqueeze(-1) == torch.arange(len(size))).to(grad.dtype)",
                "return torch.einsum('nck,hwk->nchw', grad / size, member), None"),
        pooling(UNPACK_3, "return torch.tensor((grad / size).tolist(), dtype=grad.dtype)[:, :, labels], None")
            .replace("    @staticmethod\n    def backward",
                     "    @staticmethod\n    @torch.autograd.function.once_differentiable\n    def backward"),
    ),
    mistakes=(
        Mistake("one gradient", "backward returned one thing, and not a tuple of two. forward has two arguments: the "
                "labels get None.", pooling(UNPACK_3, "return (grad / size)[:, :, labels]")),
        Mistake("guard: wrote into the gradient", "",
                pooling(UNPACK_3, "grad /= size", "return grad[:, :, labels], None")),
        Mistake("no division", "That is the gradient of a sum. In a mean each pixel counts only one part in size.",
                pooling(UNPACK_3, "return grad[:, :, labels], None")),
        Mistake("float32", "Right to seven digits: somewhere in backward float64 becomes float32, and the engine turns "
                "it back without a word. Keep the dtype of the gradient that comes in.",
                pooling(UNPACK_3, "return (grad / size).float()[:, :, labels], None")),
        Mistake("all pixels", "You divided by all pixels of the image. Each mean is over its own region.",
                pooling(UNPACK_3, "return grad[:, :, labels] / labels.numel(), None")),
        Mistake("not spread", "The gradient has the form of the pooled values; it must have the form of the image: "
                "one number for each pixel.", pooling(UNPACK_3, "return grad / size, None")),
        Mistake("flat", "One number for each pixel, but in a single row. The gradient must have the form of the image: "
                "index with labels as they are, or reshape it.",
                pooling(UNPACK_3, "return (grad / size)[:, :, labels.reshape(-1)], None")),
        Mistake("multiplied", "You multiplied by the size. A pixel in a large region matters less, not more.",
                pooling(UNPACK_3, "return (grad * size)[:, :, labels], None")),
        Mistake("none", "The image got None: nothing flows back to it. The labels are the second argument.",
                pooling(UNPACK_3, "return None, (grad / size)[:, :, labels]")),
        Mistake("on ctx", "The gradients are right. But a tensor on ctx has no version check, and backward does not "
                "release it. Keep tensors with save_for_backward.",
                pooling("return (grad / ctx.size)[:, :, ctx.labels], None").replace(
                    "ctx.save_for_backward(labels, size)", "ctx.labels, ctx.size = labels, size")),
        Mistake("image kept", "The gradients are right. But you keep the image, the largest tensor here, and the "
                "slope of a mean does not depend on it.",
                pooling("labels, size, _ = ctx.saved_tensors", "return (grad / size)[:, :, labels], None").replace(
                    "(labels, size)", "(labels, size, image)")),
        Mistake("table kept", "The gradients are right. But you keep the table of pixels and regions, K numbers for "
                "each pixel. The labels hold the same in one.",
                pooling("member, size, labels = ctx.saved_tensors",
                        "spread = (grad / size) @ member.T",
                        "return spread.reshape(*grad.shape[:2], *labels.shape), None").replace(
                    "(labels, size)", "(member, size, labels)")),
        Mistake("cut off", "The gradients are right, but they have no history: something in backward leaves the "
                "graph (detach, no_grad, NumPy, a gradient asked for without create_graph), and second derivatives "
                "lose this Function without an error. Use tensor operations, or say @once_differentiable.",
                pooling(UNPACK_3, "return (grad.detach() / size)[:, :, labels], None")),
    ),
    check=check,
)  # fmt: skip
