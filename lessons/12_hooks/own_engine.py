"""The learner's engine, lesson 12, hooks: its program, wrong engines, other right ones."""

from coursekit.own_engine.checkpoints import print
from coursekit.own_engine.mistakes import leaf, mistake

NOW = "From now on it lets you look at gradients on their way, and change them."

HINTS = (
    "A hook belongs to the node for a result, and to the tensor for a leaf: `(self.grad_fn or self).hooks`.",
    "Call the hooks in `run_backward`, when a node's sum is complete, just before the node runs. What a hook "
    "returns goes to the next one; None changes nothing.",
)


def lesson_12(torch):
    """A tensor's hooks are called once, on the whole sum, each with what the one before returned."""
    x = torch.tensor(2.0, requires_grad=True)
    h = x * 3
    h.register_hook(lambda grad: print("the first gets", grad.item()))
    h.register_hook(lambda grad: grad * 10)
    h.register_hook(lambda grad: grad + 1)
    x.register_hook(lambda grad: print("x gets", grad.item()))
    (h + h * 4).backward()
    print(x.grad)


def picture(torch):
    """A result whose graph shows what the lesson has added, the names of its tensors, and the program in words."""
    x, mask = torch.tensor([1.0, -2.0], requires_grad=True), torch.tensor([3.0, 4.0])
    h = x * mask  # no relu, which saves its result: the line to h would end at the hook below it
    h.register_hook(lambda grad: grad * 2.0)
    words = "h = x * mask;  h.register_hook(double);  y = (h * h).mean()"
    return (h * h).mean(), {"x": x, "mask": mask, "h": h}, words


def seen_by_hooks(torch):
    """Return what two hooks of h = 3x see when h sends 1 and 4 back, and what arrives at x."""
    x, seen = leaf(torch), []
    h = x * 3.0
    h.register_hook(lambda grad: seen.append(grad.item()))
    h.register_hook(lambda grad: grad * 10.0)
    h.register_hook(lambda grad: seen.append(grad.item()))
    (h + h * 4.0).backward()
    return seen, x.grad.item()


@mistake(12, "A hook was called with a part of the gradient. Call it when the node's sum is complete: just before "
         "the node runs.",
         ("            for hook in node.hooks:\n                grad = hook(grad) or grad\n", ""),
         ("                if to:\n                    buffers[to] =",
          "                if to:\n                    for hook in to.hooks:\n"
          "                        sent = hook(sent) or sent\n                    buffers[to] ="))  # fmt: skip
def parts(torch):
    return len(seen_by_hooks(torch)[0]) > 2


@mistake(12, "What a hook returns was ignored. It takes the gradient's place, for the hooks after it and for the node.",
         ("                grad = hook(grad) or grad\n", "                hook(grad)\n"))  # fmt: skip
def ignored(torch):
    return seen_by_hooks(torch) == ([5.0, 5.0], 15.0)


@mistake(12, "Each hook was given the gradient that came. It should get what the hook before it returned.",
         ("            for hook in node.hooks:\n                grad = hook(grad) or grad\n",
          "            came = grad\n            for hook in node.hooks:\n"
          "                grad = hook(came) or grad\n"))  # fmt: skip
def unchained(torch):
    seen, arrived = seen_by_hooks(torch)
    return seen == [5.0, 5.0] and arrived == 150.0


@mistake(12, "Hooks were called in another order than they were registered.",
         ("            for hook in node.hooks:\n", "            for hook in node.hooks[::-1]:\n"))  # fmt: skip
def out_of_order(torch):
    x, seen = leaf(torch), []
    x.register_hook(lambda grad: seen.append(1))
    x.register_hook(lambda grad: seen.append(2))
    (x * 3.0).backward()
    return seen == [2, 1]


@mistake(12, "The hook of a leaf was never called. Keep it in a list of the leaf, which each accumulator of this leaf "
         "uses: the accumulator of the pass may be another one than you have asked for.",
         ("        self.hooks = variable.hooks", "        self.hooks = []"))  # fmt: skip
def leaf_hooks(torch):
    x, seen = leaf(torch), []
    x.register_hook(seen.append)
    (x * 3.0).backward()
    return not seen


RIGHT = (
    ("a hook's None told apart from a gradient by `is`", (
        ("                grad = hook(grad) or grad\n",
         "                changed = hook(grad)\n                grad = grad if changed is None else changed\n"),
    )),
)  # fmt: skip
