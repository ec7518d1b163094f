"""How a recording is opened and closed: what `ledger()` and `watch()` are told, by our engine and by PyTorch.

One recording for both libraries: recording.py says what it holds, recorder_engine.py and recorder_torch.py how
each of them is looked at. With no recording open nothing is attached to either.
"""

import sys

from backscope.adapters import course_lib as recorder_engine
from backscope.events.recording import here, torch_folder, watch_leaf
from backscope.pictures.draw import names_in
from course_lib.engine.tensor import Tensor


def begin(recording):
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
                if isinstance(tensor, Tensor):
                    recorder_engine.watch_version(tensor, recording)
                elif here.torch is not None:
                    here.torch.watch_version(tensor, recording)
                watch_leaf(tensor, recording)
    except BaseException:
        end(recording)
        raise


def settle(recording):
    """Find out what is known only afterwards: on PyTorch the nodes of calls that were not seen, and late writes."""
    if recording.open and here.torch is not None:
        here.torch.settle(names_in(recording.frame)[1])


def end(recording):
    """The opposite of begin."""
    settle(recording)
    recording.close()
    if recording in here.open:
        here.open.remove(recording)
        if not here.open:
            detach()


def attach():
    torch = sys.modules.get("torch")
    if torch is not None and torch_folder() is not None:
        from backscope.adapters.torch import TorchSource

        source = TorchSource(torch)
        source.attach()
        here.torch = source
    recorder_engine.attach()
    here.ours = True


def detach():
    if here.torch is not None:
        here.torch.detach()
        here.torch = None
    if here.ours:
        here.ours = False
        recorder_engine.detach()
