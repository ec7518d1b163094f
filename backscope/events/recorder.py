"""Open and close a recording: what `ledger()` and `watch()` are told, by our engine and by PyTorch.

One recording for both libraries: recording.py says what it holds, the adapters how each library is looked at.
With no recording open nothing is attached to either.
"""

from backscope.adapters import library_of, loaded
from backscope.events.recording import Recording, here, watch_leaf


def begin(recording: Recording) -> None:
    """Attach to both libraries, and tell this recording what happens in this thread from now on."""
    first = not here.open
    here.open.append(recording)
    try:
        if first:
            attach()
        for known, name in list(recording.variables.values()):
            tensor = known()
            if tensor is None or (name.endswith(".grad") and id(tensor) not in recording.given):
                continue
            if recording.unpacks:
                observer = here.observers.get(library_of(tensor))
                if observer is not None:
                    observer.watch_version(tensor, recording)
                watch_leaf(tensor, recording)
    except BaseException:
        end(recording)
        raise


def settle(recording: Recording) -> None:
    """Find out what is known only afterwards: on PyTorch the nodes of calls that were not seen, and late writes."""
    if recording.open:
        for observer in here.observers.values():
            observer.settle(recording)


def end(recording: Recording) -> None:
    """Stop telling this recording, and detach from both libraries when it was the last."""
    settle(recording)
    recording.close()
    if recording in here.open:
        here.open.remove(recording)
        if not here.open:
            detach()


def attach() -> None:
    """Observe the libraries that are loaded, in this thread."""
    for adapter in loaded():
        here.observers[adapter.__name__.rpartition(".")[2]] = adapter.attach()


def detach() -> None:
    """Leave nothing behind in them."""
    while here.observers:
        here.observers.popitem()[1].detach()
