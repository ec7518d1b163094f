"""The exercises of lesson 05: leaf accumulation."""

import random
import weakref

from course_lib.teach.exercises.outcomes import check_table, happens, judged_rows, outcome_table
from course_lib.teach.exercises.shared import agree, as_number, flat
from course_lib.teach.practice.exercise import Exercise, Mistake, almost, correct, not_yet

# --- what the checks measure --------------------------------------------------------------------------------


def as_list(value):
    """A tensor as nested lists; None and plain values as they are."""
    return value.tolist() if hasattr(value, "tolist") else value


# --- predictions --------------------------------------------------------------------------------------------


def check_05_p1(answer, torch):
    """Run the program and compare."""
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    (w * 3).sum().backward()
    g = w.grad
    (w * 5).sum().backward()
    truth, given = g.tolist(), answer
    if not isinstance(given, list | tuple) or len(given) != 2:
        return not_yet("Two numbers in a list are wanted.")
    if agree(given, truth):
        return correct("`g` is w.grad itself, and the second pass added its 5s to the 3s in place.")
    named = (
        ([3, 3], "put aside"),
        ([5, 5], "overwritten"),
        ([15, 15], "multiplied"),
        ([4, 4], "averaged"),
        ([8, 16], "times w"),
        ([3, 6], "the first, times w"),
        ([0, 0], "cleared by itself"),
    )
    for numbers, name in named:
        if agree(given, numbers):
            return almost(name)
    return not_yet(f"The program prints something else than {list(given)}. What does each pass send to w?")


def check_05_p2(answer, torch):
    """Run the loop and compare."""
    x = torch.tensor([2.0, 2.0, 2.0, 10.0])
    w = torch.tensor(1.0, requires_grad=True)
    for part in (x[:3], x[3:]):
        ((w * part).mean() / 2).backward()
    value = as_number(answer)
    if value is None:
        return not_yet("One number is wanted.")
    if value == w.grad.item():
        return correct("The two means, 2 and 10, count half each: 6, although the mean of the batch is 4.")
    named = {
        4.0: "same as the batch",
        5.0: "last part only",
        12.0: "not divided",
        10.0: "overwritten",
        3.0: "halved",
        1.0: "first part only",
        8.0: "sums for means",
    }
    if value in named:
        return almost(named[value])
    return not_yet(f"Not {value:g}. What is the mean of each part, and what does `/ 2` make of it?")


# --- exercises ----------------------------------------------------------------------------------------------


def check_05_1(answer, torch):
    """Run the program and compare the four facts one by one."""
    p, q, r = (torch.ones(2, requires_grad=True) for _ in range(3))
    (p * 2 * q).sum().backward()
    early = p.grad
    (p * 3).sum().backward()
    q.grad = None
    (q * 0).sum().backward()
    truth = {
        "p.grad": as_list(p.grad),
        "q.grad": as_list(q.grad),
        "r.grad": as_list(r.grad),
        "early is p.grad": early is p.grad,
    }
    if not isinstance(answer, dict) or set(answer) != set(truth):
        return not_yet(f"Keep the dictionary with the keys {', '.join(truth)}.")
    given = answer
    for key in ("p.grad", "q.grad", "r.grad"):
        if given[key] is not None and not isinstance(given[key], list | tuple):
            return not_yet(f"Give {key} as a list of two numbers, or None.")
    if type(given["early is p.grad"]) is not bool:
        return not_yet("`early is p.grad` is a question with the answer True or False.")
    names = {
        "p.grad": (([3, 3], "overwritten"), ([2, 2], "first pass only"), ([6, 6], "slopes multiplied")),
        "q.grad": ((None, "zero is none"), ([2, 2], "cleared in vain")),
        "r.grad": ((given["r.grad"], "zeros from the start"),),
        "early is p.grad": ((False, "a new tensor each time"),),
    }
    wrong = [key for key in truth if not agree(given[key], truth[key])]
    named = {key: name for key in wrong for value, name in names[key] if agree(given[key], value)}
    if len(wrong) == 1 and wrong[0] not in named:
        return not_yet(f"{wrong[0]} is not {given[wrong[0]]}. Add up what each pass sends to this leaf.")
    if found := judged_rows(wrong, list(truth), named, "are right"):
        return found
    return correct("Added in place, cleared by None, zeros where a zero arrived, None where nothing did.")


def check_05_6(answer, torch):
    """Keep everything that arrives at x and compare memories; then count, with nobody watching.

    PyTorch makes what arrives at an empty x.grad the new x.grad. What is added to a full one is only read.
    """
    times = 3  # as in the question; and then 2 and 1
    x, g = torch.ones(2, requires_grad=True), _column(torch)
    arrived, empty = [], []

    def note(grad):
        arrived.append(grad)  # kept alive, so that equal places mean one memory
        empty.append(x.grad is None)

    x.register_hook(note)
    answer(torch, x, g, times)
    places = [place(grad) for grad in arrived]
    if not places:
        return almost("by hand") if x.grad is not None else not_yet("No gradient arrived at x by a backward pass.")
    moved_in = [place for place, nothing in zip(places, empty, strict=True) if nothing]
    if place(g) in moved_in:
        only_first = len(places) > 1 and place(g) not in places[1:]
        return almost("handed over at first" if only_first else "still the caller's")
    if any(places.count(one) > 1 for one in moved_in) and len(moved_in) < 2:
        return almost("one clone for all")
    if len(places) != times:
        return almost("one pass for all" if len(places) != 1 or not multiplies(answer, torch) else "one pass, then "
                      "multiplied")
    for before, times in ((None, 3), ([[random.uniform(1, 2)] for _ in range(3)], 2), (None, 1)):
        size = 2 if before is None else 3
        x, g = torch.ones(size, requires_grad=True), _column(torch, size)
        x.grad = None if before is None else torch.tensor(before).view(size)
        wanted = g.tolist()
        answer(torch, x, g, times)
        base = [0.0] * size if before is None else [row[0] for row in before]
        if x.grad is None:
            return not_yet("Afterwards x.grad is None.")
        if not agree(g.tolist(), wanted):
            return almost("g used up")
        if agree(x.grad.tolist(), [a + times * row[0] for a, row in zip(base, wanted, strict=True)]):
            continue
        if agree(x.grad.tolist(), [row[0] for row in wanted]):
            return almost("only the last")
        if agree(x.grad.tolist(), [times * row[0] for row in wanted]):
            return almost("what was there" if moved_in else "zeros, whatever was there")
        if agree(x.grad.tolist(), [a + 3 * row[0] for a, row in zip(base, wanted, strict=True)]):
            return almost("always three")
        return not_yet(f"For g = {wanted}, x.grad should gain {times} times these numbers; it is {x.grad.tolist()}.")
    return correct("each pass hands over a memory of its own, so whatever becomes x.grad, nobody else's numbers move.")


def multiplies(answer, torch):
    """Does what was in x.grad before the call grow with it?"""
    x = torch.ones(2, requires_grad=True)
    x.grad = torch.full((2,), 100.0)
    answer(torch, x, _column(torch), 3)
    return x.grad is not None and min(flat(x.grad)) > 250


def _column(torch, size=2):
    return torch.tensor([[random.uniform(1, 2)] for _ in range(size)])


def place(tensor):
    """Where the numbers of a tensor begin in memory."""
    return tensor.data_ptr()


WHICH = {
    "A": (
        "(w * 3).sum().backward()",
        "w.grad = torch.zeros(2)",
        "(w * 5).sum().backward()",
        "got = w.grad",
    ),
    "B": (
        "(w * 3).sum().backward()",
        "got = w.grad",
        "w.grad.zero_()",
        "(w * 5).sum().backward()",
    ),
    "C": (
        "(w * 1).sum().backward()",
        "w.sub_(w.grad)",
        "got = w",
    ),
    "D": (
        "h = w * w",
        "(h + 1).sum().backward()",
        "(h * 2).sum().backward()",
        "got = w.grad",
    ),
    "E": (
        "h = w * 3",
        "h.retain_grad()",
        "(h * h).sum().backward()",
        "got = h.grad",
    ),
    "F": (
        "s = w * 0.5",
        "s.sum().backward()",
        "got = w.grad",
    ),
}
WANTED = {"A": [5, 5], "B": [3, 3], "C": [0, 1], "D": [6, 12], "E": [6, 12], "F": [1, 1]}
SOLVED = {
    "A": "fine",
    "B": "silently wrong",
    "C": "raises now",
    "D": "raises at backward",
    "E": "fine",
    "F": "silently wrong",
}


def check_05_2(answer, torch):
    """Run all programs and compare the table."""

    def measure(letter):
        space = {"torch": torch, "w": torch.tensor([1.0, 2.0], requires_grad=True)}
        return happens(WHICH[letter], space, lambda space: agree(space["got"], WANTED[letter]))

    named = {
        ("A", "silently wrong"): "zeros are no reset",
        ("A", "raises now"): "grad may be assigned",
        ("A", "raises at backward"): "two graphs",
        ("B", "raises now"): "a gradient may be written",
        ("B", "raises at backward"): "a gradient may be written",
        ("B", "fine"): "put aside is not copied",
        ("C", "silently wrong"): "leaf written silently",
        ("C", "fine"): "leaf may be written",
        ("C", "raises at backward"): "leaf refuses later",
        ("D", "fine"): "shared part survives",
        ("D", "silently wrong"): "shared part is forgotten",
        ("D", "raises now"): "nothing is written",
        ("F", "fine"): "w for s",
        ("F", "raises now"): "s is asked for",
        ("E", "silently wrong"): "retain does nothing",
        ("E", "raises now"): "retain is refused",
        ("E", "raises at backward"): "retain is refused",
        ("F", "raises at backward"): "s has one sum",
    }
    shown = "Two silent ones, and both read the right attribute of the wrong tensor, or too late."
    return check_table(answer, WHICH, measure, named, shown)


def check_05_3(answer, torch):
    """Compare with the whole batch's gradient, count arrivals at w, and see when each graph was built."""
    for number, empty in ((3, False), (2, False), (4, True), (1, False)):
        sizes = random.sample([2, 3, 5, 7], number)
        parts = [_pair(torch, size) for size in sizes]
        start, before = random.uniform(-1, 1), 0.0 if empty else random.uniform(-2, 2)
        count = sum(sizes)
        terms = [[2 * (a * start - b) * a for a, b in zip(x.tolist(), y.tolist(), strict=True)] for x, y in parts]
        w = torch.tensor(start, requires_grad=True)
        w.grad = None if empty else torch.tensor(before)
        arrivals, begun, at_once, held, late = [], set(), [], weakref.WeakSet(), []

        def note(tensor, begun=begun, held=held, late=late):
            """Parts differ in size, so the size of a saved tensor tells whose graph has been begun."""
            size = tensor.numel()
            begun.add(size)
            late.extend(other for other in held if 1 != other.tensor.numel() != size != 1)
            kept = Held(tensor)
            held.add(kept)
            return kept

        def arrived(grad, arrivals=arrivals, begun=begun, at_once=at_once):
            arrivals.append(grad.item())
            at_once.append(len(begun - {1}) - len(arrivals) + 1)

        w.register_hook(arrived)
        with torch.autograd.graph.saved_tensors_hooks(note, lambda kept: kept.tensor):
            answer(torch, w, [(x.clone(), y.clone()) for x, y in parts])
        if w.grad is None:
            return not_yet("Afterwards w.grad is None.")
        if w.item() != torch.tensor(start).item():
            return not_yet("w itself has changed. Only its gradient is asked for; stepping is somebody else's work.")
        got, truth = w.grad.item(), before + sum(map(sum, terms)) / count
        if agree(got, truth) and len(arrivals) == len(parts):
            if max(at_once) > 1:
                return almost("all built first")
            if late:
                return almost("retained")
            continue
        if not arrivals:
            if agree(got, truth):
                return almost("by hand")
            return not_yet("Nothing arrived at w: is there a backward for each part?")
        if agree(got, truth) and len(arrivals) > len(parts):
            return almost("more than one for a part")
        if agree(got, truth) and len(arrivals) > 1:
            return not_yet(f"The number is right, but for {len(parts)} parts there were {len(arrivals)} passes.")
        if name := name_of_gradient(got, truth, before, terms):
            return almost(name)
        return not_yet(f"With parts of sizes {sizes}, w.grad is {got:.4f}, and the full batch gives {truth:.4f}.")
    return correct("Every sample weighs the same, whatever part it was in, and what a part kept was gone by the next.")


def name_of_gradient(got, truth, before, terms):
    """The mistake that leaves `got` in w.grad, or None; before: what was there; terms: the slopes, part by part."""
    means, sums, count = [sum(term) / len(term) for term in terms], sum(map(sum, terms)), sum(map(len, terms))
    named = (
        (truth, "one big graph"),
        (before + sum(means) / len(means), "mean of means"),
        (before + sum(means), "sum of means"),
        (before + sums, "never divided"),
        (truth - before, "erased what was there"),
        (sum(terms[-1]) / count, "last part only"),
        ((before + sums) / count, "divides what was there"),
        (before + sum(means) / count, "divided twice"),
        (before + sums / len(terms), "parts counted for samples"),
        (before + sums / (len(terms[0]) * len(terms)), "the first part's size"),
        (before + sum(terms[-1]) / count, "one backward, after the loop"),
    )
    return next((name for value, name in named if agree(got, value)), None)


class Held:
    """A saved tensor, in a box that can be watched."""

    def __init__(self, tensor):
        self.tensor = tensor


def _pair(torch, size):
    """Random inputs and targets of one micro-batch."""
    return tuple(torch.tensor([random.uniform(-2, 2) for _ in range(size)]) for _ in range(2))


LINES = {
    "A": "w.grad = None",
    "B": "loss.backward()",
    "C": "with torch.no_grad(): w -= 0.1 * w.grad",
    "D": "loss = ((w - 3) ** 2).sum()",
}


def check_05_4(answer, torch):
    """Run the lines in the given order, three times, and compare with gradient descent done by hand."""
    if not isinstance(answer, str):
        return not_yet('A string of letters is wanted, such as "ABCD".')
    order = [letter for letter in answer.upper() if letter.isalnum()]
    if any(letter not in LINES for letter in order):
        return not_yet("Only the letters A, B, C and D name lines.")
    if "C" not in order and set(order) == {"A", "B", "D"}:
        return almost("never updated")
    if order and "D" not in order:
        return almost("one loss for all passes")
    place = {letter: order.index(letter) for letter in order}
    w = torch.tensor([1.0, 5.0], requires_grad=True)
    names, expected = {"torch": torch, "w": w}, w.tolist()
    try:
        for _ in range(3):
            for letter in order:
                exec(LINES[letter], names)
            expected = [value - 0.1 * 2 * (value - 3) for value in expected]
    except (NameError, TypeError, RuntimeError) as error:
        if "D" in place and "B" in place and place["D"] > place["B"]:
            return almost("backward before the loss")
        if {"A", "B", "C"} <= place.keys() and place["B"] < place["A"] < place["C"]:
            return almost("cleared too early")
        if "B" in place and "C" in place and place["C"] < place["B"]:
            return almost("update before the gradient")
        return not_yet(f"In this order the loop stops with {type(error).__name__}: {str(error)[:80]}")
    if sorted(order) == sorted(LINES) and agree(names["w"].tolist(), expected):
        return correct("Cleared before or after, but never between the backward and the update.")
    if sorted(order) == ["B", "C", "D"]:
        return almost("never cleared")
    if len(order) != 4:
        return not_yet("Each of the four lines is wanted exactly once.")
    return not_yet(f"After three passes w is {names['w'].tolist()}; by hand it is {expected}.")


def check_05_5(answer, torch):
    """Compare with momentum done by hand: several shapes and factors, changing rates, steps without a gradient."""
    for shape, mu in (((2,), 0.8), ((1,), 0.5), ((2, 1, 2), random.uniform(0.6, 0.95))):
        found = judge_momentum(answer, torch, shape, mu)
        if found is not None:
            return found
    return correct("A velocity in place, and rest on None: SGD with momentum, as PyTorch's optimizer does it.")


def judge_momentum(answer, torch, shape, mu):
    """What is wrong with steps on a parameter of one shape: a verdict, or None."""
    start = torch.rand(shape) * 2 - 1
    p, v = start.clone().requires_grad_(), torch.rand(shape) + 0.5
    count = p.numel()
    at, speed = flat(p), flat(v)
    worlds = {name: (list(at), list(speed)) for name in WORLDS}
    for lr, size in ((0.1, 2), (0.5, 2), (0.2, None), (0.3, 2), (0.1, 0), (0.1, None), (0.2, 2)):
        gradient = None if size is None else [random.choice((-1, 1)) * random.uniform(0.5, 1) * size
                                              for _ in range(count)]  # fmt: skip
        p.grad = given = None if gradient is None else torch.tensor(gradient).reshape(shape)
        version = None if given is None else given._version
        before, speed_before, memory = flat(p), flat(v), (p.data_ptr(), v.data_ptr())
        try:
            answer(torch, p, v, lr, mu)
        except RuntimeError as error:
            if "leaf Variable" in str(error):
                return almost("recording is on")
            raise
        except (TypeError, AttributeError):
            if gradient is None:
                return almost("None is not handled")
            raise
        if (p.data_ptr(), v.data_ptr()) != memory:
            return almost("memory exchanged")
        if gradient is None:
            if not agree(flat(p), before):
                return almost("None as zero")
            if not agree(flat(v), speed_before):
                return almost("velocity decays on None")
            continue
        if not agree(flat(given), gradient):
            return almost("writes into the gradient")
        if p.grad is not given:
            return almost("gradient taken away")
        if given._version != version:
            return not_yet("p.grad was written to in place, if with the same numbers. It is only to be read.")
        speed = [mu * s + g for s, g in zip(speed, gradient, strict=True)]
        at = [a - lr * s for a, s in zip(at, speed, strict=True)]
        _other_worlds(worlds, gradient, lr, mu)
        if agree(flat(p), at) and agree(flat(v), speed):
            continue
        if agree(flat(p), before):
            return almost("rebinds names" if size else "zero as None")
        if agree(flat(p), at) and agree(flat(v), speed_before):
            return almost("velocity forgotten")
        for name, (where, _) in worlds.items():
            if agree(flat(p), where):
                return almost(name)
        if agree(flat(p), at):
            return not_yet(f"p is right, but with mu={mu:.2g} v became {_short(flat(v))}, not {_short(speed)}.")
        return not_yet(f"With lr={lr}, p went from {_short(before)} to {_short(flat(p))}, not to {_short(at)}.")
    if not p.requires_grad or p.grad_fn is not None or v.grad_fn is not None:
        return not_yet("Afterwards `p` should still be a leaf that requires grad, and `v` should have no history.")
    return None


WORLDS = {  # name of the misreading -> (the velocity's factor, the gradient's, the step's); each from mu and lr
    "lr inside the velocity": lambda mu, lr: (mu, lr, -1.0),
    "damped": lambda mu, lr: (mu, 1 - mu, -lr),
    "uphill": lambda mu, lr: (mu, 1.0, lr),
    "no friction": lambda mu, lr: (1.0, 1.0, -lr),
    "no momentum": lambda mu, lr: (0.0, 1.0, -lr),
    "friction on the gradient": lambda mu, lr: (mu, mu, -lr),
    "no rate": lambda mu, lr: (mu, 1.0, -1.0),
    "on top of itself": lambda mu, lr: (1 + mu, 1.0, -lr),
    "minus twice": lambda mu, lr: (mu, -1.0, -lr),
    "the other sign": lambda mu, lr: (mu, -lr, 1.0),
    "exchanged": lambda mu, lr: (lr, 1.0, -mu),
    "always 0.9": lambda mu, lr: (0.9, 1.0, -lr),
    "velocity too late": None,
    "a step ahead": None,
}


def _other_worlds(worlds, gradient, lr, mu):
    """Take the same step under each of the usual misreadings."""
    for name, (where, speed) in worlds.items():
        if name == "velocity too late":
            where[:] = [a - lr * s for a, s in zip(where, speed, strict=True)]
            speed[:] = [mu * s + g for s, g in zip(speed, gradient, strict=True)]
            continue
        if name == "a step ahead":
            speed[:] = [mu * s + g for s, g in zip(speed, gradient, strict=True)]
            where[:] = [a - lr * (g + mu * s) for a, s, g in zip(where, speed, gradient, strict=True)]
            continue
        keep, take, move = WORLDS[name](mu, lr)
        speed[:] = [keep * s + take * g for s, g in zip(speed, gradient, strict=True)]
        where[:] = [a + move * s for a, s in zip(where, speed, strict=True)]


def _short(numbers):
    return [round(number, 3) for number in numbers]


ACC = "def accumulate(torch, w, parts):\n"
PASSES = "def passes(torch, x, g, times):\n"
LOOP = "    for _ in range(times):\n"
STEP = "def momentum(torch, p, v, lr, mu):\n"
STATE = 'state = {{"p.grad": {}, "q.grad": {}, "r.grad": {}, "early is p.grad": {}}}\n'

EXERCISES = [
    Exercise(
        id="05.p1",
        kind="predict",
        title="What is in the gradient you put aside?",
        question=(
            "`(w * 3).sum().backward()`, then `g = w.grad`, then `(w * 5).sum().backward()`. What does `g` "
            "hold? Two numbers in a list."
        ),
        minutes=1,
        difficulty=1,
        name="answer",
        starter="answer = None\n",
        hints=(
            "There are two questions in one: what does the second pass do to `.grad`, and is `g` a copy?",
            "In Python, `g = w.grad` gives a second name to one object.",
        ),
        solution="answer = [8, 8]\n",
        why="The second pass adds its 5s to the 3s, in the very tensor that `g` names.",
        alternatives=("answer = torch.tensor([8.0, 8.0])\n",),
        mistakes=(
            Mistake(
                "put aside",
                "[3, 3] would be right if `g` were a copy; it is a second name for the tensor that is added to.",
                "answer = [3, 3]\n",
            ),
            Mistake(
                "overwritten",
                "[5, 5] is the second pass alone; backward adds to what is there, it does not replace it.",
                "answer = [5, 5]\n",
            ),
            Mistake(
                "multiplied",
                "15 multiplies the slopes; that happens along one path, and these are two separate passes.",
                "answer = [15, 15]\n",
            ),
            Mistake(
                "averaged",
                "4 is the average of 3 and 5; nothing here divides by the number of passes.",
                "answer = [4, 4]\n",
            ),
            Mistake(
                "the first, times w",
                "That is 3 times w, the result of the product. The slope of w * 3 is 3; and the second pass comes too.",
                "answer = [3, 6]\n",
            ),
            Mistake(
                "cleared by itself",
                "Nothing clears a gradient by itself: neither a pass nor a second name for it.",
                "answer = [0, 0]\n",
            ),
            Mistake(
                "times w",
                "That is 8 times w. The slope of w * 8 is 8, whatever w is.",
                "answer = [8, 16]\n",
            ),
        ),
        check=check_05_p1,
        puzzles=(12,),
    ),
    Exercise(
        id="05.p2",
        kind="predict",
        title="Two micro-batches",
        question=(
            "`x` is [2, 2, 2, 10]. The parts `x[:3]` and `x[3:]` each send the mean of `w * part`, divided "
            "by 2, backward. What is `w.grad` at the end?"
        ),
        minutes=2,
        difficulty=1,
        name="answer",
        starter="answer = None\n",
        hints=(
            "The gradient of `(w * part).mean()` is the mean of the part. Compute both.",
            "The means are 2 and 10, each is divided by 2, and what arrives is added.",
        ),
        solution="answer = 6\n",
        why="2/2 + 10/2 = 6. The outlier counts as much as the three other samples together.",
        alternatives=("answer = torch.tensor(6.0)\n",),
        mistakes=(
            Mistake(
                "same as the batch",
                "4 is the mean over four samples; here each part counts one half, however few samples it has.",
                "answer = 4\n",
            ),
            Mistake(
                "last part only",
                "5 is what the second part sends; the first part's gradient is still there and is added to.",
                "answer = 5\n",
            ),
            Mistake(
                "first part only",
                "1 is what the first part sends, 2 / 2. The second part has a backward as well, and it adds.",
                "answer = 1\n",
            ),
            Mistake(
                "sums for means",
                "8 is half of the sum of all samples. Each part takes the mean of its own samples first.",
                "answer = 8\n",
            ),
            Mistake(
                "not divided",
                "12 adds the two means; the loop divides each of them by the number of parts.",
                "answer = 12\n",
            ),
            Mistake(
                "overwritten",
                "10 is the mean of the last part, undivided and alone. Mind the `/ 2`, and mind the first part.",
                "answer = 10\n",
            ),
            Mistake(
                "halved",
                "3 divides twice; nothing divides again after the loop.",
                "answer = 3\n",
            ),
        ),
        check=check_05_p2,
        puzzles=(14,),
    ),
    Exercise(
        id="05.1",
        kind="predict state",
        title="Read the state",
        question=(
            "After the program, give `p.grad`, `q.grad` and `r.grad` as lists (or None), and whether `early is p.grad`."
        ),
        minutes=5,
        difficulty=2,
        name="state",
        starter='state = {"p.grad": None, "q.grad": None, "r.grad": None, "early is p.grad": None}\n',
        hints=(
            "Go through the program pass by pass, and keep one column for each leaf.",
            "`p` takes part in two passes. `q` is cleared, and then takes part in one more, multiplied by 0.",
        ),
        solution=STATE.format("[5, 5]", "[0, 0]", "None", "True"),
        why=("2 + 3 arrive at p, added in place; a zero arrives at q after it was cleared; nothing ever reaches r."),
        alternatives=(STATE.format("torch.tensor([5.0, 5.0])", "(0.0, 0.0)", "None", "True"),),
        mistakes=(
            Mistake(
                "overwritten",
                "p.grad: 3 is the second pass alone, and the 2s of the first pass are still there.",
                STATE.format("[3, 3]", "[0, 0]", "None", "True"),
            ),
            Mistake(
                "first pass only",
                "p.grad: 2 is the first pass alone. p is used in the second line with backward, too.",
                STATE.format("[2, 2]", "[0, 0]", "None", "True"),
            ),
            Mistake(
                "slopes multiplied",
                "p.grad: 2 times 3 would be right along one path. These are two passes, and their gradients are added.",
                STATE.format("[6, 6]", "[0, 0]", "None", "True"),
            ),
            Mistake(
                "zero is none",
                "q.grad: multiplying by 0 is a path; a gradient did arrive, and it was zero.",
                STATE.format("[5, 5]", "None", "None", "True"),
            ),
            Mistake(
                "cleared in vain",
                "q.grad: the 2s of the first pass were let go by `q.grad = None`, before the last pass.",
                STATE.format("[5, 5]", "[2, 2]", "None", "True"),
            ),
            Mistake(
                "zeros from the start",
                "r.grad: r took part in nothing, so nothing arrived, and `.grad` is still None.",
                STATE.format("[5, 5]", "[0, 0]", "[0, 0]", "True"),
            ),
            Mistake(
                "a new tensor each time",
                "`early is p.grad`: the second pass added in place, so both names mean one tensor.",
                STATE.format("[5, 5]", "[0, 0]", "None", "False"),
            ),
        ),
        check=check_05_1,
        puzzles=(12,),
    ),
    Exercise(
        id="05.2",
        kind="which happens",
        title="Which happens?",
        question="For each of the programs A to F: raises now, raises at backward, silently wrong, or fine?",
        minutes=8,
        difficulty=3,
        name="verdicts",
        starter='verdicts = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None}\n',
        hints=(
            "First ask of each program: is a leaf that requires grad written to in place while recording is on?",
            "Then ask: of which tensor is `got` the gradient, and who writes to that memory afterwards? For "
            "D, look at what `w * w` has to keep, and until when.",
        ),
        solution=outcome_table("verdicts", SOLVED),
        why=(
            "B puts aside a name, not a copy, and F reads the leaf where the result was meant; both run "
            "without a word. In D the product's kept operands were released by the first pass."
        ),
        alternatives=(
            'verdicts = dict.fromkeys("AE", "fine") | dict.fromkeys("BF", "silently wrong")\n'
            'verdicts |= {"C": "raises now", "D": "raises at backward"}\n',
        ),
        mistakes=(
            Mistake(
                "zeros are no reset",
                "A: assigning zeros is a reset like any other; the next gradient is added to 0.",
                outcome_table("verdicts", SOLVED, {"A": "silently wrong"}),
            ),
            Mistake(
                "grad may be assigned",
                "A: `.grad` may be assigned: None, or a tensor of the leaf's shape. Zeros of two are one.",
                outcome_table("verdicts", SOLVED, {"A": "raises now"}),
            ),
            Mistake(
                "two graphs",
                "A: the two passes run over two graphs, each made by its own line. None is used up twice.",
                outcome_table("verdicts", SOLVED, {"A": "raises at backward"}),
            ),
            Mistake(
                "a gradient may be written",
                "B: w.grad is an ordinary tensor that requires no grad, so `zero_()` may write into it, and nothing "
                "saved it.",
                outcome_table("verdicts", SOLVED, {"B": "raises now"}),
            ),
            Mistake(
                "s has one sum",
                "F: s.sum() is one number, and backward starts from it.",
                outcome_table("verdicts", SOLVED, {"F": "raises at backward"}),
            ),
            Mistake(
                "put aside is not copied",
                "B: `got` is a second name for w.grad, and `zero_()` and the next pass write into that tensor.",
                outcome_table("verdicts", SOLVED, {"B": "fine"}),
            ),
            Mistake(
                "leaf written silently",
                "C: nothing goes wrong silently here; a leaf that requires grad refuses the in-place write.",
                outcome_table("verdicts", SOLVED, {"C": "silently wrong"}),
            ),
            Mistake(
                "leaf may be written",
                "C: the update needs `with torch.no_grad():`; with recording on, the leaf refuses it.",
                outcome_table("verdicts", SOLVED, {"C": "fine"}),
            ),
            Mistake(
                "leaf refuses later",
                "C: it does raise, but at the write itself. Backward was over by then, and nothing was wrong in it.",
                outcome_table("verdicts", SOLVED, {"C": "raises at backward"}),
            ),
            Mistake(
                "shared part is forgotten",
                "D: what the first pass released is missed aloud. Backward does not go on with numbers it lacks.",
                outcome_table("verdicts", SOLVED, {"D": "silently wrong"}),
            ),
            Mistake(
                "nothing is written",
                "D: it does raise, but none of the lines is refused for what it writes. Which call needs what is gone?",
                outcome_table("verdicts", SOLVED, {"D": "raises now"}),
            ),
            Mistake(
                "s is asked for",
                "F: nothing asks for s.grad, which would be None with a warning. `got` is w.grad, and that exists.",
                outcome_table("verdicts", SOLVED, {"F": "raises now"}),
            ),
            Mistake(
                "retain is refused",
                "E: retain_grad() may be called on any result that requires grad, as in the lesson.",
                outcome_table("verdicts", SOLVED, {"E": "raises now"}),
            ),
            Mistake(
                "shared part survives",
                "D: both passes go through `w * w`, and the first one released what that product had kept.",
                outcome_table("verdicts", SOLVED, {"D": "fine"}),
            ),
            Mistake(
                "retain does nothing",
                "E: retain_grad() was called before the pass, so h keeps its gradient, 2h.",
                outcome_table("verdicts", SOLVED, {"E": "silently wrong"}),
            ),
            Mistake(
                "w for s",
                "F: the gradient for w carries one more factor than the gradient for s = w * 0.5.",
                outcome_table("verdicts", SOLVED, {"F": "fine"}),
            ),
        ),
        check=check_05_2,
        puzzles=(12,),
    ),
    Exercise(
        id="05.3",
        kind="repair",
        title="Repair the micro-batches",
        question=(
            "Afterwards `w.grad` must have gained the gradient of the mean squared error over all samples of "
            "all parts; each part gets a backward of its own."
        ),
        minutes=8,
        difficulty=2,
        name="accumulate",
        starter=(
            ACC
            + "    for x, y in parts:\n"
            + "        loss = ((x * w - y) ** 2).mean()\n"
            + "        (loss / len(parts)).backward()\n"
        ),
        hints=(
            "What does one sample weigh in the mean over everything? And in your loop?",
            "Count all samples before the loop. A sum over a part, divided by that count, has the right weights.",
        ),
        solution=(
            ACC
            + "    count = sum(len(x) for x, y in parts)\n"
            + "    for x, y in parts:\n"
            + "        loss = ((x * w - y) ** 2).sum()\n"
            + "        (loss / count).backward()\n"
        ),
        why="Each squared error is divided by the number of all samples, so the sum over parts is the mean.",
        alternatives=(
            ACC
            + "    sizes = [x.numel() for x, y in parts]\n"
            + "    for (x, y), n in zip(parts, sizes):\n"
            + "        share = n / sum(sizes)\n"
            + "        (((x * w - y) * (x * w - y)).mean() * share).backward()\n",
            ACC
            + "    weight = 1 / sum(map(len, (x for x, _ in parts)))\n"
            + "    for x, y in parts:\n"
            + "        errors = x * w - y\n"
            + "        (errors * errors).backward(torch.full_like(x, weight))\n",
        ),
        mistakes=(
            Mistake(
                "mean of means",
                "Still each part weighs the same; a part with more samples must weigh more.",
                ACC
                + "    for x, y in parts:\n"
                + "        loss = ((x * w - y) ** 2).sum() / len(x)\n"
                + "        (loss / len(parts)).backward()\n",
            ),
            Mistake(
                "sum of means",
                "You add the parts' means without dividing: the gradient grows with the number of parts.",
                ACC + "    for x, y in parts:\n" + "        ((x * w - y) ** 2).mean().backward()\n",
            ),
            Mistake(
                "the first part's size",
                "You take it that all parts are as long as the first. They are not: count the samples of each.",
                ACC
                + "    count = len(parts[0][0]) * len(parts)\n"
                + "    for x, y in parts:\n"
                + "        (((x * w - y) ** 2).sum() / count).backward()\n",
            ),
            Mistake(
                "one backward, after the loop",
                "backward() stands after the loop, so it runs once, for the loss of the last part.",
                ACC
                + "    count = sum(len(x) for x, y in parts)\n"
                + "    for x, y in parts:\n"
                + "        loss = ((x * w - y) ** 2).sum() / count\n"
                + "    loss.backward()\n",
            ),
            Mistake(
                "guard: changed a container",
                "Go through the parts with `for`; taking them out of the list takes them from the caller.",
                ACC
                + "    count = sum(len(x) for x, y in parts)\n"
                + "    while parts:\n"
                + "        x, y = parts.pop()\n"
                + "        (((x * w - y) ** 2).sum() / count).backward()\n",
            ),
            Mistake(
                "guard: wrote into an argument",
                "Only the gradient is asked for; stepping is somebody else's work.",
                ACC
                + "    count = sum(len(x) for x, y in parts)\n"
                + "    for x, y in parts:\n"
                + "        (((x * w - y) ** 2).sum() / count).backward()\n"
                + "    with torch.no_grad():\n"
                + "        w -= 0.1 * w.grad\n",
            ),
            Mistake(
                "never divided",
                "The weights are equal now, but this is the gradient of the sum; the mean was asked for.",
                ACC + "    for x, y in parts:\n" + "        ((x * w - y) ** 2).sum().backward()\n",
            ),
            Mistake(
                "erased what was there",
                "The gain is right, but w.grad held something before, and that has been lost.",
                ACC
                + "    w.grad = None\n"
                + "    count = sum(len(x) for x, y in parts)\n"
                + "    for x, y in parts:\n"
                + "        (((x * w - y) ** 2).sum() / count).backward()\n",
            ),
            Mistake(
                "last part only",
                "Only the last part is left: clearing inside the loop throws the others away.",
                ACC
                + "    count = sum(len(x) for x, y in parts)\n"
                + "    for x, y in parts:\n"
                + "        w.grad = None\n"
                + "        (((x * w - y) ** 2).sum() / count).backward()\n",
            ),
            Mistake(
                "divides what was there",
                "Dividing w.grad at the end also divides what was in it before. Divide each loss.",
                ACC
                + "    for x, y in parts:\n"
                + "        ((x * w - y) ** 2).sum().backward()\n"
                + "    w.grad /= sum(len(x) for x, y in parts)\n",
            ),
            Mistake(
                "divided twice",
                "`mean()` has divided by the size of the part; dividing by all samples comes on top of that.",
                ACC
                + "    count = sum(len(x) for x, y in parts)\n"
                + "    for x, y in parts:\n"
                + "        (((x * w - y) ** 2).mean() / count).backward()\n",
            ),
            Mistake(
                "parts counted for samples",
                "You divide the sums by the number of parts. A sample weighs one over the number of all samples.",
                ACC + "    for x, y in parts:\n" + "        (((x * w - y) ** 2).sum() / len(parts)).backward()\n",
            ),
            Mistake(
                "retained",
                "The number is right, but a part's tensors are still kept when the next part begins: something, such "
                "as "
                "retain_graph=True, keeps the pass from freeing them.",
                ACC
                + "    count = sum(len(x) for x, y in parts)\n"
                + "    for x, y in parts:\n"
                + "        loss = ((x * w - y) ** 2).sum() / count\n"
                + "        loss.backward(retain_graph=True)\n",
            ),
            Mistake(
                "all built first",
                "The number is right, but all losses are computed before the first backward: at that moment "
                "all the graphs are alive.",
                ACC
                + "    count = sum(len(x) for x, y in parts)\n"
                + "    losses = [((x * w - y) ** 2).sum() / count for x, y in parts]\n"
                + "    for loss in losses:\n"
                + "        loss.backward()\n",
            ),
            Mistake(
                "by hand",
                "The number is right, but no backward pass brought it to w. A formula differentiated by hand is no "
                "help "
                "once a network stands in the place of x * w.",
                ACC
                + "    count = sum(len(x) for x, y in parts)\n"
                + "    for x, y in parts:\n"
                + "        w.grad += (2 * x * (x * w.detach() - y)).sum() / count\n",
            ),
            Mistake(
                "more than one for a part",
                "The number is right, but backward runs more often than there are parts. Each part was to have one, "
                "for all of its samples together.",
                ACC
                + "    count = sum(len(x) for x, y in parts)\n"
                + "    for x, y in parts:\n"
                + "        for a, b in zip(x, y):\n"
                + "            ((a * w - b) ** 2 / count).backward()\n",
            ),
            Mistake(
                "one big graph",
                "The number is right, but one backward over everything keeps all the parts' graphs alive at once.",
                ACC
                + "    count = sum(len(x) for x, y in parts)\n"
                + "    total = sum(((x * w - y) ** 2).sum() for x, y in parts)\n"
                + "    (total / count).backward()\n",
            ),
        ),
        may_change=("w.grad",),
        check=check_05_3,
        puzzles=(14,),
    ),
    Exercise(
        id="05.4",
        kind="reorder",
        title="Put the lines in order",
        question=(
            "A: `w.grad = None`, B: `loss.backward()`, C: the update, D: the loss. Give an order, as a "
            "string, that makes every pass of the loop one honest step of gradient descent."
        ),
        minutes=3,
        difficulty=1,
        name="order",
        starter="order = None\n",
        hints=(
            "Which line needs a name that another line makes? Which line needs a gradient?",
            "Loss, backward, update must follow each other. There is more than one place for the clearing.",
        ),
        solution='order = "DBCA"\n',
        why="The gradient is made from this pass's loss, used, and then cleared before the next one arrives.",
        alternatives=('order = "A, D, B, C"\n', 'order = "DABC"\n', 'order = ["D", "B", "C", "A"]\n'),
        mistakes=(
            Mistake(
                "cleared too early",
                "The gradient is cleared after it was made and before it was used: the update finds None.",
                'order = "DBAC"\n',
            ),
            Mistake(
                "update before the gradient",
                "In the first pass there is no gradient yet when the update wants one.",
                'order = "DCBA"\n',
            ),
            Mistake(
                "backward before the loss",
                "Backward runs before this pass has a loss to start from.",
                'order = "BDCA"\n',
            ),
            Mistake(
                "never updated",
                "Without C, w stays where it is: gradients come and go, and nothing is learned.",
                'order = "DBA"\n',
            ),
            Mistake(
                "one loss for all passes",
                "Without D in the loop there is no loss of this pass, so backward has nothing new to start from.",
                'order = "BCA"\n',
            ),
            Mistake(
                "never cleared",
                "Without A the loop runs, and from the second pass on it moves by a sum of gradients.",
                'order = "DBC"\n',
            ),
        ),
        check=check_05_4,
        puzzles=(12,),
    ),
    Exercise(
        id="05.5",
        kind="repair",
        title="Momentum that respects None",
        question=(
            "One step of SGD with momentum: v becomes mu times itself plus the gradient, then p moves by -lr "
            "times v. Same tensors afterwards; p.grad is only read; without a gradient, nothing is touched."
        ),
        minutes=8,
        difficulty=2,
        name="momentum",
        starter=STEP + "    v = mu * v + p.grad\n    p = p - lr * v\n",
        hints=(
            "`v = …` gives a new tensor a name inside your function; the caller's tensor does not change. "
            "Which operations write into a tensor?",
            "Without a gradient, return at once. With one, recall how the lesson updates a leaf: which block "
            "is around it, and which operations end in an underscore?",
        ),
        solution=(
            STEP
            + "    if p.grad is None:\n"
            + "        return\n"
            + "    with torch.no_grad():\n"
            + "        v.mul_(mu).add_(p.grad)\n"
            + "        p.sub_(lr * v)\n"
        ),
        why=("In-place operations write into the caller's tensors; no_grad lets a leaf be written; None means skip."),
        alternatives=(
            STEP
            + "    if p.grad is not None:\n"
            + "        v *= mu\n"
            + "        v += p.grad\n"
            + "        p.detach().sub_(v * lr)\n",
        ),
        mistakes=(
            Mistake(
                "rebinds names",
                "p did not change. A line that begins with `p = …` only gives a new tensor that name inside the "
                "function; something has to write into p.",
                STEP
                + "    if p.grad is None:\n"
                + "        return\n"
                + "    with torch.no_grad():\n"
                + "        v = mu * v + p.grad\n"
                + "        p = p - lr * v\n",
            ),
            Mistake(
                "zero as None",
                "A gradient of zero was skipped. It did arrive, and the velocity rolls on; only None means skip.",
                STEP
                + "    if p.grad is None or (p.grad == 0).all():\n"
                + "        return\n"
                + "    with torch.no_grad():\n"
                + "        v.mul_(mu).add_(p.grad)\n"
                + "        p.sub_(lr * v)\n",
            ),
            Mistake(
                "velocity forgotten",
                "p moved rightly, but the caller's velocity is what it was: `v = …` is a new tensor, gone "
                "after the call.",
                STEP
                + "    if p.grad is not None:\n"
                + "        with torch.no_grad():\n"
                + "            v = mu * v + p.grad\n"
                + "            p -= lr * v\n",
            ),
            Mistake(
                "velocity too late",
                "p moved by the old velocity: first the velocity takes in the gradient, then p moves.",
                STEP
                + "    if p.grad is not None:\n"
                + "        with torch.no_grad():\n"
                + "            p.sub_(lr * v)\n"
                + "            v.mul_(mu).add_(p.grad)\n",
            ),
            Mistake(
                "writes into the gradient",
                "p and v may be right, but p.grad holds other numbers now: it was written to, and whoever "
                "logged it sees that.",
                STEP
                + "    if p.grad is not None:\n"
                + "        with torch.no_grad():\n"
                + "            v.copy_(p.grad.add_(mu * v))\n"
                + "            p.sub_(lr * v)\n",
            ),
            Mistake(
                "recording is on",
                "The in-place write to the leaf is refused while recording is on.",
                STEP + "    if p.grad is not None:\n        v.mul_(mu).add_(p.grad)\n        p.sub_(lr * v)\n",
            ),
            Mistake(
                "None is not handled",
                "Right while there is a gradient; with None the arithmetic itself fails.",
                STEP + "    with torch.no_grad():\n" + "        v.mul_(mu).add_(p.grad)\n" + "        p.sub_(lr * v)\n",
            ),
            Mistake(
                "None as zero",
                "A missing gradient was treated as zero, and the velocity carried the parameter on.",
                STEP
                + "    with torch.no_grad():\n"
                + "        v.mul_(mu)\n"
                + "        if p.grad is not None:\n"
                + "            v.add_(p.grad)\n"
                + "        p.sub_(lr * v)\n",
            ),
            Mistake(
                "velocity decays on None",
                "p rests on None, but its velocity shrank: with None the whole step is to be skipped.",
                STEP
                + "    with torch.no_grad():\n"
                + "        v.mul_(mu)\n"
                + "        if p.grad is not None:\n"
                + "            v.add_(p.grad)\n"
                + "            p.sub_(lr * v)\n",
            ),
            Mistake(
                "lr inside the velocity",
                "You put lr into the velocity; then a change of lr does not reach what is already rolling.",
                STEP
                + "    if p.grad is not None:\n"
                + "        with torch.no_grad():\n"
                + "            v.mul_(mu).add_(lr * p.grad)\n"
                + "            p.sub_(v)\n",
            ),
            Mistake(
                "damped",
                "You weigh the gradient by 1 - mu, as a running average does; here it enters whole.",
                STEP
                + "    if p.grad is not None:\n"
                + "        with torch.no_grad():\n"
                + "            v.mul_(mu).add_((1 - mu) * p.grad)\n"
                + "            p.sub_(lr * v)\n",
            ),
            Mistake(
                "uphill",
                "The size is right and the sign is not: descent goes against the velocity's gradients.",
                STEP
                + "    if p.grad is not None:\n"
                + "        with torch.no_grad():\n"
                + "            v.mul_(mu).add_(p.grad)\n"
                + "            p.add_(lr * v)\n",
            ),
            Mistake(
                "on top of itself",
                "mu times the velocity was added to the whole velocity. It should take its place.",
                STEP
                + "    if p.grad is not None:\n"
                + "        with torch.no_grad():\n"
                + "            v.add_(mu * v + p.grad)\n"
                + "            p.sub_(lr * v)\n",
            ),
            Mistake(
                "minus twice",
                "The gradient is subtracted from the velocity, and the velocity from p: two minus signs go uphill.",
                STEP
                + "    if p.grad is not None:\n"
                + "        with torch.no_grad():\n"
                + "            v.mul_(mu).sub_(p.grad)\n"
                + "            p.sub_(lr * v)\n",
            ),
            Mistake(
                "the other sign",
                "That is another way to write momentum, with lr and a minus inside the velocity. A velocity that comes "
                "from PyTorch's SGD, or from here, then has the wrong sign and size.",
                STEP
                + "    if p.grad is not None:\n"
                + "        with torch.no_grad():\n"
                + "            v.mul_(mu).sub_(lr * p.grad)\n"
                + "            p.add_(v)\n",
            ),
            Mistake(
                "exchanged",
                "mu and lr are exchanged: mu belongs to the velocity, lr to the step.",
                STEP
                + "    if p.grad is not None:\n"
                + "        with torch.no_grad():\n"
                + "            v.mul_(lr).add_(p.grad)\n"
                + "            p.sub_(mu * v)\n",
            ),
            Mistake(
                "always 0.9",
                "The velocity is multiplied by 0.9, whatever mu is.",
                STEP
                + "    if p.grad is not None:\n"
                + "        with torch.no_grad():\n"
                + "            v.mul_(0.9).add_(p.grad)\n"
                + "            p.sub_(lr * v)\n",
            ),
            Mistake(
                "a step ahead",
                "p moved by the gradient plus mu times the new velocity. That is Nesterov's variant; here p moves by "
                "the "
                "velocity itself.",
                STEP
                + "    if p.grad is not None:\n"
                + "        with torch.no_grad():\n"
                + "            v.mul_(mu).add_(p.grad)\n"
                + "            p.sub_(lr * (p.grad + mu * v))\n",
            ),
            Mistake(
                "guard: left a setting",
                "Grad mode stays off for the whole notebook then. `with torch.no_grad():` ends by itself.",
                STEP
                + "    if p.grad is not None:\n"
                + "        torch.set_grad_enabled(False)\n"
                + "        v.mul_(mu).add_(p.grad)\n"
                + "        p.sub_(lr * v)\n",
            ),
            Mistake(
                "no friction",
                "The velocity only grows: before it takes in the gradient it is multiplied by mu.",
                STEP
                + "    if p.grad is not None:\n"
                + "        with torch.no_grad():\n"
                + "            v.add_(p.grad)\n"
                + "            p.sub_(lr * v)\n",
            ),
            Mistake(
                "no momentum",
                "p moved by the gradient alone. It should move by the velocity, which remembers earlier gradients.",
                STEP
                + "    if p.grad is not None:\n"
                + "        with torch.no_grad():\n"
                + "            v.mul_(mu).add_(p.grad)\n"
                + "            p.sub_(lr * p.grad)\n",
            ),
            Mistake(
                "friction on the gradient",
                "mu multiplied the new gradient too. Only what was in the velocity before is multiplied.",
                STEP
                + "    if p.grad is not None:\n"
                + "        with torch.no_grad():\n"
                + "            v.add_(p.grad).mul_(mu)\n"
                + "            p.sub_(lr * v)\n",
            ),
            Mistake(
                "no rate",
                "p moved by the whole velocity; the learning rate is missing.",
                STEP
                + "    if p.grad is not None:\n"
                + "        with torch.no_grad():\n"
                + "            v.mul_(mu).add_(p.grad)\n"
                + "            p.sub_(v)\n",
            ),
            Mistake(
                "gradient taken away",
                "The step is right, but afterwards p.grad is not the tensor it was. Clearing it is the caller's "
                "business.",
                STEP
                + "    if p.grad is not None:\n"
                + "        with torch.no_grad():\n"
                + "            v.mul_(mu).add_(p.grad)\n"
                + "            p.sub_(lr * v)\n"
                + "            p.grad = None\n",
            ),
            Mistake(
                "memory exchanged",
                "p or v lies in other memory than before, as after `p.data = …`: a view of it, made before, does not "
                "see the step.",
                STEP
                + "    if p.grad is not None:\n"
                + "        v.data = mu * v + p.grad\n"
                + "        p.data = p.data - lr * v\n",
            ),
        ),
        may_change=("p", "v"),
        check=check_05_5,
        puzzles=(13,),
    ),
    Exercise(
        id="05.6",
        kind="repair",
        title="The gradient that was used again",
        question=(
            "`times` passes hand the same `g` to backward. Repair it so that x.grad gains `times` times `g`, and no "
            "gradient that arrives at x while x.grad is None lies in memory that another one or the caller can see."
        ),
        minutes=6,
        difficulty=2,
        name="passes",
        starter=PASSES + LOOP + "        x.view(-1, 1).backward(g)\n",
        hints=(
            "Write down what is in g's memory after each pass, if this memory is x.grad from the first pass on.",
            "Backward through a view hands on the memory that it was given. What could you give it that nobody else "
            "has, in each pass anew?",
        ),
        solution=PASSES + LOOP + "        x.view(-1, 1).backward(g.clone())\n",
        why=(
            "In PyTorch the first pass makes g's memory x.grad; the second adds g to itself (2g), the third again "
            "(4g). A clone in each pass belongs to nobody else, so it may become x.grad or be added to it. (Or let "
            "x.grad be "
            "full before the first pass: then nothing moves in.)"
        ),
        alternatives=(
            PASSES + LOOP + "        (x.view(-1, 1) * g).sum().backward()\n",
            PASSES + LOOP + "        (x * 1.0).view(-1, 1).backward(g)\n",
            PASSES + LOOP + "        x.backward((g + 0).view(-1))\n",
            PASSES + "    for copy in g.repeat(times, 1, 1):\n        x.view(-1, 1).backward(copy)\n",
            # a full x.grad takes nothing over
            PASSES + "    if x.grad is None:\n        x.grad = torch.zeros_like(x)\n" + LOOP
            + "        x.view(-1, 1).backward(g)\n",
            PASSES + "    x.view(-1, 1).backward(g.clone())\n    for _ in range(times - 1):\n"
            + "        x.view(-1, 1).backward(g)\n",
        ),
        mistakes=(
            Mistake(
                "still the caller's",
                "What arrives at x lies in g's memory while x.grad is None, so that PyTorch may make it x.grad. "
                "detach(), "
                ".data, a view and contiguous() give one memory another name; something has to be copied or computed.",
                PASSES + LOOP + "        x.view(-1, 1).backward(g.detach())\n",
            ),
            Mistake(
                "handed over at first",
                "The first pass has handed over the caller's own memory before anything was copied.",
                PASSES + LOOP + "        x.view(-1, 1).backward(g)\n        g = g.clone()\n",
            ),
            Mistake(
                "one clone for all",
                "The caller's g is safe, but all passes are given one clone. In PyTorch it becomes x.grad in the first "
                "pass, and the later ones add it to itself.",
                PASSES + "    g = g.clone()\n" + LOOP + "        x.view(-1, 1).backward(g)\n",
            ),
            Mistake(
                "one pass for all",
                "`times` passes were asked for, each with a gradient of its own; another number of gradients arrives "
                "at x.",
                PASSES + "    x.view(-1, 1).backward(g * times)\n",
            ),
            Mistake(
                "zeros, whatever was there",
                "A full x.grad takes nothing over, that is right. But your zeros also replace what was in it before "
                "the "
                "call.",
                PASSES + "    x.grad = torch.zeros_like(x)\n" + LOOP + "        x.view(-1, 1).backward(g)\n",
            ),
            Mistake(
                "always three",
                "Three passes are run, whatever `times` is.",
                PASSES + "    for _ in range(3):\n        x.view(-1, 1).backward(g.clone())\n",
            ),
            Mistake(
                "by hand",
                "x.grad was written by your own code; no pass brought anything to x.",
                PASSES
                + "    more = times * g.view(-1)\n"
                + "    x.grad = more if x.grad is None else x.grad + more\n",
            ),
            Mistake(
                "one pass, then multiplied",
                "x.grad is multiplied afterwards, and with it what was there before. `times` passes were asked for.",
                PASSES + "    x.view(-1, 1).backward(g.clone())\n    x.grad *= times\n",
            ),
            Mistake(
                "only the last",
                "Only the last pass is left in x.grad: clearing inside the loop throws the others away.",
                PASSES + LOOP + "        x.grad = None\n        x.view(-1, 1).backward(g.clone())\n",
            ),
            Mistake(
                "what was there",
                "x.grad holds the gain alone: what was in it before the call has been lost.",
                PASSES + "    x.grad = None\n" + LOOP + "        x.view(-1, 1).backward(g.clone())\n",
            ),
            Mistake("guard: wrote into an argument",
                "x.grad is right, but the caller's g holds other numbers now: your own code writes into it.",
                PASSES
                + "    part = g.clone()\n"
                + LOOP
                + "        x.view(-1, 1).backward(part.clone())\n"
                + "    g.mul_(times)\n",
            ),
        ),
        may_change=("x.grad",),
        check=check_05_6,
        puzzles=(26,),
    ),
]
