"""Recurrent networks: cells that take one step, and layers of them that run over a sequence.

PyTorch: torch/nn/modules/rnn.py.
"""

import math
import warnings

from course_lib.engine.build import rows
from course_lib.nn import functional as F
from course_lib.nn import init
from course_lib.nn.layers import make
from course_lib.nn.module import Module
from course_lib.surface import creation
from course_lib.surface import functions as composites
from course_lib.surface.joining import cat, stack

# --- cells -------------------------------------------------------------------------------------------------


class _Cell(Module):
    """What the recurrent cells share: two linear maps, of the input and of the state, side by side for each gate."""

    gates = 1

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        width = self.gates * hidden_size
        self.weight_ih, self.weight_hh = make(width, input_size, dtype=dtype), make(width, hidden_size, dtype=dtype)
        self.register_parameter("bias_ih", make(width, dtype=dtype) if bias else None)
        self.register_parameter("bias_hh", make(width, dtype=dtype) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draw new starting values, evenly spread within 1 / sqrt(hidden_size)."""
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def first_state(self, input):
        """Zeros to start from."""
        return creation.zeros(*input.shape[:-1], self.hidden_size, dtype=input.dtype)

    def check(self, input):
        name = type(self).__name__
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {input.shape[-1]} expected {self.input_size}")

    def check_state(self, input, hx):
        """RuntimeError, or ValueError, for a state that does not fit the input."""
        name, several = type(self).__name__, isinstance(hx, tuple)
        for number, h in enumerate(hx if several else (hx,)):
            if h.dim() not in (1, 2):
                which = f"hx[{number}]" if several else "hidden"
                raise ValueError(f"{name}: Expected {which} to be 1D or 2D, got {h.dim()}D instead")
            if input.dim() == h.dim() == 2 and input.shape[0] != h.shape[0]:
                raise RuntimeError(
                    f"Input batch size {input.shape[0]} doesn't match hidden{number} batch size {h.shape[0]}"
                )
            if h.shape[-1] != self.hidden_size:
                raise RuntimeError(
                    f"hidden{number} has inconsistent hidden_size: got {h.shape[-1]}, expected {self.hidden_size}"
                )

    def forward(self, input, hx=None):
        """One step. Without a batch dimension the inputs get one for a moment."""
        self.check(input)
        if hx is not None:
            self.check_state(input, hx)
        if input.dim() == 2:
            return self.step(input, hx)
        one = composites.unsqueeze
        if isinstance(hx, tuple):
            hx = tuple(one(h, 0) for h in hx)
        elif hx is not None:
            hx = one(hx, 0)
        result = self.step(one(input, 0), hx)
        if isinstance(result, tuple):
            return tuple(composites.squeeze(r, 0) for r in result)
        return composites.squeeze(result, 0)

    def both(self, input, state):
        """The two linear maps."""
        return F.linear(input, self.weight_ih, self.bias_ih), F.linear(state, self.weight_hh, self.bias_hh)

    def extra_repr(self):
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias is True else f", bias={self.bias}")


class RNNCell(_Cell):
    """tanh (or relu) of a linear map of the input plus one of the state."""

    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None, dtype=None):
        self.__dict__["nonlinearity"] = nonlinearity
        super().__init__(input_size, hidden_size, bias, device, dtype)

    def step(self, input, hx):
        """(N, input_size), (N, hidden_size) -> (N, hidden_size)."""
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        from_input, from_state = self.both(input, self.first_state(input) if hx is None else hx)
        return (rows.tanh if self.nonlinearity == "tanh" else rows.relu)(from_input + from_state)

    def extra_repr(self):
        return super().extra_repr() + ("" if self.nonlinearity == "tanh" else f", nonlinearity={self.nonlinearity}")


class LSTMCell(_Cell):
    """A cell state that is partly forgotten and partly written to, and an output gate."""

    gates = 4

    def step(self, input, hx):
        """(N, input_size), (hidden, cell) -> (hidden, cell), each (N, hidden_size)."""
        hidden, cell = (self.first_state(input), self.first_state(input)) if hx is None else hx
        from_input, from_state = self.both(input, hidden)
        write, forget, new, output = (from_input + from_state).chunk(4, -1)
        cell = rows.sigmoid(forget) * cell + rows.sigmoid(write) * rows.tanh(new)
        return rows.sigmoid(output) * rows.tanh(cell), cell


class GRUCell(_Cell):
    """A state that is a mixture of its old value and a new one."""

    gates = 3

    def step(self, input, hx):
        """(N, input_size), (N, hidden_size) -> (N, hidden_size)."""
        state = self.first_state(input) if hx is None else hx
        from_input, from_state = self.both(input, state)
        reset_i, update_i, new_i = from_input.chunk(3, -1)
        reset_s, update_s, new_s = from_state.chunk(3, -1)
        reset, update = rows.sigmoid(reset_i + reset_s), rows.sigmoid(update_i + update_s)
        new = rows.tanh(new_i + reset * new_s)
        return (state - new) * update + new


# --- layers of them ----------------------------------------------------------------------------------------


class _Recurrent(Module):
    """What RNN and LSTM share: layers of cells, run over a sequence forwards and, if asked to, backwards.

    Parameters are named as in PyTorch: weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, then l0_reverse, l1 ...
    """

    gates, states = 1, 1

    def __init__(
        self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
        proj_size=0, device=None, dtype=None,
    ):  # fmt: skip
        super().__init__()
        for name, value, kind in (
            ("input_size", input_size, int), ("hidden_size", hidden_size, int), ("bias", bias, bool),
            ("batch_first", batch_first, bool),
        ):  # fmt: skip
            if not isinstance(value, kind):
                raise TypeError(f"{name} should be of type {kind.__name__}, got: {type(value).__name__}")
        for name, value in (("input_size", input_size), ("hidden_size", hidden_size), ("num_layers", num_layers)):
            if value <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if proj_size:
            raise composites.errors.not_supported("LSTM with proj_size", "Put a Linear layer behind it.")
        if not isinstance(dropout, int | float) or isinstance(dropout, bool) or not 0 <= dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        if dropout > 0 and num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                f"num_layers greater than 1, but got dropout={dropout} and num_layers={num_layers}", stacklevel=2,
            )  # fmt: skip
        self.mode = type(self).__name__
        self.input_size, self.hidden_size, self.num_layers, self.bias = input_size, hidden_size, num_layers, bias
        self.batch_first, self.dropout, self.bidirectional = batch_first, float(dropout), bidirectional
        self.proj_size = 0
        width = self.gates * hidden_size
        for layer in range(num_layers):
            for end in ("", "_reverse")[: 1 + bidirectional]:
                inputs = hidden_size * (1 + bidirectional) if layer else input_size
                shapes = {"weight_ih": (width, inputs), "weight_hh": (width, hidden_size)}
                shapes |= {"bias_ih": (width,), "bias_hh": (width,)} if bias else {}
                for name, shape in shapes.items():
                    self.register_parameter(f"{name}_l{layer}{end}", make(*shape, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self):
        """Draw new starting values, evenly spread within 1 / sqrt(hidden_size)."""
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def flatten_parameters(self):
        """Does nothing: it is for GPUs."""

    @property
    def all_weights(self):
        """The parameters of each layer in each direction, in one list each."""
        ways = [(layer, end) for layer in range(self.num_layers) for end in ("", "_reverse")[: 1 + self.bidirectional]]
        return [[w for w in self.weights(*way) if w is not None] for way in ways]

    def weights(self, layer, end):
        """The parameters of one layer in one direction; None for missing biases."""
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        return [getattr(self, f"{name}_l{layer}{end}", None) for name in names]

    def forward(self, input, hx=None):
        """(L, N, input_size), or (N, L, input_size) with batch_first -> (outputs, last state)."""
        if input.dim() not in (2, 3):
            name, what = self.mode.partition("_")[0], " tensor" * self.mode.startswith("RNN")
            raise ValueError(f"{name}: Expected input to be 2D or 3D, got {input.dim()}D{what} instead")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.shape[-1]}"
            )
        kind = self.weight_ih_l0.dtype
        if input.dtype is not kind:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({kind}). Convert input: "
                f"input.to({kind}), or convert model: model.to({input.dtype})"
            )
        batched = input.dim() == 3
        if hx is not None:
            hx = (hx[0], hx[1]) if self.states > 1 else hx
            self.check_dimensions(hx if self.states > 1 else (hx,), 3 if batched else 2)
        if not batched:
            input = composites.unsqueeze(input, 0 if self.batch_first else 1)
            hx = None if hx is None else self.of_each(hx, lambda h: composites.unsqueeze(h, 1))
        if self.batch_first:
            input = composites.transpose(input, 0, 1)
        directions = 1 + self.bidirectional
        shape = (self.num_layers * directions, input.shape[1], self.hidden_size)
        if hx is None:
            state = [creation.zeros(*shape, dtype=input.dtype)] * self.states
        else:
            state = list(hx) if self.states > 1 else [hx]
        for number, h in enumerate(state):
            if tuple(h.shape) != shape:
                which = f"hidden[{number}]" if self.states > 1 else "hidden"
                raise RuntimeError(f"Expected {which} size {shape}, got {list(h.shape)}")
        outputs, last = self.run(input, state)
        if self.batch_first:  # as PyTorch: in place where it can be
            outputs = composites.transpose(outputs, 0, 1) if self.states > 1 else outputs.transpose_(0, 1)
        if not batched:
            outputs = composites.squeeze(outputs, 0 if self.batch_first else 1)
            last = [composites.squeeze(h, 1) for h in last]
        return outputs, tuple(last) if self.states > 1 else last[0]

    def check_dimensions(self, state, wanted):
        """RuntimeError unless the state comes in batches exactly when the input does."""
        got = [f"{h.dim()}-D" for h in state]
        if all(h.dim() == wanted for h in state):
            return
        start = f"For {'batched 3-D' if wanted == 3 else 'unbatched 2-D'} input,"
        if self.states > 1:
            raise RuntimeError(f"{start} hx and cx should also be {wanted}-D but got ({', '.join(got)}) tensors")
        raise RuntimeError(f"{start} hx should also be {wanted}-D but got {got[0]} tensor")

    def of_each(self, hx, function):
        """The state, or each of its parts, changed."""
        return tuple(map(function, hx)) if self.states > 1 else function(hx)

    def run(self, sequence, state):
        """All layers, one after the other: (outputs of the last, final state of all)."""
        directions, last = 1 + self.bidirectional, []
        for layer in range(self.num_layers):
            outputs = []
            for way in range(directions):
                weights, start = self.weights(layer, "_reverse" * way), [h[layer * directions + way] for h in state]
                steps, end = self.along(sequence, start, weights, backwards=way == 1)
                outputs.append(steps)
                last.append(end)
            sequence = outputs[0] if directions == 1 else cat(outputs, -1)
            if self.dropout and self.training and layer < self.num_layers - 1:
                sequence = F.dropout(sequence, self.dropout)
        return sequence, [stack([end[i] for end in last], 0) for i in range(self.states)]

    def along(self, sequence, state, weights, backwards):
        """One layer over the sequence in one direction."""
        weight_ih, weight_hh, bias_ih, bias_hh = weights
        from_inputs, outputs = F.linear(sequence, weight_ih, bias_ih), []
        for step in composites.unbind(from_inputs.flip(0) if backwards else from_inputs, 0):
            state = self.step(step, F.linear(state[0], weight_hh, bias_hh), *state)
            outputs.append(state[0])
        return stack(outputs[::-1] if backwards else outputs, 0), state

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        for name, usual in dict(
            num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False
        ).items():
            text += "" if getattr(self, name) == usual else f", {name}={getattr(self, name)}"
        return text


class RNN(_Recurrent):
    """tanh (or relu) of a linear map of the input plus one of the state."""

    def __init__(self, input_size, hidden_size, num_layers=1, nonlinearity="tanh", *args, **kwargs):
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        self.__dict__["nonlinearity"] = nonlinearity
        super().__init__(input_size, hidden_size, num_layers, *args, **kwargs)
        self.mode = f"RNN_{nonlinearity.upper()}"

    def step(self, from_input, from_state, state):
        """The next state."""
        return [(rows.tanh if self.nonlinearity == "tanh" else rows.relu)(from_input + from_state)]


class LSTM(_Recurrent):
    """A cell state that is partly forgotten and partly written to, and an output gate."""

    gates, states = 4, 2

    def step(self, from_input, from_state, hidden, cell):
        """The next (hidden, cell)."""
        write, forget, new, output = (from_input + from_state).chunk(4, -1)
        cell = rows.sigmoid(forget) * cell + rows.sigmoid(write) * rows.tanh(new)
        return [rows.sigmoid(output) * rows.tanh(cell), cell]
