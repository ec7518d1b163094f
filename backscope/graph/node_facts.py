"""Ask one node of the backward graph: its name, its slots and their state, its hooks.

Only attributes that PyTorch itself offers are read, so the same code reads real PyTorch nodes.
"""

import re
from collections.abc import Iterator
from typing import Any

from backscope.graph.model import DETACHED, FREED, OK, PACKED, STALE, UNWATCHED
from backscope.graph.tensor_facts import PREVIEW, is_tensor, safe_getattr

CUSTOM = "tensors"  # a slot of this name is a custom Function's: `_raw_saved_tensors`
VERSIONS = re.compile(r"is at version (\d+); expected version (\d+)")
# What our engine and PyTorch keep themselves on the node of a custom Function; all else was put there by forward.
OWN = {"saved_slots", "materialize_grads", "needs_input_grad", "output_count", "several_outputs", "saved_tensors"}
OWN |= {"to_save", "saved_for_forward", "non_differentiable", "dirty_tensors"}


def node_name(node: Any) -> str:
    """Return the node's name without PyTorch's namespace."""
    return node.name().rpartition("::")[2]


def sequence_nr(node: Any) -> int:
    """Return when the node was made, as its library counts."""
    return getattr(node, "_sequence_nr", int)()  # int() is 0, for the node of a learner's own engine


class SlotNames:
    """The names of a node type's slots and kept numbers, looked up once per type."""

    def __init__(self):
        self.known = {}

    def of(self, node: Any) -> tuple[list[str], list[str]]:
        kind = type(node)
        if kind not in self.known:
            tensors, saved = [], []
            for name in dir(kind):
                if name.startswith("_raw_saved_"):
                    tensors.append(name[11:])
                elif name.startswith("_saved_") and "_sym_" not in name:
                    saved.append(name[7:])
            self.known[kind] = sorted(tensors), sorted({*saved} - {*tensors})
        return self.known[kind]


def read_slots(node: Any, names: list[str]) -> list[tuple]:
    """Return for each slot of a node (label, state, tensor or None, saved version, version now)."""
    slots = []
    for name in names:
        try:
            raw = getattr(node, "_raw_saved_" + name)
        except RuntimeError:  # a custom Function lets go of all its slots at once
            if label := freed_label(node, name):
                slots.append((label, FREED, None, None, None))
            continue
        several = isinstance(raw, (tuple, list))
        for index, slot in enumerate(raw if several else [raw]):
            if slot is not None:
                found = read_slot(node, name, slot, several)
                if found is not None:
                    slots.append((f"{name}[{index}]" if several else name, *found))
    if CUSTOM in names:
        slots += read_unwatched(node)
    return slots


def freed_label(node, name) -> str | None:
    """Name the slots of a custom Function after its pass; None when it never had any.

    Only our engine still knows that. A node of PyTorch has forgotten whether its forward has saved anything.
    """
    if not hasattr(type(node), "saved_names"):
        return f"{name}, if any"
    return name if node.saved_slots else None


def read_unwatched(node) -> Iterator:
    """Yield (label, UNWATCHED, tensor, None, version now) for tensors that a custom Function's forward put on ctx."""
    for name, thing in on_ctx(node):
        if is_tensor(thing):
            yield f"ctx.{name}", UNWATCHED, thing, None, safe_getattr(thing, "_version")
        elif type(thing) in (list, tuple):
            for k, item in enumerate(thing[:PREVIEW]):
                if is_tensor(item):
                    yield f"ctx.{name}[{k}]", UNWATCHED, item, None, safe_getattr(item, "_version")


def on_ctx(node) -> list:
    """Return (name, thing) for what a custom Function's forward put on ctx as attributes."""
    held = getattr(node, "__dict__", {}) if hasattr(type(node), "_raw_saved_tensors") else {}
    return [(name, thing) for name, thing in list(held.items()) if name not in OWN and not name.startswith("_")]


def read_hooks(node: Any) -> tuple[list[str], list[str]]:
    """Return (names of the hooks after a node, names of those before it)."""
    own = getattr(node, "hooks", None)
    if hasattr(own, "post") and hasattr(own, "pre"):
        return hook_names(own.post) if own.post else [], hook_names(own.pre) if own.pre else []
    return tuple(neighbours(getattr(node, name, None)) for name in ("register_hook", "register_prehook"))


def neighbours(register) -> list[str]:
    """Find the names of PyTorch's hooks by registering one that does nothing, and removing it."""
    try:
        handle = register(lambda *grads: None)
        try:
            return hook_names(handle.hooks_dict_ref())[:-1]
        finally:
            handle.remove()
    except (TypeError, AttributeError, RuntimeError):
        return []


def hook_names(hooks: Any) -> list[str]:
    """Return the name of each hook; "" for a lambda, and for a function that is merely called hook."""
    hooks = hooks.values() if hasattr(hooks, "values") else hooks or ()
    names = [str(getattr(hook, "__name__", "")) for hook in hooks]
    return ["" if name in ("<lambda>", "hook") else name for name in names]


def read_slot(node, name, slot, several) -> tuple | None:
    """Return (state, tensor, saved version, version now) of one slot; None when nothing was ever put there."""
    hook = getattr(slot, "unpack_hook", slot)
    if hook is not None and (hook is not slot or is_packed(slot)):
        return PACKED, None, None, None  # looking must not run the hooks
    tensor = slot.data
    message = refusal(node, name, slot, several)
    if message is None:
        if tensor is None:
            return None
        version = safe_getattr(tensor, "_version")
        return OK, tensor, version, version
    if tensor is None or "after they have already been freed" in message:
        return FREED, None, None, None
    versions = VERSIONS.search(message)
    if versions is None:
        return DETACHED, tensor, None, safe_getattr(tensor, "_version")
    return STALE, tensor, int(versions[2]), int(versions[1])


def is_packed(slot) -> bool:
    """Tell whether hooks packed a slot of a PyTorch that does not show them."""
    if slot.data is not None or slot.is_freed:
        return False
    try:
        return slot.saved_version is not None
    except AttributeError:
        return False


def refusal(node, name, slot, several) -> str | None:
    """Return the message with which the library refuses to give the slot's tensor; None when it gives it."""
    try:
        if not several:
            kept = getattr(node, "_saved_" + name)
            if kept is not None and hasattr(slot, "unpack") and kept.grad_fn is None:
                slot.unpack()  # PyTorch's attribute shows even a tensor that was detached in place
        elif hasattr(slot, "unpack"):
            try:
                slot.unpack()
            except RuntimeError as error:
                if "detached in-place" not in str(error):
                    raise
                read_all(node, name)  # a result does not know its node; only the node can give it
        else:
            read_all(node, name)
    except RuntimeError as error:
        return str(error)
    return None


def read_all(node, name) -> tuple:
    """Read a slot that holds several tensors; those of a custom Function are called saved_tensors."""
    return getattr(node, "_saved_" + name) if hasattr(node, "_saved_" + name) else node.saved_tensors


def read_kept(node, names) -> Iterator:
    """Yield the numbers that a node keeps, as (name, text) pairs; those that were not needed are left out."""
    for name in names:
        value = safe_getattr(node, "_saved_" + name)
        if isinstance(value, (tuple, list)):
            value = tuple(map(signed, value))
        if value is not None and value != () and not is_tensor(value):
            yield name, str(signed(value))
    for name, thing in on_ctx(node):
        if thing is None or type(thing) in (bool, int, float, str):
            yield f"ctx.{name}", repr(thing)


def signed(value) -> object:
    """Give a negative dim its sign back, which PyTorch shows as a huge unsigned number."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 2**63:
        return value - 2**64
    return value
