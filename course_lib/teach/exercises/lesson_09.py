"""The exercises of lesson 09: detach and the other ways out."""

import math
import random
import weakref

from course_lib.teach.exercises.outcomes import check_table, happens, judged_rows, outcome_table
from course_lib.teach.exercises.shared import agree, as_number, called, nodes_behind
from course_lib.teach.practice.exercise import Exercise, Mistake, almost, correct, not_yet

# --- predictions --------------------------------------------------------------------------------------------


def number_or_error(entry):
    """A number, also one written as text; "error" for a word that means it; other text as it is."""
    if not isinstance(entry, str):
        return as_number(entry)
    text = entry.strip().lower()
    try:
        return float(text)
    except ValueError:
        return "error" if "error" in text or text.startswith("raise") else text


def check_09_p1(answer, torch):
    """Run the program in its three forms and compare."""
    truth = []
    for leave in (lambda x: x.detach(), lambda x: x.data, lambda x: x.clone()):
        x = torch.tensor([3.0], requires_grad=True)
        y = (x * x).sum()
        leave(x)[0] = 30.0
        try:
            y.backward()
            truth.append(x.grad.item())
        except RuntimeError:
            truth.append("error")
    if not isinstance(answer, list | tuple) or len(answer) != 3:
        return not_yet('A list of three is wanted, such as [1, 2, "error"].')
    given = [number_or_error(each) for each in answer]
    if given == truth:
        return correct(
            "One is caught, one is silently wrong, one is harmless. Of the three, the error is the kind one."
        )
    named = (
        ([6.0, 6.0, 6.0], "all copies"),
        ([60.0, 60.0, 60.0], "all windows"),
        ([60.0, 60.0, 6.0], "no check"),
        (["error", "error", 6.0], "both checked"),
        (["error", "error", "error"], "all forbidden"),
        ([6.0, 60.0, 6.0], "detach copies"),
        (["error", 60.0, 60.0], "clone is a window"),
        (["error", 6.0, 6.0], "data copies"),
        ([60.0, "error", 6.0], "the other way round"),
    )
    for answers, name in named:
        if given == answers:
            return almost(name)
    ways = zip(("detach", ".data", "clone"), given, truth, strict=True)
    wrong = ", ".join(name for name, one, other in ways if one != other)
    count = sum(one == other for one, other in zip(given, truth, strict=True))
    return not_yet(f"{count} of 3 are right; look again at {wrong}. Whose memory is written, and whose counter moves?")


def check_09_p2(answer, torch):
    """Run the loop and note the step that raises."""
    w, h = torch.tensor(0.5, requires_grad=True), torch.tensor(1.0)
    truth = "never"
    for step in range(3):
        h = torch.tanh(w * h)
        loss = (h - 1) ** 2
        try:
            loss.backward()
        except RuntimeError:
            truth = step
            break
    given = answer.strip().lower().removeprefix("step").strip() if isinstance(answer, str) else answer
    if given == "never":
        return almost("never")
    value = as_number(given)
    if value is None:
        return not_yet('0, 1, 2 or "never" is wanted.')
    if value == truth:
        return correct("Step 0 is fine and empties its slots; step 1 reaches back into them.")
    named = {0.0: "at once", 2.0: "one too late", 3.0: "after the loop"}
    if value in named:
        return almost(named[value])
    return not_yet(f"There is no step {value:g}: the loop has the steps 0, 1 and 2.")


# --- exercises ----------------------------------------------------------------------------------------------


def measured_table(torch):
    """For each way out: does it share memory, does it share the counter, do gradients flow?"""

    def without_recording(x):
        with torch.no_grad():
            return x * 1

    ways = {
        "detach": lambda x: x.detach(),
        "data": lambda x: x.data,
        "clone": lambda x: x.clone(),
        "no_grad": without_recording,
        "both": lambda x: x.detach().clone(),
    }
    table = {}
    for name, leave in ways.items():
        x = torch.tensor([random.uniform(1, 2)], requires_grad=True)
        out = leave(x)
        before, version = x.item(), x._version
        with torch.no_grad():
            out.add_(1)
        memory, counter = x.item() != before, x._version != version
        fresh = leave(x)
        if fresh.requires_grad:
            (fresh * 1).sum().backward()
        table[name] = (memory, counter, x.grad is not None)
    return table


def check_09_1(answer, torch):
    """Measure every entry and compare."""
    truth = measured_table(torch)
    if not isinstance(answer, dict) or set(answer) != set(truth):
        return not_yet(f"Keep the dictionary with the keys {', '.join(truth)}.")
    given = {}
    for name, row in answer.items():
        if not isinstance(row, tuple | list) or len(row) != 3:
            return not_yet(f"{name}: three answers are wanted, such as (True, False, False); it is {row!r}.")
        if not all(entry in (True, False) for entry in row):
            return not_yet(f"{name}: each of the three is True or False; it is {row!r}.")
        given[name] = tuple(bool(entry) for entry in row)
    wrong = [name for name in truth if given[name] != truth[name]]
    named = {name: mistake for name in wrong if (mistake := mistake_in_row(name, given[name], truth[name]))}
    shown = "You can tell the five apart by what they share. `no_grad` and `both` share nothing."
    return judged_rows(wrong, list(truth), named, "rows are right") or correct(shown)


WRONG_ENTRIES = {  # (row, column) -> the mistake, when nothing before it in the row is wrong
    ("detach", 0): "detach copies",
    ("detach", 1): "detach is uncounted",
    ("detach", 2): "detach lets gradients through",
    ("data", 0): "data copies",
    ("data", 1): "data is counted",
    ("data", 2): "data lets gradients through",
    ("clone", 0): "clone shares",
    ("clone", 1): "a counter without memory",
    ("clone", 2): "clone cuts",
    ("no_grad", 0): "no_grad is a view",
    ("no_grad", 1): "a counter without memory",
    ("no_grad", 2): "no_grad records",
    ("both", 0): "both share",
    ("both", 1): "a counter without memory",
    ("both", 2): "clone reattaches",
}


def mistake_in_row(name, given, truth):
    """The name of the first mistake in a row of 09.1."""
    columns = [column for column in range(3) if given[column] != truth[column]]
    return WRONG_ENTRIES.get((name, columns[0]))


INFERENCE = "with torch.inference_mode(): f = torch.ones(1) * 2"
WHICH = {
    "A": (("y = (x * x).sum()", "x.data.fill_(30.0)", "y.backward()", "got = x.grad"), [6]),
    "B": (("y = (x * x).sum()", "x.detach().fill_(30.0)", "y.backward()", "got = x.grad"), [6]),
    "C": (("y = (x * 2).sum()", "x.detach().fill_(30.0)", "y.backward()", "got = x.grad"), [2]),
    "D": (("c = x.clone()", "(c * c).sum().backward()", "got = x.grad"), None),
    "E": ((INFERENCE, "y = (x * f).sum()", "y.backward()", "got = x.grad"), [2]),
    "F": ((INFERENCE, "y = (x + f).sum()", "y.backward()", "got = x.grad"), [1]),
    "G": (("with torch.no_grad(): h = x * x", "h.sum().backward()", "got = x.grad"), [6]),
}
SOLVED = {
    "A": "silently wrong",
    "B": "raises at backward",
    "C": "fine",
    "D": "silently wrong",
    "E": "raises now",
    "F": "fine",
    "G": "raises at backward",
}


def check_09_2(answer, torch):
    """Run all programs and compare the table."""

    def measure(letter):
        lines, wanted = WHICH[letter]
        space = {"torch": torch, "x": torch.tensor([3.0], requires_grad=True)}
        return happens(lines, space, lambda space: agree(space["got"], wanted))

    named = {
        ("A", "raises at backward"): "data is checked",
        ("A", "fine"): "data is harmless",
        ("B", "silently wrong"): "detach is unchecked",
        ("B", "raises now"): "detach refuses writes",
        ("B", "fine"): "detach is safe",
        ("G", "fine"): "no_grad is a detour",
        ("C", "raises at backward"): "every write is fatal",
        ("C", "silently wrong"): "every write is wrong",
        ("D", "fine"): "clone is a way out",
        ("E", "raises at backward"): "refused later",
        ("E", "fine"): "inference is no_grad",
        ("F", "raises now"): "inference is useless",
        ("G", "silently wrong"): "nothing recorded, nothing said",
        ("G", "raises now"): "h is refused",
        ("A", "raises now"): "data refuses writes",
        ("C", "raises now"): "a leaf is written to",
        ("D", "raises at backward"): "a clone cannot go back",
        ("E", "silently wrong"): "the factor is lost",
        ("F", "raises at backward"): "summands are read",
    }
    shown = "The silent ones are A and D: uncounted memory, and a copy that is still attached."
    return check_table(answer, WHICH, measure, named, shown)


def check_09_3(answer, torch):
    """Compare with the truncated gradient done by hand, and count how often w is reached."""
    for length, shape in ((1, (1,)), (4, (1,)), (3, ())):
        inputs = [random.uniform(-1, 1) for _ in range(length)]
        verdict = judged_steps(answer, torch, inputs, torch.full(shape, random.uniform(0.3, 0.9)).requires_grad_())
        if verdict:
            return verdict
    return correct("Each pass walks one step: the state crosses as a number, and memory stays flat.")


def judged_steps(answer, torch, inputs, w):
    """The verdict about one training run of 09.3, or None when it is right."""
    length, start, arrivals = len(inputs), w.item(), []
    w.register_hook(lambda grad: arrivals.append(grad.item()))
    try:
        last = answer(torch, w, [torch.tensor([x]) for x in inputs])
    except RuntimeError as error:
        if "second time" in str(error):
            return almost("two passes a step" if length == 1 else "still attached")
        if "does not require grad" in str(error):
            return almost("cut too early")
        raise
    if not hasattr(last, "tolist"):
        return almost("a number returned") if isinstance(last, float) else not_yet(
            f"Return the last state, a tensor; this is {last!r}.")  # fmt: skip
    state, own, through_all = by_hand(inputs, start)
    if not agree(last.tolist(), [state]):
        if agree(last.tolist(), [math.tanh(inputs[-1])]):
            return almost("forgets the state")
        return not_yet(f"The last state should be {state:.4f}, and {last.tolist()} came back.")
    got = 0.0 if w.grad is None else w.grad.item()
    if agree(got, sum(own)) and len(arrivals) == length:
        if last.grad_fn is not None and len(nodes_behind(last)) > 6:
            return not_yet("The state that comes back still carries the graphs of all steps.")
        return None
    if length > 1 and len(arrivals) == length and agree(arrivals, own) and agree(got, own[-1]):
        return almost("last step only")
    if agree(got, through_all) and len(arrivals) in (1, length):
        return almost("retains everything" if len(arrivals) == length else "one pass at the end")
    if len(arrivals) != length:
        return not_yet(f"Steps: {length}. Backward passes that reached w: {len(arrivals)}. Each step wants one.")
    return not_yet(f"The steps' own gradients add up to {sum(own):.4f}; w.grad is {got:.4f}.")


def by_hand(inputs, w):
    """The last state, each step's own gradient, and the gradient of all losses through all steps."""
    h, own, carried, through_all = 0.0, [], 0.0, 0.0
    for x in inputs:
        before, h = h, math.tanh(w * h + x)
        own.append(2 * h * (1 - h * h) * before)
        carried = (1 - h * h) * (before + w * carried)
        through_all += 2 * h * carried
    return h, own, through_all


def check_09_4(answer, torch):
    """Play some rounds and compare both players with the same moves done by hand."""
    for shape, dtype in (((), torch.float32), ((1,), torch.float64)):
        z, real, lr = random.uniform(0.5, 2), random.uniform(3, 4), random.uniform(0.05, 0.2)
        g, d = (torch.full(shape, random.uniform(0.5, 2), dtype=dtype).requires_grad_() for _ in "gd")
        for turn in range(3):
            verdict = judged_turn(answer, torch, g, d, z, real, lr, turn)
            if verdict:
                return verdict
    return correct(
        "Each loss moves its own player: g is scored again by the new d, and nothing is left over in .grad."
    )


check_09_4.prepare = lambda torch: torch.optim.SGD([torch.ones(1)], lr=0.1)  # PyTorch's first one imports for seconds


def judged_turn(answer, torch, g, d, z, real, lr, turn):
    """The verdict about one call of `play`, or None when both players have moved as they should."""
    if not (g.requires_grad and d.requires_grad):
        return almost("a player frozen")
    at_g, at_d = g.item(), d.item()
    left_g, left_d = (0.0 if player.grad is None else player.grad.item() for player in (g, d))
    versions, to_g, to_d = (g._version, d._version), [], []
    hooks = [player.register_hook(arrived.append) for player, arrived in ((g, to_g), (d, to_d))]
    try:
        answer(torch, g, d, torch.full(g.shape, z, dtype=g.dtype), torch.full(g.shape, real, dtype=g.dtype), lr)
    except TypeError as error:
        if "NoneType" not in str(error):
            raise
        return no_gradient(to_g, to_d)
    except RuntimeError as error:
        return refused_pass(error, d._version != versions[1])
    finally:
        for hook in hooks:
            hook.remove()
    of_d = at_g * z - real  # the gradient of d's own loss
    want_d = at_d - lr * of_d
    want_g = at_g + lr * want_d * z
    got_g, got_d = g.item(), d.item()
    if agree(got_g, want_g) and agree(got_d, want_d):
        return almost("uncounted write") if d._version == versions[1] or g._version == versions[0] else None
    first, right_d = turn == 0, agree(got_d, want_d)
    if first and right_d and agree(got_g, at_g):
        return almost("generator not moved") if to_g else no_gradient(to_g, to_d)
    if first and agree(got_d, at_d) and agree(got_g, want_g):
        return almost("another d")
    if first and agree(got_d, at_d + lr * of_d):
        return almost("d climbs")
    if first and right_d and agree(got_g, at_g - lr * want_d * z):
        return almost("g climbs")
    if first and right_d and agree(got_g, at_g + lr * (want_d - at_d) * z):
        return almost("d's loss moves g")
    if first and agree(got_g, at_g + lr * at_d * z):
        if agree(got_d, at_d + lr * real):
            return almost("both passes first")
        if right_d:
            return almost("scored by the old d")
        if agree(got_d, at_d - lr * (got_g * z - real)):
            return almost("generator first")
    if agree(got_d, at_d) and agree(got_g, at_g):
        return almost("neither moved")
    for more_d, more_g in ((left_d, left_g), (left_d, 0.0), (0.0, left_g)):
        stale_d = at_d - lr * (of_d + more_d)
        if agree(got_d, stale_d) and agree(got_g, at_g + lr * (stale_d * z - more_g)):
            return almost("leftovers")
    return not_yet(
        f"Call {turn + 1}: from g={at_g:.3f}, d={at_d:.3f} the step leads to g={got_g:.3f}, d={got_d:.3f}; "
        f"by hand it is g={want_g:.3f}, d={want_d:.3f}."
    )


def no_gradient(to_g, to_d):
    """The verdict when a .grad was None where it was wanted; to_g, to_d: what arrived at the players."""
    if not to_g and not to_d:
        return not_yet("No backward pass has brought either player a gradient, and a `.grad` is used.")
    if not to_d:
        return almost("no gradient for d")
    if to_g:
        return almost("cleared before use")
    return almost("detached for g" if len(to_d) > 1 and not to_g else "untrained generator")


def refused_pass(error, d_moved):
    """The verdict about a backward pass that raised; other errors are raised again."""
    if "modified by an inplace operation" in str(error) and d_moved:
        return almost("stale score")
    if "does not require grad" in str(error):
        return almost("generator without graph")
    if "second time" in str(error):
        return almost("shared graph released")
    raise error


def check_09_5(answer, torch):
    """Count what is alive whenever the next batch begins, and look at the total and at .grad."""
    for preset in (None, random.uniform(1, 2)):
        w = torch.tensor([random.uniform(0.5, 1.5)], requires_grad=True)
        w.grad = None if preset is None else torch.tensor([preset])
        verdict = judged_epoch(answer, torch, w, [random.uniform(0.5, 2) for _ in range(random.choice((4, 6)))])
        if verdict is None and not agree(w.grad, None if preset is None else [preset]):
            verdict = almost("backward in validation")
        if verdict:
            return verdict
    return correct("Numbers add up, graphs do not: each batch's activations are gone before the next begins.")


def judged_epoch(answer, torch, w, batches):
    """The verdict about one run over the batches of 09.5, or None when it is right."""
    before = None if w.grad is None else w.grad.tolist()
    weight = w.item()
    truth = sum((weight * batch) ** 2 for batch in batches)
    activations, losses, most = [], [], [0, 0]

    def loss_of(batch):
        most[0] = max(most[0], _alive(activations))
        most[1] = max(most[1], _alive(losses))
        activation = w * batch
        loss = (activation * activation).sum()
        activations.append(weakref.ref(activation))
        if loss.grad_fn is not None:  # under no_grad a loss is one number, and holds nothing else alive
            losses.append(weakref.ref(loss))
        return loss

    total = answer(torch, loss_of, list(batches))
    if not agree(w.grad, before):
        return almost("backward in validation")
    if hasattr(total, "requires_grad"):
        return almost("returns the graph" if total.requires_grad else "returns a tensor")
    value = None if isinstance(total, str) else as_number(total)
    if value is None:
        return not_yet(f"A number is wanted, and this is {total!r}.")
    if agree(value, truth / len(batches)):
        return almost("average")
    if agree(value, (weight * batches[-1]) ** 2):
        return almost("last only")
    if not agree(value, truth):
        return not_yet(
            f"The losses of the {len(batches)} batches add up to {truth:.4f}, and you returned {value:.4f}."
        )
    if len(activations) != len(batches):
        return not_yet(f"There are {len(batches)} batches, and loss_of was called {len(activations)} times.")
    if most[1] > 1:
        return almost("keeps the losses")
    if most[0] > 1:
        return almost("adds attached losses")
    if most[0]:
        return almost("no_grad too late" if called(answer, "no_grad", "set_grad_enabled") else "the loss before")
    return None


def _alive(references):
    return sum(reference() is not None for reference in references)


TRAIN = "def train(torch, w, inputs):\n    h = torch.zeros(1)\n"
LOOP = "    for x in inputs:\n"
STATE = "        h = torch.tanh(w * h + x)\n"
GAN = "def play(torch, g, d, z, real, lr):\n"
EVAL = "def evaluate(torch, loss_of, batches):\n"
RIGHT = {
    "detach": (True, True, False),
    "data": (True, False, False),
    "clone": (False, False, True),
    "no_grad": (False, False, False),
    "both": (False, False, False),
}


def table_source(**changes):
    """Source text of the whole table of 09.1, with some rows changed."""
    return f"table = { ({**RIGHT, **changes})!r}\n"


EXERCISES = [
    Exercise(
        id="09.p1",
        kind="predict",
        title="Three ways to write 30",
        question=(
            "`x` is 3, `y = (x * x).sum()`; then 30 is written through `x.detach()`, `x.data` or "
            "`x.clone()`, and "
            'backward runs. What is `x.grad` each time: a number, or "error"?'
        ),
        minutes=2,
        difficulty=2,
        name="answer",
        starter="answer = None\n",
        hints=(
            "What does the product keep for backward: a copy of x, or x itself? Which of the three write to "
            "x?",
            "Lesson 07: the check compares the counter at saving with the counter now. Whose counter moves?",
        ),
        solution='answer = ["error", 60, 6]\n',
        why=(
            "The product kept x itself. detach shares x's memory and counter, .data only the memory, and "
            "clone neither of them."
        ),
        alternatives=('answer = ("error", 60.0, 6.0)\n', 'answer = ["Raises", "60", "6"]\n'),
        mistakes=(
            Mistake(
                "all copies",
                "6 three times would need three copies; only clone makes one.",
                "answer = [6, 6, 6]\n",
            ),
            Mistake(
                "all windows",
                "60 three times would need three windows on x; clone has memory of its own.",
                "answer = [60, 60, 60]\n",
            ),
            Mistake(
                "no check",
                "The memory is right in all three, but somebody is watching: with detach, the counter moves "
                "as well.",
                "answer = [60, 60, 6]\n",
            ),
            Mistake(
                "both checked",
                "An error is what detach gives; `.data` has a counter of its own, and nobody compares that "
                "one.",
                'answer = ["error", "error", 6]\n',
            ),
            Mistake(
                "all forbidden",
                "Writing is allowed in all three; backward complains only if a counter that it checks has "
                "moved.",
                'answer = ["error", "error", "error"]\n',
            ),
            Mistake(
                "detach copies",
                "detach makes no copy: the write reaches x, and it is noticed.",
                "answer = [6, 60, 6]\n",
            ),
            Mistake(
                "clone is a window",
                "Two of three. clone() has numbers of its own, so what is written there never reaches x.",
                "answer = ['error', 60, 60]\n",
            ),
            Mistake(
                "data copies",
                "Two of three. `.data` makes no copy: the 30 lands in x, and the product kept x.",
                "answer = ['error', 6, 6]\n",
            ),
            Mistake(
                "the other way round",
                "detach and .data are the other way round: detach is the one that shares the counter.",
                'answer = [60, "error", 6]\n',
            ),
        ),
        check=check_09_p1,
        puzzles=(15,),
    ),
    Exercise(
        id="09.p2",
        kind="predict",
        title="A state that is carried over",
        question='In which step does the backward pass of the recurrent loop raise: 0, 1, 2 or "never"?',
        minutes=1,
        difficulty=2,
        name="answer",
        starter="answer = None\n",
        hints=(
            "What does a backward pass do to the slots of the nodes it ran?",
            "The loss of step 1 depends on h of step 0. Does the pass stop there?",
        ),
        solution="answer = 1\n",
        why="Step 0 releases what its nodes kept; step 1 walks through h into those nodes.",
        alternatives=("answer = 1.0\n",),
        mistakes=(
            Mistake(
                "at once",
                "Step 0 has only its own graph, and nothing of it has been released yet.",
                "answer = 0\n",
            ),
            Mistake(
                "one too late",
                "Step 2 is never reached: the pass of step 1 already needs what step 0 has released.",
                "answer = 2\n",
            ),
            Mistake(
                "never",
                "`h` is a new tensor in each step, but its grad_fn leads back to the step before.",
                'answer = "never"\n',
            ),
            Mistake(
                "after the loop",
                "The loop has the steps 0, 1 and 2, and does not get to its end.",
                "answer = 3\n",
            ),
        ),
        check=check_09_p2,
        puzzles=(7,),
    ),
    Exercise(
        id="09.1",
        kind="predict state",
        title="Fill the table",
        question=(
            "For detach, data, clone, no_grad (`x * 1` inside) and both (`x.detach().clone()`): shares "
            "memory? a write moves x's counter? gradients flow to x? Three booleans each."
        ),
        minutes=6,
        difficulty=2,
        name="table",
        starter='table = {"detach": None, "data": None, "clone": None, "no_grad": None, "both": None}\n',
        hints=(
            "Start with memory: which of the five make new numbers, and which show the old ones?",
            "Without shared memory there is no shared counter. For the third column ask: was the operation "
            "recorded?",
        ),
        solution=table_source(),
        why=(
            "detach and .data are windows on x, with and without its counter; the others have memory of "
            "their own."
        ),
        alternatives=(
            "cut = (False, False, False)\n"
            "table = dict(no_grad=cut, both=cut, clone=(False, False, True))\n"
            "table.update(detach=(True, True, False), data=(True, False, False))\n",
        ),
        mistakes=(
            Mistake(
                "detach copies",
                "detach: it makes no copy; a write to the result changes x.",
                table_source(detach=(False, False, False)),
            ),
            Mistake(
                "detach is uncounted",
                "detach: the counter goes with it, which is why the check catches such a write.",
                table_source(detach=(True, False, False)),
            ),
            Mistake(
                "data copies",
                "data: no copy here either; x holds whatever is written through `.data`.",
                table_source(data=(False, False, False)),
            ),
            Mistake(
                "data is counted",
                "data: the memory is x's, the counter is not; hence 60 for 6.",
                table_source(data=(True, True, False)),
            ),
            Mistake(
                "clone cuts",
                "clone: copying is an operation, it is recorded, and gradients flow back through it.",
                table_source(clone=(False, False, False)),
            ),
            Mistake(
                "clone shares",
                "clone: the copy has numbers of its own, and writing to it leaves x alone.",
                table_source(clone=(True, True, True)),
            ),
            Mistake(
                "no_grad records",
                "no_grad: that is just what it does not do; the result has no history.",
                table_source(no_grad=(False, False, True)),
            ),
            Mistake(
                "no_grad is a view",
                "no_grad: `x * 1` computes new numbers, inside as outside; only the recording is off.",
                table_source(no_grad=(True, True, False)),
            ),
            Mistake(
                "clone reattaches",
                "both: after detach there is no path left, and a copy of the result does not bring one back.",
                table_source(both=(False, False, True)),
            ),
            Mistake(
                "both share",
                "both: clone copies, whatever it is called on; a write to the copy reaches nobody else.",
                table_source(both=(True, True, False)),
            ),
            Mistake(
                "detach lets gradients through",
                "detach: no operation is recorded, so no arrow leads from the result back to x.",
                table_source(detach=(True, True, True)),
            ),
            Mistake(
                "data lets gradients through",
                "data: like detach, it hands out a tensor without history; a backward pass does not get from it to x.",
                table_source(data=(True, False, True)),
            ),
            Mistake(
                "a counter without memory",
                "A counter counts the writes to one memory. A result in a memory of its own does not move the "
                "counter of x, even if it is still in the graph.",
                table_source(clone=(False, True, True)),
            ),
        ),
        check=check_09_1,
        puzzles=(15,),
    ),
    Exercise(
        id="09.2",
        kind="which happens",
        title="Which happens?",
        question="For each of the programs A to G: raises now, raises at backward, silently wrong, or fine?",
        minutes=8,
        difficulty=3,
        name="verdicts",
        starter='verdicts = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None, "G": None}\n',
        hints=(
            "For A to C: what did the operation keep, and whose counter did the write move?",
            "For E to G: does the operation have to save the tensor? And is there a graph to walk at all?",
        ),
        solution=outcome_table("verdicts", SOLVED),
        why=(
            "A write matters only where the written tensor was kept (A, B, not C), and is caught only where "
            "it is counted (B). A product must save the inference tensor, a sum need not."
        ),
        alternatives=(
            'verdicts = dict.fromkeys("CF", "fine") | dict.fromkeys("AD", "silently wrong")\n'
            'verdicts |= dict.fromkeys("BG", "raises at backward") | {"E": "raises now"}\n',
        ),
        mistakes=(
            Mistake(
                "data is checked",
                "A: the check compares x's counter, and a write through .data moves another one.",
                outcome_table("verdicts", SOLVED, {"A": "raises at backward"}),
            ),
            Mistake(
                "data is harmless",
                "A: the product kept x itself, so the new 30 takes part in the slope.",
                outcome_table("verdicts", SOLVED, {"A": "fine"}),
            ),
            Mistake(
                "detach is unchecked",
                "B: the result of detach shares x's counter, so this write is seen.",
                outcome_table("verdicts", SOLVED, {"B": "silently wrong"}),
            ),
            Mistake(
                "detach refuses writes",
                "B: the write itself is allowed, for a detached tensor requires no grad; the check comes "
                "later.",
                outcome_table("verdicts", SOLVED, {"B": "raises now"}),
            ),
            Mistake(
                "detach is safe",
                "B: detach copies nothing. The 30 lands in x's memory, which the product kept.",
                outcome_table("verdicts", SOLVED, {"B": "fine"}),
            ),
            Mistake(
                "no_grad is a detour",
                "G: what is computed under no_grad has no way back to x, however it is used later.",
                outcome_table("verdicts", SOLVED, {"G": "fine"}),
            ),
            Mistake(
                "every write is fatal",
                "C: x * 2 keeps the 2 and not x; nobody asks about x's version.",
                outcome_table("verdicts", SOLVED, {"C": "raises at backward"}),
            ),
            Mistake(
                "every write is wrong",
                "C: the slope of x * 2 is 2, whatever x holds now.",
                outcome_table("verdicts", SOLVED, {"C": "silently wrong"}),
            ),
            Mistake(
                "clone is a way out",
                "D: a clone is still in the graph, so x does get a gradient.",
                outcome_table("verdicts", SOLVED, {"D": "fine"}),
            ),
            Mistake(
                "refused later",
                "E: the product has to save f when it runs, so it is refused there, before any backward.",
                outcome_table("verdicts", SOLVED, {"E": "raises at backward"}),
            ),
            Mistake(
                "inference is no_grad",
                "E: under no_grad this would be fine; an inference tensor may not be saved for backward.",
                outcome_table("verdicts", SOLVED, {"E": "fine"}),
            ),
            Mistake(
                "inference is useless",
                "F: a sum saves neither summand, so nothing stands against it.",
                outcome_table("verdicts", SOLVED, {"F": "raises now"}),
            ),
            Mistake(
                "nothing recorded, nothing said",
                "G: h has no grad_fn, and backward says so instead of doing nothing.",
                outcome_table("verdicts", SOLVED, {"G": "silently wrong"}),
            ),
            Mistake(
                "h is refused",
                "G: h is an ordinary tensor, and sum() takes it. It is backward() that finds no graph.",
                outcome_table("verdicts", SOLVED, {"G": "raises now"}),
            ),
            Mistake(
                "data refuses writes",
                "A: what `.data` gives is no leaf that requires grad; it requires none, so it may be written to.",
                outcome_table("verdicts", SOLVED, {"A": "raises now"}),
            ),
            Mistake(
                "a leaf is written to",
                "C: x itself may not be written to while operations are recorded. The detached tensor requires no "
                "grad, and may.",
                outcome_table("verdicts", SOLVED, {"C": "raises now"}),
            ),
            Mistake(
                "a clone cannot go back",
                "D: nothing was written to, and nothing was released. The pass goes through CloneBackward to x.",
                outcome_table("verdicts", SOLVED, {"D": "raises at backward"}),
            ),
            Mistake(
                "the factor is lost",
                "E: no number is wrong here, for none is computed: the product cannot keep f for backward.",
                outcome_table("verdicts", SOLVED, {"E": "silently wrong"}),
            ),
            Mistake(
                "summands are read",
                "F: the slope of a sum is 1 for each summand, so backward reads neither of them.",
                outcome_table("verdicts", SOLVED, {"F": "raises at backward"}),
            ),
        ),
        check=check_09_2,
        puzzles=(1, 15, 21),
    ),
    Exercise(
        id="09.3",
        kind="repair",
        title="Carry the state",
        question=(
            "Repair the loop with one call: each step learns from its own loss, and the state arrives from "
            "the step before as a number. Return the last state."
        ),
        minutes=5,
        difficulty=2,
        name="train",
        starter=TRAIN + LOOP + STATE + "        (h * h).sum().backward()\n    return h\n",
        hints=(
            "Which tensor connects one step with the step before?",
            "Cut it after the backward pass of its own step, or just before it is used in the next.",
        ),
        solution=TRAIN
        + LOOP
        + STATE
        + "        (h * h).sum().backward()\n        h = h.detach()\n    return h\n",
        why="After its own backward the state is only a number, and detach says so.",
        alternatives=(
            TRAIN
            + LOOP
            + "        h = torch.tanh(w * h.detach() + x)\n        (h * h).sum().backward()\n    return h\n",
            TRAIN
            + LOOP
            + STATE
            + "        (h * h).sum().backward()\n        h = torch.tensor([h.item()])\n    return h\n",
            TRAIN + LOOP + STATE + "        (h * h).sum().backward()\n        h.detach_()\n    return h\n",
        ),
        mistakes=(
            Mistake(
                "retains everything",
                "It runs, but each pass walks through all earlier steps: slower each time, and another "
                "gradient.",
                TRAIN + LOOP + STATE + "        (h * h).sum().backward(retain_graph=True)\n    return h\n",
            ),
            Mistake(
                "still attached",
                "A pass walks into a step that an earlier pass has emptied: what crosses from step to step is "
                "attached, be it the state, copied or not, or a sum of losses.",
                TRAIN
                + LOOP
                + STATE
                + "        (h * h).sum().backward()\n        h = h.clone()\n    return h\n",
            ),
            Mistake(
                "cut too early",
                "The loss of a step has no graph, so nothing leads from it to w. Is something cut before that "
                "step's own backward?",
                TRAIN
                + LOOP
                + STATE
                + "        h = h.detach()\n        (h * h).sum().backward()\n    return h\n",
            ),
            Mistake(
                "forgets the state",
                "The graphs are separate now, but so are the values: the state does not arrive in the next "
                "step.",
                TRAIN
                + LOOP
                + STATE
                + "        (h * h).sum().backward()\n        last, h = h, torch.zeros(1)\n    return last\n",
            ),
            Mistake(
                "guard: wrote into an argument",
                "",
                TRAIN
                + LOOP
                + "        h = torch.tanh(x.add_(w * h.detach()))\n        (h * h).sum().backward()\n    return h\n",
            ),
            Mistake(
                "guard: wrote into an argument, by a step",
                "",
                TRAIN
                + LOOP
                + STATE.replace("w * h", "w * h.detach()")
                + "        (h * h).sum().backward()\n        w.data -= 0.1 * w.grad\n    return h\n",
            ),
            Mistake(
                "last step only",
                "Each step's gradient arrives, but clearing in the loop leaves only that of the last one.",
                TRAIN
                + LOOP
                + "        w.grad = None\n"
                + STATE.replace("w * h", "w * h.detach()")
                + "        (h * h).sum().backward()\n    return h\n",
            ),
            Mistake(
                "one pass at the end",
                "One pass over all steps: each step was to have a backward of its own, reaching no further "
                "back.",
                TRAIN
                + "    loss = 0.0\n"
                + LOOP
                + STATE
                + "        loss = loss + (h * h).sum()\n    loss.backward()\n    return h\n",
            ),
            Mistake(
                "two passes a step",
                "With a single input it raises already, so the state is not to blame: the graph of one step is walked "
                "a second time. Each step wants one backward.",
                TRAIN
                + LOOP
                + STATE.replace("w * h", "w * h.detach()")
                + "        loss = (h * h).sum()\n        loss.backward()\n        loss.backward()\n    return h\n",
            ),
            Mistake(
                "a number returned",
                "A Python number came back. The last state is wanted as the tensor that it is in the loop.",
                TRAIN
                + LOOP
                + STATE
                + "        (h * h).sum().backward()\n        h = h.detach()\n    return h.item()\n",
            ),
            Mistake(
                "guard: left a setting",
                "",
                TRAIN
                + LOOP
                + "        torch.set_grad_enabled(True)\n"
                + STATE
                + "        (h * h).sum().backward()\n        torch.set_grad_enabled(False)\n        h = h.clone()\n"
                + "    return h\n",
            ),
        ),
        may_change=("w.grad",),
        check=check_09_3,
        puzzles=(7, 8),
    ),
    Exercise(
        id="09.4",
        kind="repair",
        title="Two players",
        question=(
            "d lowers `d * fake - d * real`, then g (fake = g * z) lowers `-(d * fake)` as scored by the new "
            "d. Each moves by a counted in-place write of -lr times the gradient of its own loss, in every "
            "call."
        ),
        minutes=10,
        difficulty=3,
        name="play",
        starter=(
            GAN
            + "    fake = g * z\n"
            + "    score = d * fake\n"
            + "    (score - d * real).backward()\n"
            + "    with torch.no_grad():\n"
            + "        d -= lr * d.grad\n"
            + "    (-score).backward()\n"
            + "    with torch.no_grad():\n"
            + "        g -= lr * g.grad\n"
            + "    g.grad = d.grad = None\n"
        ),
        hints=(
            "Two losses, two scores. Which of them may reach g, and which must not?",
            "d's loss sees `fake.detach()`. g's score is made after d has moved. And what has g's backward "
            "left in d.grad?",
        ),
        solution=(
            GAN
            + "    fake = g * z\n"
            + "    (d * fake.detach() - d * real).backward()\n"
            + "    with torch.no_grad():\n"
            + "        d -= lr * d.grad\n"
            + "    (-(d * fake)).backward()\n"
            + "    with torch.no_grad():\n"
            + "        g -= lr * g.grad\n"
            + "    g.grad = d.grad = None\n"
        ),
        why=(
            "detach keeps d's loss away from g and its graph; scoring again uses the new d; clearing throws "
            "away what g's pass left in d.grad."
        ),
        alternatives=(
            GAN
            + "    loss_d = d * (g * z) - d * real\n"
            + "    (of_d,) = torch.autograd.grad(loss_d, [d])\n"
            + "    with torch.no_grad():\n"
            + "        d.sub_(lr * of_d)\n"
            + "    (of_g,) = torch.autograd.grad(-(d * (g * z)), [g])\n"
            + "    with torch.no_grad():\n"
            + "        g.sub_(lr * of_g)\n",
            GAN
            + "    g.grad = d.grad = None\n"
            + "    (d * (g * z).detach() - d * real).backward()\n"
            + "    with torch.no_grad():\n"
            + "        d.sub_(d.grad, alpha=lr)\n"
            + "    (-(d.detach() * g * z)).backward()\n"
            + "    with torch.no_grad():\n"
            + "        g.copy_(g - lr * g.grad)\n",
        ),
        mistakes=(
            Mistake(
                "stale score",
                "The first error is gone and the next is here: a pass needs d as it was when the score was made, and "
                "d has moved since.",
                GAN
                + "    fake = g * z\n"
                + "    score = d * fake\n"
                + "    (score - d * real).backward(retain_graph=True)\n"
                + "    with torch.no_grad():\n"
                + "        d -= lr * d.grad\n"
                + "    (-score).backward()\n"
                + "    with torch.no_grad():\n"
                + "        g -= lr * g.grad\n"
                + "    g.grad = d.grad = None\n",
            ),
            Mistake(
                "detached for g",
                "g gets no gradient: the pass from its own loss has reached d, and found no way to g. Something in "
                "the generator's own branch is cut off.",
                GAN
                + "    fake = g * z\n"
                + "    (d * fake.detach() - d * real).backward()\n"
                + "    with torch.no_grad():\n"
                + "        d -= lr * d.grad\n"
                + "    (-(d * fake.detach())).backward()\n"
                + "    with torch.no_grad():\n"
                + "        g -= lr * g.grad\n"
                + "    g.grad = d.grad = None\n",
            ),
            Mistake(
                "no gradient for d",
                "d gets no gradient from its own loss: something is cut off in its branch. What may be cut there is "
                "the fake, not the score.",
                GAN
                + "    fake = g * z\n"
                + "    (d.detach() * (fake - real)).backward()\n"
                + "    with torch.no_grad():\n"
                + "        d -= lr * d.grad\n"
                + "    (-(d * fake)).backward()\n"
                + "    with torch.no_grad():\n"
                + "        g -= lr * g.grad\n"
                + "    g.grad = d.grad = None\n",
            ),
            Mistake(
                "d's loss moves g",
                "The discriminator's loss reaches g as well: its part of g.grad pulls the generator the "
                "other way.",
                GAN
                + "    (d * (g * z) - d * real).backward()\n"
                + "    with torch.no_grad():\n"
                + "        d -= lr * d.grad\n"
                + "    (-(d * (g * z))).backward()\n"
                + "    with torch.no_grad():\n"
                + "        g -= lr * g.grad\n"
                + "    g.grad = d.grad = None\n",
            ),
            Mistake(
                "leftovers",
                "The first call is right, a later one is not: some .grad still holds what an earlier pass "
                "left in it.",
                GAN
                + "    fake = g * z\n"
                + "    (d * fake.detach() - d * real).backward()\n"
                + "    with torch.no_grad():\n"
                + "        d -= lr * d.grad\n"
                + "    (-(d * fake)).backward()\n"
                + "    with torch.no_grad():\n"
                + "        g -= lr * g.grad\n"
                + "    g.grad = None\n",
            ),
            Mistake(
                "scored by the old d",
                "g was scored by the d of before the step; the new d was asked for.",
                GAN
                + "    fake = g * z\n"
                + "    (of_g,) = torch.autograd.grad(-(d * fake), [g])\n"
                + "    (of_d,) = torch.autograd.grad(d * fake.detach() - d * real, [d])\n"
                + "    with torch.no_grad():\n"
                + "        d -= lr * of_d\n"
                + "        g -= lr * of_g\n",
            ),
            Mistake(
                "uncounted write",
                "The numbers are right, but the write to a player was not counted: that is how a stale score goes "
                "unnoticed. Write under no_grad, and score again.",
                GAN
                + "    fake = g * z\n"
                + "    score = d * fake\n"
                + "    (score - d * real).backward(retain_graph=True)\n"
                + "    d.data -= lr * d.grad\n"
                + "    g.grad = None\n"
                + "    (-score).backward()\n"
                + "    g.data -= lr * g.grad\n"
                + "    g.grad = d.grad = None\n",
            ),
            Mistake(
                "both passes first",
                "Both passes ran before any step: d.grad then holds the generator's part as well, and g was "
                "scored by the old d.",
                GAN
                + "    fake = g * z\n"
                + "    (d * fake.detach() - d * real).backward()\n"
                + "    (-(d * fake)).backward()\n"
                + "    with torch.no_grad():\n"
                + "        d -= lr * d.grad\n"
                + "        g -= lr * g.grad\n"
                + "    g.grad = d.grad = None\n",
            ),
            Mistake(
                "generator first",
                "The generator moved first, and d then judged a fake that was already better.",
                GAN
                + "    (-(d * (g * z))).backward()\n"
                + "    with torch.no_grad():\n"
                + "        g -= lr * g.grad\n"
                + "    d.grad = None\n"
                + "    (d * (g * z).detach() - d * real).backward()\n"
                + "    with torch.no_grad():\n"
                + "        d -= lr * d.grad\n"
                + "    g.grad = d.grad = None\n",
            ),
            Mistake(
                "generator without graph",
                "A loss requires no grad: what it is made of was not recorded, or was cut off, so there is no graph "
                "through which a player could learn.",
                GAN
                + "    with torch.no_grad():\n"
                + "        fake = g * z\n"
                + "    (d * fake - d * real).backward()\n"
                + "    with torch.no_grad():\n"
                + "        d -= lr * d.grad\n"
                + "    (-(d.detach() * fake)).backward()\n"
                + "    with torch.no_grad():\n"
                + "        g -= lr * g.grad\n"
                + "    g.grad = d.grad = None\n",
            ),
            Mistake(
                "another d",
                "g was scored by a d that has moved, but the caller's d has not. `d = d - …` makes a new tensor, "
                "which is called d inside the function only.",
                GAN
                + "    fake = g * z\n"
                + "    (d * fake.detach() - d * real).backward()\n"
                + "    d = d - lr * d.grad\n"
                + "    (-(d * fake)).backward()\n"
                + "    with torch.no_grad():\n"
                + "        g -= lr * g.grad\n"
                + "    g.grad = None\n",
            ),
            Mistake(
                "shared graph released",
                "A pass walks through a graph that an earlier pass has released. Whatever both losses lead through, "
                "such as `fake`, is released by the first.",
                GAN
                + "    fake = g * z\n"
                + "    (d * fake - d * real).backward()\n"
                + "    with torch.no_grad():\n"
                + "        d -= lr * d.grad\n"
                + "    g.grad = None\n"
                + "    (-(d * fake)).backward()\n"
                + "    with torch.no_grad():\n"
                + "        g -= lr * g.grad\n"
                + "    g.grad = d.grad = None\n",
            ),
            Mistake(
                "untrained generator",
                "g is to be moved, and no gradient has come to it: no pass from a loss of its own has reached it.",
                GAN
                + "    fake = g * z\n"
                + "    (d * fake.detach() - d * real).backward()\n"
                + "    with torch.no_grad():\n"
                + "        d -= lr * d.grad\n"
                + "    d.grad = None\n",
            ),
            Mistake(
                "generator not moved",
                "A gradient has come to g, and g is where it was: no write of yours has moved it.",
                GAN
                + "    (d * (g * z).detach() - d * real).backward()\n"
                + "    with torch.no_grad():\n"
                + "        d -= lr * d.grad\n"
                + "    (-(d * (g * z))).backward()\n"
                + "    g.grad = d.grad = None\n",
            ),
            Mistake(
                "cleared before use",
                "Gradients have come to both players, and a `.grad` is None when it is used: it was cleared too early.",
                GAN
                + "    (d * (g * z).detach() - d * real).backward()\n"
                + "    with torch.no_grad():\n"
                + "        d -= lr * d.grad\n"
                + "    (-(d * (g * z))).backward()\n"
                + "    g.grad = d.grad = None\n"
                + "    with torch.no_grad():\n"
                + "        g -= lr * g.grad\n",
            ),
            Mistake(
                "neither moved",
                "Neither player has moved. The caller's tensors must be written to; `g = g - …` only gives the name g "
                "to a new tensor.",
                GAN
                + "    (d * (g * z).detach() - d * real).backward()\n"
                + "    new_d = (d - lr * d.grad).detach()\n"
                + "    (-(new_d * (g * z))).backward()\n"
                + "    g, d = g - lr * g.grad, new_d\n",
            ),
            Mistake(
                "a player frozen",
                "After a call, a player no longer requires grad, so in the next call no gradient can come to it.",
                GAN
                + "    g.requires_grad_(False)\n"
                + "    (d * (g * z) - d * real).backward()\n"
                + "    with torch.no_grad():\n"
                + "        d -= lr * d.grad\n"
                + "    g.requires_grad_(True)\n"
                + "    d.requires_grad_(False)\n"
                + "    (-(d * (g * z))).backward()\n"
                + "    with torch.no_grad():\n"
                + "        g -= lr * g.grad\n"
                + "    g.grad = d.grad = None\n",
            ),
            Mistake(
                "d climbs",
                "d goes up its loss instead of down: a player moves by -lr times the gradient.",
                GAN
                + "    (-(d * (g * z).detach() - d * real)).backward()\n"
                + "    with torch.no_grad():\n"
                + "        d -= lr * d.grad\n"
                + "    (-(d * (g * z))).backward()\n"
                + "    with torch.no_grad():\n"
                + "        g -= lr * g.grad\n"
                + "    g.grad = d.grad = None\n",
            ),
            Mistake(
                "g climbs",
                "g makes the score smaller. Its loss is `-(d * fake)`: the generator wants a high score.",
                GAN
                + "    (d * (g * z).detach() - d * real).backward()\n"
                + "    with torch.no_grad():\n"
                + "        d -= lr * d.grad\n"
                + "    (d * (g * z)).backward()\n"
                + "    with torch.no_grad():\n"
                + "        g -= lr * g.grad\n"
                + "    g.grad = d.grad = None\n",
            ),
        ),
        may_change=("g", "d"),
        check=check_09_4,
        puzzles=(9,),
    ),
    Exercise(
        id="09.5",
        kind="diagnose",
        title="A bug report: validation runs out of memory",
        question=(
            "Return the total of `loss_of(batch)` over all batches as a Python number, with at most one "
            "batch's activations alive at a time (they are gone when the next forward begins), and leave every "
            "`.grad` alone."
        ),
        minutes=8,
        difficulty=2,
        name="evaluate",
        starter=(
            EVAL
            + "    total = 0.0\n"
            + "    for batch in batches:\n"
            + "        total = total + loss_of(batch)\n"
            + "    return total.item()\n"
        ),
        hints=(
            "What is `total` after the second batch: a number, or a tensor with a history?",
            "Let only the number into the total: take it out of each loss as soon as you have it.",
        ),
        solution=EVAL + "    return sum(loss_of(batch).item() for batch in batches)\n",
        why="item() turns each loss into a number at once, and the batch's graph dies with the loss.",
        alternatives=(
            EVAL
            + "    total = 0.0\n"
            + "    for batch in batches:\n"
            + "        total = total + loss_of(batch).detach()\n"
            + "    return total.item()\n",
            EVAL
            + "    with torch.no_grad():\n"
            + "        losses = [loss_of(batch) for batch in batches]\n"
            + "    return sum(loss.item() for loss in losses)\n",
            EVAL
            + "    with torch.no_grad():\n"
            + "        total = torch.zeros(())\n"
            + "        for batch in batches:\n"
            + "            total += loss_of(batch)\n"
            + "    return float(total)\n",
            EVAL
            + "    total = 0.0\n"
            + "    for batch in batches:\n"
            + "        loss = loss_of(batch)\n"
            + "        total += loss.item()\n"
            + "        del loss\n"
            + "    return total\n",
        ),
        mistakes=(
            Mistake(
                "adds attached losses",
                "The activations of several earlier batches are still alive: something of yours, such as a total that "
                "is attached, leads to their graphs.",
                EVAL
                + "    total = torch.zeros(())\n"
                + "    for batch in batches:\n"
                + "        total = total + loss_of(batch).clone()\n"
                + "    return total.detach().item()\n",
            ),
            Mistake(
                "keeps the losses",
                "Several losses are alive at once, and each of them holds its batch's graph.",
                EVAL
                + "    losses = [loss_of(batch) for batch in batches]\n"
                + "    return sum(loss.item() for loss in losses)\n",
            ),
            Mistake(
                "backward in validation",
                "A `.grad` is another than before: a backward frees memory, but it leaves gradients behind, and the "
                "next training step would use them.",
                EVAL
                + "    total = 0.0\n"
                + "    for batch in batches:\n"
                + "        loss = loss_of(batch)\n"
                + "        loss.backward()\n"
                + "        total += loss.item()\n"
                + "    return total\n",
            ),
            Mistake(
                "returns the graph",
                "What you return is attached: whoever logs it keeps the graphs of the whole epoch.",
                EVAL + "    return sum(loss_of(batch) for batch in batches)\n",
            ),
            Mistake(
                "returns a tensor",
                "It is cut off, but still a tensor; a Python number was asked for.",
                EVAL + "    return sum(loss_of(batch).detach() for batch in batches)\n",
            ),
            Mistake(
                "average",
                "That is the average; the total was asked for.",
                EVAL + "    return sum(loss_of(batch).item() for batch in batches) / len(batches)\n",
            ),
            Mistake(
                "last only",
                "Only the last batch's loss came back: it replaces the total in each turn.",
                EVAL
                + "    total = 0.0\n"
                + "    for batch in batches:\n"
                + "        total = loss_of(batch).item()\n"
                + "    return total\n",
            ),
            Mistake(
                "the loss before",
                "While a batch runs forward, the activations of the one before are still alive: a name holds its "
                "loss until the next one has been computed.",
                EVAL
                + "    total = 0.0\n"
                + "    for batch in batches:\n"
                + "        loss = loss_of(batch)\n"
                + "        total += loss.item()\n"
                + "    return total\n",
            ),
            Mistake(
                "no_grad too late",
                "The sum of the losses is not recorded, but each loss is: it brings the graph that loss_of has built, "
                "and that is still there when the next batch runs forward.",
                EVAL
                + "    total = 0.0\n"
                + "    for batch in batches:\n"
                + "        loss = loss_of(batch)\n"
                + "        with torch.no_grad():\n"
                + "            total = total + loss\n"
                + "    return total.item()\n",
            ),
            Mistake(
                "guard: left a setting",
                "",
                EVAL
                + "    torch.set_grad_enabled(False)\n"
                + "    return sum(loss_of(batch).item() for batch in batches)\n",
            ),
            Mistake(
                "guard: swallows errors",
                "A batch whose loss cannot be computed would be left out, and the total would be too small.",
                EVAL
                + "    total = 0.0\n"
                + "    for batch in batches:\n"
                + "        try:\n"
                + "            total += loss_of(batch).item()\n"
                + "        except Exception:\n"
                + "            pass\n"
                + "    return total\n",
            ),
            Mistake(
                "guard: changed a container",
                "",
                EVAL
                + "    total = 0.0\n"
                + "    while batches:\n"
                + "        total += loss_of(batches.pop()).item()\n"
                + "    return total\n",
            ),
        ),
        check=check_09_5,
        puzzles=(16,),
    ),
]
