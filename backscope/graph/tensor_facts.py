"""What can be asked of one tensor: its elements in words, its memory, who shares its counter.

Only attributes that PyTorch itself offers are read, so the same code reads real PyTorch tensors.
"""

import weakref
from itertools import count

from backscope.adapters import adapter_of

PREVIEW = 4  # a tensor with more elements is described by its shape


def is_tensor(thing):
    """True for our tensors and PyTorch's, judged by what they offer."""
    kind = type(thing)
    return hasattr(kind, "grad_fn") and hasattr(kind, "untyped_storage") and hasattr(kind, "requires_grad")


_tokens = {}  # id of a living tensor -> (weak reference, token)
_next_token = count(1).__next__


def token_of(tensor):
    """A number of the tensor's own: an id alone may come back with another tensor."""
    key = id(tensor)
    known = _tokens.get(key)
    if known is None:
        forget = weakref.ref(tensor, lambda _: _tokens.pop(key, None))  # before the id can come back
        _tokens[key] = known = forget, _next_token()
    return known[1]


def is_module(thing):
    """True for an object that can name its parameters."""
    return not isinstance(thing, type) and hasattr(type(thing), "named_parameters")


def is_parameter(tensor):
    """True for our `nn.Parameter`s and PyTorch's."""
    return any(kind.__name__ == "Parameter" for kind in type(tensor).__mro__)


def safe_getattr(tensor, attribute, otherwise=None):
    """An attribute, or `otherwise` where the library refuses: stale views refuse even `is_leaf`."""
    try:
        return getattr(tensor, attribute)
    except (RuntimeError, AttributeError, NotImplementedError):
        return otherwise


def grad_of(tensor):
    """The .grad of a leaf or of a tensor that retains it; others are not asked, PyTorch would warn."""
    try:
        return tensor.grad if (tensor.is_leaf or tensor.retains_grad) and tensor.requires_grad else None
    except RuntimeError:
        return None


def number(value):
    """One element as text, the same for both libraries: floats with up to four digits and a point."""
    if isinstance(value, bool) or not isinstance(value, float):
        return str(value)
    text = f"{value:.4g}"
    return text if any(mark in text for mark in ".en") else text + "."


def nested(items):
    """Nested lists of numbers as text."""
    return "[" + ", ".join(map(nested, items)) + "]" if isinstance(items, list) else number(items)


def shape_of(tensor):
    """The shape as text: (2, 3)."""
    return str(tuple(int(n) for n in tensor.shape))


def preview(tensor):
    """Up to four elements as they are, otherwise the shape."""
    try:
        if 0 < tensor.numel() <= PREVIEW:
            return nested(tensor.tolist())
    except (RuntimeError, NotImplementedError):
        pass  # a tensor without readable elements still has a shape
    return "shape " + shape_of(tensor)


def dtype_of(tensor):
    """The element type's name: float32."""
    return str(tensor.dtype).rpartition(".")[2]


def place(tensor):
    """The address of a tensor's memory; None when there is none to compare."""
    try:
        return tensor.untyped_storage().data_ptr() or None
    except (RuntimeError, NotImplementedError, AttributeError):
        return None


def window(tensor):
    """Which elements of its memory a tensor looks at."""
    return tuple(tensor.shape), tuple(tensor.stride()), tensor.storage_offset(), dtype_of(tensor)


def one_counter(a, b):
    """True when two tensors on one memory share their version counter.

    `x.detach()` does and `x.data` does not, and until somebody writes no attribute tells them apart: the
    library's adapter does.
    """
    first, second = safe_getattr(a, "_version"), safe_getattr(b, "_version")
    if a is b or first != second:
        return a is b
    if first is None:
        return True  # two inference tensors: no counter, hence none of their own
    base_a, base_b = safe_getattr(a, "_base"), safe_getattr(b, "_base")
    if base_a is b or base_b is a or (base_a is not None and base_a is base_b):
        return True
    adapter = adapter_of(a)
    if adapter is not None:
        return adapter.share_counter(a, b)
    counter = safe_getattr(a, "version")  # a learner's own engine
    return counter is not None and counter is safe_getattr(b, "version")
