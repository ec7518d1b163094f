"""Exercise 10.2: repair the loop."""

import copy
import itertools
import math
import random
import warnings

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, not_yet
from lessons.shared import flat, near
from lessons.training import fresh, random_tensor

RATE, ROWS = 0.02, 5  # of the optimizer; of a micro-batch, more than there are micro-batches in any batch
DEVIATIONS = {  # what a loop can do otherwise: (the choice that is asked for, others), each with a mistake's name
    "clear": ("batch", {"part": "only the last part", "never": "never cleared"}),
    "share": ("parts", {
        "one": "sum of means", "batches": "divided by something else", "rows": "averaged twice",
        "size": "divided by its rows", "each": "divided as it grows", "after": "clipped before it is divided",
        "total": "summed over the rows", "all": "summed over the rows", "two": "divided by two"}),
    "clip": ("batch", {"part": "clipped too often", "never": "not clipped", "own": "clipped one by one",
                       "value": "clipped by value", "always": "made longer"}),
    "rate": ("late", {"early": "first rate skipped", "part": "a rate for each part", "never": "rate never changed",
                      "twice": "two rates a batch"}),
}


def run_loop(torch, model, batches, most, clear="batch", share="parts", clip="batch", rate="late"):
    """The parameters after the loop of exercise 10.3, or of one that deviates from it; and the norms on the way."""
    model, norms = copy.deepcopy(model), []
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)

    def shorten():
        parameters, utils = list(model.parameters()), torch.nn.utils
        if clip == "own":
            return [utils.clip_grad_norm_([p], most) for p in parameters]
        if clip == "value":
            return utils.clip_grad_value_(parameters, most)
        if clip == "always":
            norm = math.sqrt(sum(p.grad.square().sum().item() for p in parameters))
            return [p.grad.mul_(most / norm) for p in parameters]
        norms.append(utils.clip_grad_norm_(parameters, most).item())

    def divide(by):
        for p in model.parameters():
            p.grad.div_(by)

    for parts in batches:
        if clear == "batch":
            optimizer.zero_grad()
        for x, t in parts:
            if clear == "part":
                optimizer.zero_grad()
            by = {"parts": len(parts), "batches": len(batches), "rows": len(x) * len(parts),
                  "size": len(x), "total": len(parts) / len(x), "all": 1 / len(x), "two": 2}.get(share, 1)  # fmt: skip
            (torch.nn.MSELoss()(model(x), t) / by).backward()
            if share == "each":
                divide(len(parts))
            if clip == "part":
                shorten()
            if rate == "part":
                scheduler.step()
        if clip not in ("part", "never"):
            shorten()
        if share == "after":
            divide(len(parts))
        if rate == "early":
            scheduler.step()
        optimizer.step()
        for _ in range({"late": 1, "twice": 2}.get(rate, 0)):
            scheduler.step()
    return [flat(p) for p in model.parameters()], norms


FIRST_DRAFT = {"clear": "part", "share": "one", "clip": "part", "rate": "early"}  # what the starter does


def worlds():
    """The ways to deviate, in few places first: (the settings, the name of the first mistake in them).

    In one place, in two, or in any number of places as the starter does.
    """
    every = [[(key, right, None)] + [(key, other, name) for other, name in others.items()]
             for key, (right, others) in DEVIATIONS.items()]  # fmt: skip
    found = []
    for choice in itertools.product(*every):
        names = [name for _, _, name in choice if name]
        drafted = all(name is None or FIRST_DRAFT[key] == value for key, value, name in choice)
        if names and (len(names) <= 2 or drafted):
            found.append((len(names), {key: value for key, value, _ in choice}, names[0]))
    return [(settings, name) for _, settings, name in sorted(found, key=lambda one: one[0])]


def task_10_3(torch, quiet):
    """A random network, three batches of micro-batches, and a norm that two of them exceed and one does not.

    That one, of `quiet` parts, would not exceed it even if its parts and rows were added and not averaged, so that
    wrong factors show.
    """
    others = [parts for parts in (2, 3, 4) if parts != quiet]
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1)).double()

    def part(scale):
        x, t = random_tensor(torch, ROWS, 2).double(), random_tensor(torch, ROWS, 1).double() * scale
        return x, t if scale > 1 else t + model(x).detach()

    while True:
        plan = random.sample([(quiet, 0.03), (others[0], 8.0), (others[1], 4.0)], 3)
        batches = [[part(scale) for _ in range(parts)] for parts, scale in plan]
        most = random.uniform(2, 3)
        _, norms = run_loop(torch, model, batches, most)
        small, middle, _ = sorted(norms)
        if small * 1.2 * ROWS * len(batches[norms.index(small)]) < most < middle / 1.2:
            ends = [run_loop(torch, model, batches, most, clip=clip)[0] for clip in ("never", "own", "value")]
            if not any(same_lists(one, other) for one, other in itertools.combinations(ends, 2)):
                return model, batches, most


def run_answer(answer, torch, model, batches, most):
    """The parameters after the learner's loop, and what was seen on the way.

    seen: "sizes" of what went through the model, "graphs" at a time, "events" in their order ("B" a backward pass, "S"
    a step, "N" a step that finds no gradient), "rates", how often the scheduler was called.
    """
    mine, sizes, arrived, seen = copy.deepcopy(model), [], [], {"graphs": 0, "events": ""}

    def ran(module, inputs, result):
        sizes.append(len(result))
        seen["graphs"] = max(seen["graphs"], len(sizes) - len(arrived))

    def passed(grad):
        arrived.append(grad)
        seen["events"] += "B"

    def steps(*_):
        seen["events"] += "S" if any(p.grad is not None for p in mine.parameters()) else "N"

    mine.register_forward_hook(ran)
    mine[2].bias.register_hook(passed)  # called once for each backward pass
    optimizer = torch.optim.SGD(mine.parameters(), lr=RATE)
    optimizer.register_step_pre_hook(steps)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
    answer(torch, mine, optimizer, scheduler, batches, most)
    seen |= {"sizes": sizes, "rates": scheduler.last_epoch, "training": mine.training}
    return [flat(p) for p in mine.parameters()], seen


def same_lists(one, other):
    """Equal up to the 1e-6 that clip_grad_norm_ adds to the norm before it divides."""
    return all(near(a, b, 1e-5) for a, b in zip(one, other, strict=True))


def judged_loop(answer, torch, quiet):
    """The verdict about one random task, or None when it was solved."""
    model, batches, most = task_10_3(torch, quiet)
    wanted, _ = run_loop(torch, model, batches, most)
    got, seen = run_answer(answer, torch, model, batches, most)
    if sum(seen["sizes"]) != sum(len(x) for parts in batches for x, _ in parts):
        return not_yet("Each micro-batch should go through the model once.")
    if max(seen["sizes"]) > ROWS:
        return almost("one big batch")
    if "B" not in seen["events"]:
        return not_yet("No backward pass has reached the model.")
    if seen["graphs"] > 1:
        return almost("all graphs at once")
    return judged_steps(torch, model, batches, most, got, wanted, seen)


def judged_steps(torch, model, batches, most, got, wanted, seen):
    """The verdict about the order of the events, and then about the numbers."""
    steps, parts = seen["events"].replace("B", ""), sum(map(len, batches))
    if not steps:
        return not_yet("The optimizer that was given has taken no step.")
    if "S" not in steps:
        return almost("cleared before the step")
    if "SS" in seen["events"]:
        return almost("two steps, one gradient")
    if len(steps) != len(batches):
        if "N" not in steps and len(steps) == parts:
            return almost("a step for each part")
        return almost("too few steps") if len(steps) < len(batches) else not_yet(
            f"There are {len(batches)} batches and {len(steps)} steps.")  # fmt: skip
    if "N" in steps:
        return almost("a step too early")
    if not seen["training"]:
        return almost("in eval mode")
    if same_lists(got, wanted):
        return None if seen["rates"] == len(batches) else almost("a rate is missing at the end")
    for settings, name in worlds():
        if same_lists(got, run_loop(torch, model, batches, most, **settings)[0]):
            late = name == "rate never changed" and seen["rates"]
            return almost("scheduler after the loop" if late else name)
    return not_yet("The parameters are not those of one step for each batch, as the question describes it.")


def check(answer, torch):
    for quiet in random.sample((2, 3), 2):  # no fixed number is right for both
        with warnings.catch_warnings():  # the wrong order of scheduler and optimizer warns; the check says more
            warnings.filterwarnings("ignore", message=".*")
            verdict = judged_loop(answer, torch, quiet)
        if verdict:
            return verdict
    return correct("the gradient is complete, then shortened once, then used at the rate that holds, and gone before "
                   "the next batch.")


FIT = """\
def fit(torch, model, optimizer, scheduler, batches, most):
    mse = torch.nn.MSELoss()
    for parts in batches:
{}"""
CLIP = "torch.nn.utils.clip_grad_norm_(model.parameters(), most)"


def fit_source(text):
    """The source of an answer with this body of the outer loop, four spaces further in for each `>`."""
    lines = text.replace("CLIP", CLIP).replace("BACK", "(mse(model(x), t) / len(parts)).backward()").split("; ")
    return FIT.format("".join("    " * (2 + line.count(">")) + line.lstrip(">") + "\n" for line in lines))


EXERCISE = Exercise(
    id="10.2", kind="repair", title="Repair the loop", minutes=10, difficulty=2,
    question="For each batch, a list of micro-batches of equal size: one step, with the gradient of the mean loss "
    "over the whole batch, clipped to the norm `most`, at the rate set so far; then the scheduler goes on by one.",
    name="fit",
    starter=fit_source("for x, t in parts:; >optimizer.zero_grad(); >mse(model(x), t).backward(); >CLIP; "
                       "scheduler.step(); optimizer.step()"),
    hints=(
        "Say of each line how often it should run: for each micro-batch, or for each batch?",
        "mse averages over one micro-batch. What do the averages of all parts add up to?",
        "When is the gradient complete? What may come between that moment and the step?",
    ),
    solution=fit_source("optimizer.zero_grad(); for x, t in parts:; >BACK; CLIP; optimizer.step(); scheduler.step()"),
    why="Each part sends its share, one over the number of parts, and they add up in .grad. Then the gradient is "
    "complete: clip it, step, set the next rate. Cleared is before the first part, or after the step.",
    alternatives=(
        fit_source("for x, t in parts:; >BACK; CLIP; optimizer.step(); scheduler.step(); model.zero_grad()"),
        fit_source("optimizer.zero_grad(); for x, t in parts:; >mse(model(x), t).backward(); "
                   "for p in model.parameters():; >p.grad /= len(parts); CLIP; optimizer.step(); scheduler.step()"),
        fit_source("optimizer.zero_grad(); for x, t in parts:; >BACK; grads = [p.grad for p in model.parameters()]; "
                   "norm = sum(grad.square().sum() for grad in grads).sqrt(); if most < norm:; "
                   ">for grad in grads:; >>grad.mul_(most / norm); optimizer.step(); scheduler.step()"),
    ),
    mistakes=(
        Mistake("only the last part", "Only the last micro-batch of each batch counts: zero_grad throws the others "
                "away as they come.",
                fit_source("for x, t in parts:; >optimizer.zero_grad(); >BACK; CLIP; optimizer.step(); "
                           "scheduler.step()")),
        Mistake("never cleared", "The gradients of all earlier batches are still there: nothing clears them.",
                fit_source("for x, t in parts:; >BACK; CLIP; optimizer.step(); scheduler.step()")),
        Mistake("cleared before the step", "At every step all gradients are None, so nothing has moved: what "
                "backward has put there is cleared before the step comes, or it comes after the step.",
                fit_source("for x, t in parts:; >BACK; CLIP; optimizer.zero_grad(); optimizer.step(); "
                           "scheduler.step()")),
        Mistake("sum of means", "The parts' means are added and not averaged, so the gradient is too long wherever "
                "it is not clipped.",
                fit_source("optimizer.zero_grad(); for x, t in parts:; >mse(model(x), t).backward(); CLIP; "
                           "optimizer.step(); scheduler.step()")),
        Mistake("divided by something else", "You divide by 3, as many as there are batches. A mean over one batch "
                "has as many shares as that batch has parts.",
                fit_source("optimizer.zero_grad(); for x, t in parts:; >(mse(model(x), t) / len(batches)).backward(); "
                           "CLIP; optimizer.step(); scheduler.step()")),
        Mistake("divided by two", "You divide by 2, also in a batch of more parts. How many there are, the batch "
                "says.",
                fit_source("optimizer.zero_grad(); for x, t in parts:; >(mse(model(x), t) / 2).backward(); CLIP; "
                           "optimizer.step(); scheduler.step()")),
        Mistake("clipped too often", "Each part is clipped. So the sum is shortened before it is complete, and "
                "ends up in another direction.",
                fit_source("optimizer.zero_grad(); for x, t in parts:; >BACK; >CLIP; optimizer.step(); "
                           "scheduler.step()")),
        Mistake("not clipped", "Some batches take a longer step than allowed: the clipping is missing, or it comes "
                "when the step has already used the gradients.",
                fit_source("optimizer.zero_grad(); for x, t in parts:; >BACK; optimizer.step(); CLIP; "
                           "scheduler.step()")),
        Mistake("first rate skipped", "The scheduler goes on before the step, so the first rate is never used, and "
                "each step takes the rate of the next.",
                fit_source("optimizer.zero_grad(); for x, t in parts:; >BACK; CLIP; scheduler.step(); "
                           "optimizer.step()")),
        Mistake("a rate for each part", "The scheduler goes on with every micro-batch. It should count steps of the "
                "optimizer.",
                fit_source("optimizer.zero_grad(); for x, t in parts:; >BACK; >scheduler.step(); CLIP; "
                           "optimizer.step()")),
        Mistake("rate never changed", "The rate stays what it was: nobody calls the scheduler.",
                fit_source("optimizer.zero_grad(); for x, t in parts:; >BACK; CLIP; optimizer.step()")),
        Mistake("in eval mode", "The model is in eval mode afterwards. This loop trains: layers such as dropout "
                "should be at work.",
                fit_source("model.eval(); optimizer.zero_grad(); for x, t in parts:; >BACK; CLIP; optimizer.step(); "
                           "scheduler.step()")),
        Mistake("guard: left a setting", "A warning that you silence here is silent in the whole notebook.",
                "import warnings\n\n\n"
                + fit_source("warnings.simplefilter('ignore'); optimizer.zero_grad(); for x, t in parts:; >BACK; CLIP; "
                             "scheduler.step(); optimizer.step()")),
        Mistake("guard: left hooks", "Called again, your function would look at every pass twice.",
                fit_source("model.register_forward_hook(lambda module, args, out: norms.append(out)); "
                           "optimizer.zero_grad(); for x, t in parts:; >BACK; CLIP; optimizer.step(); "
                           "scheduler.step()").replace("    mse", "    norms = []\n    mse")),
        Mistake("two rates a batch", "The scheduler goes on twice with every batch, so every step but the first has "
                "too small a rate.",
                fit_source("optimizer.zero_grad(); for x, t in parts:; >BACK; CLIP; optimizer.step(); "
                           "scheduler.step(); scheduler.step()")),
        Mistake("scheduler after the loop", "The scheduler is called when all batches are over: every step had the "
                "first rate.",
                fit_source("optimizer.zero_grad(); for x, t in parts:; >BACK; CLIP; optimizer.step()")
                + "    for _ in batches:\n        scheduler.step()\n"),
        Mistake("a rate is missing at the end", "The steps are right, but in the end the scheduler has not been "
                "called once for each batch: whoever trains on would begin at another rate.",
                fit_source("if parts is not batches[0]:; >scheduler.step(); optimizer.zero_grad(); for x, t in parts:; "
                           ">BACK; CLIP; optimizer.step()")),
        Mistake("two steps, one gradient", "Two steps follow each other without a backward pass between them: the "
                "second uses a gradient that has been used already.",
                fit_source("optimizer.zero_grad(); for x, t in parts:; >BACK; CLIP; optimizer.step(); "
                           "optimizer.step(); scheduler.step()")),
        Mistake("too few steps", "There are fewer steps than batches. Each batch wants one, when all its parts have "
                "arrived.",
                fit_source("optimizer.zero_grad(); for x, t in parts:; >BACK; CLIP; scheduler.step()")
                + "    optimizer.step()\n"),
        Mistake("a step too early", "A step finds no gradient at all: where it stands, no backward pass of its batch "
                "has run yet, or what it brought has been cleared.",
                fit_source("optimizer.step(); optimizer.zero_grad(); for x, t in parts:; >BACK; CLIP; "
                           "scheduler.step()")),
        Mistake("averaged twice", "mse has averaged over the rows of its part already. You divide by the number of "
                "rows once more.",
                fit_source("optimizer.zero_grad(); rows = sum(len(x) for x, t in parts); for x, t in parts:; "
                           ">(mse(model(x), t) / rows).backward(); CLIP; optimizer.step(); scheduler.step()")),
        Mistake("divided by its rows", "You divide by the number of rows of a part, and mse has done that already. "
                "How large is a part's share in its batch?",
                fit_source("optimizer.zero_grad(); for x, t in parts:; >(mse(model(x), t) / len(x)).backward(); CLIP; "
                           "optimizer.step(); scheduler.step()")),
        Mistake("divided as it grows", "What stands in .grad is divided after each part, so the first parts are "
                "divided again and again.",
                fit_source("optimizer.zero_grad(); for x, t in parts:; >mse(model(x), t).backward(); "
                           ">for p in model.parameters():; >>p.grad /= len(parts); CLIP; optimizer.step(); "
                           "scheduler.step()")),
        Mistake("clipped before it is divided", "What is clipped is the sum of the parts, and the mean is made "
                "afterwards: it is shorter than allowed.",
                fit_source("optimizer.zero_grad(); for x, t in parts:; >mse(model(x), t).backward(); CLIP; "
                           "for p in model.parameters():; >p.grad /= len(parts); optimizer.step(); scheduler.step()")),
        Mistake("clipped one by one", "Each parameter's gradient is clipped by itself. All of them together are one "
                "vector, with one norm and one factor.",
                fit_source("optimizer.zero_grad(); for x, t in parts:; >BACK; for p in model.parameters():; "
                           ">torch.nn.utils.clip_grad_norm_([p], most); optimizer.step(); scheduler.step()")),
        Mistake("clipped by value", "Single numbers are cut off at `most`. That changes the direction, and the norm "
                "may still be greater.",
                fit_source("optimizer.zero_grad(); for x, t in parts:; >BACK; "
                           "torch.nn.utils.clip_grad_value_(model.parameters(), most); optimizer.step(); "
                           "scheduler.step()")),
        Mistake("summed over the rows", "The squares are summed over the rows of a part, so its gradient has as many "
                "shares as there are rows. A mean was asked for.",
                fit_source('optimizer.zero_grad(); mse = torch.nn.MSELoss(reduction="sum"); for x, t in parts:; >BACK; '
                           "CLIP; optimizer.step(); scheduler.step()")),
        Mistake("made longer", "A gradient that is shorter than `most` is made longer. Clipping only ever shortens.",
                fit_source("optimizer.zero_grad(); for x, t in parts:; >BACK; "
                           "norm = sum(p.grad.square().sum() for p in model.parameters()).sqrt(); "
                           "for p in model.parameters():; >p.grad *= most / norm; optimizer.step(); "
                           "scheduler.step()")),
        Mistake("a step for each part", "There is a step for every micro-batch. One for the whole batch was asked "
                "for, when all parts have arrived.",
                fit_source("for x, t in parts:; >optimizer.zero_grad(); >mse(model(x), t).backward(); >CLIP; "
                           ">optimizer.step(); scheduler.step()")),
        Mistake("all graphs at once", "A micro-batch goes forward before the one before has gone backward, so "
                "several graphs are alive together. A backward for each part frees its graph before the next begins.",
                fit_source("optimizer.zero_grad(); loss = sum(mse(model(x), t) for x, t in parts) / len(parts); "
                           "loss.backward(); CLIP; optimizer.step(); scheduler.step()")),
        Mistake("one big batch", "Several micro-batches go through the model at once. They are there because a whole "
                "batch does not fit.",
                fit_source("optimizer.zero_grad(); x, t = (torch.cat(part) for part in zip(*parts)); "
                           "mse(model(x), t).backward(); CLIP; optimizer.step(); scheduler.step()")),
    ),
    may_change=("model",),
    prepare=fresh,
    check=check,
)  # fmt: skip
