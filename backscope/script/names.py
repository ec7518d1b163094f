"""Find what the user calls a parameter, a buffer, a module: when something has failed, and never before.

A name is the path in the state dict, `2.weight`; where several models are alive, their variable stands in front:
`discriminator.2.weight`. A model may be a variable, an attribute of a trainer, an entry of a dictionary, or live in the
closure of a function.
"""

import gc
import sys
import types
import weakref

from backscope.script.recorder import forget

COMPILERS = "torch._", "torch.fx"  # what a compiler keeps beside the user's own: graphs, and tensors without values


class Names:
    """Names of all modules that are alive, of their tensors, and of the variables of some frames."""

    def __init__(self, torch, frames=(), in_full=False):
        """in_full: the variable stands in front also where there is one model."""
        self.torch = torch
        self.called = {}  # id -> name
        self.by_memory = {}  # memory -> [(name, tensor)]
        self.modules = {}  # id -> module
        self.variables = variables_of(frames)
        alive = modules_alive(torch.nn.Module)
        alive = [one for one in alive if not type(one).__module__.startswith(COMPILERS)]
        inside = {id(child) for one in alive for child in children_of(one, torch.nn.Module).values()}
        roots = [one for one in alive if id(one) not in inside]
        roots.sort(key=lambda one: id(one) not in self.variables)
        several = in_full or len([one for one in roots if any(True for _ in one.parameters())]) > 1
        for root in roots:
            own = self.variables.get(id(root)) or holder_of(root) or type(root).__name__
            self.add_module(root, own, own + "." if several else "")
        for one, name in self.variables.items():
            self.called.setdefault(one, name)
        for name, tensor in tensors_of(frames, torch):
            self.add(tensor, name)
        del alive, roots

    def add_module(self, root, own, prefix):
        for path, module in root.named_modules():
            if id(module) in self.modules:
                continue
            self.modules[id(module)] = module
            self.called.setdefault(id(module), (prefix + path).rstrip(".") or own)
            for held in (module._parameters, module._buffers):
                for name, tensor in held.items():
                    if tensor is not None:
                        self.add(tensor, prefix + (path + "." if path else "") + name)
            for name, child in children_of(module, self.torch.nn.Module).items():
                if name not in module._modules:
                    self.add_module(child, own, f"{prefix}{path + '.' if path else ''}{name}.")

    def add(self, tensor, name):
        if type(tensor).__module__.startswith(COMPILERS):
            return
        self.called.setdefault(id(tensor), name)
        if self.called[id(tensor)] == name:
            try:
                self.by_memory.setdefault(tensor.untyped_storage()._cdata, []).append((name, tensor))
            except (RuntimeError, NotImplementedError):
                pass

    def of(self, thing):
        """The name of a module or a tensor; None for one that has none."""
        return self.called.get(id(thing))

    def of_memory(self, memory, shape=None):
        """(name, tensor) of what has this memory; with a shape, of what has it in some order. None if unknown."""
        found = self.by_memory.get(memory, [])
        fitting = [one for one in found if shape is None or sorted(one[1].shape) == sorted(shape)]
        return (fitting or [None])[0]


class Living:
    """Names of parameters while a script runs: looked for anew where one is unknown, and nothing is kept alive."""

    def __init__(self, doubts):
        self.doubts, self.known = doubts, {}  # known: id of a parameter -> (weak reference to it, its name)

    def of(self, parameters):
        """Names in words: six, and how many more."""
        return in_words([self.name(one) for one in parameters])

    def name(self, parameter):
        if (found := self.known.get(id(parameter), (lambda: None,)))[0]() is not parameter:
            self.look()
            found = self.known.get(id(parameter), (lambda: None,))
        if found[0]() is parameter:
            return found[1]
        shape = "×".join(map(str, parameter.shape)) or "a single number"
        number = self.doubts.index_of(parameter)
        return f"parameter {number} ({shape})" if number is not None else f"a parameter ({shape})"

    def look(self):
        frames = self.doubts.frames()
        names = Names(self.doubts.torch, frames, in_full=True)
        for held in names.by_memory.values():
            for name, tensor in held:
                self.known[id(tensor)] = weakref.ref(tensor), name
        for frame in frames:
            if frame.f_locals is not frame.f_globals:
                forget(frame.f_locals)


class Nameless(Names):
    """The names where looking for them went wrong: nothing has one."""

    def __init__(self):
        self.called, self.by_memory, self.modules, self.variables = {}, {}, {}, {}


def in_words(names):
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")


def modules_alive(kind):
    """All modules; one that is half made, by deepcopy, has no children yet."""
    return [one for one in gc.get_objects() if issubclass(type(one), kind) and "_modules" in vars(one)]


def children_of(module, kind):
    """{path: module}: registered ones, and those in lists and dicts that PyTorch does not look into."""
    found = {name: one for name, one in module._modules.items() if one is not None}
    for name, held in vars(module).items():
        if name.startswith("_") or not isinstance(held, (list, tuple, dict)):
            continue
        for at, one in held.items() if isinstance(held, dict) else enumerate(held):
            if isinstance(one, kind):
                found[f"{name}.{at}"] = one
    return found


def variables_of(frames):
    """{id of a value: its name} from the variables of these frames, of `self` in them, and of the script."""
    found = {}
    for frame in frames:
        top = frame.f_code.co_name == "<module>"
        seen = dict(frame.f_globals if top else frame.f_locals)
        holders = [seen.pop("self", None), *seen.values()]
        add_names(found, seen)
        for holder in holders:
            add_names(found, attributes_of(holder))
    script = dict(vars(sys.modules.get("__main__")) or {})
    add_names(found, script)
    for holder in script.values():
        add_names(found, attributes_of(holder))
    return found


def add_names(found, seen):
    for name, value in seen.items():
        if isinstance(name, str) and not name.startswith("__") and not isinstance(value, (int, str, float, type(None))):
            found.setdefault(id(value), name)


def attributes_of(holder):
    """The attributes of a plain object: not of a module, whose tensors have names, nor of a file of Python's."""
    if isinstance(holder, (type, types.ModuleType, types.FunctionType)) or "_modules" in getattr(
        holder, "__dict__", {"_modules": 0}
    ):
        return {}
    held = holder.__dict__
    return dict(held) if isinstance(held, dict) and len(held) < 1000 else {}


def tensors_of(frames, torch):
    """(name, tensor) of the leaves among the variables, also in lists and dictionaries."""
    for frame in frames:
        for name, value in list(frame.f_locals.items()):
            several = value.items() if type(value) is dict else enumerate(value) if type(value) in (list, tuple) else ()
            named = [(name, value), *((f"{name}[{key!r}]", one) for key, one in list(several)[:100])]
            for called, one in named:
                if issubclass(type(one), torch.Tensor) and not name.startswith("__") and one.is_leaf:
                    yield called, one


def holder_of(module):
    """The name under which something holds a module: an attribute, a key, a variable of a closure."""
    for one in gc.get_referrers(module):
        if isinstance(one, dict):
            name = next((k for k, v in list(one.items()) if v is module and isinstance(k, str)), None)
            if name and name.isidentifier() and not name.startswith("_") and name not in ("self", "module", "root"):
                return name
        elif isinstance(one, types.CellType):
            for closure in gc.get_referrers(one):
                for function in gc.get_referrers(closure) if isinstance(closure, tuple) else ():
                    if isinstance(function, types.FunctionType) and function.__closure__ is closure:
                        return function.__code__.co_freevars[closure.index(one)]
    return None
