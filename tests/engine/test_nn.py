"""Modules and layers: starting values, names, states that do not fit, hooks of the old kind, order of gradients."""

import importlib
import pathlib
import pickle
import warnings

import pytest

import course_lib
from tests.programs.kit import seen


def counted(torch, module):
    """The module with its parameters set to 0, 0.1, 0.2 ..."""
    with torch.no_grad():
        for i, p in enumerate(module.parameters()):
            p.copy_(torch.arange(p.numel()).reshape(p.shape) * 0.1 - 0.2 * i)
    return module


@pytest.mark.parametrize("name", [n for n in dir(course_lib.nn) if isinstance(getattr(course_lib.nn, n), type)])
def test_every_class_of_layers_is_found_again_by_its_name(name):
    """A pickle names a layer's class by module and name, and finds that very class there."""
    cls = getattr(course_lib.nn, name)

    assert pickle.loads(pickle.dumps(cls)) is cls


STATES = {
    "input of one dimension": lambda torch, layer: layer(torch.ones(4)),
    "input of four": lambda torch, layer: layer(torch.ones(1, 1, 1, 2)),
    "input of another size": lambda torch, layer: layer(torch.ones(4, 1, 3)),
    "state without batches": lambda torch, layer: layer(torch.ones(4, 1, 2), state_of(torch, layer, 1, 3)),
    "state with batches": lambda torch, layer: layer(torch.ones(4, 2), state_of(torch, layer, 1, 1, 3)),
    "state of another batch": lambda torch, layer: layer(torch.ones(4, 1, 2), state_of(torch, layer, 1, 2, 3)),
    "one tensor": lambda torch, layer: layer(torch.ones(4, 1, 2), torch.ones(2, 1, 3)),
    "state of another size": lambda torch, layer: layer(torch.ones(4, 2), state_of(torch, layer, 1, 4)),
}


def state_of(torch, layer, *shape):
    return (torch.ones(*shape),) * 2 if isinstance(layer, torch.nn.LSTM) else torch.ones(*shape)


@pytest.mark.parametrize("kind", ["RNN", "LSTM"])
@pytest.mark.parametrize("name", STATES)
def test_states_that_do_not_fit_are_refused(kind, name, real_torch):
    """The same kind of error as in PyTorch for an input and for a state of the wrong sizes."""
    errors = []
    for torch in (course_lib, real_torch):
        with pytest.raises((RuntimeError, ValueError)) as caught:
            STATES[name](torch, getattr(torch.nn, kind)(2, 3))
        errors.append(caught.type)

    assert errors[0] is errors[1]


def test_a_file_stays_as_it_was_when_saving_breaks_off(tmp_path, monkeypatch):
    """What stood at the path is there until the new file is complete, and nothing is left beside it."""
    path = tmp_path / "state"
    course_lib.save([1], path)

    def half(self, data):
        with open(self, "wb") as file:
            file.write(data[:3])
        raise OSError("No space left on device")

    monkeypatch.setattr(pathlib.Path, "write_bytes", half)
    with pytest.raises(OSError, match="No space"):
        course_lib.save([2], path)

    assert course_lib.load(path) == [1] and [file.name for file in tmp_path.iterdir()] == ["state"]


def test_what_module_helpers_leave_out_is_said():
    """Names of nn.utils and nn.init that are not there, and half precision, name the limit."""
    for place in (course_lib.nn.utils, course_lib.nn.init):
        with pytest.raises(AttributeError, match=f"{place.__name__} has no 'weight_norm'. If PyTorch has it, this"):
            _ = place.weight_norm
        assert not hasattr(place, "__wrapped__")
    for name in ("half", "bfloat16"):
        with pytest.raises(NotImplementedError, match=f"Module.{name}()"):
            getattr(course_lib.nn.Linear(1, 1), name)()


def old_hooks(torch):
    """What old backward hooks are given, what they may return, and the warnings about what they miss."""

    class Made(torch.nn.Module):
        def __init__(self, forward):
            super().__init__()
            self.forward = forward

    def outcome(module, *args, returned=None):
        log = []

        def hook(m, came_in, went_out):
            log.append((m is module, came_in, went_out))
            return returned

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            module.register_backward_hook(hook)
            result = module(*args)
            sum(r.sum() for r in (result if isinstance(result, tuple) else [result])).backward()
        return [seen(log), [(each.category.__name__, str(each.message)) for each in caught], seen(args[0].grad)]

    def x():
        return torch.tensor([[1.0, -2.0]], requires_grad=True)

    double, zeros = Made(lambda x: x * 2), (torch.zeros(1, 2), None)
    return [
        outcome(double, x()), outcome(Made(lambda x: x * 2 + 1), x()), outcome(Made(lambda x: (x * 2,)), x()),
        outcome(Made(lambda x: x * 2), x(), returned=zeros), outcome(Made(lambda x, y: x * y), x(), x() * 1),
        outcome(counted(torch, torch.nn.Linear(2, 3)), x()), outcome(Made(lambda x: x.unbind(0)), x()),
    ]  # fmt: skip


def test_old_backward_hooks_of_modules(real_torch):
    """register_backward_hook: the same gradients, replacements and warnings as in PyTorch."""
    assert old_hooks(course_lib) == old_hooks(real_torch)


def test_gradients_of_a_cell_arrive_in_pytorch_s_order(real_torch):
    """Which of the two linear maps was made last decides whose parameters get their gradient first."""

    def arrivals(torch):
        nn = importlib.import_module(f"{torch.__name__}.nn")
        cell, x, h, found = nn.LSTMCell(3, 4), torch.ones(2, 3), torch.ones(2, 4), []
        for name, parameter in cell.named_parameters():
            parameter.register_post_accumulate_grad_hook(lambda _, name=name: found.append(name))
        cell(x, (h, h))[0].sum().backward()
        return found

    assert arrivals(course_lib) == arrivals(real_torch)
