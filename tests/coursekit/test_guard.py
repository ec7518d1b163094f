"""guard.py: whatever an answer does besides giving its result is noticed and named."""

import textwrap

import pytest

from coursekit.judge import guard
from coursekit.judge.exercise import Exercise, Mistake, almost, correct, define, judge, not_yet


def record(check, may_change=(), parameters="torch, x, things", mistakes=()):
    """An exercise on `work`, with this check."""
    return Exercise(
        id="98.3", kind="repair", title="Work", question="", minutes=1, difficulty=1, name="work",
        starter=f"def work({parameters}):\n    ...\n", hints=(), solution="", why="", alternatives=(),
        mistakes=mistakes, check=check, may_change=may_change,
    )  # fmt: skip


def check_result(answer, torch):
    """Right is whoever returns 2·x; the guard sees the rest."""
    leaf = torch.tensor([1.0, 2.0], requires_grad=True)
    things = {"list": [leaf.detach().clone(), 1], "numbers": {1, 2}, "model": torch.nn.Linear(2, 1)}
    found = answer(torch, leaf * 1, things)
    return correct("twice") if found.tolist() == [2.0, 4.0] else not_yet("not twice")


def judged(body, torch, check=check_result, may_change=(), mistakes=()):
    """The Result for `def work(torch, mine, bag): body`; it gives the arguments names of its own."""
    source = "import warnings, random\nkept = []\ndef work(torch, mine, bag):\n" + textwrap.indent(body, "    ")
    return judge(record(check, may_change, mistakes=mistakes), define(source, "work", torch), torch)


WRITES = {
    "mine.mul_(2)\nreturn mine": (guard.ARGUMENT, "`mine`", "version 0 before, 1 after"),
    "torch.mul(mine.detach(), 2, out=bag['list'][0])\nreturn mine * 2": (guard.ARGUMENT, "`bag['list'][0]`"),
    "bag['list'][0].data.add_(1)\nreturn mine * 2": (guard.ARGUMENT, "`bag['list'][0]`"),
    "bag['list'].pop()\nreturn mine * 2": (guard.CONTAINER, "list `bag['list']`", "2 entries before, 1 after"),
    "bag['list'][1] = 5\nreturn mine * 2": (guard.CONTAINER, "list `bag['list']`"),
    "bag['new'] = 1\nreturn mine * 2": (guard.CONTAINER, "dictionary `bag`", "3 entries before, 4 after"),
    "bag['numbers'].add(3)\nreturn mine * 2": (guard.CONTAINER, "set `bag['numbers']`"),
    "mine.sum().backward()\nreturn mine * 2": (guard.GRAD, "the leaf behind `mine`", "None before"),
    "bag['list'][0].requires_grad_()\nreturn mine * 2": (guard.FLAG, "requires_grad was False and is True"),
    "mine.register_hook(lambda g: g * 2)\nreturn mine * 2": (guard.HOOKS, "hook on `mine`"),
    "bag['model'].register_forward_hook(lambda *a: None)\nreturn mine * 2": (guard.HOOKS, "a module of `bag['model']`"),
    "bag['model'].eval()\nreturn mine * 2": (guard.SETTING, "`bag['model']`", "train or eval"),
    "with torch.no_grad():\n    bag['model'].bias += 1\nreturn mine * 2": (guard.ARGUMENT, "`bag['model'].bias`"),
    "bag['model'].bias.grad = torch.ones(1)\nreturn mine * 2": (guard.GRAD, "`bag['model'].bias.grad`"),
    "torch.set_grad_enabled(False)\nreturn mine * 2": (guard.SETTING, "grad mode", "True before, False after"),
    "torch.autograd.set_detect_anomaly(True)\nreturn mine * 2": (guard.SETTING, "anomaly mode"),
    "kept.append(torch.inference_mode(True))\nkept[0].__enter__()\nreturn bag['list'][0] * 2":
        (guard.SETTING, "inference mode"),
    "torch.autograd.graph.saved_tensors_hooks(abs, abs).__enter__()\nreturn mine * 2": (guard.SETTING, "saved-tensor"),
    "warnings.simplefilter('error')\nreturn mine * 2": (guard.SETTING, "warnings filters"),
    "warnings.simplefilter('ignore')\nreturn mine * 2": (guard.SETTING, "warnings filters"),
    "torch.manual_seed(1)\nreturn mine * 2": (guard.SEED, "the seed"),
    "random.seed(1)\nreturn mine * 2": (guard.SEED, "the seed"),
    "kept.append(bag['list'][0])\nreturn mine * 2": (guard.ALIVE, "still alive"),
}  # fmt: skip


@pytest.mark.parametrize("body", WRITES, ids=lambda body: body.partition("\n")[0])
def test_what_an_answer_does_besides_is_named(torch, body):
    """Each way to touch what belongs to others is almost right at best, and the sentence says what was touched."""
    kind, *words = WRITES[body]

    result = judged(body, torch)

    assert (result.outcome, result.mistake) == ("almost", f"guard: {kind}")
    for word in words:
        assert word in result.text


def test_another_default_dtype_is_named(real_torch):
    """Our engine cannot change the default dtype; PyTorch can, and then every later tensor has another."""
    result = judged("torch.set_default_dtype(torch.float64)\nreturn mine * 2", real_torch)

    assert result.mistake == "guard: left a setting"
    assert "the default dtype" in result.text
    assert real_torch.get_default_dtype() is real_torch.float32


HARMLESS = {
    "return mine * 2": "plain",
    "with torch.no_grad():\n    y = mine.clone().mul_(2)\nreturn y": "writes into a copy",
    "return mine + torch.randn(2) * 0 + mine": "draws random numbers",
    "g = torch.autograd.grad(mine.sum(), mine, retain_graph=True)\nreturn mine * 2": "asks for a gradient",
    "copy = list(bag['list'])\ncopy.pop()\nreturn mine * 2": "changes a list of its own",
    "h = mine.register_hook(lambda g: g)\nh.remove()\nreturn mine * 2": "takes its hook away again",
    "try:\n    mine.sum(1, 2, 3, 4)\nexcept TypeError:\n    pass\nreturn mine * 2": "an error of another kind",
}


@pytest.mark.parametrize("body", HARMLESS, ids=HARMLESS.values())
def test_a_right_answer_is_not_accused(torch, body):
    """What leaves everything as it was is correct, whatever it does in between."""
    assert judged(body, torch).outcome == "correct"


def test_a_record_says_what_right_answers_change(torch):
    """May_change goes by the starter's names and may name one facet; what it allowed is reported."""
    body = "bag['list'].pop()\nmine.register_hook(lambda g: g)\nreturn mine * 2"

    result = judged(body, torch, may_change=("things", "x.hooks"))

    assert result.outcome == "correct"
    assert result.allowed == {"things", "x.hooks"}
    assert judged(body, torch, may_change=("things",)).mistake == "guard: left hooks"
    assert judged(body, torch, may_change=("x.hooks",)).mistake == "guard: changed a container"
    assert judged(body, torch, may_change=("x", "things")).mistake == "guard: left hooks"  # "x" alone is to write to it


def test_hooks_that_stay_only_after_an_error_are_said_so(torch):
    """A hook that is left when the answer's call fails has a kind and words of its own."""

    def check(answer, torch):
        leaf = torch.tensor([1.0, 2.0], requires_grad=True)
        for fails in (False, True):
            try:
                answer(torch, leaf * 1, {"fails": fails})
            except ZeroDivisionError:
                pass
        return correct("called twice")

    body = "h = mine.register_hook(lambda g: g)\n1 / (not bag['fails'])\nh.remove()\nreturn mine * 2"
    result = judged(body, torch, check)

    assert result.mistake == "guard: left hooks, after an error"
    assert result.text.startswith("when a call of it fails, your code leaves a hook on `mine`")


def test_a_named_mistake_goes_before_the_hooks_that_are_left(torch):
    """Hooks that stay behind are seldom the cause of a mistake that the check has a name for: that is told first."""
    body = "mine.register_hook(lambda g: g)\nreturn mine * 3"
    mistakes = (Mistake("thrice", "That is three times.", ""),)

    assert judged(body, torch, lambda answer, torch: check_result(answer, torch) and almost("thrice"), (), mistakes
                  ).mistake == "thrice"  # fmt: skip
    assert judged(body, torch, mistakes=mistakes).mistake == "guard: left hooks"  # the check has no name for it


def test_the_records_own_sentence_is_added(torch):
    """A Mistake that is named for the guard's kind adds its sentence to the guard's."""
    mistakes = (Mistake("guard: wrote into an argument", "A vjp returns; it does not write.", ""),)

    result = judged("mine.mul_(2)\nreturn mine", torch, mistakes=mistakes)

    assert result.details == ["A vjp returns; it does not write."]


def check_function(answer, torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (answer.apply(x * 1) * torch.tensor([1.0, 3.0])).sum().backward()
    return correct("twice") if x.grad.tolist() == [2.0, 6.0] else not_yet(f"x.grad is {x.grad.tolist()}")


FUNCTION = """
class work(torch.autograd.Function):
    @staticmethod
    def forward(ctx, value):
        ctx.save_for_backward(value)
        FORWARD
        return value * 2
    @staticmethod
    def backward(ctx, slope):
        (value,) = ctx.saved_tensors
        BACKWARD
"""


def judged_function(torch, forward="pass", backward="return slope * 2"):
    source = FUNCTION.replace("FORWARD", forward).replace("BACKWARD", backward)
    starter = FUNCTION.replace("FORWARD", "...").replace("BACKWARD", "...")
    exercise = record(check_function)
    exercise = Exercise(**{**vars(exercise), "starter": starter})
    cls = define(source, "work", torch)
    before = cls.forward, cls.backward
    result = judge(exercise, cls, torch)
    assert (cls.forward, cls.backward) == before, "the learner's class is as it was"
    return result


def test_a_backward_that_writes_into_its_gradient_is_named(torch):
    """The incoming gradient belongs to the engine: writing to it is named before any wrong number is explained."""
    assert judged_function(torch).outcome == "correct"
    for line in ("return slope.mul_(2)", "slope *= 2; return slope", "slope.data.zero_(); return slope"):
        result = judged_function(torch, backward=line)
        assert result.mistake == "guard: wrote into the gradient"
        assert "`slope`" in result.text


def test_a_function_that_writes_into_its_input_is_named(torch):
    """Whether forward does it at once or backward through what was saved."""
    for lines in ({"forward": "value.data.add_(1)"}, {"backward": "value.data.zero_(); return slope * 2"}):
        result = judged_function(torch, **lines)
        assert result.mistake == "guard: wrote into an argument"
        assert "`value`" in result.text


def check_hook(answer, torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    answer(torch, y, None)
    (y * torch.ones(2)).sum().backward()
    return correct("doubled") if x.grad.tolist() == [2.0, 2.0] else not_yet("not doubled")


def test_a_hook_that_writes_into_its_gradient_is_named(torch):
    """Hooks that an answer registers are guarded when they run, long after the answer's own call."""
    clean = judged("mine.register_hook(lambda g: g * 2)", torch, check_hook, ("x.hooks",))
    result = judged("mine.register_hook(lambda g: g.mul_(2))", torch, check_hook, ("x.hooks",))

    assert clean.outcome == "correct"
    assert result.mistake == "guard: wrote into the gradient"


def check_slope(answer, torch):
    x = torch.tensor([2.0], requires_grad=True)
    return correct("slope") if answer(torch, x, None).tolist() == [3.0] else not_yet("no slope")


PASS = "(g,) = torch.autograd.grad((mine * 3).sum(), mine)"
SWALLOWS = {
    f"try:\n    {PASS}\nexcept RuntimeError:\n    g = mine * 0\nreturn g": "almost",
    f"try:\n    {PASS}\nexcept Exception:\n    g = mine * 0\nreturn g": "almost",
    f"try:\n    {PASS}\nexcept KeyError:\n    g = mine * 0\nreturn g": "correct",
    f"try:\n    {PASS}\nexcept RuntimeError:\n    {PASS}\nreturn g": "almost",  # only the first pass of a call raises
    f"for _ in range(3):\n    {PASS}\nreturn g": "correct",
}


@pytest.mark.parametrize("body", SWALLOWS)
def test_an_answer_that_swallows_errors_of_backward_is_named(torch, body):
    """An error that is planted in backward() must come out of the answer, also where it tries again."""
    result = judged(body, torch, check_slope)

    assert result.outcome == SWALLOWS[body]
    assert result.outcome == "correct" or result.mistake == "guard: swallows errors"


def test_an_answer_that_swallows_errors_of_a_function_it_is_given_is_named(torch):
    """A function among the arguments may raise as well, and the sentence names it."""

    def check_total(answer, torch):
        def loss_of(batch):
            return torch.tensor(3.0) * batch

        return correct("total") if answer(torch, loss_of, [2]).item() == 6.0 else not_yet("no total")

    result = judged("try:\n    return mine(2)\nexcept Exception:\n    return 0", torch, check_total)
    assert result.mistake == "guard: swallows errors"
    assert "`loss_of`" in result.text
    assert judged("return mine(2)", torch, check_total).outcome == "correct"


def test_an_error_on_a_learners_own_line_goes_first(torch):
    """When the answer's own line raises, that line and its message are told, not the write that came before."""
    result = judged("mine.mul_(2)\nraise KeyError('mine')", torch)

    assert result.outcome == "error in your code"
    assert "KeyError" in result.text


def test_the_guard_leaves_no_trace(torch):
    """After a check, the engine's methods are its own again, also when the check raised."""
    places = [(torch.Tensor, "register_hook"), (torch.Tensor, "backward"), (torch.autograd, "grad")]
    before = [getattr(place, name) for place, name in places]

    def fails(answer, torch):
        raise ValueError

    judged("return mine", torch, fails)

    assert before == [getattr(place, name) for place, name in places]
