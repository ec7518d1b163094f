"""Activations as modules: each calls the function of its name in functional.py.

PyTorch: torch/nn/modules/activation.py.
"""

from course_lib.native import creation
from course_lib.nn import functional as F
from course_lib.nn.module import Module
from course_lib.nn.parameter import Parameter


class _Activation(Module):
    """An activation whose constructor's arguments are attributes, printed and passed on in the order of `options`."""

    function, options, unsaid = None, {}, ()

    def __init__(self, *args, **kwargs):
        super().__init__()
        unknown = next((name for name in kwargs if name not in self.options), None)
        if unknown is not None:
            raise TypeError(f"{type(self).__name__}.__init__() got an unexpected keyword argument '{unknown}'")
        if len(args) > len(self.options):
            raise TypeError(f"{type(self).__name__}() takes at most {len(self.options)} arguments, got {len(args)}")
        given = dict(zip(self.options, args, strict=False)) | kwargs
        for name, default in self.options.items():
            setattr(self, name, given.get(name, default))

    def forward(self, input):
        """The function, element by element or along `dim`."""
        return type(self).function(input, **{name: getattr(self, name) for name in self.options})

    def extra_repr(self):
        shown = [f"{name}={getattr(self, name)!r}" for name in self.options if name != "inplace"]
        return ", ".join(shown + (["inplace=True"] if getattr(self, "inplace", False) else []))


def activation(name, function, *, module=__name__, **options):
    """A module class for one function of functional.py; `module` says in which file it gets its name."""
    made = {"function": staticmethod(function), "options": options, "__doc__": function.__doc__, "__module__": module}
    return type(name, (_Activation,), made)


ReLU = activation("ReLU", F.relu, inplace=False)
ReLU6 = activation("ReLU6", F.relu6, inplace=False)
Tanh = activation("Tanh", F.tanh)
Sigmoid = activation("Sigmoid", F.sigmoid)
LeakyReLU = activation("LeakyReLU", F.leaky_relu, negative_slope=0.01, inplace=False)
ELU = activation("ELU", F.elu, alpha=1.0, inplace=False)
CELU = activation("CELU", F.celu, alpha=1.0, inplace=False)
SELU = activation("SELU", F.selu, inplace=False)
GELU = activation("GELU", F.gelu, approximate="none")
SiLU = activation("SiLU", F.silu, inplace=False)
Mish = activation("Mish", F.mish, inplace=False)
Softplus = activation("Softplus", F.softplus, beta=1.0, threshold=20.0)
Softsign = activation("Softsign", F.softsign)
Tanhshrink = activation("Tanhshrink", F.tanhshrink)
Threshold = activation("Threshold", F.threshold, threshold=0.0, value=0.0, inplace=False)


class Hardtanh(activation("Hardtanh", F.hardtanh, min_val=-1.0, max_val=1.0, inplace=False)):
    """The input cut off at min_val and max_val, of which the second must be the larger."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        if not self.max_val > self.min_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")


Hardsigmoid = activation("Hardsigmoid", F.hardsigmoid, inplace=False)
Hardswish = activation("Hardswish", F.hardswish, inplace=False)
LogSigmoid = activation("LogSigmoid", F.logsigmoid)
Softmax = activation("Softmax", F.softmax, dim=None)
Softmin = activation("Softmin", F.softmin, dim=None)
LogSoftmax = activation("LogSoftmax", F.log_softmax, dim=None)


class PReLU(Module):
    """leaky_relu whose slope is learned: one for all channels, or one for each."""

    def __init__(self, num_parameters=1, init=0.25, device=None, dtype=None):
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(creation.full((num_parameters,), init, dtype=dtype))

    def forward(self, input):
        """Element by element, the slope by channel (dimension 1)."""
        return F.prelu(input, self.weight)

    def extra_repr(self):
        return f"num_parameters={self.num_parameters}"
