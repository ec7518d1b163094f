"""What can be seen of tensors and nodes, in a form that two libraries can be compared by; and a leaf to look at."""

import math


def leaf(torch, *values, **options):
    """A leaf that requires grad."""
    return torch.tensor(values or (1.0, 2.0, 3.0), requires_grad=True, **options)


def describe(error):
    """An error as 'Type: first line of its text'."""
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"


def attempt(read):
    """A fact, or the error that reading it raises."""
    try:
        return read()
    except Exception as error:
        return describe(error)


def value_of(tensor):
    """Shape, element type and elements."""
    return tuple(tensor.shape), str(tensor.dtype), tensor.detach().tolist()


def name_of(node):
    """The node's name, or None."""
    return None if node is None else node.name()


_slots = {}


def saved_by(node, torch):
    """The names and values of the tensors that a node keeps, or the error of looking at one."""
    found, kind = {}, type(node)
    if kind not in _slots:  # the same for all nodes of a kind; dir() takes long
        _slots[kind] = [name for name in dir(node) if name.startswith("_saved_") or name == "saved_tensors"]
    for name in _slots[kind]:
        value = attempt(lambda name=name: getattr(node, name))
        if isinstance(value, torch.Tensor):
            found[name] = value_of(value)
        elif isinstance(value, str) and "Error: " in value:
            found[name] = value
        elif isinstance(value, tuple) and any(isinstance(v, torch.Tensor) for v in value):
            found[name] = [v if v is None else value_of(v) for v in value]
    return found


def same(ours, theirs, rel=1e-5, abs=1e-6):
    """Equality of facts, with numbers compared up to rounding."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(same(ours[k], theirs[k], rel, abs) for k in ours)
    if isinstance(ours, list | tuple) and isinstance(theirs, list | tuple):
        return len(ours) == len(theirs) and all(same(a, b, rel, abs) for a, b in zip(ours, theirs, strict=True))
    if isinstance(ours, float) and isinstance(theirs, float):
        if math.isnan(ours) or math.isnan(theirs):
            return math.isnan(ours) and math.isnan(theirs)
        return ours == theirs or math.isclose(ours, theirs, rel_tol=rel, abs_tol=abs)
    return type(ours) is type(theirs) and ours == theirs
