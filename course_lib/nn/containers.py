"""Modules made of modules (and of parameters): Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict.

PyTorch: torch/nn/modules/container.py.
"""

import operator
from collections import OrderedDict

from course_lib.engine.tensor import Tensor
from course_lib.nn.module import Module, indented
from course_lib.nn.parameter import Parameter


def position(index, length):
    """A position counted from the front; IndexError when it is out of range."""
    index = operator.index(index)
    if not -length <= index < length:
        raise IndexError(f"index {index} is out of range")
    return index % length


def check_iterable(values, name, what="an iterable"):
    """TypeError for what cannot be gone through."""
    if not hasattr(values, "__iter__") or isinstance(values, Tensor):
        raise TypeError(f"{name} should be called with {what}, but got {type(values).__name__}")


# --- lists -------------------------------------------------------------------------------------------------


class _Listed(Module):
    """What Sequential and ModuleList share: submodules named "0", "1", ... in order."""

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __getitem__(self, index):
        if isinstance(index, slice):
            return self._of(list(self._modules.items())[index])
        return list(self)[position(index, len(self))]

    def __setitem__(self, index, module):
        setattr(self, list(self._modules)[position(index, len(self))], module)

    def __delitem__(self, index):
        kept = list(self)
        del kept[index if isinstance(index, slice) else position(index, len(self))]
        self._renumber(kept)

    def __iadd__(self, modules):
        return self.extend(modules)

    def __dir__(self):
        return [name for name in super().__dir__() if not name.isdigit()]

    def _renumber(self, modules):
        self._modules.clear()
        for number, module in enumerate(modules):
            self.add_module(str(number), module)

    def append(self, module):
        """Add a module at the end; returns self."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules):
        """Add several modules at the end; returns self."""
        check_iterable(modules, f"{type(self).__name__}.extend")
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, index, module):
        """Put a module before a position; the ones behind are renumbered. Returns self."""
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)
        return self

    def pop(self, key):
        """Take a module out and return it."""
        module = self[key]
        del self[key]
        return module


class Sequential(_Listed):
    """Modules applied one after the other; from arguments, or from one OrderedDict of names and modules."""

    def __init__(self, *args):
        super().__init__()
        named = len(args) == 1 and isinstance(args[0], OrderedDict)
        for name, module in args[0].items() if named else enumerate(args):
            self.add_module(str(name), module)

    def _of(self, items):
        return type(self)(OrderedDict(items))

    def __add__(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return Sequential(*self, *other)

    def __mul__(self, times):
        return Sequential(*list(self) * times)

    __rmul__ = __mul__

    def __imul__(self, times):
        return self.extend(list(self) * (times - 1))

    def forward(self, input):
        """The last module's output."""
        for module in self:
            input = module(input)
        return input


class ModuleList(_Listed):
    """A list whose modules are registered. It has no forward: loop over it."""

    def __init__(self, modules=None):
        super().__init__()
        self.extend(() if modules is None else modules)

    def _of(self, items):
        return type(self)(module for _, module in items)

    def __add__(self, other):
        return ModuleList([*self, *other])

    def __repr__(self):
        if not len(self):
            return f"{self._get_name()}()"
        lines = []  # [first number, last number, text]: equal neighbours are shown once
        for number, module in enumerate(self):
            text = repr(module)
            if lines and lines[-1][2] == text:
                lines[-1][1] = number
            else:
                lines.append([number, number, text])
        shown = []
        for first, last, text in lines:
            label = f"({first})" if first == last else f"({first}-{last})"
            times = "" if first == last else f"{last - first + 1} x "
            shown.append(f"\n  {label}: {times}{indented(text)}")
        return f"{self._get_name()}({''.join(shown)}\n)"


class ParameterList(Module):
    """A list whose tensors are registered as parameters."""

    def __init__(self, values=None):
        super().__init__()
        self._size = 0
        self.extend(() if values is None else values)

    def __len__(self):
        return self._size

    def __iter__(self):
        return iter(self[i] for i in range(len(self)))

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(list(self)[index])
        return getattr(self, str(position(index, len(self))))

    def __setitem__(self, index, value):
        setattr(self, str(position(index, len(self))), as_parameter(value))

    def append(self, value):
        """Add a value at the end; a plain tensor becomes a Parameter. Returns self."""
        self._size += 1
        self[-1] = value
        return self

    def extend(self, values):
        """Add several values at the end; returns self."""
        check_iterable(values, "ParameterList.extend")
        for value in values:
            self.append(value)
        return self

    __iadd__ = extend

    def __dir__(self):
        return [name for name in super().__dir__() if not name.isdigit()]

    def extra_repr(self):
        """One line for each value."""
        return "\n".join(described(number, value, value.dtype) for number, value in enumerate(self))


# --- dictionaries ------------------------------------------------------------------------------------------


class _Named(Module):
    """What ModuleDict and ParameterDict share: values under names, in order of insertion, in a dictionary `_held`."""

    def __init__(self, values=None):
        super().__init__()
        if values is not None:
            self.update(values)

    def __len__(self):
        return len(self._held)

    def __iter__(self):
        return iter(self._held)

    def __contains__(self, key):
        return key in self._held

    def __getitem__(self, key):
        return self._held[key]

    def __delitem__(self, key):
        del self._held[key]

    def keys(self):
        """The names."""
        return self._held.keys()

    def values(self):
        """The values."""
        return self._held.values()

    def items(self):
        """The names with their values."""
        return self._held.items()

    def get(self, key, default=None):
        """The value under a name, or the default."""
        return self._held.get(key, default)

    def pop(self, key):
        """Take one value out and return it."""
        return self._held.pop(key)

    def clear(self):
        """Take all values out."""
        self._held.clear()

    def update(self, values):
        """Add values from a dictionary or from (name, value) pairs."""
        check_iterable(values, f"{type(self).__name__}.update", "an iterable of key/value pairs")
        for key, value in values.items() if hasattr(values, "items") else values:
            self[key] = value


class ModuleDict(_Named):
    """A dictionary whose modules are registered."""

    @property
    def _held(self):
        return self._modules

    def __setitem__(self, key, module):
        self.add_module(key, module)


class ParameterDict(_Named):
    """A dictionary whose tensors are registered as parameters."""

    @property
    def _held(self):
        return self._parameters

    def __setitem__(self, key, value):
        self.register_parameter(key, as_parameter(value))

    def update(self, values):
        """Add parameters from a dictionary, of which a plain one is sorted, or from (name, value) pairs."""
        super().update(sorted(values.items()) if type(values) is dict else values)

    def setdefault(self, key, default=None):
        """The value under a name; when there is none, the default is put there first."""
        if key not in self:
            self[key] = default
        return self[key]

    def popitem(self):
        """Take the newest value out; (name, value)."""
        return self._parameters.popitem()

    def copy(self):
        """A new ParameterDict with the same values."""
        return ParameterDict(list(self.items()))

    def extra_repr(self):
        """One line for each value."""
        return "\n".join(described(key, value, value.type()) for key, value in self.items())


def as_parameter(value):
    """A tensor as a Parameter; TypeError for anything else."""
    if not isinstance(value, Tensor):
        raise TypeError(f"only tensors can become parameters, not {type(value).__name__}")
    return value if isinstance(value, Parameter) else Parameter(value)


def described(key, value, kind):
    """One value as the containers of parameters print it."""
    sizes = "x".join(str(n) for n in value.size())
    return f"  ({key}): Parameter containing: [{kind} of size {sizes}]"
