"""Exercise 12b.2: repair the logger."""

import math

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, not_yet
from lessons.hooks import NOT_A_TENSOR, PLAIN, leaf_like, tensor_hooks
from lessons.shared import flat, near


class Boom(Exception):
    """The error that a pass of the check fails with."""


def logged_model(torch, filled=("first", "bias", "gain"), masking=True):
    """A model and its twin: a frozen, an unused and a masked parameter, gradients from before, several shapes."""
    shapes = {"first": (2, 3), "bias": (3,), "frozen": (3,), "second": (3,), "gain": (), "masked": (1, 2, 1),
              "idle": (2,)}  # fmt: skip

    class Model(torch.nn.Module):
        def __init__(self, numbers_of):
            super().__init__()
            for name in shapes:
                setattr(self, name, torch.nn.Parameter(numbers_of[name].clone()))
            self.frozen.requires_grad_(False)
            for name in filled:
                getattr(self, name).grad = numbers_of[name, "grad"].clone()

        def forward(self, x, error=None):
            h = x @ self.first + self.bias
            if error is not None:
                h.register_hook(fails(error))
            masked = torch.relu(-self.masked).sum() if masking else 0
            return ((h * self.frozen) @ self.second).sum() * self.gain + masked

    numbers_of = {name: leaf_like(torch, *shape).detach() for name, shape in shapes.items()}
    numbers_of.update({(name, "grad"): leaf_like(torch, *shape).detach() for name, shape in shapes.items()})
    return Model(numbers_of), Model(numbers_of)


def fails(error):
    """A hook that raises this."""

    def hook(grad):
        raise error

    return hook


def check(answer, torch):
    for filled, masking in (((), True), (("idle", "frozen"), True), (("masked",), True), ((), False)):
        verdict = one_log(answer, torch, ("first", "bias", "gain", *filled), masking)
        if verdict is not None:
            return verdict
    right = correct("names bound, hooks that return None, and nothing left behind: this logger can stay.")
    return check_failing_pass(answer, torch) or check_emptied(answer, torch) or right


def one_log(answer, torch, *kind):
    """The verdict on one pass that ends well, or None when nothing is to be said."""
    (model, twin), x = logged_model(torch, *kind), leaf_like(torch, 4, 2)
    other = x.detach().clone().requires_grad_()
    twin(other).backward()  # what the pass does without a logger
    before = {name: None if p.grad is None else p.grad.clone() for name, p in model.named_parameters()}
    calls = []
    model.second.register_hook(lambda g: calls.append("second"))
    model.first.register_post_accumulate_grad_hook(lambda p: calls.append("first"))
    own = {name: tensor_hooks(p) for name, p in model.named_parameters()}
    loss = model(x)
    try:
        found = answer(torch, model, loss)
    except (TypeError, RuntimeError) as error:
        if NOT_A_TENSOR in str(error):
            return almost("a number returned")
        if PLAIN in str(error) and not all(map(tensor_hooks, (model.bias, model.gain))):
            return almost("frozen")
        raise
    named = judge_norms(found, model, twin, before) or judge_sums(model, twin)
    if named:
        return named
    if any(p.grad is not None and p.grad.requires_grad for p in model.parameters()):
        return almost("recorded")
    if x.grad is None or not near(flat(x.grad), flat(other.grad)):
        return almost("the rest of the pass")
    if calls.count("second") > 1:
        return almost("two passes")
    if sorted(calls) != ["first", "second"] or leftover(model, own):
        return almost("the caller's hook gone")
    try:
        loss.backward()
    except RuntimeError:
        return None
    return almost("graph kept")


def judge_sums(model, twin):
    """A verdict when some .grad is not what the pass alone would have left there, otherwise None."""
    for (name, p), q in zip(model.named_parameters(), twin.parameters(), strict=True):
        if p.grad is None or q.grad is None:
            if p.grad is not q.grad:
                return not_yet(f"Afterwards {name}.grad is {'None' if p.grad is None else 'not None'}.")
        elif not near(flat(p.grad), flat(q.grad)):
            return almost("not added")
    return None


def judge_norms(found, model, twin, before):
    """A verdict when the dictionary of norms is wrong, otherwise None."""
    if not isinstance(found, dict):
        return not_yet("Return the dictionary: name to norm.")
    if any(hasattr(norm, "grad_fn") for norm in found.values()):
        return almost("tensors kept")
    try:
        found = {name: float(norm) for name, norm in found.items()}
    except (TypeError, ValueError, RuntimeError):
        return not_yet("The values of the dictionary should be numbers.")
    sums = {name: p.grad for name, p in twin.named_parameters()
            if p.grad is not None and name not in ("idle", "frozen")}  # fmt: skip
    brought = {n: flat(g if before[n] is None else g - before[n]) for n, g in sums.items()}
    wanted = {n: math.hypot(*values) for n, values in brought.items()}
    if list(found) == ["idle"]:  # no gradient reaches it: the name was looked up after the loop
        return almost("one name")
    if "masked" in wanted and found.keys() == wanted.keys() - {"masked"}:
        return almost("norms of 0" if before["masked"] is None else "compared")
    if extra := [str(name) for name in found if name not in wanted]:
        if all(before.get(name) is not None for name in extra):
            return almost("filled before")
        if extra == ["masked"]:  # which only the passes before have reached
            return almost("from the call before")
        return not_yet(f"In the dictionary, though no gradient reaches it: {', '.join(extra)}.")
    if missing := [name for name in wanted if name not in found]:
        return not_yet(f"A gradient reaches {', '.join(missing)}, and the dictionary does not say so.")
    others = {
        "the whole .grad": {n: math.hypot(*flat(g)) for n, g in sums.items()},
        "norm of the parameter": {n: math.hypot(*flat(p)) for n, p in model.named_parameters()},
        "squared": {n: norm**2 for n, norm in wanted.items()},
    }
    if near([found[n] for n in wanted], list(wanted.values())):
        return None
    for mistake, norms in others.items():
        if near([found[n] for n in wanted], [norms[n] for n in wanted]):
            return almost(mistake)
    first = next(n for n in wanted if not near([found[n]], [wanted[n]]))
    return not_yet(f"For {first} your function gives {found[first]:.4g}, and the norm of what this pass brings to it "
                   f"is {wanted[first]:.4g}.")  # fmt: skip


def leftover(model, own):
    """True when a hook of the caller's is gone. (The guard looks for those that were left behind.)"""
    left = {name: tensor_hooks(p) for name, p in model.named_parameters()}
    return any(not any(hook is one for one in left[name]) for name, hooks in own.items() for hook in hooks)


def check_failing_pass(answer, torch):
    """The pass fails half-way: the error must come out, and what had been added by then must still be there."""
    (model, twin), x = logged_model(torch), leaf_like(torch, 4, 2).detach()
    try:
        twin(x, Boom()).backward()
    except Boom:
        pass
    try:
        answer(torch, model, model(x, Boom()))
    except Boom:
        if judge_sums(model, twin):
            return almost("sums lost")
        return None
    except Exception as error:
        if isinstance(error.__cause__ or error.__context__, Boom):
            return almost("another error")
        raise
    return almost("error swallowed")


def check_emptied(answer, torch):
    """The verdict on a parameter whose .grad a hook of the caller's takes away at once, as in 12.4, or None."""
    (model, twin), x = logged_model(torch, ("second",)), leaf_like(torch, 4, 2).detach()
    (grad,) = torch.autograd.grad(twin(x), twin.second)
    seen = {}

    def take(p):
        seen.setdefault(p is model.second, []).extend(flat(p.grad))
        p.grad = None

    for each in (model, twin):
        each.second.register_post_accumulate_grad_hook(take)
    twin(x).backward()
    found = answer(torch, model, model(x))
    if not near(seen.get(True, []), seen[False]) or model.second.grad is not None:
        return almost("emptied")
    if "second" not in found or not near([float(found["second"])], [math.hypot(*flat(grad))]):
        return almost("looked at afterwards")
    return None


STARTER_3 = """\
def gradient_norms(torch, model, loss):
    norms = {}
    for name, p in model.named_parameters():
        p.register_hook(lambda grad: norms.setdefault(name, grad.norm().item()))
    loss.backward()
    return norms"""


def logger(register, *after, loop="if p.requires_grad:"):
    """The source of an answer to 12b.2: what is done in the loop, and then."""
    lines = ["norms, handles = {}, []", "for name, p in model.named_parameters():", f"    {loop}",
             *(f"        {line}" for line in register), *after]  # fmt: skip
    return "def gradient_norms(torch, model, loss):\n" + "".join(f"    {line}\n" for line in lines)


BOUND = ("def hook(grad, name=name):", "    norms[name] = grad.norm().item()",
         "handles.append(p.register_hook(hook))")  # fmt: skip
FINALLY = ("try:", "    loss.backward()", "finally:", "    for handle in handles:", "        handle.remove()",
           "return norms")  # fmt: skip
REMOVED = ("loss.backward()", "for handle in handles:", "    handle.remove()", "return norms")
UPDATE = "handles.append(p.register_hook(lambda grad, name=name: norms.update({name: grad.norm().item()})))"

EXERCISE = Exercise(
    id="12b.2", kind="repair", title="Repair the logger", minutes=8, difficulty=2,
    question="Return the norm of the gradient that this pass brings to each parameter; leave no hook behind. For "
    "everybody else the pass should be as loss.backward() alone.",
    name="gradient_norms", starter=STARTER_3,
    hints=(
        "Three things: what the lambda returns, when it looks up `name`, and how long it stays. And a frozen "
        "parameter takes no hook.",
        "An argument with a default, as in lambda grad, name=name, is set when the function is made.",
        "Python's try and finally run the last part whether or not an error passes through.",
    ),
    solution=logger(BOUND, *FINALLY),
    why="name=name binds the name when the function is made, and a function without return gives None. The handles "
    "are removed in finally, so also when the pass fails. The hook sees what arrives, whatever .grad holds already.",
    alternatives=(
        logger((UPDATE,), *FINALLY),
    ),
    mistakes=(
        Mistake("a number returned", "setdefault returns the number, and the lambda hands it on to the pass, which "
                "wants a tensor or None from a hook.",
                logger((UPDATE.replace("update({name: grad.norm().item()})", "setdefault(name, grad.norm().item())"),),
                       *FINALLY)),
        Mistake("tensors kept", "The norms are tensors, and a number was asked for under each name. A log of tensors "
                "keeps their memory, and with create_graph=True whole graphs: item() makes a number of each.",
                logger((BOUND[0], BOUND[1].replace(".item()", ""), BOUND[2]), *FINALLY)),
        Mistake("one name", "The dictionary has one line: your function looks `name` up when it is called, and by "
                "then the loop is over. Bind it when the function is made.",
                logger((UPDATE.replace(", name=name", ""),), *FINALLY)),
        Mistake("frozen", "A frozen parameter requires no grad, and takes no hook. Leave it out.",
                logger((), "try:", "    for name, p in model.named_parameters():",
                       *(f"        {line}" for line in BOUND), *FINALLY[1:], loop="pass")),
        Mistake("guard: left hooks", "Somebody who calls your function does not expect a hook of it on the "
                "parameters afterwards.",
                logger(BOUND, "loss.backward()", "return norms")),
        Mistake("guard: left hooks, after an error", "A remove() behind the pass is not reached then.",
                logger(BOUND, *REMOVED)),
        Mistake("guard: left hooks, all but one", "",
                logger(BOUND, "try:", "    loss.backward()", "finally:", "    handles[-1].remove()", "return norms")),
        Mistake("norms of 0", "A gradient of zeros reaches one parameter, and its norm is 0. That is not the same as "
                "a parameter that no gradient reaches: your dictionary leaves it out.",
                logger(BOUND, *FINALLY[:-1], "return {name: norm for name, norm in norms.items() if norm}")),
        Mistake("compared", "You compare .grad before and after. A gradient of zeros reaches one parameter and changes "
                "nothing in its .grad: your dictionary leaves it out.", """\
def gradient_norms(torch, model, loss):
    before = {n: None if p.grad is None else p.grad.clone() for n, p in model.named_parameters()}
    loss.backward()
    norms = {}
    for n, p in model.named_parameters():
        if p.grad is not None and (before[n] is None or (p.grad - before[n]).norm().item() > 0):
            norms[n] = (p.grad if before[n] is None else p.grad - before[n]).norm().item()
    return norms
"""),
        Mistake("looked at afterwards", "One parameter has a hook of the caller's that takes .grad away at once, as in "
                "12.4. A gradient has reached it, and afterwards no .grad tells of it. (Until then all was right.)",
                """\
def gradient_norms(torch, model, loss):
    reached, handles, norms = {}, [], {}
    for n, p in model.named_parameters():
        if p.requires_grad:
            old = None if p.grad is None else p.grad.clone()
            handles.append(p.register_hook(lambda grad, n=n, p=p, old=old: reached.update({n: (p, old)})))
    try:
        loss.backward()
    finally:
        for handle in handles:
            handle.remove()
    for n, (p, old) in reached.items():
        if p.grad is not None:
            norms[n] = (p.grad if old is None else p.grad - old).norm().item()
    return norms
"""),
        Mistake("emptied", "You take .grad away for the time of the pass. A hook of the caller's that looks at .grad "
                "during the pass, as in 12.4, does not find there what it should.", """\
def gradient_norms(torch, model, loss):
    named = {n: p for n, p in model.named_parameters() if p.requires_grad}
    old, norms = {n: p.grad for n, p in named.items()}, {}
    for p in named.values():
        p.grad = None
    try:
        loss.backward()
    finally:
        for n, p in named.items():
            if p.grad is not None:
                norms[n] = p.grad.norm().item()
            if old[n] is not None:
                p.grad = old[n] if p.grad is None else old[n] + p.grad
    return norms
"""),
        Mistake("filled before", "In the dictionary is a parameter that has a .grad from an earlier pass. No "
                "gradient of this pass reaches it.", """\
def gradient_norms(torch, model, loss):
    before = {n: None if p.grad is None else p.grad.clone() for n, p in model.named_parameters()}
    loss.backward()
    grads = {n: p.grad for n, p in model.named_parameters() if p.grad is not None}
    return {n: (g if before[n] is None else g - before[n]).norm().item() for n, g in grads.items()}
"""),
        Mistake("from the call before", "In the dictionary is a parameter that only the pass of an earlier call has "
                "reached. (A default value is made once, with the function, and not in each call.)",
                logger(BOUND, *FINALLY).replace("loss):", "loss, norms={}):").replace("norms, handles = {}, []",
                                                                                     "handles = []")),
        Mistake("sums lost", "When the pass ends well, all is right. When it fails half-way, .grad is not what it "
                "was plus what had been added by then.", """\
def gradient_norms(torch, model, loss):
    named = {n: p for n, p in model.named_parameters() if p.requires_grad}
    old, norms = {n: p.grad for n, p in named.items()}, {}
    for p in named.values():
        p.grad = None
    loss.backward()
    for n, p in named.items():
        if p.grad is not None:
            norms[n] = p.grad.norm().item()
        if old[n] is not None:
            p.grad = old[n] if p.grad is None else old[n] + p.grad
    return norms
"""),
        Mistake("graph kept", "The norms are right. But the graph is kept, with all that it has saved: a pass "
                "without your logger would have let it go.",
                logger(BOUND, "try:", "    loss.backward(retain_graph=True)", *FINALLY[2:])),
        Mistake("recorded", "The norms are right. But a .grad has a history now: your pass was recorded, and a pass "
                "without your logger would not have been.",
                logger(BOUND, "try:", "    loss.backward(create_graph=True)", *FINALLY[2:])),
        Mistake("the rest of the pass", "The parameters have their gradients. But another leaf behind the loss, the "
                "input, has not got what the pass brings to it: a logger should run the whole pass.", """\
def gradient_norms(torch, model, loss):
    named = {n: p for n, p in model.named_parameters() if p.requires_grad}
    grads = torch.autograd.grad(loss, list(named.values()), allow_unused=True)
    norms = {}
    for (n, p), grad in zip(named.items(), grads):
        if grad is not None:
            norms[n] = grad.norm().item()
            p.grad = grad if p.grad is None else p.grad + grad
    return norms
"""),
        Mistake("two passes", "The norms are right. But a hook of the caller's was called twice: your function runs "
                "two passes, and the caller has asked for one.", """\
def gradient_norms(torch, model, loss):
    named = {n: p for n, p in model.named_parameters() if p.requires_grad}
    grads = torch.autograd.grad(loss, list(named.values()), retain_graph=True, allow_unused=True)
    loss.backward()
    return {n: grad.norm().item() for n, grad in zip(named, grads) if grad is not None}
"""),
        Mistake("squared", "The names are right. The numbers are the sums of squares; a norm is the root of that.",
                logger((UPDATE.replace("grad.norm()", "(grad * grad).sum()"),), *FINALLY)),
        Mistake("another error", "The pass failed, and another error than its own comes out of your function: the "
                "caller cannot see what went wrong.",
                logger(BOUND, "try:", "    loss.backward()", "except Exception as error:",
                       "    raise RuntimeError('the pass failed') from error", *FINALLY[2:])),
        Mistake("error swallowed", "The pass failed, and your function returned as if nothing had happened. Take the "
                "hooks away, and let the error go on.",
                logger(BOUND, "try:", "    loss.backward()", "except Exception:", "    pass", *REMOVED[1:])),
        Mistake("the whole .grad", "Those are the norms of .grad after the pass, which holds earlier passes as well. "
                "Asked is what this pass brings: that is what a hook of the tensor is given.",
                logger(("handles.append(p)",), "loss.backward()",
                       "return {n: p.grad.norm().item() for n, p in model.named_parameters() "
                       "if any(p is q for q in handles) and p.grad is not None}")),
        Mistake("norm of the parameter", "Those are the norms of the parameters themselves. What a post-accumulate "
                "hook is given is the parameter, not the gradient.",
                logger((UPDATE.replace("register_hook", "register_post_accumulate_grad_hook"),), *FINALLY)),
        Mistake("not added", "The norms are right. But .grad afterwards is not what it was plus what the pass "
                "brought: whoever accumulates over several passes gets other sums.",
                logger(("p.grad = None", *BOUND), *FINALLY)),
        Mistake("the caller's hook gone", "A hook of the caller's was not called, or is gone now. A handle takes "
                "away only its own.",
                logger(BOUND, "try:", "    loss.backward()", "finally:", "    for p in model.parameters():",
                       "        (p._backward_hooks or {}).clear()", "return norms")),
    ),
    may_change=("model.grad", "leaves.grad", "keeps it alive"),
    check=check,
)  # fmt: skip
