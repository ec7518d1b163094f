"""Ask the library that a tensor belongs to. An adapter is loaded when its library is met, never before.

adapters/torch.py and adapters/course_lib.py are the only files of backscope that import these libraries. Each offers

    Tensor                  the library's class
    FILES                   how the names of its own files begin
    spot_of(tensor)         (memory, first element, shape, strides)
    memory_size(tensor)     bytes of the whole memory that the tensor keeps alive
    share_counter(a, b)     whether two tensors on one memory have one version counter
    node_running_in(frame)  the backward node that a frame of the library runs; None where frames do not show it
    attach()                look at the library in this thread until `detach()` of what it returns
"""

import os
import sys
from importlib import import_module
from types import ModuleType

LIBRARIES = "torch", "course_lib"  # in this order they are attached, and asked what a name means
OWN_FILES = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep  # how backscope's files begin


def library_of(tensor: object) -> str | None:
    """Name the library of a tensor, also of a subclass made elsewhere; None for what is neither's."""
    for kind in type(tensor).__mro__:
        if kind.__name__ == "Tensor":
            library = kind.__module__.partition(".")[0]
            if library in LIBRARIES:
                return library
    return None


def adapter_of(tensor: object) -> ModuleType | None:
    """Return the adapter of the tensor's library; None for a tensor of another one, such as a learner's own."""
    library = library_of(tensor)
    return None if library is None else adapter(library)


def adapter(library: str) -> ModuleType:
    """Return the adapter of a library, loaded now if it was not."""
    name = f"{__name__}.{library}"
    return sys.modules.get(name) or import_module(name)


def loaded() -> list[ModuleType]:
    """Return the adapters of those libraries that the program has imported, and no half-imported one."""
    return [adapter(library) for library in LIBRARIES if hasattr(sys.modules.get(library), "Tensor")]


def library_files() -> tuple[str, ...]:
    """Return how the names of the imported libraries' files begin: never "the line that did it"."""
    return tuple(start for each in loaded() for start in each.FILES)
