"""Recurrent networks: cells that take one step, and layers of them that run over a sequence.

PyTorch: torch/nn/modules/rnn.py.
"""

import math
import warnings
from collections.abc import Callable

from course_lib.arrays.errors import refuse
from course_lib.engine.build import rows
from course_lib.engine.tensor import Tensor
from course_lib.nn import functional as F
from course_lib.nn import init
from course_lib.nn.layers import make
from course_lib.nn.module import REQUIRED, Module, bind_settings
from course_lib.surface import creation
from course_lib.surface import functions as composites
from course_lib.surface.joining import stack

# --- one step: from the linear maps of input and state, side by side for each gate, to the new state ---------


def plain_step(function: Callable) -> Callable:
    """Return a function of both maps together."""
    return lambda from_input, from_state, state: (function(from_input + from_state),)


def lstm_step(from_input: Tensor, from_state: Tensor, hidden: Tensor, cell: Tensor) -> tuple:
    """Return a cell state that is partly forgotten and partly written to, and an output gate."""
    write, forget, new, output = (from_input + from_state).chunk(4, -1)
    cell = rows.sigmoid(forget) * cell + rows.sigmoid(write) * rows.tanh(new)
    return rows.sigmoid(output) * rows.tanh(cell), cell


def step_of(nonlinearity: str) -> Callable:
    """Return the step of a plain recurrent network; ValueError for another word than tanh or relu."""
    if nonlinearity not in ("tanh", "relu"):
        raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
    return plain_step(getattr(rows, nonlinearity))


class _Recurrent(Module):
    """The base of cells and layers: `gates` linear maps side by side, `states` tensors that go from step to step."""

    gates, states = 1, 1

    def make_weights(self, input_size: int, dtype: object, ending: str = "") -> None:
        """Make the weights and biases of one step, their names with an ending."""
        width = self.gates * self.hidden_size
        for name, shape in (("weight_ih", (width, input_size)), ("weight_hh", (width, self.hidden_size))):
            self.register_parameter(name + ending, make(*shape, dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name + ending, make(width, dtype=dtype) if self.bias else None)

    def reset_parameters(self) -> None:
        """Draw new starting values, evenly spread within 1 / sqrt(hidden_size)."""
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def as_states(self, hx: Tensor | tuple | None, input: Tensor, *shape) -> tuple:
        """Return the state as a tuple, zeros when none is given. Errors for what does not fit input or sizes."""
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.shape[-1]}"
            )
        if hx is None:
            return (creation.zeros(*shape, dtype=input.dtype),) * self.states
        if self.states > 1 and isinstance(hx, Tensor):  # taken apart, its rows would pass for states
            error = TypeError if isinstance(self, _Cell) else RuntimeError
            raise error(f"{type(self).__name__}: argument 'hx' must be tuple of Tensors, not Tensor")
        state = tuple(hx) if self.states > 1 else (hx,)
        for number, h in enumerate(state):
            if tuple(h.shape) != shape:
                which = f"hidden[{number}]" if self.states > 1 else "hidden"
                raise RuntimeError(f"Expected {which} size {shape}, got {list(h.shape)}")
        return state


# --- cells -------------------------------------------------------------------------------------------------


class _Cell(_Recurrent):
    """One step: (N, input_size), state (N, hidden_size) -> state; N may be missing."""

    step = None

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        self.make_weights(input_size, dtype)
        self.reset_parameters()

    def forward(self, input: Tensor, hx: tuple | None = None) -> tuple:
        """Return one step. Without a batch dimension the inputs get one for a moment."""
        if input.dim() not in (1, 2):
            name = type(self).__name__
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        state = self.as_states(hx, input, *input.shape[:-1], self.hidden_size)
        batched = input.dim() == 2
        if not batched:
            input, *state = (composites.unsqueeze(t, 0) for t in (input, *state))
        maps = (input, self.weight_ih, self.bias_ih), (state[0], self.weight_hh, self.bias_hh)
        order = 1 if self.gates == 3 else -1  # PyTorch's GRU maps the input first, the others the state
        state = self.step(*[F.linear(*each) for each in maps[::order]][::order], *state)
        state = state if batched else tuple(composites.squeeze(h, 0) for h in state)
        return state if self.states > 1 else state[0]

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias is True else f", bias={self.bias}")


class LSTMCell(_Cell):
    """A cell state that is partly forgotten and partly written to, and an output gate; the state is (hidden, cell)."""

    gates, states, step = 4, 2, staticmethod(lstm_step)


# --- layers of them ----------------------------------------------------------------------------------------


class _Layers(_Recurrent):
    """Layers of cells, run over a sequence.

    Parameters are named as in PyTorch: weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, then l1 ...
    """

    settings = dict(
        input_size=REQUIRED, hidden_size=REQUIRED, num_layers=1, bias=True, batch_first=False, dropout=0.0,
        bidirectional=False,
    )  # fmt: skip

    def __init__(self, *args, device=None, dtype=None, **options):
        super().__init__()
        self.__dict__.update(bind_settings(self, self.settings, args, options))
        other_way = "Run a second layer over x.flip(0), and join its flipped outputs to those of the first with cat."
        refuse(type(self).__name__, other_way, bidirectional=self.bidirectional)
        for name in ("input_size", "hidden_size", "num_layers"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if not 0 <= self.dropout <= 1:
            raise ValueError("dropout should be a number in range [0, 1]: the probability of an element being zeroed")
        self.dropout = float(self.dropout)
        if self.dropout > 0 and self.num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                f"num_layers greater than 1, but got dropout={self.dropout} and num_layers=1", stacklevel=2,
            )
        for layer in range(self.num_layers):
            self.make_weights(self.hidden_size if layer else self.input_size, dtype, f"_l{layer}")
        self.reset_parameters()

    def flatten_parameters(self) -> None:
        """Do nothing: it is for GPUs."""

    def weights(self, layer: int) -> list:
        """Return the parameters of one layer; None for missing biases."""
        return [getattr(self, f"{name}_l{layer}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]

    def forward(self, input: Tensor, hx: Tensor | tuple | None = None) -> tuple:
        """Return (L, N, input_size), or (N, L, input_size) with batch_first -> (outputs, last state)."""
        if input.dim() not in (2, 3):
            name, what = type(self).__name__, " tensor" * (self.states == 1)
            raise ValueError(f"{name}: Expected input to be 2D or 3D, got {input.dim()}D{what} instead")
        batched, batch_dim = input.dim() == 3, 0 if self.batch_first else 1
        count = input.shape[batch_dim : batch_dim + 1] if batched else ()
        state = self.as_states(hx, input, self.num_layers, *count, self.hidden_size)
        if not batched:
            input, state = composites.unsqueeze(input, batch_dim), [composites.unsqueeze(h, 1) for h in state]
        if self.batch_first:
            input = composites.transpose(input, 0, 1)
        outputs, last = self.run(input, state)
        if self.batch_first:
            outputs = composites.transpose(outputs, 0, 1)
        if not batched:
            outputs, last = composites.squeeze(outputs, batch_dim), [composites.squeeze(h, 1) for h in last]
        return outputs, tuple(last) if self.states > 1 else last[0]

    def run(self, sequence: Tensor, state: tuple) -> tuple:
        """Return all layers, one after the other: (outputs of the last, final state of all)."""
        last = []
        for layer in range(self.num_layers):
            if layer and self.dropout and self.training:
                sequence = F.dropout(sequence, self.dropout)
            sequence, end = self.along(sequence, [h[layer] for h in state], self.weights(layer))
            last.append(end)
        return sequence, [stack([end[i] for end in last], 0) for i in range(self.states)]

    def along(self, sequence: Tensor, state: list, weights: list) -> tuple:
        """Return one layer over the sequence."""
        weight_ih, weight_hh, bias_ih, bias_hh = weights
        from_inputs, outputs = F.linear(sequence, weight_ih, bias_ih), []
        for from_input in composites.unbind(from_inputs, 0):
            state = self.step(from_input, F.linear(state[0], weight_hh, bias_hh), *state)
            outputs.append(state[0])
        return stack(outputs, 0), state

    def extra_repr(self) -> str:
        names = [n for n, usual in self.settings.items() if usual is not REQUIRED and getattr(self, n) != usual]
        return ", ".join([str(self.input_size), str(self.hidden_size), *(f"{n}={getattr(self, n)}" for n in names)])


class RNN(_Layers):
    """tanh (or relu) of a linear map of the input plus one of the state."""

    def __init__(self, input_size, hidden_size, num_layers=1, nonlinearity="tanh", *args, **kwargs):
        super().__init__(input_size, hidden_size, num_layers, *args, **kwargs)
        self.nonlinearity, self.step = nonlinearity, step_of(nonlinearity)


class LSTM(_Layers):
    """A cell state that is partly forgotten and partly written to, and an output gate; the state is (hidden, cell)."""

    gates, states, step = 4, 2, staticmethod(lstm_step)
