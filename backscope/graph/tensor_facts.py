"""Ask one tensor: its elements in words, its memory, who shares its counter.

Only attributes that PyTorch itself offers are read, so the same code reads real PyTorch tensors.
"""

import weakref
from dataclasses import dataclass
from itertools import count
from math import prod
from typing import Any

from backscope.adapters import adapter_of

REFUSALS = RuntimeError, AttributeError, NotImplementedError  # how a library says that it has no such fact
MARKS = frozenset(".en")  # one of them shows that a number is a float
PREVIEW = 4  # a tensor with more elements is described by its shape


def is_tensor(thing: object) -> bool:
    """Tell our tensors and PyTorch's from everything else, by what their type offers."""
    kind = type(thing)
    return hasattr(kind, "grad_fn") and hasattr(kind, "untyped_storage") and hasattr(kind, "requires_grad")


_tokens = {}  # id of a living tensor -> (weak reference, token)
_next_token = count(1).__next__


def token_of(tensor: Any) -> int:
    """Return a number of the tensor's own: an id alone may come back with another tensor."""
    key = id(tensor)
    known = _tokens.get(key)
    if known is None:
        forget = weakref.ref(tensor, lambda _: _tokens.pop(key, None))  # before the id can come back
        _tokens[key] = known = forget, _next_token()
    return known[1]


def is_module(thing: object) -> bool:
    """Tell whether an object can name its parameters."""
    return not isinstance(thing, type) and hasattr(type(thing), "named_parameters")


def is_parameter(tensor: object) -> bool:
    """Tell our `nn.Parameter`s and PyTorch's from other tensors."""
    return "Parameter" in [kind.__name__ for kind in type(tensor).__mro__]


def safe_getattr(tensor: object, attribute: str, otherwise: Any = None) -> Any:
    """Return an attribute, or `otherwise` where the library refuses: stale views refuse even `is_leaf`."""
    try:
        return getattr(tensor, attribute)
    except REFUSALS:
        return otherwise


@dataclass(slots=True)
class TensorFacts:
    """The history, memory and counter of a tensor, each asked once; None where the library refuses."""

    tensor: Any
    grad_fn: Any
    problem: str  # why it says no more of its history
    leaf: bool
    requires_grad: bool
    version: int | None
    base: Any  # the tensor that it is a view of
    place: int | None  # the address of its memory


def read_facts(tensor: Any) -> TensorFacts:
    """Ask a tensor for all of TensorFacts. Where it shows no grad_fn it is a leaf, unless it refuses to say so."""
    problem, grad_fn, facts, address = "", None, [], None
    try:
        grad_fn = tensor.grad_fn
    except RuntimeError as error:  # a stale view refuses
        problem = str(error).split(". ")[0]
    for name in ("requires_grad", "_version", "_base"):
        try:
            facts.append(getattr(tensor, name))
        except REFUSALS:
            facts.append(None)
    try:
        address = tensor.untyped_storage().data_ptr() or None
    except REFUSALS:
        pass  # there is no memory to compare
    requires_grad, version, base = facts
    return TensorFacts(
        tensor, grad_fn, problem, grad_fn is None and not problem, bool(requires_grad), version, base, address
    )


def grad_of(tensor: Any) -> Any:
    """Return the .grad of a leaf or of a tensor that retains it. Others are not asked: PyTorch would warn."""
    try:
        return tensor.grad if tensor.requires_grad and (tensor.grad_fn is None or tensor.retains_grad) else None
    except RuntimeError:
        return None


def number(value: float) -> str:
    """Write one element, the same for both libraries: floats with up to four digits and a point."""
    if isinstance(value, bool) or not isinstance(value, float):
        return str(value)
    text = f"{value:.4g}"
    return text + "." if MARKS.isdisjoint(text) else text


def nested(items: Any) -> str:
    """Write nested lists of numbers."""
    if not isinstance(items, list):
        return number(items)
    return "[" + ", ".join(map(nested if items and isinstance(items[0], list) else number, items)) + "]"


def shape_of(tensor: Any) -> str:
    """Write the shape: (2, 3)."""
    return str(tuple(map(int, tensor.shape)))


def preview(tensor: Any, shape: tuple[int, ...] | None = None) -> str:
    """Write up to four elements as they are, otherwise the shape, which may be known already."""
    shape = tuple(map(int, tensor.shape)) if shape is None else shape
    try:
        if 0 < prod(shape) <= PREVIEW:
            return nested(tensor.tolist())
    except (RuntimeError, NotImplementedError):
        pass  # a tensor without readable elements still has a shape
    return f"shape {shape}"


def dtype_of(tensor: Any) -> str:
    """Return the element type's name: float32."""
    return str(tensor.dtype).rpartition(".")[2]


def place(tensor: Any) -> int | None:
    """Return the address of a tensor's memory; None when there is none to compare."""
    try:
        return tensor.untyped_storage().data_ptr() or None
    except REFUSALS:
        return None


def window(tensor: Any) -> tuple:
    """Return which elements of its memory a tensor looks at."""
    return tuple(tensor.shape), tuple(tensor.stride()), tensor.storage_offset(), dtype_of(tensor)


def one_counter(a: Any, b: Any) -> bool:
    """Tell whether two tensors on one memory share their version counter."""
    return a is b or counted_together(read_facts(a), read_facts(b))


def counted_together(a: TensorFacts, b: TensorFacts) -> bool:
    """Tell the same of tensors whose facts are known.

    `x.detach()` shares it and `x.data` does not, and until somebody writes no attribute tells them apart: the
    library's adapter does.
    """
    if a is b or a.tensor is b.tensor or a.version != b.version:
        return a.version == b.version
    if a.version is None:
        return True  # two inference tensors: no counter, hence none of their own
    if a.base is b.tensor or b.base is a.tensor or (a.base is not None and a.base is b.base):
        return True
    adapter = adapter_of(a.tensor)
    if adapter is not None:
        return adapter.share_counter(a.tensor, b.tensor)
    counter = safe_getattr(a.tensor, "version")  # a learner's own engine
    return counter is not None and counter is safe_getattr(b.tensor, "version")
