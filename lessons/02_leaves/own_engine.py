"""The learner's engine, lesson 02, who takes part: its program, wrong engines, other right ones."""

import re

import numpy as np

from coursekit.own_engine.checkpoints import print
from coursekit.own_engine.mistakes import keeps, leaf, mistake

NOW = "From now on nothing is recorded or computed for what is frozen, and a switch turns recording off."

HINTS = (
    "Ask once, in `operation`: is there an arrow for at least one operand? If not, the result is plain.",
    "An operand without an arrow gets None in place of a gradient: do not run its formula, and save only what the "
    "other formulas name.",
    "`as_tensor(value, dtype)` is called in `run`, with the dtype of an operand that is a tensor.",
)


def lesson_02(torch):
    """Constants and frozen tensors get no arrow and no gradient; nothing is recorded for them alone."""
    w, c = torch.tensor(2.0, requires_grad=True), torch.tensor(5.0)
    y = 3 * w * c + 1
    print(y, (c * c).grad_fn, (c * c).is_leaf, y.is_leaf)
    print(y.grad_fn.next_functions[0][0].next_functions[1])
    y.backward()
    print(w.grad, c.grad)
    with torch.no_grad():
        print((w * w).requires_grad)
    try:
        (c * c).backward()
    except RuntimeError as error:
        print(str(error)[:42])


def half_02(torch):
    """Before there is a switch for recording: constants and frozen tensors take no part."""
    w, c = torch.tensor(2.0, requires_grad=True), torch.tensor(5.0)
    y = 3 * w * c + 1
    print(y, (c * c).grad_fn, (c * c).is_leaf, y.is_leaf)
    print(y.grad_fn.next_functions[0][0].next_functions[1])
    y.backward()
    print(w.grad.item(), c.grad)
    try:
        (c * c).backward()
    except RuntimeError as error:
        print(str(error)[:42])


def picture(torch):
    """A result whose graph shows what the lesson has added, the names of its tensors, and the program in words."""
    w, c = torch.tensor(3.0, requires_grad=True), torch.tensor(5.0)
    return 3 * w * c + 1, {"w": w}, "y = 3 * w * c + 1, where c is frozen and holds 5"


@mistake(2, "A number has come where a tensor was expected: `3 * w` or `w * 3` stops. Turn it into a tensor first "
         "(step 1).",
         ("        operands = [as_tensor(each, dtype) for each in operands]\n", ""))  # fmt: skip
def numbers_left(torch):
    w = leaf(torch)
    w * w  # this at least has to run
    try:
        3 * w, w * 3  # noqa: B018  only whether they run
    except (AttributeError, TypeError):
        return True
    return False


@mistake(2, "A number gets another dtype than the operand beside it. In `w * 0.1` the 0.1 has to become a tensor of "
         "the dtype of `w`: float32 beside float32, float64 beside float64 (step 1).",
         ("[as_tensor(each, dtype) for each in operands]", "[as_tensor(each, np.float32) for each in operands]"))
def dtype_of_numbers(torch):  # fmt: skip
    for number in (np.float32(0.1), np.float64(0.1)):
        w = torch.tensor(np.array(number))
        if w.item() == number and (w * 0.1).item() != (number * type(number)(0.1)).item():
            return True
    return False


@mistake(2, "A tensor that does not require a gradient got one. Its arrow has to lead to nothing: `gradient_edge` "
         "answers None for it.",
         ("    if tensor.grad_fn or not tensor.requires_grad:\n", "    if tensor.grad_fn:\n"))  # fmt: skip
def constants_get_gradients(torch):
    x, c = leaf(torch), torch.tensor(5.0)
    (x * c).backward()
    return c.grad is not None


@mistake(2, "An operation on two constants has left a node. If all arrows lead to nothing there is nothing to record.",
         ("if recording and any(map(gradient_edge, operands)):", "if recording:"))  # fmt: skip
def node_for_constants(torch):
    c = torch.tensor(5.0)
    return (c * c).grad_fn is not None


@mistake(2, "An arrow that leads to nothing was followed. Nothing is to be sent there: when the pass goes along the "
         "arrows, step over those that are None (step 2).",
         ("        if to:\n            send(to, sent)\n", "        send(to, sent)\n"))  # fmt: skip
def follows_nothing(torch):
    x, c = leaf(torch), torch.tensor(5.0)
    (x * x).backward()  # this at least has to run
    y = x * c
    try:
        y.backward()
    except (AttributeError, TypeError) as error:
        led_nowhere = y.grad_fn.next_functions[1][0] is None
        return led_nowhere and "NoneType" in str(error) and re.search("next_functions|not callable", str(error))
    return False


@mistake(2, "A formula was run for an operand whose arrow leads to nothing: in `x * c` the gradient for the frozen `c` "
         "was computed, and then thrown away. Run a formula only if its arrow leads somewhere (step 2).",
         ("[formula(g, *map(node.read, read)) if to else None for", "[formula(g, *map(node.read, read)) for"),
         ("if to for each in read}", "for each in read}"))  # fmt: skip
def runs_all_formulas(torch):
    for kind, size in ((np.float32, 1e30), (np.float64, 1e200)):
        with np.errstate(all="ignore"):
            x, large = leaf(torch, np.array(size, kind)), torch.tensor(np.array(size, kind))
            y = x * torch.tensor(np.array(1 / size, kind)) * large
        try:
            with np.errstate(all="ignore", over="raise"):
                y.backward()  # only the gradient for the frozen factor, size², is too large a number
        except FloatingPointError:
            return True
    return False


@mistake(2, "A product keeps a tensor that no formula will read: in `h * c`, with a frozen `c`, only the formula for "
         "`c` would read `h`. Save what those formulas read whose arrow leads somewhere (step 2).",
         ("if to for each in read}", "for each in read}"))  # fmt: skip
def saves_for_the_frozen(torch):
    return keeps(torch, lambda h: h * torch.tensor(5.0))


@mistake(2, "`backward()` on a tensor that does not require a gradient has not raised the error of step 3: \"element 0 "
         "of tensors does not require grad …\".",
         ("    if gradient_edge(tensor) is None:\n        raise RuntimeError(\"element 0 of tensors does not require "
          "grad and does not have a grad_fn\")\n", ""))  # fmt: skip
def no_error_for_constants(torch):
    y = torch.tensor(5.0) * torch.tensor(5.0)
    try:
        y.backward()
    except Exception as error:
        return "element 0 of tensors does not require grad" not in str(error)
    return True


@mistake(2, "`is_leaf` does not say True for a leaf and False for a result. Step 4 asks for a property, so there are "
         "no brackets behind it: True if `grad_fn` is None.",
         ("    is_leaf = property(lambda self: self.grad_fn is None)\n", ""))  # fmt: skip
def no_is_leaf(torch):
    x = leaf(torch)
    return [getattr(each, "is_leaf", None) for each in (x, x * x)] != [True, False]


@mistake(2, "The backward pass records itself: `x.grad` has a `grad_fn`. Run the pass with recording off.",
         ("    with no_grad():\n        send(", "    if True:\n        send("))  # fmt: skip
def records_itself(torch):
    x = leaf(torch)
    (x * x).backward()
    return hasattr(torch, "no_grad") and x.grad is not None and x.grad.grad_fn is not None


def recorded_after_a_block(torch, *errors):
    """Tell whether an operation leaves a node behind a `no_grad` block, which ends with an error if one is given."""
    try:
        with torch.no_grad():
            for error in errors:
                raise error
    except errors:
        pass
    x = leaf(torch)
    return (x * x).grad_fn is not None


@mistake(2, "After a `with no_grad():` block recording stays off. When the block ends, put the variable's old "
         "value back.",
         ("    try:\n        yield\n    finally:\n        recording = before\n", "    yield\n"))  # fmt: skip
def stays_off(torch):
    return not recorded_after_a_block(torch)


@mistake(2, "After a `with no_grad():` block that ended with an error recording stays off. Restore the variable in any "
         "case: `try: … finally: …`.",
         ("    try:\n        yield\n    finally:\n        recording = before\n",
          "    yield\n    recording = before\n"))  # fmt: skip
def stays_off_after_an_error(torch):
    return recorded_after_a_block(torch) and not recorded_after_a_block(torch, KeyError)


RIGHT = (
    ("no_grad as a class with __enter__ and __exit__", (
        ("def no_grad():\n    return set_grad_enabled(False)\n",
         "class no_grad:\n    def __enter__(self):\n        global recording\n        self.before, recording = "
         "recording, False\n\n    def __exit__(self, *error):\n        global recording\n        recording = "
         "self.before\n"),
    )),
)  # fmt: skip
