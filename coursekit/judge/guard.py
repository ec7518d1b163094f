"""See to it that an answer does nothing besides giving its result: the guard looks before and after each call of it.

A check asks whether a result is right. It cannot ask, in each exercise anew, whether the answer also wrote into its
arguments or left grad mode off. So `judge` puts one guard around all of them. Before each call it notes what the
answer is given and how the engine is set; after the call it compares. A record says in `may_change` what its
right answers have to change, such as "W" or "x.grad".

Note [What the guard sees]
  arguments    tensors (memory, version, requires_grad, `.grad`, hooks), lists, tuples, dictionaries, sets, arrays,
               parameters and buffers of modules; the `.grad` of leaves that only the graph of an argument leads to
  gradients    what a Function's backward, or a hook that the answer registered, is handed
  settings     grad mode, inference mode, anomaly mode, saved-tensor hooks, default dtype, seeds, warnings filters
  lifetime     arguments that are still alive when the check has ended and dropped them
  errors       an error that is planted in backward(), or in a function that the answer is given, and never comes
               out of the answer's call. Only the first pass of a call raises: trying again is swallowing, too
"""

import contextlib
import ctypes
import functools
import gc
import inspect
import random
import sys
import types
import warnings
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

MOST_NODES = 500  # of the graph behind an argument
MOST_THINGS = 300  # tensors and containers that are looked at for one call
MOST_BYTES = 1 << 22  # of one tensor's memory
MOST_CALLS = 2000  # of one answer in one check; those after it are not compared

ARGUMENT = "wrote into an argument"
GRADIENT = "wrote into the gradient"
CONTAINER = "changed a container"
GRAD = "changed a .grad"
FLAG = "changed a flag"
HOOKS = "left hooks"
HOOKS_AFTER_ERROR = "left hooks, after an error"
SETTING = "left a setting"
SEED = "set a seed"
ALIVE = "keeps it alive"
SWALLOWED = "swallows errors"
FILTERS = "the list of warnings filters"
KINDS = (ARGUMENT, GRADIENT, CONTAINER, GRAD, FLAG, HOOKS_AFTER_ERROR, HOOKS, SETTING, SEED, ALIVE, SWALLOWED)


@dataclass(frozen=True)
class Finding:
    """Something that an answer did besides giving its result."""

    kind: str  # one of KINDS
    sentence: str  # for the learner
    allowed_by: str  # what a record's `may_change` would have to say, if right answers do this


class Planted(RuntimeError):
    """The error that the guard raises in what the answer calls, to see whether the answer lets it through."""


def comes_from_planted(error) -> bool:
    """Is this the planted error, or one that was raised because of it?"""
    while error is not None and not isinstance(error, Planted):
        error = error.__cause__ or error.__context__
    return error is not None


class Guard:
    """Watches the calls of one answer during one check. The first of its `findings` is told."""

    def __init__(self, torch, engines, starter=None, may_change=(), planting=False):
        self.torch, self.engines = torch, engines
        self.may_change = frozenset(may_change)
        self.planting = planting  # backward() raises Planted inside the answer's calls
        self.names = parameters(starter)  # what the record calls the arguments, whatever the learner calls them
        self.findings, self.given, self.inputs, self.allowed = [], [], [], set()
        self.depth = self.calls = self.passes = 0
        self.planted = None  # in what, during this call
        self.swallowed = None  # an error in what
        self.undo = []

    # --- around the whole check -------------------------------------------------------------------------

    def __enter__(self):
        """Put the guard in front of what reaches answers indirectly: hooks, backward(), seeds."""
        if not hasattr(self.torch, "Tensor"):
            return self
        tensor, module = self.torch.Tensor, self.torch.nn.Module
        self.replace(tensor, "register_hook", self.guarding_registration)
        for name in ("register_full_backward_hook", "register_full_backward_pre_hook"):
            self.replace(module, name, self.guarding_registration)
        for place, name in ((tensor, "backward"), (self.torch.autograd, "backward"), (self.torch.autograd, "grad")):
            self.replace(place, name, self.noting_passes)
        for place in (random, np.random):
            self.replace(place, "seed", self.noting_seeds)
        return self

    def __exit__(self, *error):
        while self.undo:
            place, name, original = self.undo.pop()
            setattr(place, name, original)

    def replace(self, place, name, maker) -> None:
        original = vars(place).get(name)
        if original is not None:
            self.undo.append((place, name, original))
            setattr(place, name, maker(original))

    def guarding_registration(self, register) -> Callable:
        @functools.wraps(register)
        def registering(self_, hook, *args, **kwargs):
            if self.depth and isinstance(hook, types.FunctionType):
                hook = self.around(hook, GRADIENT)
            return register(self_, hook, *args, **kwargs)

        return registering

    def noting_passes(self, function, where="backward()") -> Callable:
        @functools.wraps(function)
        def passing(*args, **kwargs):
            if self.depth:
                self.passes += 1
                if self.planting and self.planted is None:
                    self.planted = where
                    raise Planted(f"planted by the check: does an error in {where} come out of your code?")
            return function(*args, **kwargs)

        return passing

    def noting_calls(self, given) -> object:
        """Return a function that the answer is given: an error that it raises is the caller's business as well."""
        return self.noting_passes(given, f"`{given.__name__}`") if isinstance(given, types.FunctionType) else given

    def noting_seeds(self, seed) -> Callable:
        @functools.wraps(seed)
        def seeding(*args, **kwargs):
            if self.depth:
                self.found(SEED, "", "your code sets the seed of the random numbers for the whole notebook.")
            return seed(*args, **kwargs)

        return seeding

    # --- around each call -------------------------------------------------------------------------------

    def around(self, function, kind=ARGUMENT, names=None, noting=None) -> Callable:
        """Return `function`, looked at before and after each call. `noting(*args)` may add what else to look at."""
        own = parameters(function)

        @functools.wraps(function)
        def guarded(*args, **kwargs):
            self.calls += 1
            look = self.calls <= MOST_CALLS
            before = self.quietly(self.look, kind, own, names, args, kwargs, noting) if look else None
            args = [self.noting_calls(each) for each in args]
            kwargs = {label: self.noting_calls(each) for label, each in kwargs.items()}
            passes = self.passes
            if not self.depth:
                self.planted = None
            self.depth += 1
            failed = False
            try:
                result = function(*args, **kwargs)
            except Exception as error:
                failed = True
                if self.planting and self.passes > passes and self.depth == 1 and not comes_from_planted(error):
                    self.swallowed = self.planted  # the planted error is gone, and something went wrong later
                raise
            finally:
                self.depth -= 1
                if before is not None:
                    self.quietly(self.compare, before, failed)
            if self.planting and self.passes > passes and not self.depth:
                self.swallowed = self.planted
            if type(result) is types.FunctionType and not inspect.isgeneratorfunction(result):
                return self.around(result)
            return result

        return guarded

    @contextlib.contextmanager
    def around_methods(self, cls) -> Iterator:
        """Do the same for a Function class: its forward and backward are guarded until the check ends."""
        replaced = {}
        for name, kind, noting in (
            ("forward", ARGUMENT, self.note_inputs),
            ("backward", GRADIENT, self.add_inputs),
        ):
            method = vars(cls).get(name)
            function = getattr(method, "__func__", None)
            if isinstance(method, staticmethod) and isinstance(function, types.FunctionType):
                replaced[name] = method
                names = self.names.get(name, ()) if isinstance(self.names, dict) else ()
                setattr(cls, name, staticmethod(self.around(function, kind, names, noting)))
        try:
            yield cls
        finally:
            for name, method in replaced.items():
                setattr(cls, name, method)

    def note_inputs(self, found, args) -> None:
        """forward's inputs are looked at again when backward runs: that may write to what was saved."""
        tensors = [thing for thing in found if isinstance(thing, TensorSeen)]
        self.inputs = [*self.inputs, *((t.reference, t.name, t.label) for t in tensors)][-50:]

    def add_inputs(self, found, args) -> None:
        for reference, name, label in self.inputs:
            tensor = reference()
            if tensor is not None:
                found.append(TensorSeen(tensor, name, label, ARGUMENT))

    def quietly(self, work, *args) -> tuple | None:
        """Run the guard's own lines as nobody's business: not a tracer's, and their errors are not the learner's."""
        tracing = sys.gettrace()
        sys.settrace(None)
        try:
            return work(*args)
        except Exception:
            return None
        finally:
            sys.settrace(tracing)

    def look(self, kind, own, names, args, kwargs, noting) -> tuple:
        """Record what there is before a call: things seen, and the settings."""
        names = self.names if names is None else names
        found = []
        for place, value in enumerate(args):
            label = name_at(own, place)
            self.survey(value, name_at(names, place) or label, label, kind, found, 0)
        for label, value in kwargs.items():
            self.survey(value, label, label, kind, found, 0)
        self.given += [thing.reference for thing in found if isinstance(thing, TensorSeen)][: MOST_THINGS]
        del self.given[:-MOST_THINGS]
        if noting is not None:
            noting(found, args)
        return found, settings(self.engines), len(sys.modules)

    def survey(self, value, name, label, kind, found, depth) -> None:
        """Note `value` and what it holds. name: the record's word for it; label: how the learner's code says it."""
        if len(found) >= MOST_THINGS or depth > 4:
            return
        if is_tensor(value):
            found.append(TensorSeen(value, name, label, kind))
            for leaf in leaves_behind(value):
                if all(leaf is not each.reference() for each in found if isinstance(each, TensorSeen)):
                    found.append(LeafSeen(leaf, "leaves", f"the leaf behind `{label}`", kind))
        elif isinstance(value, (list, tuple)):
            if isinstance(value, list):
                found.append(ContainerSeen(value, name, label, list))
            for place, each in enumerate(value):
                self.survey(each, name, f"{label}[{place}]", kind, found, depth + 1)
        elif isinstance(value, (dict, set)):
            found.append(ContainerSeen(value, name, label, type(value).__base__ if type(value) not in (dict, set) else
                                       type(value)))
            for key, each in value.items() if isinstance(value, dict) else ():
                self.survey(each, name, f"{label}[{key!r}]", kind, found, depth + 1)
        elif isinstance(value, np.ndarray):
            found.append(ArraySeen(value, name, label))
        elif isinstance(value, self.torch.nn.Module):
            found.append(ModuleSeen(value, name, label))
            for key, each in [*value.named_parameters(), *value.named_buffers()]:
                found.append(TensorSeen(each, name, f"{label}.{key}", kind))

    def compare(self, before, failed) -> None:
        """Make a finding, after a call, of whatever is not as it was, unless the record allows it."""
        found, had, modules = before
        for thing in found:
            for kind, facet, sentence in thing.changes():
                if failed and kind == HOOKS:
                    kind, sentence = HOOKS_AFTER_ERROR, f"when a call of it fails, {sentence}"
                self.found(kind, thing.name, sentence, facet)
        for (what, was), (_, now) in zip(had, settings(self.engines), strict=True):
            if what == FILTERS and len(sys.modules) > modules:
                continue  # PyTorch loads parts of itself when they are first used, and these add filters
            if was != now:
                kind = SEED if what == "the seed" else SETTING
                words = "" if kind == SEED or not short(was, now) else f": {was} before, {now} after"
                self.found(kind, what, f"{what} is not as it was before your code ran{words}. Put it back as it was.")

    def found(self, kind, name, sentence, facet="") -> None:
        exactly = f"{name}.{facet}" if facet else name
        alone = {name} if facet != "hooks" else set()  # who may write to "model" may not leave hooks on it
        allowed = {*alone, exactly, kind} & self.may_change
        self.allowed |= allowed
        if not allowed:
            self.findings.append(Finding(kind, sentence, exactly or kind))

    # --- when the check has ended -----------------------------------------------------------------------

    def alive(self) -> None:
        """Note the arguments that nobody but the answer can still hold."""
        if any(reference() is not None for reference in self.given):
            gc.collect()
        left = sum(reference() is not None for reference in {id(r): r for r in self.given}.values())
        if left:
            self.found(
                ALIVE, "", "a tensor that your code was given is still alive, though the check has dropped it: "
                "something of yours outlives the call and holds it.",
            )


# ------------------------------------------------------------------------------------- what is looked at


class TensorSeen:
    """A tensor as it was before a call."""

    def __init__(self, tensor, name, label, kind):
        self.reference = weakref.ref(tensor)
        self.name, self.label, self.kind = name, label, kind
        self.memory, self.version = memory(tensor), version(tensor)
        self.flags, self.grad, self.hooks = flags(tensor), grad_of(tensor), hooks(tensor)

    def changes(self) -> Iterator:
        """Triples (kind, facet, sentence) for what is other now."""
        tensor = self.reference()
        if tensor is None:
            return
        now, label = version(tensor), self.label
        if memory(tensor) != self.memory or now != self.version:
            seen = f" (version {self.version} before, {now} after)" if now != self.version else ""
            if self.kind == GRADIENT:
                yield (GRADIENT, "", f"your code writes into `{label}`, the gradient that it is given{seen}. That "
                       "memory is not yours: the engine, or another node, may still read it.")  # fmt: skip
            else:
                yield ARGUMENT, "", f"your code writes into `{label}`, which belongs to the caller{seen}."
        if flags(tensor) != self.flags:
            words = ", ".join(f"{what} was {a} and is {b}" for what, a, b in
                              zip(("requires_grad", "is_leaf"), self.flags, flags(tensor), strict=True) if a != b)
            yield FLAG, "requires_grad", f"after your code, `{label}` is another kind of tensor: {words}."
        if (grad := grad_of(tensor)) != self.grad:
            yield GRAD, "grad", changed_grad(f"`{label}.grad`", self.grad, grad)
        if hooks(tensor) > self.hooks:
            yield HOOKS, "hooks", f"your code leaves a hook on `{label}`: it would run in every later backward()."


class LeafSeen(TensorSeen):
    """A leaf that the answer was not handed: only the graph of an argument leads to it."""

    def changes(self) -> Iterator:
        for kind, facet, sentence in super().changes():
            yield kind, facet, sentence.replace(f"`{self.label}`", self.label).replace(
                f"`{self.label}.grad`", f"the .grad of {self.label}")  # fmt: skip


class ContainerSeen:
    """A list, dictionary or set, and which objects it held."""

    def __init__(self, value, name, label, kind):
        self.value, self.name, self.label, self.word = value, name, label, kind.__name__
        self.held = identities(value)
        self.count = len(value)

    def changes(self) -> Iterator:
        if identities(self.value) != self.held:
            word = {"dict": "dictionary"}.get(self.word, self.word)
            counts = f": {self.count} entries before, {len(self.value)} after" if len(self.value) != self.count else ""
            yield CONTAINER, "", f"your code changes the {word} `{self.label}`, which belongs to the caller{counts}."


class ArraySeen:
    """A NumPy array."""

    def __init__(self, value, name, label):
        self.value, self.name, self.label, self.bytes = value, name, label, value.tobytes()

    def changes(self) -> Iterator:
        if self.value.tobytes() != self.bytes:
            yield ARGUMENT, "", f"your code writes into the array `{self.label}`, which belongs to the caller."


class ModuleSeen:
    """A module: its hooks, and whether it trains."""

    hooks = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")

    def __init__(self, value, name, label):
        self.value, self.name, self.label = value, name, label
        self.training, self.count = self.modes(), self.hook_count()

    def modes(self) -> list[bool]:
        return [module.training for module in self.value.modules()]

    def hook_count(self) -> int:
        return sum(len(getattr(m, name, None) or ()) for m in self.value.modules() for name in self.hooks)

    def changes(self) -> Iterator:
        if self.modes() != self.training:
            yield SETTING, "training", f"your code leaves `{self.label}` in another mode (train or eval) than before."
        if self.hook_count() > self.count:
            yield HOOKS, "hooks", f"your code leaves a hook on a module of `{self.label}`."


def is_tensor(value) -> bool:
    return hasattr(type(value), "grad_fn") and hasattr(type(value), "data_ptr") and hasattr(value, "_version")


def memory(tensor) -> bytes | None:
    """Return all bytes of the memory behind a tensor; None where there are too many."""
    array = getattr(tensor, "array", None)
    if array is not None:  # ours
        while isinstance(getattr(array, "base", None), np.ndarray):
            array = array.base
        return array.tobytes() if array.nbytes <= MOST_BYTES else None
    storage = tensor.untyped_storage()
    return ctypes.string_at(storage.data_ptr(), storage.nbytes()) if 0 < storage.nbytes() <= MOST_BYTES else None


def version(tensor) -> int | None:
    """Return the version counter's value; None for an inference tensor, which has none."""
    return None if tensor.is_inference() else tensor._version


def flags(tensor) -> tuple:
    return tensor.requires_grad, tensor.is_leaf


def grad_of(tensor) -> tuple | None:
    """None, or shape and bytes of `.grad`. (Asking any other tensor for its .grad would warn.)"""
    grad = tensor.grad if tensor.is_leaf or tensor.retains_grad else None
    return None if grad is None else (tuple(grad.shape), grad.detach().contiguous().numpy().tobytes())


def changed_grad(which, before, after) -> str:
    if after is None:
        return f"your code clears {which}, which belongs to the caller."
    was = "None" if before is None else "another value"
    return f"your code changes {which}, which belongs to the caller: {was} before, a gradient of yours in it after."


def hooks(tensor) -> int:
    """Count the hooks on a tensor."""
    if hasattr(tensor, "meta"):  # ours
        meta, node = tensor.meta, tensor.node
        places = [] if meta is None else [meta.hooks, meta.post_accumulate_hooks]
        places += [] if node is None or node.hooks is None else node.hooks.tensor.values()
    else:
        places = [tensor._backward_hooks, getattr(tensor, "_post_accumulate_grad_hooks", None)]
    return sum(len(each) for each in places if each is not None)


def leaves_behind(tensor) -> list:
    """Return the leaves that the graph of a tensor leads to, each once."""
    waiting, known, leaves = [tensor.grad_fn], set(), []
    while waiting and len(known) < MOST_NODES:
        node = waiting.pop()
        if node is None or node in known:
            continue
        known.add(node)
        leaf = getattr(node, "variable", None)
        if leaf is not None and type(node).__name__ == "AccumulateGrad":
            leaves.append(leaf)
        waiting += [after for after, _ in node.next_functions]
    return leaves


def identities(value) -> list:
    if isinstance(value, dict):
        return [(id(key), id(each)) for key, each in value.items()]
    return [id(each) for each in value]


def settings(engines) -> list:
    """Pairs (what it is called, what it is) for everything that code could leave switched."""
    found = [(FILTERS, list(warnings.filters)), ("the recursion limit", sys.getrecursionlimit()),
             ("NumPy's error state", tuple(np.geterr().items()))]  # fmt: skip
    for engine in engines:
        if not hasattr(engine, "is_grad_enabled"):
            continue
        found += [
            ("inference mode", engine.is_inference_mode_enabled()),
            ("grad mode", engine.is_grad_enabled()),
            ("anomaly mode", anomaly_mode(engine)),
            ("the default dtype", str(engine.get_default_dtype())),
            ("the stack of saved-tensor hooks", saved_tensor_hooks(engine)),
            ("the seed", engine.initial_seed()),
        ]
    return found


def anomaly_mode(engine) -> bool:
    modes = sys.modules["course_lib.engine.grad_mode"]
    return engine.is_anomaly_enabled() if hasattr(engine, "_C") else bool(modes.state.anomaly)


def saved_tensor_hooks(engine) -> object:
    if hasattr(engine, "_C"):
        return engine._C._autograd._top_saved_tensors_default_hooks(False) is not None
    state = sys.modules["course_lib.engine.grad_mode"].state
    return bool(state.saved_tensor_hooks), state.saved_tensor_hooks_disabled


def short(*values) -> bool:
    return all(isinstance(value, (bool, int, str)) for value in values)


# --------------------------------------------------------------------------------------------- names


def parameters(function) -> dict | tuple:
    """Name a function's positional arguments, and those after * with a star; {method: names} for a class."""
    if isinstance(function, type):
        methods = {name: getattr(vars(function).get(name), "__func__", None) for name in ("forward", "backward")}
        return {name: parameters(method) for name, method in methods.items() if method is not None}
    code = getattr(getattr(function, "__wrapped__", function), "__code__", None)  # under @once_differentiable
    if code is None:
        return ()
    names = list(code.co_varnames[: code.co_argcount])
    if code.co_flags & inspect.CO_VARARGS:
        names.append("*" + code.co_varnames[code.co_argcount + code.co_kwonlyargcount])
    return tuple(names)


def name_at(names, place) -> str:
    """Return the name of the argument at this place, "" when nobody gave it one."""
    if not isinstance(names, tuple) or not names:
        return ""
    if place < len(names) and not names[place].startswith("*"):
        return names[place]
    return names[-1][1:] if names[-1].startswith("*") else ""
