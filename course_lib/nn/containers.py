"""Modules made of modules (and of parameters): Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict.

PyTorch: torch/nn/modules/container.py.
"""

import operator
from collections import OrderedDict
from itertools import chain, islice

from course_lib.engine.tensor import Tensor
from course_lib.nn.module import Module, indented
from course_lib.nn.parameter import Parameter


def position(index, length):
    """A position counted from the front, as a string key; IndexError when it is out of range."""
    index = operator.index(index)
    if not -length <= index < length:
        raise IndexError(f"index {index} is out of range")
    return index % length


class _Listed(Module):
    """What Sequential and ModuleList share: submodules named "0", "1", ... in order."""

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __getitem__(self, index):
        if isinstance(index, slice):
            return self._of(list(self)[index], list(self._modules)[index])
        return next(islice(self._modules.values(), position(index, len(self)), None))

    def __setitem__(self, index, module):
        key = list(self._modules)[position(index, len(self))]
        setattr(self, key, module)

    def __delitem__(self, index):
        kept = list(self)
        del kept[index if isinstance(index, slice) else position(index, len(self))]
        self._renumber(kept)

    def __dir__(self):
        return [name for name in super().__dir__() if not name.isdigit()]

    def _renumber(self, modules):
        self._modules.clear()
        for number, module in enumerate(modules):
            self._modules[str(number)] = module

    def append(self, module):
        """Add a module at the end; returns self."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules):
        """Add several modules at the end; returns self."""
        for module in modules:
            self.append(module)
        return self

    def _insert(self, index, module):
        """Move the names of the modules from a position on, each to the next number, and fill the gap."""
        for number in range(len(self), index, -1):
            self._modules[str(number)] = self._modules[str(number - 1)]
        self._modules[str(index)] = module

    def pop(self, key):
        """Take a module out and return it."""
        module = self[key]
        del self[key]
        return module


class Sequential(_Listed):
    """Modules applied one after the other; from arguments, or from one OrderedDict of names and modules."""

    def __init__(self, *args):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for number, module in enumerate(args):
                self.add_module(str(number), module)

    def _of(self, modules, names):
        result = type(self)()
        for name, module in zip(names, modules, strict=True):
            result.add_module(name, module)
        return result

    def insert(self, index, module):
        """Put a module before a position, which must exist; the ones behind are renumbered."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        self._insert(index + len(self) if index < 0 else index, module)
        return self

    def _check_added(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")

    def _check_times(self, times):
        if not isinstance(times, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(times)}")
        if times <= 0:
            raise ValueError(f"Non-positive multiplication factor {times} for {type(self)}")

    def __add__(self, other):
        self._check_added(other)
        return Sequential(*self, *other)

    def __iadd__(self, other):
        self._check_added(other)
        return self.extend(other)

    def __mul__(self, times):
        self._check_times(times)
        return Sequential(*list(self) * times)

    def __rmul__(self, times):
        return self * times

    def __imul__(self, times):
        self._check_times(times)
        numbered = [self._modules[str(number)] for number in range(len(self) if times > 1 else 0)]
        return self.extend(numbered * (times - 1))

    def forward(self, input):
        """The last module's output."""
        for module in self:
            input = module(input)
        return input


class ModuleList(_Listed):
    """A list whose modules are registered. It has no forward: loop over it."""

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def _of(self, modules, names):
        return type(self)(modules)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return super().__getitem__(index)
        return self._modules[str(position(index, len(self)))]

    def __setitem__(self, index, module):
        setattr(self, str(position(index, len(self))), module)

    def __delitem__(self, index):
        for number in range(len(self))[index] if isinstance(index, slice) else [position(index, len(self))]:
            delattr(self, str(number))
        self._renumber(list(self))

    def insert(self, index, module):
        """Put a module before a position counted from the front; the ones behind are renumbered."""
        self._insert(index, module)

    def __iadd__(self, modules):
        return self.extend(modules)

    def __add__(self, other):
        return ModuleList(chain(self, other))

    def extend(self, modules):
        """Add several modules at the end; returns self."""
        if not hasattr(modules, "__iter__"):
            raise TypeError(
                f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}"
            )
        return super().extend(modules)

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


class ModuleDict(Module):
    """A dictionary whose modules are registered, in order of insertion."""

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        self.add_module(key, module)

    def __delitem__(self, key):
        del self._modules[key]

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __contains__(self, key):
        return key in self._modules

    def keys(self):
        """The names."""
        return self._modules.keys()

    def items(self):
        """The names with their modules."""
        return self._modules.items()

    def values(self):
        """The modules."""
        return self._modules.values()

    def clear(self):
        """Take all modules out."""
        self._modules.clear()

    def pop(self, key):
        """Take one module out and return it."""
        return self._modules.pop(key)

    def update(self, modules):
        """Add modules from a dictionary or from (name, module) pairs."""
        if not hasattr(modules, "__iter__"):
            raise TypeError(
                f"ModuleDict.update should be called with an iterable of key/value pairs, but got "
                f"{type(modules).__name__}"
            )
        for key, module in pairs_of(modules, "ModuleDict"):
            self[key] = module


def pairs_of(values, name):
    """(key, value) pairs, from a dictionary or a list of pairs. ValueError for what is no pair."""
    if hasattr(values, "items"):
        return list(values.items())
    return checked_pairs(values, name)


def checked_pairs(values, name):
    """The pairs one by one: those before a wrong one are taken."""
    for number, pair in enumerate(values):
        what = f"{name} update sequence element #{number}"
        if not hasattr(pair, "__iter__"):
            raise TypeError(f"{what} should be Iterable; is{type(pair).__name__}")
        if len(pair) != 2:
            raise ValueError(f"{what} has length {len(pair)}; 2 is required")
        yield pair


def described(key, value, kind_of):
    """One value as the containers of parameters print it."""
    if not isinstance(value, Tensor):
        return f"  ({key}): Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    return f"  ({key}): {kind} containing: [{kind_of(value)} of size {'x'.join(str(n) for n in value.size())}]"


class ParameterList(Module):
    """A list whose tensors are registered as parameters."""

    def __init__(self, values=None):
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

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
        self[self._size - 1] = value
        return self

    def extend(self, values):
        """Add several values at the end; returns self."""
        if not hasattr(values, "__iter__") or isinstance(values, Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in values:
            self.append(value)
        return self

    __iadd__ = extend

    def __dir__(self):
        return [name for name in super().__dir__() if not name.isdigit()]

    def __call__(self, *args, **kwargs):
        raise RuntimeError("ParameterList should not be called.")

    def extra_repr(self):
        """One line for each value."""
        return "\n".join(described(number, value, lambda v: v.dtype) for number, value in enumerate(self))


class ParameterDict(Module):
    """A dictionary whose tensors are registered as parameters."""

    def __init__(self, parameters=None):
        super().__init__()
        self._keys = {}
        if parameters is not None:
            self.update(parameters)

    def _name(self, key):
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string (type is "
                f"'{type(key).__name__}'). Open an issue on github if you need non-string keys."
            )
        return key

    def __getitem__(self, key):
        return getattr(self, self._name(key))

    def __setitem__(self, key, value):
        self._keys[key] = None
        setattr(self, self._name(key), as_parameter(value))

    def __delitem__(self, key):
        del self._keys[key]
        delattr(self, self._name(key))

    def __len__(self):
        return len(self._keys)

    def __iter__(self):
        return iter(self._keys)

    def __contains__(self, key):
        return key in self._keys

    def keys(self):
        """The names."""
        return self._keys.keys()

    def values(self):
        """The parameters."""
        return [self[key] for key in self._keys]

    def items(self):
        """The names with their parameters."""
        return [(key, self[key]) for key in self._keys]

    def update(self, parameters):
        """Add parameters from a dictionary or from (name, value) pairs."""
        if not hasattr(parameters, "__iter__"):
            raise TypeError(
                "ParametersDict.update should be called with an iterable of key/value pairs, but got "
                f"{type(parameters).__name__}"
            )
        pairs = pairs_of(parameters, "ParameterDict")
        for key, value in sorted(pairs) if type(parameters) is dict else pairs:
            self[key] = value

    def get(self, key, default=None):
        """The value under a name, or the default."""
        return self[key] if key in self else default

    def setdefault(self, key, default=None):
        """The value under a name; when there is none, the default is put there first."""
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key):
        """Take one value out and return it."""
        value = self[key]
        del self[key]
        return value

    def popitem(self):
        """Take the newest value out; (name, value)."""
        key, _ = self._keys.popitem()
        self._keys[key] = None
        return key, self.pop(key)

    def clear(self):
        """Take all values out."""
        for key in list(self._keys):
            del self[key]

    def copy(self):
        """A new ParameterDict with the same values."""
        return ParameterDict(list(self.items()))

    def fromkeys(self, keys, default=None):
        """A new ParameterDict with one value under several names."""
        return ParameterDict([(key, default) for key in keys])

    def __reversed__(self):
        return reversed(self._keys)

    def __or__(self, other):
        return self.copy().__ior__(other)

    def __ror__(self, other):
        return other.copy().__ior__(self)

    def __ior__(self, other):
        self.update(other)
        return self

    def __call__(self, input):
        raise RuntimeError("ParameterDict should not be called.")

    def extra_repr(self):
        """One line for each value."""
        return "\n".join(described(key, value, Tensor.type) for key, value in self.items())


def as_parameter(value):
    """Plain tensors become Parameters; everything else is kept as it is."""
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value
