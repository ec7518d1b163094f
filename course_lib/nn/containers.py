"""Modules made of modules: Sequential, ModuleList, ModuleDict.

PyTorch: torch/nn/modules/container.py.
"""

import itertools
import operator
from collections import OrderedDict

from course_lib.engine.tensor import Tensor
from course_lib.nn.module import Module, indented


class _Container(Module):
    """The base of all containers: `_held`, a dictionary in which what they hold is registered."""

    @property
    def _held(self):
        return self._modules

    def _put(self, name, value):
        self.add_module(name, value)

    def __len__(self):
        return len(self._held)

    def __dir__(self):
        return [name for name in super().__dir__() if not name.isdigit()]


# --- lists -------------------------------------------------------------------------------------------------


class _Listed(_Container):
    """Values that are named "0", "1", ... in order."""

    def __iter__(self):
        return iter(self._held.values())

    def _name(self, index):
        if not -len(self) <= operator.index(index) < len(self):
            raise IndexError(f"index {index} is out of range")
        return list(self._held)[index]

    def __getitem__(self, index):
        if isinstance(index, slice):
            return self._of(list(self._held.items())[index])
        return self._held[self._name(index)]

    def _of(self, items):
        return type(self)([value for _, value in items])

    def __setitem__(self, index, value):
        self._put(self._name(index), value)

    def __delitem__(self, index):
        kept = list(self)
        del kept[index]
        self._held.clear()
        self.extend(kept)

    def append(self, value: Module | int) -> Module:
        """Add a value at the end; returns self."""
        self._put(str(len(self)), value)
        return self

    def extend(self, values: list) -> Module:
        """Add several values at the end; returns self."""
        if not hasattr(values, "__iter__") or isinstance(values, Tensor):
            name = type(self).__name__
            raise TypeError(f"{name}.extend should be called with an iterable, but got {type(values).__name__}")
        for value in list(values):
            self.append(value)
        return self

    __iadd__ = extend

    def insert(self, index: int, value: Module) -> Module:
        """Put a value before a position; the ones behind are renumbered. Returns self."""
        values = list(self)
        values.insert(index, value)
        self._held.clear()
        return self.extend(values)

    def pop(self, index: int) -> Module:
        """Take a value out and return it."""
        value = self[index]
        del self[index]
        return value


class Sequential(_Listed):
    """Modules applied one after the other; from arguments, or from one OrderedDict of names and modules."""

    def __init__(self, *args):
        super().__init__()
        named = len(args) == 1 and isinstance(args[0], OrderedDict)
        for name, module in args[0].items() if named else enumerate(args):
            self.add_module(str(name), module)

    def _of(self, items):
        return type(self)(OrderedDict(items))

    def forward(self, input: Tensor) -> Tensor:
        """Return the last module's output."""
        for module in self:
            input = module(input)
        return input


class ModuleList(_Listed):
    """A list whose modules are registered. It has no forward: loop over it."""

    def __init__(self, modules=None):
        super().__init__()
        self.extend(() if modules is None else modules)

    def __repr__(self):
        lines, first = "", 0
        for text, same in itertools.groupby(map(repr, self)):  # equal neighbours are shown once
            times = len(list(same))
            label = f"({first})" if times == 1 else f"({first}-{first + times - 1})"
            lines += f"\n  {label}: " + (f"{times} x " if times > 1 else "") + indented(text)
            first += times
        return f"{self._get_name()}({lines}\n)" if lines else f"{self._get_name()}()"


# --- dictionaries ------------------------------------------------------------------------------------------


class ModuleDict(_Container):
    """A dictionary whose modules are registered, in order of insertion."""

    def __init__(self, values=None):
        super().__init__()
        self.update({} if values is None else values)

    def __iter__(self):
        return iter(self._held)

    def __contains__(self, key):
        return key in self._held

    def __getitem__(self, key):
        return self._held[key]

    def __setitem__(self, key, value):
        self._put(key, value)

    def __delitem__(self, key):
        del self._held[key]

    def keys(self) -> object:
        """Return the names."""
        return self._held.keys()

    def values(self) -> object:
        """Return the values."""
        return self._held.values()

    def items(self) -> object:
        """Return the names with their values."""
        return self._held.items()

    def pop(self, key: str) -> Module:
        """Take one value out and return it."""
        return self._held.pop(key)

    def update(self, values: dict) -> None:
        """Add values from a dictionary or from (name, value) pairs."""
        for key, value in dict(values).items():
            self[key] = value
