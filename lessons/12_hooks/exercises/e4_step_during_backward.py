"""Exercise 12.4: step during backward."""

import inspect
import random

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, not_yet
from lessons.hooks import NOT_A_TENSOR, hooks_in_words, leaf_like, tensor_hooks
from lessons.shared import flat, near


def stepping_case(torch):
    """Five parameters of a small network, one that takes no part, and the network's input."""
    shapes = ((3, 3), (3, 3), (3, 3), (3,), ())
    return [leaf_like(torch, *shape) for shape in shapes], leaf_like(torch, 3, 3), leaf_like(torch, 4, 3)


def network(torch, parameters, x):
    """Uses its last weight twice, so that a step on half its gradient would show."""
    first, second, last, bias, gain = parameters
    return (((x @ first @ last + x @ second @ last - bias) * gain) ** 2).mean()


@hooks_in_words
def check(answer, torch):
    for gain in (1.0, 0.03, 1.0):
        parameters, idle, x = stepping_case(torch)
        parameters[-1].detach().mul_(gain)  # small gradients as well
        lr, x = random.uniform(0.0001, 0.0005), x.detach()
        old = [p.detach().clone() for p in parameters]
        grads = torch.autograd.grad(network(torch, parameters, x), parameters)
        handles = answer(torch, iter([*parameters, idle]), lr)
        if any(flat(p) != flat(o) for p, o in zip(parameters, old, strict=True)):
            return not_yet("Parameters have moved before any pass.")
        loss = network(torch, parameters, x)
        try:
            loss.backward(retain_graph=True)
        except Exception as error:
            if any(words in str(error) for words in ("should return None", NOT_A_TENSOR, "has changed the")):
                return almost("something returned")
            if steps_the_last(torch, parameters, idle):
                return almost("only the last")
            raise
        moved = [p.detach() - o for p, o in zip(parameters, old, strict=True)]
        named = judge_steps(torch, parameters, idle, moved, old, grads, lr, handles)
        if named:
            return named
        if not all(p.requires_grad and p.is_leaf for p in parameters):
            return not_yet("After the pass a parameter no longer requires grad: it will never learn again.")
        try:
            loss.backward()
            return almost("uncounted")
        except RuntimeError as error:
            if "modified by an inplace operation" not in str(error):
                raise
        if named := second_steps(torch, parameters, handles, x, lr):
            return named
    return correct("each parameter steps when its gradient is whole, and lets it go at once. The three mistakes: a "
                   "hook of the gradient comes before .grad is written, its `p` is the last one of the loop, and the "
                   "lambda returns what sub_ returns, in the place of the gradient.")  # fmt: skip


def prepare_12_6(torch):
    """PyTorch's first optimizer imports for seconds, and adds to the warnings filters: an answer may use one."""
    torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)


def steps_the_last(torch, parameters, idle):
    """Call the hook of the first parameter by hand: does it look at the last one instead of what it is given?"""
    hooks = list((parameters[0]._post_accumulate_grad_hooks or {}).values())
    given, met = leaf_like(torch, 3, 3), []

    for hook in hooks:
        given.grad, idle.grad, before = torch.ones_like(given), torch.ones_like(idle), (flat(given), flat(idle))
        try:
            with torch.no_grad():
                hook(given)
        except Exception:
            return False
        met.append(flat(given) == before[0] and (flat(idle) != before[1] or idle.grad is None))
    idle.grad = None
    return bool(met) and all(met)


def judge_steps(torch, parameters, idle, moved, old, grads, lr, handles):
    """A verdict when the parameters did not move as they should, otherwise None."""

    def all_near(wanted):
        return all(near(flat(m / lr), flat(w / lr), 1e-6) for m, w in zip(moved, wanted, strict=True))

    if all_near([-lr * g for g in grads]):
        if any(p.grad is not None for p in parameters):
            return almost("too early" if any(p._backward_hooks for p in parameters) else "gradients stay")
        return None
    if all_near([lr * g for g in grads]):
        return almost("uphill")
    if all_near([-lr * o for o in old]):
        return almost("the parameter for the gradient")
    if all_near([-g for g in grads]):
        return almost("lr forgotten")
    if all_near([0 * g for g in grads]):
        if not any(map(tensor_hooks, parameters)):
            if inspect.isgenerator(handles):
                return not_yet("Your function gave back a generator, and that does nothing until somebody asks it.")
            return not_yet("No hook stands on a parameter that the pass reaches. (What `parameters` is may be gone "
                           "through once only, as with net.parameters().)")  # fmt: skip
        return almost("only the last" if steps_the_last(torch, parameters, idle) else "nothing written")
    right = sum(near(flat(m / lr), flat(-g), 1e-6) for m, g in zip(moved, grads, strict=True))
    return not_yet(f"{right} of the {len(grads)} parameters that the pass reaches moved by -lr times their gradient.")


def second_steps(torch, parameters, handles, x, lr):
    """A verdict on a second step, and on the handles; otherwise None."""
    for p in parameters:
        p.grad = None
    old = [p.detach().clone() for p in parameters]
    grads = torch.autograd.grad(network(torch, parameters, x), parameters)
    network(torch, parameters, x).backward()
    for p, o, g in zip(parameters, old, grads, strict=True):
        if not near(flat((p - o) / lr), flat(-g), 1e-6):
            return almost("kept from the first pass")
    if not isinstance(handles, (list, tuple)) or not all(hasattr(handle, "remove") for handle in handles):
        return almost("no handles")
    for handle in handles:
        handle.remove()
    before = [flat(p) for p in parameters]
    network(torch, parameters, x).backward()
    if [flat(p) for p in parameters] != before or any(p.grad is None for p in parameters):
        return not_yet("After the handles are removed, a pass still steps.")
    return None


STARTER_6 = """\
def step_in_backward(torch, parameters, lr):
    handles = []
    for p in parameters:
        handles.append(p.register_hook(lambda grad: p.sub_(lr * grad)))
    return handles"""


def stepping(*lines, register="p.register_post_accumulate_grad_hook(step)", last="return handles"):
    """The source of an answer to 12.4: what the hook does, and how it is registered."""
    body = ["def step(p):", *(f"    {line}" for line in lines), "handles = []", "for p in parameters:",
            f"    handles.append({register})", last]  # fmt: skip
    return "def step_in_backward(torch, parameters, lr):\n" + "".join(f"    {line}\n" for line in body)


SUB, NONE = "p.sub_(lr * p.grad)", "p.grad = None"

EXERCISE = Exercise(
    id="12.4", kind="repair", title="Step during backward", minutes=10, difficulty=3, puzzles=(20,),
    question="Each pass moves every parameter that it reaches by -lr times its gradient, and leaves .grad None.",
    name="step_in_backward", starter=STARTER_6,
    hints=(
        "Which kind of hook is called when the gradient is in .grad, and so can be taken out again?",
        "What is the argument of that hook? Use it, and not the p of the loop.",
        "Count what your hook returns among the mistakes: a lambda returns what sub_ returns.",
    ),
    solution=stepping("with torch.no_grad():", f"    {SUB}", NONE),
    why="A post-accumulate hook is given the parameter itself, so no name has to be bound, and the gradient is in "
    "p.grad. sub_ is counted, so the old graph is refused; p.grad = None lets the memory go. A def without return "
    "gives None.",
    alternatives=(
        stepping(f"p -= lr * p.grad\n        {NONE}"),
        stepping(SUB, NONE, register="p.register_post_accumulate_grad_hook(lambda q: step(q))"),
    ),
    mistakes=(
        Mistake("gradients stay", "The parameters have moved rightly. But a .grad is left: with it the memory is "
                "still taken, and the next pass adds to it.", stepping(SUB)),
        Mistake("too early", "The parameters have moved rightly. But your hook is one of the gradient: it is called "
                "before the gradient is added to .grad, so it cannot clear it, and what it returns takes the "
                "gradient's place.", STARTER_6.replace("lambda grad:", "lambda grad, p=p:")),
        Mistake("the parameter for the gradient", "A post-accumulate hook is given the parameter, and you subtract "
                "lr times that. The gradient is in its .grad.", stepping("p.sub_(lr * p)", NONE)),
        Mistake("only the last", "We called the hook of the first parameter by hand: it looks at the last parameter, "
                "and not at the one that it is given. When the hooks run, the loop is over.", """\
def step_in_backward(torch, parameters, lr):
    handles = []
    for p in parameters:
        def step(_):
            p.sub_(lr * p.grad)
            p.grad = None
        handles.append(p.register_post_accumulate_grad_hook(step))
    return handles
"""),
        Mistake("nothing written", "Your hooks are there, and no parameter has moved: nothing that they do writes "
                "into the parameter that they are given. (`p = …` inside a hook, for one, gives a name to a new "
                "tensor.)", stepping("g, p.grad = p.grad, None", "p = p - lr * g")),
        Mistake("lr forgotten", "Each parameter moved by minus its gradient: lr is not in it.",
                stepping("p.sub_(p.grad)", NONE)),
        Mistake("kept from the first pass", "The first step is right, the second is not. Does a hook of yours keep "
                "something, or go away, after the first pass?", """\
def step_in_backward(torch, parameters, lr):
    sums = {}

    def step(p):
        sums[p] = sums.get(p, 0) + p.grad
        p.sub_(lr * sums[p])
        p.grad = None

    return [p.register_post_accumulate_grad_hook(step) for p in parameters]
"""),
        Mistake("something returned", "Your hook returns something. A post-accumulate hook may not: write a def "
                "without return, or return None.", stepping("q = p.grad", NONE, "return p.sub_(lr * q) * 1")),
        Mistake("uphill", "The parameters moved along their gradients. Descent goes against them.",
                stepping("p.add_(lr * p.grad)", NONE)),
        Mistake("uncounted", "The steps are right. But the write is not counted, and a second pass over the old "
                "graph uses new weights for old ones without an error. Write to p itself, not through .data.",
                stepping("p.data.sub_(lr * p.grad)", NONE)),
        Mistake("no handles", "The steps are right. But what you return is no list of handles, so the caller cannot "
                "stop it.", stepping(SUB, NONE, last="return None")),
    ),
    prepare=prepare_12_6,
    check=check,
)  # fmt: skip
