"""bounds.py: a learner's code always comes back, and leaves nothing behind."""

import gc
import random
import signal
import sys
import threading
import time

import numpy as np
import pytest

from coursekit.judge import bounds
from coursekit.judge.exercise import correct, define, judge, not_yet
from coursekit.judge.guard import anomaly_mode
from tests.coursekit.exercise_samples import DOUBLE, changed


@pytest.fixture(autouse=True)
def no_callbacks_of_the_collector():
    """Python ignores an exception raised in one of them, such as hypothesis's: the alarm would ring there unheard."""
    callbacks, gc.callbacks[:] = list(gc.callbacks), []
    yield
    gc.callbacks[:] = callbacks


LOOPS = {
    "plain": "while True:\n        pass",
    "sleep": "import time\n    time.sleep(60)",
    "swallows errors": "while True:\n        try:\n            abs(x)\n        except:\n            pass",
    "swallows twice": (
        "while True:\n        try:\n            try:\n                abs(x)\n            except BaseException:\n"
        "                continue\n        except BaseException:\n            continue"
    ),
    "catches all and calls itself": (
        "try:\n        return double(x)\n    except BaseException:\n        return double(x)"
    ),
    "prints": "while True:\n        print('again')",
    "computes": "while True:\n        x = x * 1",
    "comprehension": "return [i for i in iter(int, 1)]",
}
ALARM = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timer signals")


def in_thread(function):
    """Run it in a thread that is not the main one, where no signal arrives."""
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join(20)
    assert found, "the thread did not come back"
    return found[0]


@pytest.mark.parametrize(
    "wall, processor, is_up, busy",
    [
        (0.9, 0.9, False, False),  # not yet
        (1.1, 1.1, True, False),  # it had its second
        (3.0, 0.5, False, False),  # others have the processor
        (3.0, 0.01, True, False),  # it sleeps
        (13.1, 0.5, True, True),  # others have had it for too long
    ],
)
def test_time_is_the_processors(monkeypatch, wall, processor, is_up, busy):
    """A limit of one second is one of the processor's; a sleep has none, and much later it is up anyway."""
    spent = bounds.Spent(1.0)
    monkeypatch.setattr(bounds.time, "monotonic", lambda: spent.began + wall)
    monkeypatch.setattr(bounds.time, "process_time", lambda: spent.used + processor)

    assert (is_up, busy) == (spent.is_up(), spent.busy)


def test_a_busy_machine_makes_no_answer_wrong(monkeypatch):
    """An answer that did not get its time is not judged, and that is said."""
    monkeypatch.setattr(bounds.Spent, "is_up", lambda self: setattr(self, "busy", True) or True)
    result = judged_loop(LOOPS["while"] if "while" in LOOPS else next(iter(LOOPS.values())))

    assert ("not attempted", "not judged") == (result.outcome, result.word)
    assert "your machine was busy" in result.text


def judged_loop(body, seconds=0.2):
    exercise = changed(DOUBLE, check=lambda answer, torch: answer(1.0))
    source = f"def double(x):\n    {body}\n"
    return judge(exercise, define(source, "double", None, "a learner's cell"), None, seconds)


@ALARM
def test_an_exercise_says_what_usually_takes_so_long():
    """Where most slow answers have one cause, its own advice stands in place of the general one."""
    exercise = changed(DOUBLE, check=lambda answer, torch: answer(1.0), slow="Remember what you have met.")
    answer = define("def double(x):\n    while True:\n        pass\n", "double", None, "a learner's cell")

    assert judge(exercise, answer, None, 0.2).details[-1] == "Remember what you have met."


@ALARM
@pytest.mark.parametrize("body", LOOPS.values(), ids=LOOPS)
def test_an_endless_loop_is_stopped(body):
    """A loop without end is stopped, and the text says so and on which line it was."""
    begun = time.process_time()  # not the wall clock, which goes on while other programs have their turn
    result = judged_loop(body)

    assert time.process_time() - begun < 5
    assert result.outcome == "error in your code"
    assert result.text == "it was still running after 0.2 seconds and was stopped."
    assert result.details[0].startswith("line ")


def test_what_a_check_prepares_is_no_time_of_the_learners():
    """A record's `prepare` runs before the clock does: PyTorch's first optimizer imports for seconds."""

    def check(answer, torch):
        return correct("prepared") if prepared == [None] else not_yet("not prepared")

    def prepare(torch):
        time.sleep(0.3)
        prepared.append(torch)

    prepared = []
    result = judge(changed(DOUBLE, check=check, prepare=prepare), define(DOUBLE.solution, "double", None), None, 0.2)

    assert result.outcome == "correct"


@pytest.mark.parametrize("body", [body for name, body in LOOPS.items() if name != "sleep"])
def test_an_endless_loop_in_another_thread_is_stopped(body):
    """Without timer signals (Windows, or a thread of its own) a second thread stops the code."""
    result = in_thread(lambda: judged_loop(body))

    assert result.outcome == "error in your code"
    assert "was stopped" in result.text


if hasattr(sys, "monitoring"):  # from Python 3.12 on; the Python that runs in browsers is newer

    @pytest.mark.parametrize("body", [body for name, body in LOOPS.items() if name != "sleep"])
    def test_an_endless_loop_in_a_browser_is_stopped(body, monkeypatch):
        """Without signals and without threads Python asks for the time at each call and each turn of a loop."""
        monkeypatch.setattr(bounds, "choose_stopwatch", lambda: bounds.Turnstile)
        monkeypatch.delattr(threading.Thread, "start")
        result = judged_loop(body)

        assert result.text == "it was still running after 0.2 seconds and was stopped."
        assert [sys.monitoring.get_tool(tool) for tool in range(6)].count(None) == 6


def test_the_stopwatch_fits_the_machine(monkeypatch):
    """A timer signal where there is one; in a browser Python's own turns; anywhere else a second thread."""
    chosen = []
    for works, system in ((True, "emscripten"), (False, "emscripten"), (False, "win32")):
        monkeypatch.setattr(bounds.AlarmClock, "works_here", staticmethod(lambda works=works: works))
        monkeypatch.setattr(sys, "platform", system)
        chosen.append(bounds.choose_stopwatch())

    assert chosen == [bounds.AlarmClock, bounds.Turnstile, bounds.Watchdog]


def test_recursion_ends_early_in_a_browser(monkeypatch):
    """There 350 calls through C fill the stack, and that would end the kernel instead of the check."""
    monkeypatch.setattr(sys, "platform", "emscripten")
    monkeypatch.setattr(bounds, "SHALLOW", sys.getrecursionlimit() - 200)

    assert bounds.run(sys.getrecursionlimit).value == bounds.SHALLOW


@ALARM
def test_the_alarm_clock_gives_everything_back():
    """Afterwards the handler, the timer of somebody else and the trace function are what they were."""
    heard = []
    before = signal.signal(signal.SIGALRM, lambda *_: heard.append(1))
    handler = signal.getsignal(signal.SIGALRM)
    try:
        signal.setitimer(signal.ITIMER_REAL, 30, 7)
        judged_loop(LOOPS["swallows errors"])
        left, interval = signal.setitimer(signal.ITIMER_REAL, 0)

        assert signal.getsignal(signal.SIGALRM) is handler
        assert 20 < left < 30
        assert interval == 7
        assert not heard
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@ALARM
def test_tracing_is_given_back():
    """A debugger's or a coverage tool's trace function survives a loop that swallowed its end."""
    mine, before = (lambda *_: None), sys.gettrace()
    sys.settrace(mine)
    try:
        judged_loop(LOOPS["swallows errors"])
        found = sys.gettrace()
    finally:
        sys.settrace(before)

    assert found is mine


@pytest.mark.parametrize("where", [lambda f: f(), in_thread], ids=["main thread", "other thread"])
def test_fast_code_is_never_interrupted_later(where):
    """The clock is off when the code has ended: nothing arrives in the caller's own lines."""

    def many():
        for _ in range(30):
            ran = bounds.run(lambda: 1, seconds=0.005)
            assert ran.value == 1 or isinstance(ran.error, bounds.TimeUp)  # on a machine with much else to do
        time.sleep(0.02)
        return sum(range(100_000))

    assert where(many) == sum(range(100_000))


def test_runs_can_be_nested():
    """A bounded run inside a bounded run: the inner one ends first, the outer clock goes on."""

    def outer():
        inner = bounds.run(lambda: time.sleep(60), seconds=0.1)
        assert isinstance(inner.error, bounds.TimeUp)
        time.sleep(60)

    begun = time.monotonic()
    ran = bounds.run(outer, seconds=0.4)

    assert isinstance(ran.error, bounds.TimeUp)
    assert 0.3 < time.monotonic() - begun < 5


def test_output_and_errors_of_the_run_are_captured():
    """Standard output and standard error both end in the report, not in the notebook."""
    before = sys.stdout, sys.stderr
    ran = bounds.run(lambda: (print("out"), print("err", file=sys.stderr)))

    assert ran.printed == "out\nerr"
    assert (sys.stdout, sys.stderr) == before


def refuse(*_):
    raise AssertionError("a hook that somebody left behind")


def leave_hooks(torch):
    torch.autograd.graph.saved_tensors_hooks(refuse, refuse).__enter__()


def suspend_no_grad(torch):
    def generator():
        with torch.no_grad():
            yield

    generators.append(generator())
    next(generators[-1])


kept, generators = [], []
POISONS = {
    "grad mode": lambda torch: torch.set_grad_enabled(False),
    "a suspended no_grad": suspend_no_grad,
    "anomaly mode": lambda torch: torch.autograd.set_detect_anomaly(True),
    "saved-tensor hooks": leave_hooks,
    "inference mode": lambda torch: (kept.append(torch.inference_mode()), kept[-1].__enter__()),
}


def healthy(torch):
    """The square of 3 with its gradient: what a poisoned engine gets wrong or refuses."""
    x = torch.tensor([3.0], requires_grad=True)
    (x * x).sum().backward()
    return x.grad.tolist()


@pytest.mark.parametrize("poison", POISONS.values(), ids=POISONS)
def test_settings_left_behind_do_not_outlive_the_run(poison, torch):
    """Grad mode, anomaly mode, inference mode and hooks are as before after each run."""
    ran = bounds.run(lambda: poison(torch), [torch])

    assert ran.error is None
    assert torch.is_grad_enabled()
    assert not torch.is_inference_mode_enabled()
    assert not anomaly_mode(torch)
    assert healthy(torch) == [6.0]
    while generators:
        generators.pop().close()


def test_a_check_starts_from_a_clean_state_and_gives_the_learners_back(torch):
    """A notebook in which grad mode is off still gets a fair check, and keeps its grad mode."""
    torch.set_grad_enabled(False)
    try:
        ran = bounds.run(lambda: healthy(torch), [torch])

        assert ran.value == [6.0]
        assert not torch.is_grad_enabled()
    finally:
        torch.set_grad_enabled(True)


def test_random_numbers_are_the_same_in_every_run_and_untouched_outside(torch):
    """A check prints the same text each time, and does not move the notebook's own random numbers."""

    def numbers():
        return random.random(), float(np.random.rand()), torch.rand(2).tolist()

    random.seed(1), np.random.seed(1), torch.manual_seed(1)
    expected = numbers()
    random.seed(1), np.random.seed(1), torch.manual_seed(1)
    first = bounds.run(numbers, [torch])
    second = bounds.run(numbers, [torch])

    assert first.error is None
    assert first.value == second.value
    assert numbers() == expected
