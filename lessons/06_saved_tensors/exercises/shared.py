"""Helpers that several exercises of lesson 06 share."""

from lessons.shared import as_number


def saved_tensors_of(node, torch):
    """The tensors in a node's slots, in slot order; released slots are left out."""
    found = []
    for name in dir(node):
        if name.startswith("_saved_"):
            try:
                value = getattr(node, name)
            except RuntimeError:
                continue
            if isinstance(value, torch.Tensor):
                found.append(value)
    return found


def as_numbers(answer, count):
    """The answer as a list of `count` floats; None when it is something else."""
    if not isinstance(answer, (list, tuple)) or len(answer) != count:
        return None
    numbers = [as_number(number) for number in answer]
    return None if None in numbers else numbers
