"""`L.defects()`: do the learner's own tests, `my_tests.py`, notice a defect that is planted in the engine?

Each defect is put into the finished reference by itself. A test is a function `test_…(torch)` that is given an engine
and raises when something is wrong with it; it has to pass on the engine without a defect.
"""

import functools
import inspect
import linecache
import time
import types
from pathlib import Path

from coursekit.judge import bounds
from coursekit.judge import exercise as ex
from coursekit.own_engine import judge as judging
from coursekit.own_engine import stages
from coursekit.own_engine.mistakes import edited

NAME, FILE = "my_tests.py", "<my_tests.py>"
IDENT = "13.t"
SECONDS, EACH = bounds.SECONDS, 0.5 * bounds.SLOWER  # for everything; for one test
MISSING = (
    f"there is no {NAME} beside this notebook. Make it: in JupyterLab, File > New > Python File. Each test is a "
    "function that is given an engine, such as:"
)
EXAMPLE = (
    "    def test_a_product(torch):",
    "        x = torch.tensor(3.0, requires_grad=True)",
    "        (x * x).backward()",
    "        assert x.grad.item() == 6",
)

# What is wrong, for the table; and how the reference gets it, as pairs (old, new).
DEFECTS = (
    ("a leaf's first gradient is not cloned", (("leaf.grad = grad.clone()", "leaf.grad = grad"),)),
    ("a second pass replaces `.grad`", (("            leaf.grad.add_(grad)", "            leaf.grad = grad.clone()"),)),
    ("broadcasting is not undone",
     (("    return grad if grad.shape == shape else grad.sum(copied).reshape(shape)\n", "    return grad\n"),)),
    ("the gradient of a mean is that of a sum", (("g.expand(shape) / math.prod(shape)", "g.expand(shape)"),)),
    ("of two gradients that meet, one is lost",
     (("buffers[to] = buffers[to] + sent if to in buffers else sent", "buffers[to] = sent"),)),
    ("a constant gets a gradient",
     (("    if tensor.grad_fn or not tensor.requires_grad:\n", "    if tensor.grad_fn:\n"),)),
    ("recording stays off after `no_grad`", (("        recording = before\n", "        pass\n"),)),
    ("a freed slot can still be read", (("            each.tensor = None\n", "            pass\n"),)),
    ("a saved tensor that is stale is accepted",
     (("        if tensor._version != self.version:\n", "        if False:\n"),)),
    ("a leaf that requires a gradient may be overwritten",
     (("        if recording and self.requires_grad and self.is_leaf:\n", "        if False:\n"),)),
    ("a write through a view is not counted",
     (("            result.version = operands[0].version\n", "            result.version = Version()\n"),)),
    ("a hook is skipped", (("            for hook in node.hooks:\n", "            for hook in node.hooks[1:]:\n"),)),
    ("`step` forgets the learning rate", (("p.sub_(p.grad * self.lr)", "p.sub_(p.grad)"),)),
    ("a second derivative leaves out a saved result",
     (("return Tensor(tensor.array, False, node, tensor.version) if self.is_output else tensor", "return tensor"),)),
)  # fmt: skip


@functools.cache
def right_engine() -> str:
    return stages.stage(stages.LAST)


def defects(path=None) -> ex.Result:
    """Return the Result for the learner's tests. Raises nothing, and always ends within seconds."""
    try:
        source = (Path(NAME) if path is None else Path(path)).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return ex.Result(IDENT, ex.NOT_ATTEMPTED, MISSING, list(EXAMPLE))
    except (OSError, UnicodeDecodeError) as error:
        return ex.Result(IDENT, ex.ERROR, f"{NAME} cannot be read: {ex.error_text(error)}")
    if not source.strip():
        return ex.Result(IDENT, ex.NOT_ATTEMPTED, f"{NAME} is empty. A test looks like this:", list(EXAMPLE))
    with judging.as_it_was():
        loaded = bounds.run(lambda: load(source), seconds=EACH)
    if loaded.error is not None:
        place = judging.place_of(loaded.error, FILE)
        return ex.Result(IDENT, ex.ERROR, ex.error_text(loaded.error), place, printed=loaded.printed)
    tests, others = loaded.value
    if not tests:
        text = f"{NAME} has no function whose name begins with test_. A test looks like this:"
        return ex.Result(IDENT, ex.NOT_YET, text, list(EXAMPLE))
    return result_of(tests, others)


def load(source) -> tuple:
    """Return (test functions of the file in order, names of its other functions that could be meant as tests)."""
    linecache.cache[FILE] = (len(source), None, source.splitlines(keepends=True), FILE)
    module = types.ModuleType("my_tests")
    exec(compile(source, FILE, "exec", dont_inherit=True), module.__dict__)
    functions = {name: each for name, each in vars(module).items() if inspect.isfunction(each)}
    tests = [each for name, each in functions.items() if name.startswith("test")]
    return tests, [name for name, each in functions.items() if each not in tests and takes_an_engine(each)]


def takes_an_engine(function) -> bool:
    """Return True for a function of this file whose only argument may be the engine."""
    return function.__module__ == "my_tests" and list(inspect.signature(function).parameters) == ["torch"]


def result_of(tests, others=()) -> ex.Result:
    """Try the tests on the right engine, then on each with a defect. `others` are named: their names say no test."""
    end = time.process_time() + SECONDS
    unfit = {}
    for test in tests:
        error = error_of(test, right_engine(), end)
        if error is not None:
            unfit[test] = error
    fit = [test for test in tests if test not in unfit]
    rows, found = [], 0
    for words, edits in DEFECTS:
        by = found_by(fit, edited(right_engine(), edits), end)
        found += by is not None
        rows.append(f"  {'found' if by else 'NOT FOUND':10} {words}" + (f": {by}" if by else ""))
    if others:
        rows.append(f"  (Not called, since their names do not begin with test_: {', '.join(others)}.)")
    if time.process_time() > end:
        rows.append(f"  (Time was up after {SECONDS:g} seconds: what was not tried by then counts as not found.)")
    if unfit:
        (first, error), more = next(iter(unfit.items())), len(unfit) - 1
        others = f" (and {more} more)" if more else ""
        text = f"{first.__name__}{others} fails on an engine without a defect, so it was left out: "
        return ex.Result(IDENT, ex.ERROR, text + said(error), [*judging.place_of(error, FILE), *rows])
    if found < len(DEFECTS):
        text = f"your tests find {found} of {len(DEFECTS)} defects."
        return ex.Result(IDENT, ex.NOT_YET, text, rows, word="so far")  # there is nothing wrong with them
    text = f"your tests find each of {len(DEFECTS)} defects, and let an engine without one pass."
    return ex.Result(IDENT, ex.CORRECT, text, rows)


def said(error) -> str:
    """Say what a test raised."""
    if isinstance(error, bounds.TimeUp):
        return f"it had not ended after {EACH:g} seconds."
    return "its assert does not hold." if type(error) is AssertionError and not str(error) else ex.error_text(error)


def found_by(tests, engine, end) -> str | None:
    """Return the name of the first test that fails on this engine; None when all of them pass."""
    return next((test.__name__ for test in tests if error_of(test, engine, end) is not None), None)


def error_of(test, engine, end) -> Exception | None:
    """Run one test on a fresh engine; return what it raises, None when it passes or no time is left."""
    left = end - time.process_time()
    if left <= 0:
        return None
    with judging.as_it_was():
        return bounds.run(lambda: test(judging.load(engine)), seconds=min(EACH, left)).error
